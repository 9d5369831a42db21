SELECT CAST((((((((CAST(CASE WHEN `panbayes table`.`hour` IS NULL THEN 0 ELSE
  CASE WHEN `panbayes table`.`hour` < CAST('0001-01-01T00:00:00+00:00' AS TIMESTAMP) OR `panbayes table`.`hour` > CAST('9999-12-31T23:59:59.999999+00:00' AS TIMESTAMP) THEN 0 ELSE
  CASE WHEN CAST(EXTRACT(hour
FROM `panbayes table`.`hour`) AS INT) < 1 THEN 1 WHEN CAST(EXTRACT(hour
FROM `panbayes table`.`hour`) AS INT) < 23 THEN CAST(EXTRACT(hour
FROM `panbayes table`.`hour`) AS INT) - (-1) ELSE 24 END END END AS BIGINT) * 8 +
  CASE WHEN `panbayes table`.`visits` IS NULL THEN 0 ELSE COALESCE(CASE `panbayes table`.`visits` WHEN 999 THEN 0 END,
  CASE WHEN `panbayes table`.`visits` < 0 THEN 1 WHEN `panbayes table`.`visits` < 6 THEN `panbayes table`.`visits` - (-2) ELSE 1 END) END) * 8 +
  CASE WHEN `panbayes table`.`seen` IS NULL THEN 0 ELSE COALESCE(CASE `panbayes table`.`seen` WHEN CAST('1900-01-01T00:00:00' AS TIMESTAMP) THEN 0 END,
  CASE WHEN `panbayes table`.`seen` < CAST('0001-01-01T00:00:00' AS TIMESTAMP) OR `panbayes table`.`seen` > CAST('9999-12-31T23:59:59.999999' AS TIMESTAMP) THEN 0 ELSE
  CASE WHEN EXTRACT(dayofweek_iso
FROM `panbayes table`.`seen`) - 1 < 1 THEN 1 WHEN EXTRACT(dayofweek_iso
FROM `panbayes table`.`seen`) - 1 < 6 THEN EXTRACT(dayofweek_iso
FROM `panbayes table`.`seen`) - 1 - (-1) ELSE 7 END END) END) * 6 +
  CASE WHEN `panbayes table`.`age` IS NULL THEN 0 ELSE COALESCE(CASE `panbayes table`.`age` WHEN 999 THEN 0 END,
  CASE WHEN `panbayes table`.`age` < 0 THEN 1 WHEN `panbayes table`.`age` < 40 THEN 2 WHEN `panbayes table`.`age` < 66 THEN 3 WHEN `panbayes table`.`age` < 121 THEN 4 ELSE 5 END) END) * 5 +
  CASE WHEN `panbayes table`.`sex` IS NULL THEN 0 ELSE COALESCE(CASE `panbayes table`.`sex` WHEN ' o\'x' THEN 1 WHEN '1900-01-01' THEN 0 WHEN '999' THEN 0 WHEN '?' THEN 0 WHEN 'F' THEN 2 WHEN 'M' THEN 3 WHEN 'o\'x' THEN 1 END, CASE TRIM('\t\n\013\014\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000'
FROM `panbayes table`.`sex`) WHEN '1900-01-01' THEN 0 WHEN '999' THEN 0 WHEN '?' THEN 0 WHEN 'F' THEN 2 WHEN 'M' THEN 3 WHEN 'o\'x' THEN 1 END, 4) END) * 5 +
  CASE WHEN `panbayes table`.`price` IS NULL THEN 0 ELSE COALESCE(CASE `panbayes table`.`price` WHEN CAST('999.00' AS DECIMAL(38, 2)) THEN 0 END,
  CASE WHEN `panbayes table`.`price` < CAST('0.00' AS DECIMAL(38, 2)) THEN 1 WHEN `panbayes table`.`price` < CAST('9.99' AS DECIMAL(38, 2)) THEN 2 WHEN `panbayes table`.`price` < CAST('100.01' AS DECIMAL(38, 2)) THEN 3 ELSE 4 END) END) * 5 +
  CASE WHEN `panbayes table`.`born` IS NULL THEN 0 ELSE COALESCE(CASE `panbayes table`.`born` WHEN CAST('1900-01-01' AS DATE) THEN 0 END,
  CASE WHEN `panbayes table`.`born` < CAST('0001-01-01' AS DATE) OR `panbayes table`.`born` > CAST('9999-12-31' AS DATE) THEN 0 ELSE
  CASE WHEN `panbayes table`.`born` < CAST('1905-01-02' AS DATE) THEN 1 WHEN `panbayes table`.`born` < CAST('2008-01-02' AS DATE) THEN 2 WHEN `panbayes table`.`born` < CAST('2026-01-02' AS DATE) THEN 3 ELSE 4 END END) END) * 4 +
  CASE WHEN `panbayes table`.`weight` IS NULL OR CAST(`panbayes table`.`weight` AS DOUBLE) = CAST('NaN' AS DOUBLE) THEN 0 ELSE COALESCE(CASE CAST(`panbayes table`.`weight` AS DOUBLE) WHEN CAST('999.0' AS DOUBLE) THEN 0 END,
  CASE WHEN CAST(`panbayes table`.`weight` AS DOUBLE) < CAST('0.1' AS DOUBLE) THEN 1 WHEN CAST(`panbayes table`.`weight` AS DOUBLE) < CAST('0.10000000000000002' AS DOUBLE) THEN 2 WHEN CAST(`panbayes table`.`weight` AS DOUBLE) < CAST('70.0' AS DOUBLE) THEN 1 WHEN CAST(`panbayes table`.`weight` AS DOUBLE) < CAST('70.00000000000001' AS DOUBLE) THEN 3 ELSE 1 END) END) * 3 +
  CASE WHEN `panbayes table`.`smokes` IS NULL THEN 0 ELSE COALESCE(CASE `panbayes table`.`smokes` WHEN FALSE THEN 1 WHEN TRUE THEN 2 END, 0) END AS INT) AS `panbayes 0`, `panbayes table`.`icd` AS `panbayes 1`, `panbayes table`.`patient` AS `panbayes 2`
FROM `clinic`.`people` AS `panbayes table` ORDER BY `panbayes table`.`visit`, 1, 2, 3
-- databricks
