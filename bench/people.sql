-- Invented people shaped like a census extract: eight quasi-identifiers with skewed, correlated values, a sensitive
-- occupation and a numeric income; and twelve more quasi-identifiers for wide tables, correlated with the first.
-- Deterministic: every value comes from a hash of the row number. What a query does not select costs nothing.
-- Parameter $rows. Columns: age, education, marital_status, country, race, salary_class, sex, workclass, occupation, income;
-- zip, born, height, weight, children, hours, language, blood_group, dwelling, vehicle, eyes, insurance.
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
        (('0x' || md5((i * 2246822519 % 4294967296)::VARCHAR)[22:28])::BIGINT) / 268435456.0 AS h,
        (('0x' || md5((i * 3266489917 % 4294967296)::VARCHAR)[1:7])::BIGINT) / 268435456.0 AS o,
        (('0x' || md5((i * 3266489917 % 4294967296)::VARCHAR)[8:14])::BIGINT) / 268435456.0 AS p,
        (('0x' || md5((i * 3266489917 % 4294967296)::VARCHAR)[15:21])::BIGINT) / 268435456.0 AS q,
        (('0x' || md5((i * 3266489917 % 4294967296)::VARCHAR)[22:28])::BIGINT) / 268435456.0 AS r,
        (('0x' || md5((i * 668265263 % 4294967296)::VARCHAR)[1:7])::BIGINT) / 268435456.0 AS s,
        (('0x' || md5((i * 668265263 % 4294967296)::VARCHAR)[8:14])::BIGINT) / 268435456.0 AS t,
        (('0x' || md5((i * 668265263 % 4294967296)::VARCHAR)[15:21])::BIGINT) / 268435456.0 AS u,
        (('0x' || md5((i * 668265263 % 4294967296)::VARCHAR)[22:28])::BIGINT) / 268435456.0 AS v,
        (('0x' || md5((i * 374761393 % 4294967296)::VARCHAR)[1:7])::BIGINT) / 268435456.0 AS w,
        (('0x' || md5((i * 374761393 % 4294967296)::VARCHAR)[8:14])::BIGINT) / 268435456.0 AS x,
        (('0x' || md5((i * 374761393 % 4294967296)::VARCHAR)[15:21])::BIGINT) / 268435456.0 AS y,
        (('0x' || md5((i * 374761393 % 4294967296)::VARCHAR)[22:28])::BIGINT) / 268435456.0 AS z
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
    (10 * floor(1000 * (0.2 + b) * (0.3 + f)))::INTEGER AS income,
    -- Most live in few cities; immigrants mostly in the first ones.
    lpad((100 * floor(90 * o * o * (1.6 - d)) + floor(20 * p * p))::INTEGER::VARCHAR, 5, '0') AS zip,
    DATE '2024-12-31' - (365.25 * (17 + 73 * a * a) + 180 * q)::INTEGER AS born,
    (CASE WHEN g < 0.67 THEN 166 ELSE 154 END + 12 * (r + s))::INTEGER AS height,
    (CASE WHEN g < 0.67 THEN 55 ELSE 45 END + 15 * (r + s) + 40 * t * t + 10 * a)::INTEGER AS weight,
    floor(least(a, 0.6) * 8 * u * u)::INTEGER AS children,
    -- Who earns more works more.
    (20 + 20 * v + CASE WHEN f < 0.1 + 0.3 * b THEN 20 * w ELSE 5 * w END)::INTEGER AS hours,
    CASE WHEN d < 0.9 THEN ['English', 'English', 'English', 'English', 'English', 'Spanish', 'French']
        [1 + floor(7 * x * x)::INTEGER] ELSE ['Spanish', 'German', 'English', 'Hindi', 'Spanish', 'Chinese', 'Italian',
        'Japanese', 'Spanish', 'Polish'][1 + least(9, floor(100 * (d - 0.9))::INTEGER)] END AS language,
    ['O+', 'O+', 'O+', 'A+', 'A+', 'A+', 'B+', 'O-', 'A-', 'AB+', 'B-', 'AB-'][1 + floor(12 * y * y)::INTEGER] AS blood_group,
    ['With family', 'Rented', 'Rented', 'Owned', 'Owned'][1 + least(4, floor(3 * a + 2 * z)::INTEGER)] AS dwelling,
    ['None', 'Car', 'Car', 'Two cars'][1 + least(3, floor(2 * o + b + z)::INTEGER)] AS vehicle,
    ['Brown', 'Brown', 'Brown', 'Blue', 'Hazel', 'Green', 'Grey'][1 + floor(7 * p * (0.3 + 0.7 * e))::INTEGER] AS eyes,
    ['Employer', 'Employer', 'Private', 'Public', 'None'][1 + least(4, floor(3 * q * q + 2 * h)::INTEGER)] AS insurance
FROM draws
