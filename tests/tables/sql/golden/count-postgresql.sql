WITH "panbayes cells" AS MATERIALIZED (SELECT
  CASE WHEN "panbayes table"."sex" IS NULL THEN 0 ELSE COALESCE(CASE CAST("panbayes table"."sex" AS TEXT) COLLATE "C" WHEN ' o''x' THEN 1 WHEN '1900-01-01' THEN 0 WHEN '999' THEN 0 WHEN '?' THEN 0 WHEN 'F' THEN 2 WHEN 'M' THEN 3 WHEN 'o''x' THEN 1 END, CASE TRIM('(all blanks)'
FROM CAST("panbayes table"."sex" AS TEXT) COLLATE "C") WHEN '1900-01-01' THEN 0 WHEN '999' THEN 0 WHEN '?' THEN 0 WHEN 'F' THEN 2 WHEN 'M' THEN 3 WHEN 'o''x' THEN 1 END, 4) END AS "panbayes cell 0", TRIM('(all blanks)'
FROM CAST("panbayes table"."patient" AS TEXT) COLLATE "C") AS "panbayes person", "panbayes table"."visit" AS "panbayes order 0"
FROM "people" AS "panbayes table" WHERE NOT TRIM('(all blanks)'
FROM CAST("panbayes table"."patient" AS TEXT) COLLATE "C") IS NULL AND NOT TRIM('(all blanks)'
FROM CAST("panbayes table"."patient" AS TEXT) COLLATE "C") IN ('', '?', '999', '1900-01-01')), "panbayes ranked" AS MATERIALIZED (SELECT *
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY "panbayes person" ORDER BY "panbayes order 0" NULLS FIRST, CAST(CAST("panbayes cell 0" AS BIGINT) AS SMALLINT) NULLS FIRST) AS "panbayes rank"
FROM "panbayes cells") AS "panbayes ranked" WHERE "panbayes rank" <= 2) SELECT CAST(COUNT(*) AS BIGINT), CAST(COUNT(DISTINCT "panbayes person") AS BIGINT)
FROM "panbayes ranked"
-- postgresql

WITH "panbayes cells" AS MATERIALIZED (SELECT
  CASE WHEN "panbayes table"."sex" IS NULL THEN 0 ELSE COALESCE(CASE CAST("panbayes table"."sex" AS TEXT) COLLATE "C" WHEN ' o''x' THEN 1 WHEN '1900-01-01' THEN 0 WHEN '999' THEN 0 WHEN '?' THEN 0 WHEN 'F' THEN 2 WHEN 'M' THEN 3 WHEN 'o''x' THEN 1 END, CASE TRIM('(all blanks)'
FROM CAST("panbayes table"."sex" AS TEXT) COLLATE "C") WHEN '1900-01-01' THEN 0 WHEN '999' THEN 0 WHEN '?' THEN 0 WHEN 'F' THEN 2 WHEN 'M' THEN 3 WHEN 'o''x' THEN 1 END, 4) END AS "panbayes cell 0", TRIM('(all blanks)'
FROM CAST("panbayes table"."patient" AS TEXT) COLLATE "C") AS "panbayes person", "panbayes table"."visit" AS "panbayes order 0"
FROM "people" AS "panbayes table" WHERE NOT TRIM('(all blanks)'
FROM CAST("panbayes table"."patient" AS TEXT) COLLATE "C") IS NULL AND NOT TRIM('(all blanks)'
FROM CAST("panbayes table"."patient" AS TEXT) COLLATE "C") IN ('', '?', '999', '1900-01-01')), "panbayes ranked" AS MATERIALIZED (SELECT *
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY "panbayes person" ORDER BY "panbayes order 0" NULLS FIRST, CAST(CAST("panbayes cell 0" AS BIGINT) AS SMALLINT) NULLS FIRST) AS "panbayes rank"
FROM "panbayes cells") AS "panbayes ranked" WHERE "panbayes rank" <= 2), "panbayes axes" AS MATERIALIZED (SELECT
  CASE WHEN "panbayes cell 0" < 1 THEN 4 WHEN "panbayes cell 0" < 2 THEN 2 WHEN "panbayes cell 0" < 4 THEN "panbayes cell 0" - (2) ELSE 3 END AS "panbayes axis 0",
  CASE WHEN "panbayes cell 0" < 3 THEN 0 ELSE 1 END AS "panbayes axis 1"
FROM "panbayes ranked") SELECT CAST(GROUPING("panbayes axis 0", "panbayes axis 1") AS BIGINT), CAST(COALESCE(CAST("panbayes axis 0" AS BIGINT), 0) AS BIGINT), CAST(COALESCE(CAST("panbayes axis 1" AS BIGINT), 0) AS BIGINT), CAST(COUNT(*) AS BIGINT)
FROM "panbayes axes" GROUP BY GROUPING SETS (("panbayes axis 0"), ("panbayes axis 0", "panbayes axis 1"))
-- postgresql

WITH "panbayes cells" AS MATERIALIZED (SELECT
  CASE WHEN "panbayes table"."sex" IS NULL THEN 0 ELSE COALESCE(CASE CAST("panbayes table"."sex" AS TEXT) COLLATE "C" WHEN ' o''x' THEN 1 WHEN '1900-01-01' THEN 0 WHEN '999' THEN 0 WHEN '?' THEN 0 WHEN 'F' THEN 2 WHEN 'M' THEN 3 WHEN 'o''x' THEN 1 END, CASE TRIM('(all blanks)'
FROM CAST("panbayes table"."sex" AS TEXT) COLLATE "C") WHEN '1900-01-01' THEN 0 WHEN '999' THEN 0 WHEN '?' THEN 0 WHEN 'F' THEN 2 WHEN 'M' THEN 3 WHEN 'o''x' THEN 1 END, 4) END AS "panbayes cell 0", TRIM('(all blanks)'
FROM CAST("panbayes table"."patient" AS TEXT) COLLATE "C") AS "panbayes person", "panbayes table"."visit" AS "panbayes order 0"
FROM "people" AS "panbayes table" WHERE NOT TRIM('(all blanks)'
FROM CAST("panbayes table"."patient" AS TEXT) COLLATE "C") IS NULL AND NOT TRIM('(all blanks)'
FROM CAST("panbayes table"."patient" AS TEXT) COLLATE "C") IN ('', '?', '999', '1900-01-01')), "panbayes ranked" AS MATERIALIZED (SELECT *
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY "panbayes person" ORDER BY "panbayes order 0" NULLS FIRST, CAST(CAST("panbayes cell 0" AS BIGINT) AS SMALLINT) NULLS FIRST) AS "panbayes rank"
FROM "panbayes cells") AS "panbayes ranked" WHERE "panbayes rank" <= 2), "panbayes axes" AS MATERIALIZED (SELECT
  CASE WHEN "panbayes cell 0" < 1 THEN 4 WHEN "panbayes cell 0" < 2 THEN 2 WHEN "panbayes cell 0" < 4 THEN "panbayes cell 0" - (2) ELSE 3 END AS "panbayes axis 0",
  CASE WHEN "panbayes cell 0" < 3 THEN 0 ELSE 1 END AS "panbayes axis 1"
FROM "panbayes ranked") SELECT CAST(COALESCE(SUM(1 - 2 * ((0 + "panbayes axis 1") % 2)), 0) AS BIGINT)
FROM "panbayes axes"
-- postgresql
