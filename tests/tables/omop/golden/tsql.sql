WITH persons AS (
  SELECT
    r.person_id AS person_id,
    MIN(r.gender_concept_id) AS gender_concept_id,
    MIN(r.year_of_birth) AS year_of_birth
  FROM cdm.person AS r
  WHERE
    r.person_id IS NOT NULL
  GROUP BY
    r.person_id
), entries AS (
  SELECT
    r.person_id AS person_id,
    MIN(r.condition_start_date) AS index_date
  FROM cdm.condition_occurrence AS r
  WHERE
    r.condition_concept_id IN (201254, 201826)
    AND r.condition_start_date BETWEEN CAST('1900-01-01' AS DATE) AND CAST('2099-12-31' AS DATE)
  GROUP BY
    r.person_id
  HAVING
    MIN(r.condition_start_date) BETWEEN CAST('2015-01-01' AS DATE) AND CAST('2024-12-31' AS DATE)
), members AS (
  SELECT
    p.person_id AS person_id,
    p.gender_concept_id AS gender_concept_id,
    DATEPART(YEAR, e.index_date) - CASE WHEN p.year_of_birth BETWEEN 1800 AND 2200 THEN p.year_of_birth END AS age,
    CAST(DATEADD(DAY, -365, e.index_date) AS DATE) AS day_0,
    e.index_date AS day_1
  FROM persons AS p
  JOIN entries AS e
    ON e.person_id = p.person_id
  WHERE
    EXISTS(
      SELECT
        1
      FROM cdm.observation_period AS o
      WHERE
        (
          o.person_id = p.person_id
          AND o.observation_period_start_date <= CAST(DATEADD(DAY, -365, e.index_date) AS DATE)
        )
        AND o.observation_period_end_date >= e.index_date
    )
    AND DATEPART(YEAR, e.index_date) - CASE WHEN p.year_of_birth BETWEEN 1800 AND 2200 THEN p.year_of_birth END BETWEEN 18 AND 120
), hits_drug_exposure AS (
  SELECT
    m.person_id AS person_id,
    CASE
      WHEN r.drug_concept_id IN (1596977)
      AND r.drug_exposure_start_date BETWEEN m.day_0 AND m.day_1
      THEN 1
    END AS hit_2
  FROM members AS m
  JOIN cdm.drug_exposure AS r
    ON r.person_id = m.person_id
  WHERE
    r.drug_exposure_start_date BETWEEN m.day_0 AND m.day_1
    AND r.drug_concept_id IN (1596977)
), of_drug_exposure AS (
  SELECT
    r.person_id AS person_id,
    COUNT(r.hit_2) AS value_2
  FROM hits_drug_exposure AS r
  GROUP BY
    r.person_id
), hits_measurement AS (
  SELECT
    m.person_id AS person_id,
    CASE
      WHEN r.measurement_concept_id IN (3004410)
      AND r.measurement_date BETWEEN m.day_0 AND m.day_1
      AND COALESCE(r.unit_concept_id, 0) IN (8554)
      AND r.value_as_number BETWEEN -1e300 AND 1e300
      THEN r.measurement_date
    END AS day_of_3,
    CASE
      WHEN r.measurement_concept_id IN (3004410)
      AND r.measurement_date BETWEEN m.day_0 AND m.day_1
      AND COALESCE(r.unit_concept_id, 0) IN (8554)
      AND r.value_as_number BETWEEN -1e300 AND 1e300
      THEN r.value_as_number
    END AS value_of_3
  FROM members AS m
  JOIN cdm.measurement AS r
    ON r.person_id = m.person_id
  WHERE
    r.measurement_date BETWEEN m.day_0 AND m.day_1
    AND r.measurement_concept_id IN (3004410)
), dated_measurement AS (
  SELECT
    r.person_id AS person_id,
    r.day_of_3 AS day_of_3,
    r.value_of_3 AS value_of_3,
    MAX(r.day_of_3) OVER (PARTITION BY r.person_id) AS last_of_3
  FROM hits_measurement AS r
), of_measurement AS (
  SELECT
    r.person_id AS person_id,
    MAX(CASE WHEN r.day_of_3 = r.last_of_3 THEN r.value_of_3 END) AS value_3
  FROM dated_measurement AS r
  GROUP BY
    r.person_id
)
SELECT
  m.person_id AS [person_id],
  CASE
    WHEN m.gender_concept_id IN (8532)
    THEN 'female'
    WHEN m.gender_concept_id IN (8507)
    THEN 'male'
    WHEN m.gender_concept_id IS NOT NULL
    THEN 'other'
  END AS [sex],
  CASE
    WHEN m.age < 18
    THEN 17
    WHEN m.age < 45
    THEN 18
    WHEN m.age < 65
    THEN 45
    WHEN m.age <= 120
    THEN 65
    WHEN m.age > 120
    THEN 121
  END AS [age],
  CASE WHEN of_drug_exposure.value_2 > 0 THEN 'yes' ELSE 'no' END AS [insulin],
  CASE
    WHEN of_measurement.value_3 < 3e0
    THEN CAST(2e0 AS FLOAT)
    WHEN of_measurement.value_3 < 57e-1
    THEN CAST(3e0 AS FLOAT)
    WHEN of_measurement.value_3 < 65e-1
    THEN CAST(57e-1 AS FLOAT)
    WHEN of_measurement.value_3 < 8e0
    THEN CAST(65e-1 AS FLOAT)
    WHEN of_measurement.value_3 <= 20e0
    THEN CAST(8e0 AS FLOAT)
    WHEN of_measurement.value_3 > 20e0
    THEN CAST(21e0 AS FLOAT)
  END AS [a1c]
FROM members AS m
LEFT JOIN of_drug_exposure
  ON of_drug_exposure.person_id = m.person_id
LEFT JOIN of_measurement
  ON of_measurement.person_id = m.person_id
