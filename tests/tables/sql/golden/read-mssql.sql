SELECT CAST((((((((CAST(CASE WHEN [panbayes table].[hour] IS NULL THEN 0 ELSE
  CASE WHEN [panbayes table].[hour] < CAST('0001-01-01T00:00:00+00:00' AS DATETIMEOFFSET) OR [panbayes table].[hour] > CAST('9999-12-31T23:59:59.999999+00:00' AS DATETIMEOFFSET) THEN 0 ELSE
  CASE WHEN CAST(DATEPART(hour, [panbayes table].[hour] AT TIME ZONE 'UTC') AS INTEGER) < 1 THEN 1 WHEN CAST(DATEPART(hour, [panbayes table].[hour] AT TIME ZONE 'UTC') AS INTEGER) < 23 THEN CAST(DATEPART(hour, [panbayes table].[hour] AT TIME ZONE 'UTC') AS INTEGER) - (-1) ELSE 24 END END END AS BIGINT) * 8 +
  CASE WHEN [panbayes table].[visits] IS NULL THEN 0 ELSE COALESCE(CASE [panbayes table].[visits] WHEN 999 THEN 0 END,
  CASE WHEN [panbayes table].[visits] < 0 THEN 1 WHEN [panbayes table].[visits] < 6 THEN [panbayes table].[visits] - (-2) ELSE 1 END) END) * 8 +
  CASE WHEN [panbayes table].[seen] IS NULL THEN 0 ELSE COALESCE(CASE [panbayes table].[seen] WHEN CAST('1900-01-01T00:00:00' AS DATETIME2) THEN 0 END,
  CASE WHEN [panbayes table].[seen] < CAST('0001-01-01T00:00:00' AS DATETIME2) OR [panbayes table].[seen] > CAST('9999-12-31T23:59:59.999999' AS DATETIME2) THEN 0 ELSE
  CASE WHEN DATEDIFF(DAY, CAST('0001-01-01' AS DATE), [panbayes table].[seen]) % 7 < 1 THEN 1 WHEN DATEDIFF(DAY, CAST('0001-01-01' AS DATE), [panbayes table].[seen]) % 7 < 6 THEN DATEDIFF(DAY, CAST('0001-01-01' AS DATE), [panbayes table].[seen]) % 7 - (-1) ELSE 7 END END) END) * 6 +
  CASE WHEN [panbayes table].[age] IS NULL THEN 0 ELSE COALESCE(CASE [panbayes table].[age] WHEN 999 THEN 0 END,
  CASE WHEN [panbayes table].[age] < 0 THEN 1 WHEN [panbayes table].[age] < 40 THEN 2 WHEN [panbayes table].[age] < 66 THEN 3 WHEN [panbayes table].[age] < 121 THEN 4 ELSE 5 END) END) * 5 +
  CASE WHEN [panbayes table].[sex] IS NULL THEN 0 ELSE COALESCE(CASE (CAST([panbayes table].[sex] AS NVARCHAR(MAX)) + N'.') COLLATE Latin1_General_100_BIN2 WHEN N' o''x.' THEN 1 WHEN N'1900-01-01.' THEN 0 WHEN N'999.' THEN 0 WHEN N'?.' THEN 0 WHEN N'F.' THEN 2 WHEN N'M.' THEN 3 WHEN N'o''x.' THEN 1 END, CASE (TRIM(N'(all blanks)'
FROM CAST([panbayes table].[sex] AS NVARCHAR(MAX))) + N'.') COLLATE Latin1_General_100_BIN2 WHEN N'1900-01-01.' THEN 0 WHEN N'999.' THEN 0 WHEN N'?.' THEN 0 WHEN N'F.' THEN 2 WHEN N'M.' THEN 3 WHEN N'o''x.' THEN 1 END, 4) END) * 5 +
  CASE WHEN [panbayes table].[price] IS NULL THEN 0 ELSE COALESCE(CASE [panbayes table].[price] WHEN CAST('999.00' AS NUMERIC(38, 2)) THEN 0 END,
  CASE WHEN [panbayes table].[price] < CAST('0.00' AS NUMERIC(38, 2)) THEN 1 WHEN [panbayes table].[price] < CAST('9.99' AS NUMERIC(38, 2)) THEN 2 WHEN [panbayes table].[price] < CAST('100.01' AS NUMERIC(38, 2)) THEN 3 ELSE 4 END) END) * 5 +
  CASE WHEN [panbayes table].[born] IS NULL THEN 0 ELSE COALESCE(CASE [panbayes table].[born] WHEN CAST('1900-01-01' AS DATE) THEN 0 END,
  CASE WHEN [panbayes table].[born] < CAST('0001-01-01' AS DATE) OR [panbayes table].[born] > CAST('9999-12-31' AS DATE) THEN 0 ELSE
  CASE WHEN [panbayes table].[born] < CAST('1905-01-02' AS DATE) THEN 1 WHEN [panbayes table].[born] < CAST('2008-01-02' AS DATE) THEN 2 WHEN [panbayes table].[born] < CAST('2026-01-02' AS DATE) THEN 3 ELSE 4 END END) END) * 4 +
  CASE WHEN [panbayes table].[weight] IS NULL THEN 0 ELSE COALESCE(CASE CAST([panbayes table].[weight] AS FLOAT) WHEN CAST('999.0' AS FLOAT) THEN 0 END,
  CASE WHEN CAST([panbayes table].[weight] AS FLOAT) < CAST('0.1' AS FLOAT) THEN 1 WHEN CAST([panbayes table].[weight] AS FLOAT) < CAST('0.10000000000000002' AS FLOAT) THEN 2 WHEN CAST([panbayes table].[weight] AS FLOAT) < CAST('70.0' AS FLOAT) THEN 1 WHEN CAST([panbayes table].[weight] AS FLOAT) < CAST('70.00000000000001' AS FLOAT) THEN 3 ELSE 1 END) END) * 3 +
  CASE WHEN [panbayes table].[smokes] IS NULL THEN 0 ELSE COALESCE(CASE [panbayes table].[smokes] WHEN 0 THEN 1 WHEN 1 THEN 2 END, 0) END AS INTEGER) AS [panbayes 0], [panbayes table].[icd] COLLATE Latin1_General_100_BIN2 AS [panbayes 1], [panbayes table].[patient] COLLATE Latin1_General_100_BIN2 AS [panbayes 2]
FROM [clinic].[people] AS [panbayes table] ORDER BY [panbayes table].[visit], 1, 2, 3
-- mssql
