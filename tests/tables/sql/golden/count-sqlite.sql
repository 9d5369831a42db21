WITH "panbayes cells" AS MATERIALIZED (SELECT
  CASE WHEN "panbayes table"."sex" IS NULL THEN 0 ELSE COALESCE(CASE CAST("panbayes table"."sex" AS TEXT) COLLATE "BINARY" WHEN ' o''x' THEN 1 WHEN '1900-01-01' THEN 0 WHEN '999' THEN 0 WHEN '?' THEN 0 WHEN 'F' THEN 2 WHEN 'M' THEN 3 WHEN 'o''x' THEN 1 END, CASE TRIM(CAST("panbayes table"."sex" AS TEXT) COLLATE "BINARY", '(all blanks)') WHEN '1900-01-01' THEN 0 WHEN '999' THEN 0 WHEN '?' THEN 0 WHEN 'F' THEN 2 WHEN 'M' THEN 3 WHEN 'o''x' THEN 1 END, 4) END AS "panbayes cell 0", TRIM(CAST("panbayes table"."patient" AS TEXT) COLLATE "BINARY", '(all blanks)') AS "panbayes person", "panbayes table"."visit" AS "panbayes order 0"
FROM "people" AS "panbayes table" WHERE NOT TRIM(CAST("panbayes table"."patient" AS TEXT) COLLATE "BINARY", '(all blanks)') IS NULL AND NOT TRIM(CAST("panbayes table"."patient" AS TEXT) COLLATE "BINARY", '(all blanks)') IN ('', '?', '999', '1900-01-01')), "panbayes ranked" AS MATERIALIZED (SELECT *
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY "panbayes person" ORDER BY "panbayes order 0", CAST(CAST("panbayes cell 0" AS INTEGER) AS INTEGER)) AS "panbayes rank"
FROM "panbayes cells") AS "panbayes ranked" WHERE "panbayes rank" <= 2) SELECT CAST(COUNT(*) AS INTEGER), CAST(COUNT(DISTINCT "panbayes person") AS INTEGER)
FROM "panbayes ranked"
-- sqlite

WITH "panbayes cells" AS MATERIALIZED (SELECT
  CASE WHEN "panbayes table"."sex" IS NULL THEN 0 ELSE COALESCE(CASE CAST("panbayes table"."sex" AS TEXT) COLLATE "BINARY" WHEN ' o''x' THEN 1 WHEN '1900-01-01' THEN 0 WHEN '999' THEN 0 WHEN '?' THEN 0 WHEN 'F' THEN 2 WHEN 'M' THEN 3 WHEN 'o''x' THEN 1 END, CASE TRIM(CAST("panbayes table"."sex" AS TEXT) COLLATE "BINARY", '(all blanks)') WHEN '1900-01-01' THEN 0 WHEN '999' THEN 0 WHEN '?' THEN 0 WHEN 'F' THEN 2 WHEN 'M' THEN 3 WHEN 'o''x' THEN 1 END, 4) END AS "panbayes cell 0", TRIM(CAST("panbayes table"."patient" AS TEXT) COLLATE "BINARY", '(all blanks)') AS "panbayes person", "panbayes table"."visit" AS "panbayes order 0"
FROM "people" AS "panbayes table" WHERE NOT TRIM(CAST("panbayes table"."patient" AS TEXT) COLLATE "BINARY", '(all blanks)') IS NULL AND NOT TRIM(CAST("panbayes table"."patient" AS TEXT) COLLATE "BINARY", '(all blanks)') IN ('', '?', '999', '1900-01-01')), "panbayes ranked" AS MATERIALIZED (SELECT *
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY "panbayes person" ORDER BY "panbayes order 0", CAST(CAST("panbayes cell 0" AS INTEGER) AS INTEGER)) AS "panbayes rank"
FROM "panbayes cells") AS "panbayes ranked" WHERE "panbayes rank" <= 2), "panbayes axes" AS MATERIALIZED (SELECT
  CASE WHEN "panbayes cell 0" < 1 THEN 4 WHEN "panbayes cell 0" < 2 THEN 2 WHEN "panbayes cell 0" < 4 THEN "panbayes cell 0" - (2) ELSE 3 END AS "panbayes axis 0",
  CASE WHEN "panbayes cell 0" < 3 THEN 0 ELSE 1 END AS "panbayes axis 1"
FROM "panbayes ranked") SELECT 0, (0) * 5 + "panbayes axis 0", COUNT(*)
FROM "panbayes axes" GROUP BY (0) * 5 + "panbayes axis 0" UNION ALL SELECT 1, ((0) * 5 + "panbayes axis 0") * 2 + "panbayes axis 1", COUNT(*)
FROM "panbayes axes" GROUP BY ((0) * 5 + "panbayes axis 0") * 2 + "panbayes axis 1"
-- sqlite

WITH "panbayes cells" AS MATERIALIZED (SELECT
  CASE WHEN "panbayes table"."sex" IS NULL THEN 0 ELSE COALESCE(CASE CAST("panbayes table"."sex" AS TEXT) COLLATE "BINARY" WHEN ' o''x' THEN 1 WHEN '1900-01-01' THEN 0 WHEN '999' THEN 0 WHEN '?' THEN 0 WHEN 'F' THEN 2 WHEN 'M' THEN 3 WHEN 'o''x' THEN 1 END, CASE TRIM(CAST("panbayes table"."sex" AS TEXT) COLLATE "BINARY", '(all blanks)') WHEN '1900-01-01' THEN 0 WHEN '999' THEN 0 WHEN '?' THEN 0 WHEN 'F' THEN 2 WHEN 'M' THEN 3 WHEN 'o''x' THEN 1 END, 4) END AS "panbayes cell 0", TRIM(CAST("panbayes table"."patient" AS TEXT) COLLATE "BINARY", '(all blanks)') AS "panbayes person", "panbayes table"."visit" AS "panbayes order 0"
FROM "people" AS "panbayes table" WHERE NOT TRIM(CAST("panbayes table"."patient" AS TEXT) COLLATE "BINARY", '(all blanks)') IS NULL AND NOT TRIM(CAST("panbayes table"."patient" AS TEXT) COLLATE "BINARY", '(all blanks)') IN ('', '?', '999', '1900-01-01')), "panbayes ranked" AS MATERIALIZED (SELECT *
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY "panbayes person" ORDER BY "panbayes order 0", CAST(CAST("panbayes cell 0" AS INTEGER) AS INTEGER)) AS "panbayes rank"
FROM "panbayes cells") AS "panbayes ranked" WHERE "panbayes rank" <= 2), "panbayes axes" AS MATERIALIZED (SELECT
  CASE WHEN "panbayes cell 0" < 1 THEN 4 WHEN "panbayes cell 0" < 2 THEN 2 WHEN "panbayes cell 0" < 4 THEN "panbayes cell 0" - (2) ELSE 3 END AS "panbayes axis 0",
  CASE WHEN "panbayes cell 0" < 3 THEN 0 ELSE 1 END AS "panbayes axis 1"
FROM "panbayes ranked") SELECT CAST(COALESCE(SUM(1 - 2 * ((0 + "panbayes axis 1") % 2)), 0) AS INTEGER)
FROM "panbayes axes"
-- sqlite
