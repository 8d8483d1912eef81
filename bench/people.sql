-- Invented people shaped like a census extract: eight quasi-identifiers with skewed, correlated values, a sensitive
-- occupation and a numeric income. Deterministic: every value comes from a hash of the row number.
-- Parameter $rows. Columns: age, education, marital_status, country, race, salary_class, sex, workclass, occupation, income.
WITH draws AS (
    SELECT
        i,
        (('0x' || md5((i * 2654435761 % 4294967296)::VARCHAR)[1:7])::BIGINT) / 268435456.0 AS a,
        (('0x' || md5((i * 2654435761 % 4294967296)::VARCHAR)[8:14])::BIGINT) / 268435456.0 AS b,
        (('0x' || md5((i * 2654435761 % 4294967296)::VARCHAR)[15:21])::BIGINT) / 268435456.0 AS c,
        (('0x' || md5((i * 2654435761 % 4294967296)::VARCHAR)[22:28])::BIGINT) / 268435456.0 AS d,
        (('0x' || md5((i * 2246822519 % 4294967296)::VARCHAR)[1:7])::BIGINT) / 268435456.0 AS e,
        (('0x' || md5((i * 2246822519 % 4294967296)::VARCHAR)[8:14])::BIGINT) / 268435456.0 AS f,
        (('0x' || md5((i * 2246822519 % 4294967296)::VARCHAR)[15:21])::BIGINT) / 268435456.0 AS g,
        (('0x' || md5((i * 2246822519 % 4294967296)::VARCHAR)[22:28])::BIGINT) / 268435456.0 AS h
    FROM range($rows) AS r (i)
)
SELECT
    (17 + 73 * a * a)::INTEGER AS age,
    ['HS-grad', 'HS-grad', 'HS-grad', 'HS-grad', 'Some-college', 'Some-college', 'Bachelors', 'Bachelors', 'Masters', '11th',
     'Assoc-voc', '10th', 'Doctorate', '7th-8th', '9th', 'Preschool'][1 + least(15, floor(16 * b * b + a)::INTEGER)] AS education,
    -- The young are rarely widowed.
    ['Never-married', 'Married-civ-spouse', 'Married-civ-spouse', 'Divorced', 'Separated', 'Widowed']
        [1 + least(5, floor(4 * c * c + 2 * a)::INTEGER)] AS marital_status,
    CASE WHEN d < 0.9 THEN 'United States' ELSE
        ['Mexico', 'Germany', 'Canada', 'India', 'Cuba', 'China', 'Italy', 'Japan', 'Peru', 'Poland']
        [1 + least(9, floor(100 * (d - 0.9))::INTEGER)] END AS country,
    ['White', 'White', 'White', 'White', 'White', 'White', 'Black', 'Asian', 'Native', 'Other'][1 + floor(10 * e * e)::INTEGER] AS race,
    CASE WHEN f < 0.1 + 0.3 * b THEN 'above' ELSE 'below' END AS salary_class,
    CASE WHEN g < 0.67 THEN 'Male' ELSE 'Female' END AS sex,
    ['Private', 'Private', 'Private', 'Private', 'Self-employed', 'Local', 'State', 'Federal', 'Unpaid']
        [1 + floor(9 * h * h)::INTEGER] AS workclass,
    ['Craft-repair', 'Prof-specialty', 'Exec-managerial', 'Adm-clerical', 'Sales', 'Other-service', 'Machine-op-inspct',
     'Transport-moving', 'Handlers-cleaners', 'Farming-fishing', 'Tech-support', 'Protective-serv', 'Priv-house-serv',
     'Armed-Forces'][1 + least(13, floor(10 * abs(b - f) + 4 * c * g)::INTEGER)] AS occupation,
    (10 * floor(1000 * (0.2 + b) * (0.3 + f)))::INTEGER AS income
FROM draws
