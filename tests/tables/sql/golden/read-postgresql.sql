SELECT CAST((((((((CAST(CASE WHEN "panbayes table"."hour" IS NULL THEN 0 ELSE
  CASE WHEN "panbayes table"."hour" < CAST('0001-01-01T00:00:00+00:00' AS TIMESTAMPTZ) OR "panbayes table"."hour" >= CAST('10000-01-01T00:00:00+00:00' AS TIMESTAMPTZ) THEN 0 ELSE
  CASE WHEN CAST(EXTRACT(hour
FROM "panbayes table"."hour" AT TIME ZONE 'UTC') AS INT) < 1 THEN 1 WHEN CAST(EXTRACT(hour
FROM "panbayes table"."hour" AT TIME ZONE 'UTC') AS INT) < 23 THEN CAST(EXTRACT(hour
FROM "panbayes table"."hour" AT TIME ZONE 'UTC') AS INT) - (-1) ELSE 24 END END END AS BIGINT) * 8 +
  CASE WHEN "panbayes table"."visits" IS NULL THEN 0 ELSE COALESCE(CASE "panbayes table"."visits" WHEN 999 THEN 0 END,
  CASE WHEN "panbayes table"."visits" < 0 THEN 1 WHEN "panbayes table"."visits" < 6 THEN "panbayes table"."visits" - (-2) ELSE 1 END) END) * 8 +
  CASE WHEN "panbayes table"."seen" IS NULL THEN 0 ELSE COALESCE(CASE "panbayes table"."seen" WHEN CAST('1900-01-01T00:00:00' AS TIMESTAMP) THEN 0 END,
  CASE WHEN "panbayes table"."seen" < CAST('0001-01-01T00:00:00' AS TIMESTAMP) OR "panbayes table"."seen" >= CAST('10000-01-01T00:00:00' AS TIMESTAMP) THEN 0 ELSE
  CASE WHEN CAST(EXTRACT(isodow
FROM "panbayes table"."seen") AS INT) - 1 < 1 THEN 1 WHEN CAST(EXTRACT(isodow
FROM "panbayes table"."seen") AS INT) - 1 < 6 THEN CAST(EXTRACT(isodow
FROM "panbayes table"."seen") AS INT) - 1 - (-1) ELSE 7 END END) END) * 6 +
  CASE WHEN "panbayes table"."age" IS NULL THEN 0 ELSE COALESCE(CASE "panbayes table"."age" WHEN 999 THEN 0 END,
  CASE WHEN "panbayes table"."age" < 0 THEN 1 WHEN "panbayes table"."age" < 40 THEN 2 WHEN "panbayes table"."age" < 66 THEN 3 WHEN "panbayes table"."age" < 121 THEN 4 ELSE 5 END) END) * 5 +
  CASE WHEN "panbayes table"."sex" IS NULL THEN 0 ELSE COALESCE(CASE CAST("panbayes table"."sex" AS TEXT) COLLATE "C" WHEN ' o''x' THEN 1 WHEN '1900-01-01' THEN 0 WHEN '999' THEN 0 WHEN '?' THEN 0 WHEN 'F' THEN 2 WHEN 'M' THEN 3 WHEN 'o''x' THEN 1 END, CASE TRIM('(all blanks)'
FROM CAST("panbayes table"."sex" AS TEXT) COLLATE "C") WHEN '1900-01-01' THEN 0 WHEN '999' THEN 0 WHEN '?' THEN 0 WHEN 'F' THEN 2 WHEN 'M' THEN 3 WHEN 'o''x' THEN 1 END, 4) END) * 5 +
  CASE WHEN "panbayes table"."price" IS NULL OR "panbayes table"."price" = CAST('NaN' AS DECIMAL) THEN 0 ELSE COALESCE(CASE "panbayes table"."price" WHEN CAST('999.00' AS DECIMAL(38, 2)) THEN 0 END,
  CASE WHEN "panbayes table"."price" < CAST('0.00' AS DECIMAL(38, 2)) THEN 1 WHEN "panbayes table"."price" < CAST('9.99' AS DECIMAL(38, 2)) THEN 2 WHEN "panbayes table"."price" < CAST('100.01' AS DECIMAL(38, 2)) THEN 3 ELSE 4 END) END) * 5 +
  CASE WHEN "panbayes table"."born" IS NULL THEN 0 ELSE COALESCE(CASE "panbayes table"."born" WHEN CAST('1900-01-01' AS DATE) THEN 0 END,
  CASE WHEN "panbayes table"."born" < CAST('0001-01-01' AS DATE) OR "panbayes table"."born" >= CAST('10000-01-01' AS DATE) THEN 0 ELSE
  CASE WHEN "panbayes table"."born" < CAST('1905-01-02' AS DATE) THEN 1 WHEN "panbayes table"."born" < CAST('2008-01-02' AS DATE) THEN 2 WHEN "panbayes table"."born" < CAST('2026-01-02' AS DATE) THEN 3 ELSE 4 END END) END) * 4 +
  CASE WHEN "panbayes table"."weight" IS NULL OR CAST("panbayes table"."weight" AS DOUBLE PRECISION) = CAST('NaN' AS DOUBLE PRECISION) THEN 0 ELSE COALESCE(CASE CAST("panbayes table"."weight" AS DOUBLE PRECISION) WHEN CAST('999.0' AS DOUBLE PRECISION) THEN 0 END,
  CASE WHEN CAST("panbayes table"."weight" AS DOUBLE PRECISION) < CAST('0.1' AS DOUBLE PRECISION) THEN 1 WHEN CAST("panbayes table"."weight" AS DOUBLE PRECISION) < CAST('0.10000000000000002' AS DOUBLE PRECISION) THEN 2 WHEN CAST("panbayes table"."weight" AS DOUBLE PRECISION) < CAST('70.0' AS DOUBLE PRECISION) THEN 1 WHEN CAST("panbayes table"."weight" AS DOUBLE PRECISION) < CAST('70.00000000000001' AS DOUBLE PRECISION) THEN 3 ELSE 1 END) END) * 3 +
  CASE WHEN "panbayes table"."smokes" IS NULL THEN 0 ELSE COALESCE(CASE "panbayes table"."smokes" WHEN FALSE THEN 1 WHEN TRUE THEN 2 END, 0) END AS INT) AS "panbayes 0", CAST("panbayes table"."icd" AS TEXT) COLLATE "C" AS "panbayes 1", CAST("panbayes table"."patient" AS TEXT) COLLATE "C" AS "panbayes 2"
FROM "clinic"."people" AS "panbayes table" ORDER BY "panbayes table"."visit" NULLS FIRST, 1 NULLS FIRST, 2 NULLS FIRST, 3 NULLS FIRST
-- postgresql
