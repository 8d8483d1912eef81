-- The demo's warehouse: 12,000 invented patients and a dimension table of cities.
-- Deterministic: every value is drawn from the MD5 of the row number and a word, so it is the same on every machine.
-- Tables: dim_city(city, region, country), patients(name, ssn, age, zip, admitted, city, education, ward, diagnosis).

CREATE TABLE dim_city AS
SELECT * FROM (VALUES
    ('Boston', 'New England', 'USA'), ('Cambridge', 'New England', 'USA'), ('Worcester', 'New England', 'USA'),
    ('Providence', 'New England', 'USA'), ('Hartford', 'New England', 'USA'),
    ('New York', 'Middle Atlantic', 'USA'), ('Newark', 'Middle Atlantic', 'USA'), ('Albany', 'Middle Atlantic', 'USA'),
    ('Philadelphia', 'Middle Atlantic', 'USA'), ('Montréal', 'Québec', 'Canada'), ('Québec', 'Québec', 'Canada'),
    ('Toronto', 'Ontario', 'Canada'), ('Ottawa', 'Ontario', 'Canada')
) AS cities (city, region, country);

CREATE TABLE patients AS
WITH people AS (
    SELECT id FROM range(1, 12001) AS r (id)
),
drawn AS (
    -- Draws from 0 to 1, one per word.
    SELECT
        id,
        ('0x' || substr(md5(id || 'age'), 1, 8))::BIGINT / 4294967296.0 AS age,
        ('0x' || substr(md5(id || 'zip'), 1, 8))::BIGINT / 4294967296.0 AS zip,
        ('0x' || substr(md5(id || 'day'), 1, 8))::BIGINT / 4294967296.0 AS day,
        ('0x' || substr(md5(id || 'city'), 1, 8))::BIGINT / 4294967296.0 AS city,
        ('0x' || substr(md5(id || 'education'), 1, 8))::BIGINT / 4294967296.0 AS education,
        ('0x' || substr(md5(id || 'ward'), 1, 8))::BIGINT / 4294967296.0 AS ward,
        ('0x' || substr(md5(id || 'diagnosis'), 1, 8))::BIGINT / 4294967296.0 AS diagnosis,
        ('0x' || substr(md5(id || 'first'), 1, 8))::BIGINT / 4294967296.0 AS first_name,
        ('0x' || substr(md5(id || 'ssn'), 1, 8))::BIGINT AS ssn
    FROM people
)
SELECT
    -- Nobody has the name of another: three syllables, each out of 25, are enough for 15,625 people.
    ['Ada', 'Ben', 'Chen', 'Dora', 'Emil', 'Fatima', 'Grace', 'Hugo', 'Ines', 'Jonas'][1 + floor(first_name * 10)::INTEGER]
        || ' '
        || substr('BCDGK', 1 + id // 5 % 5, 1) || substr('aeiou', 1 + id % 5, 1)
        || substr('lmnrs', 1 + id // 125 % 5, 1) || substr('aeiou', 1 + id // 25 % 5, 1)
        || substr('lmnrs', 1 + id // 3125 % 5, 1) || substr('aeiou', 1 + id // 625 % 5, 1)
        AS name,
    lpad((ssn % 1000000000)::VARCHAR, 9, '0') AS ssn,
    (18 + floor(74 * pow(age, 1.3)))::INTEGER AS age,
    '02' || (100 + floor(80 * zip))::INTEGER AS zip,
    DATE '2024-01-01' + floor(730 * day)::INTEGER AS admitted,
    ['Boston', 'Boston', 'Boston', 'Cambridge', 'Worcester', 'Providence', 'Hartford', 'New York', 'New York', 'Newark',
     'Albany', 'Philadelphia', 'Montréal', 'Québec', 'Toronto', 'Ottawa'][1 + floor(city * 16)::INTEGER] AS city,
    ['HS-grad', 'HS-grad', 'HS-grad', 'Some-college', 'Some-college', 'Bachelors', 'Bachelors', 'Masters', 'Doctorate', '11th']
        [1 + floor(education * 10)::INTEGER] AS education,
    ['north', 'south', 'east'][1 + floor(ward * 3)::INTEGER] AS ward,
    CASE
        WHEN diagnosis < 0.010 THEN 'HIV'
        WHEN diagnosis < 0.025 THEN 'hepatitis'
        WHEN diagnosis < 0.060 + 0.0006 * age * 74 THEN 'cancer'
        WHEN diagnosis < 0.250 THEN 'diabetes'
        WHEN diagnosis < 0.450 THEN 'hypertension'
        WHEN diagnosis < 0.600 THEN 'asthma'
        WHEN diagnosis < 0.800 THEN 'flu'
        WHEN diagnosis < 0.980 THEN 'fracture'
    END AS diagnosis
FROM drawn;
