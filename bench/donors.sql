-- Invented donors whose tuples hardly repeat: a code of five digits, amounts and counts of gifts, skewed and correlated.
-- Deterministic: every value comes from a hash of the row number. Parameter $rows.
-- Columns: zip, age, gender, income, state, smallest, gifts, total; the sensitive occupation is one of some 1,200 codes.
WITH draws AS (
    SELECT
        (('0x' || md5((i * 2654435761 % 4294967296)::VARCHAR)[1:7])::BIGINT) / 268435456.0 AS a,
        (('0x' || md5((i * 2654435761 % 4294967296)::VARCHAR)[8:14])::BIGINT) / 268435456.0 AS b,
        (('0x' || md5((i * 2654435761 % 4294967296)::VARCHAR)[15:21])::BIGINT) / 268435456.0 AS c,
        (('0x' || md5((i * 2654435761 % 4294967296)::VARCHAR)[22:28])::BIGINT) / 268435456.0 AS d,
        (('0x' || md5((i * 2246822519 % 4294967296)::VARCHAR)[1:7])::BIGINT) / 268435456.0 AS e,
        (('0x' || md5((i * 2246822519 % 4294967296)::VARCHAR)[8:14])::BIGINT) / 268435456.0 AS f,
        (('0x' || md5((i * 2246822519 % 4294967296)::VARCHAR)[15:21])::BIGINT) / 268435456.0 AS g,
        (('0x' || md5((i * 2246822519 % 4294967296)::VARCHAR)[22:28])::BIGINT) / 268435456.0 AS h
    FROM range($rows) AS r (i)
),
given AS (
    SELECT
        *,
        -- Most gave a few times, the old more often; who gives often gives little.
        1 + floor(9 * c * c + 60 * a * c ** 6)::INTEGER AS gifts,
        [1, 2, 3, 5, 5, 5, 10, 10, 15, 20, 25, 50, 100][1 + floor(13 * d * d)::INTEGER] AS usual,
        floor(100 * (0.4 * a + 0.6 * b ** 2))::INTEGER AS region
    FROM draws
)
SELECT
    lpad((1000 * region + floor(1000 * e ** 3))::INTEGER::VARCHAR, 5, '0') AS zip,
    (18 + 72 * (0.3 + 0.7 * b) * (0.2 + 0.8 * a))::INTEGER AS age,
    ['F', 'F', 'F', 'M', 'M', 'U'][1 + floor(6 * f * (0.9 + 0.1 * c))::INTEGER] AS gender,
    1 + floor(7 * sqrt(d * g))::INTEGER AS income,
    'S' || (region // 2)::VARCHAR AS state,
    (usual * (1 - 0.6 * h * c))::DECIMAL(6, 1)::DOUBLE AS smallest,
    gifts,
    floor(usual * gifts * (0.8 + 0.9 * h * h * h) * (1 + 3 * e ** 9))::INTEGER
        + CASE WHEN g < 0.4 THEN floor(10 * h) / 10 ELSE 0 END AS total,
    1 + floor(1200 * abs(b - h) * (0.4 + 0.6 * g))::INTEGER AS occupation
FROM given
