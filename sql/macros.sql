-- duckanon: privacy metrics of any table, as DuckDB table macros.
--
--   Load     .read sql/macros.sql          (DuckDB command line; no extension and no Python needed)
--   Use      FROM duckanon.k_anonymity('patients', ['age', 'zip']);
--            FROM duckanon.leakage('clinic.patients', ['age', 'zip'], 'disease');
--   Help     SELECT function_name, parameters, comment FROM duckdb_functions() WHERE schema_name = 'duckanon';
--
-- Words. A class is the set of rows that share the values of all quasi-identifiers. In class i, x_i counts the
-- rows and y_i the rows with sensitive value s; y is the sum of the y_i, n the number of rows of the table.
--
-- Parameters
--   tbl        a table or view, as a string, spelled as in SQL: 'patients', 'clinic.patients', '"odd name"'
--   qi         the quasi-identifiers: a list with one or more column names, in any letter case, unquoted
--   sensitive  one column name; it cannot also be a quasi-identifier
--   entity     of the macros that count people: one column name, whose values name the people
--   A table or column that is not there, an empty qi, a sensitive column among the qi, and a NULL threshold are
--   errors. Naming a quasi-identifier twice changes nothing. A table is read once or twice for one figure, so a view
--   that gives other rows each time it is read (random(), a sample) has to be made a table first.
--   In a database whose own name is duckanon, DuckDB calls duckanon.classes ambiguous: attach it under another name.
--
-- NULL
--   A NULL quasi-identifier is a value like any other: rows with NULL form classes of their own.
--   A NULL sensitive value counts in x_i and n, is never a distinct value, and needs no protection: no row is
--   reported for it. Entropy and t are taken over the non-NULL values.
--
-- Output
--   Counts are BIGINT, shares and measures DOUBLE. A measure of one row returns one row for an empty table too,
--   with counts of 0 and NULL where there is nothing to measure. Where the quasi-identifiers are returned, they
--   come in the order of the table. Should one of them have the name of an output column, both are returned, and
--   the later one in the row gets the suffix _1, as everywhere in DuckDB (class_size, class_size_1).
--   No figure depends on the order of the rows or on the number of threads: what is summed is an integer or a
--   decimal. Figures are compared with thresholds with a tolerance of 1e-9.
--
-- How the macros are written
--   * Each is self-contained, so that a copy works from any attached catalog.
--   * The parameters are checked inside query_table(CASE ... error(...) ... ELSE tbl END), while the query is
--     bound: an empty table cannot hide a mistake, and the check costs nothing.
--   * COLUMNS(list) raises on a missing column. COLUMNS('text') would be a regular expression: it only ever meets
--     the names made here. Quasi-identifiers become q_<name> and the sensitive column s, so that no name of the
--     user's can be mistaken for one of ours.
--   * census: rows per class and value. From it, a measure of classes takes one more GROUP BY. A measure of values
--     needs x_i next to each y_i: every class carries its (value, y) pairs in lists and unnests them, which is
--     cheaper than joining the census with its own totals. Values are numbered so that lists and keys stay small.

CREATE SCHEMA IF NOT EXISTS duckanon;

-- ---------------------------------------------------------------------------------------------------------------
-- classes(tbl, qi): every class with its size.
--   Output  the qi columns; class_size: x_i. In no particular order.
--   NULL    a quasi-identifier value of its own.
CREATE OR REPLACE MACRO duckanon.classes(tbl, qi) AS TABLE
SELECT COLUMNS(qi), count(*) AS class_size
FROM query_table(CASE
    WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
        THEN error('duckanon.classes: qi must be a list of one or more column names')
    ELSE tbl END)
GROUP BY ALL;

COMMENT ON MACRO TABLE duckanon.classes IS
    'Every class (rows that share all quasi-identifiers) with its size: the qi columns, class_size.';

-- ---------------------------------------------------------------------------------------------------------------
-- k_anonymity(tbl, qi): the k for which the table is k-anonymous.
--   Output  k: the least x_i (NULL for an empty table); classes; row_count: n; unique_rows: rows alone in their
--           class; average_class_size: n / classes.
--   NULL    a quasi-identifier value of its own.
CREATE OR REPLACE MACRO duckanon.k_anonymity(tbl, qi) AS TABLE
SELECT
    min(x) AS k,
    count(*) AS classes,
    coalesce(sum(x), 0)::BIGINT AS row_count,
    count(*) FILTER (x = 1) AS unique_rows,
    avg(x) AS average_class_size
FROM (
    SELECT COLUMNS(qi) AS "q_\0", count(*) AS x
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.k_anonymity: qi must be a list of one or more column names')
        ELSE tbl END)
    GROUP BY ALL
);

COMMENT ON MACRO TABLE duckanon.k_anonymity IS
    'The k of k-anonymity: k (least class size), classes, row_count, unique_rows, average_class_size.';

-- ---------------------------------------------------------------------------------------------------------------
-- class_sizes(tbl, qi): histogram of the class sizes.
--   Output  class_size; classes: classes of that size; row_count: the rows in them. By class_size.
--   NULL    a quasi-identifier value of its own.
CREATE OR REPLACE MACRO duckanon.class_sizes(tbl, qi) AS TABLE
SELECT x AS class_size, count(*) AS classes, x * count(*) AS row_count
FROM (
    SELECT COLUMNS(qi) AS "q_\0", count(*) AS x
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.class_sizes: qi must be a list of one or more column names')
        ELSE tbl END)
    GROUP BY ALL
)
GROUP BY x
ORDER BY x;

COMMENT ON MACRO TABLE duckanon.class_sizes IS
    'Histogram of the class sizes: class_size, classes, row_count.';

-- ---------------------------------------------------------------------------------------------------------------
-- risk(tbl, qi, k := 5): risk of re-identification by someone who knows the quasi-identifiers of a person in the table.
--   Output  highest_risk: 1 / least x_i; average_risk: classes / n; rows_at_risk: rows in classes smaller than k,
--           whose risk is above 1/k; unique_rows: rows alone in their class.
--   NULL    a quasi-identifier value of its own.
CREATE OR REPLACE MACRO duckanon.risk(tbl, qi, k := 5) AS TABLE
SELECT
    1 / min(x) AS highest_risk,
    count(*) / sum(x) AS average_risk,
    coalesce(sum(x) FILTER (x < coalesce(k, error('duckanon.risk: k is NULL'))), 0)::BIGINT AS rows_at_risk,
    count(*) FILTER (x = 1) AS unique_rows
FROM (
    SELECT COLUMNS(qi) AS "q_\0", count(*) AS x
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.risk: qi must be a list of one or more column names')
        ELSE tbl END)
    GROUP BY ALL
);

COMMENT ON MACRO TABLE duckanon.risk IS
    'Re-identification risk: highest_risk, average_risk, rows_at_risk (in classes smaller than k), unique_rows.';

-- ---------------------------------------------------------------------------------------------------------------
-- k_map(tbl, qi, population): among how many people of a population every row of the table is hidden. Both tables show
-- the quasi-identifiers at the same levels, under the same names.
--   Output  k_map: the least rows of the population with the quasi-identifiers of a class; classes and row_count: of
--           the table; population_rows; covered_rows: of these, in a class of the table.
--   NULL    a quasi-identifier value of its own.
CREATE OR REPLACE MACRO duckanon.k_map(tbl, qi, population) AS TABLE
SELECT
    min(m) FILTER (x > 0) AS k_map,
    count(*) FILTER (x > 0) AS classes,
    coalesce(sum(x), 0)::BIGINT AS row_count,
    coalesce(sum(m), 0)::BIGINT AS population_rows,
    coalesce(sum(m) FILTER (x > 0), 0)::BIGINT AS covered_rows
FROM (
    SELECT COLUMNS('^q_'), sum(x)::BIGINT AS x, sum(m)::BIGINT AS m
    FROM (
        SELECT COLUMNS(qi) AS "q_\0", 1 AS x, 0 AS m
        FROM query_table(CASE
            WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
                THEN error('duckanon.k_map: qi must be a list of one or more column names')
            ELSE tbl END)
        UNION ALL BY NAME
        SELECT COLUMNS(qi) AS "q_\0", 0 AS x, 1 AS m
        FROM query_table(population)
    )
    GROUP BY ALL
);

COMMENT ON MACRO TABLE duckanon.k_map IS
    'The k of k-map: k_map (least rows of the population in a class), classes, row_count, population_rows, covered_rows.';

-- ---------------------------------------------------------------------------------------------------------------
-- presence(tbl, qi, population): how surely it is known of somebody in the population whether the table has them.
--   Output  least_presence, most_presence: rows of the table for every row of the population with the same
--           quasi-identifiers; 0 where the table has none, and of a class that the population lacks its rows.
--   NULL    a quasi-identifier value of its own.
CREATE OR REPLACE MACRO duckanon.presence(tbl, qi, population) AS TABLE
SELECT min(x / greatest(m, 1)) AS least_presence, max(x / greatest(m, 1)) AS most_presence
FROM (
    SELECT COLUMNS('^q_'), sum(x)::BIGINT AS x, sum(m)::BIGINT AS m
    FROM (
        SELECT COLUMNS(qi) AS "q_\0", 1 AS x, 0 AS m
        FROM query_table(CASE
            WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
                THEN error('duckanon.presence: qi must be a list of one or more column names')
            ELSE tbl END)
        UNION ALL BY NAME
        SELECT COLUMNS(qi) AS "q_\0", 0 AS x, 1 AS m
        FROM query_table(population)
    )
    GROUP BY ALL
);

COMMENT ON MACRO TABLE duckanon.presence IS
    'The bounds of presence in a population: least_presence, most_presence.';

-- ---------------------------------------------------------------------------------------------------------------
-- journalist_risk(tbl, qi, population, k := 5): risk of re-identification by someone who knows the quasi-identifiers of
-- everybody in the population, and not who is in the table.
--   Output  highest_risk: 1 / the least m_i; average_risk: that of a random row, what a marketer may hope for;
--           rows_at_risk: rows in classes with fewer than k rows of the population. m_i counts these, 1 at the least.
--   NULL    a quasi-identifier value of its own.
CREATE OR REPLACE MACRO duckanon.journalist_risk(tbl, qi, population, k := 5) AS TABLE
SELECT
    1 / min(greatest(m, 1)) FILTER (x > 0) AS highest_risk,
    sum((x / greatest(m, 1))::DECIMAL(38, 15))::DOUBLE / nullif(sum(x), 0) AS average_risk,
    coalesce(sum(x) FILTER (m < coalesce(k, error('duckanon.journalist_risk: k is NULL'))), 0)::BIGINT AS rows_at_risk
FROM (
    SELECT COLUMNS('^q_'), sum(x)::BIGINT AS x, sum(m)::BIGINT AS m
    FROM (
        SELECT COLUMNS(qi) AS "q_\0", 1 AS x, 0 AS m
        FROM query_table(CASE
            WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
                THEN error('duckanon.journalist_risk: qi must be a list of one or more column names')
            ELSE tbl END)
        UNION ALL BY NAME
        SELECT COLUMNS(qi) AS "q_\0", 0 AS x, 1 AS m
        FROM query_table(population)
    )
    GROUP BY ALL
);

COMMENT ON MACRO TABLE duckanon.journalist_risk IS
    'Risk among the people of a population: highest_risk, average_risk, rows_at_risk (among fewer than k of them).';

-- ---------------------------------------------------------------------------------------------------------------
-- row_risk(tbl, qi): how easily each row is recognized.
--   Output  all columns of tbl; class_size: x_i of the row's class; risk: 1 / x_i. In no particular order.
--   NULL    a quasi-identifier value of its own.
CREATE OR REPLACE MACRO duckanon.row_risk(tbl, qi) AS TABLE
SELECT
    *,
    count(*) OVER (PARTITION BY row(*COLUMNS(qi))) AS class_size,
    1 / count(*) OVER (PARTITION BY row(*COLUMNS(qi))) AS risk
FROM query_table(CASE
    WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
        THEN error('duckanon.row_risk: qi must be a list of one or more column names')
    ELSE tbl END);

COMMENT ON MACRO TABLE duckanon.row_risk IS
    'Every row with the size of its class and the risk of being recognized: the columns of the table, class_size, risk.';

-- ---------------------------------------------------------------------------------------------------------------
-- column_risk(tbl, qi): what each quasi-identifier adds to the risk.
--   Output  column_name; unique_rows_without: rows alone in their class by the other quasi-identifiers, all rows being
--           one class if there is no other; unique_rows_added: how many more are alone with this one. Most added first.
--   NULL    a quasi-identifier value of its own.
CREATE OR REPLACE MACRO duckanon.column_risk(tbl, qi) AS TABLE
WITH census AS (
    SELECT COLUMNS(qi) AS "q_\0", count(*) AS x
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.column_risk: qi must be a list of one or more column names')
        ELSE tbl END)
    GROUP BY ALL
), coded AS MATERIALIZED (
    SELECT list_value(*COLUMNS('^c_'))::INTEGER[] AS codes, x
    FROM (SELECT dense_rank() OVER (ORDER BY COLUMNS('^q_')) AS "c_\0", x FROM census)
), named AS (
    SELECT unnest(names) AS name, unnest(range(1, len(names) + 1)) AS place
    FROM (
        SELECT list_value(*COLUMNS('^q_')) AS names
        FROM (SELECT alias(COLUMNS('^q_')) AS "\0" FROM (SELECT 1) LEFT JOIN (FROM census LIMIT 1) ON true)
    )
), groups AS (
    SELECT name, place, list_filter(codes, lambda code, i: i <> place) AS class, sum(x) AS x
    FROM named LEFT JOIN coded ON true
    GROUP BY ALL
), measured AS (
    SELECT name, place, count(*) FILTER (x = 1) AS without
    FROM groups
    GROUP BY ALL
)
SELECT
    substr(name, 3) AS column_name,
    without AS unique_rows_without,
    (SELECT count(*) FILTER (x = 1) FROM coded) - without AS unique_rows_added
FROM measured
ORDER BY unique_rows_added DESC, place;

COMMENT ON MACRO TABLE duckanon.column_risk IS
    'Rows that are unique without each quasi-identifier: column_name, unique_rows_without, unique_rows_added.';

-- ---------------------------------------------------------------------------------------------------------------
-- l_diversity(tbl, qi, sensitive): the l for which the table is l-diverse.
--   Output  distinct_l: the least number of distinct values in a class; entropy_l: the least exp(-sum p ln p) of a
--           class, p = y_i / sum of its y_i, to 12 decimals; classes.
--   NULL    not a value: a class without any other value has distinct_l 0 and entropy_l 0.
--   Formula -sum p ln p = ln m - (sum y ln y) / m, with m = the sum of the class's y (l-diversity; pan II.C(1)).
CREATE OR REPLACE MACRO duckanon.l_diversity(tbl, qi, sensitive) AS TABLE
WITH census AS (
    SELECT COLUMNS(qi) AS "q_\0", COLUMNS([sensitive]) AS s, count(*) AS y
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.l_diversity: qi must be a list of one or more column names')
        WHEN typeof(sensitive) <> 'VARCHAR' THEN error('duckanon.l_diversity: sensitive must be one column name')
        WHEN list_contains(list_transform(TRY_CAST(qi AS VARCHAR[]), lambda q: lower(q)), lower(sensitive::VARCHAR))
            THEN error('duckanon.l_diversity: the sensitive column ' || sensitive::VARCHAR || ' is also in qi')
        ELSE tbl END)
    GROUP BY ALL
), classes AS (
    SELECT
        COLUMNS('^q_'),
        count(s) AS distinct_values,
        sum(y) FILTER (s IS NOT NULL) AS m,
        sum((y * ln(y))::DECIMAL(38, 12)) FILTER (s IS NOT NULL AND y > 1) AS y_ln_y
    FROM census
    GROUP BY ALL
)
SELECT
    min(distinct_values) AS distinct_l,
    round(min(coalesce(exp(ln(m) - coalesce(y_ln_y, 0) / m), 0)), 12) AS entropy_l,
    count(*) AS classes
FROM classes;

COMMENT ON MACRO TABLE duckanon.l_diversity IS
    'Distinct and entropy l-diversity, the least over the classes: distinct_l, entropy_l, classes.';

-- ---------------------------------------------------------------------------------------------------------------
-- recursive_diversity(tbl, qi, sensitive, l := 2): the least c for which recursive (c, l)-diversity holds.
--   Output  c: any greater number satisfies r_1 < c (r_l + ... + r_m) in every class; NULL when some class has fewer
--           than l distinct values, so that no c does, and for an empty table.
--   NULL    not a value: it is none of the r.
--   Formula max over the classes of r_1 / (r_l + ... + r_m), r = the class's y in descending order (l-diversity).
CREATE OR REPLACE MACRO duckanon.recursive_diversity(tbl, qi, sensitive, l := 2) AS TABLE
WITH census AS (
    SELECT COLUMNS(qi) AS "q_\0", COLUMNS([sensitive]) AS s, count(*) AS y
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.recursive_diversity: qi must be a list of one or more column names')
        WHEN typeof(sensitive) <> 'VARCHAR'
            THEN error('duckanon.recursive_diversity: sensitive must be one column name')
        WHEN list_contains(list_transform(TRY_CAST(qi AS VARCHAR[]), lambda q: lower(q)), lower(sensitive::VARCHAR))
            THEN error('duckanon.recursive_diversity: the sensitive column ' || sensitive::VARCHAR || ' is also in qi')
        ELSE tbl END)
    GROUP BY ALL
), classes AS (
    SELECT COLUMNS('^q_'), list_reverse_sort(list(y) FILTER (s IS NOT NULL)) AS r
    FROM census
    GROUP BY ALL
), measured AS (
    SELECT
        coalesce(len(r), 0) AS distinct_values,
        CASE WHEN l >= 1 THEN l ELSE error('duckanon.recursive_diversity: l must be 1 or more') END AS least,
        r[1] / list_sum(r[l:]) AS ratio
    FROM classes
)
SELECT CASE WHEN bool_and(distinct_values >= least) THEN max(ratio) END AS c
FROM measured;

COMMENT ON MACRO TABLE duckanon.recursive_diversity IS
    'The least c for which recursive (c, l)-diversity holds: c (NULL: some class has fewer than l distinct values).';

-- ---------------------------------------------------------------------------------------------------------------
-- alpha(tbl, qi, sensitive): the alpha of each sensitive value.
--   Output  value; row_count: y; frequency: y / n; alpha: the highest y_i / x_i. By value.
--           Simple (alpha, k) bounds the alpha of one value, general (alpha, k) the highest of them, complete
--           (alpha, k) each on its own (han 2.2 to 2.4).
--   NULL    counts in x_i and n, and has no row.
CREATE OR REPLACE MACRO duckanon.alpha(tbl, qi, sensitive) AS TABLE
WITH records AS NOT MATERIALIZED (
    SELECT COLUMNS(qi) AS "q_\0", COLUMNS([sensitive]) AS s
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.alpha: qi must be a list of one or more column names')
        WHEN typeof(sensitive) <> 'VARCHAR' THEN error('duckanon.alpha: sensitive must be one column name')
        WHEN list_contains(list_transform(TRY_CAST(qi AS VARCHAR[]), lambda q: lower(q)), lower(sensitive::VARCHAR))
            THEN error('duckanon.alpha: the sensitive column ' || sensitive::VARCHAR || ' is also in qi')
        ELSE tbl END)
), sensitive_values AS MATERIALIZED (
    SELECT s, total, sum(total) OVER () AS n, (row_number() OVER (ORDER BY s))::INTEGER AS code
    FROM (SELECT s, count(*) AS total FROM records GROUP BY s)
), census AS (
    SELECT COLUMNS('^q_'), s, count(*) AS y
    FROM records
    GROUP BY ALL
), coded AS (
    SELECT COLUMNS('^q_'), code, y
    FROM census LEFT JOIN sensitive_values USING (s)
), classes AS (
    SELECT
        COLUMNS('^q_'),
        sum(y)::BIGINT AS x,
        list(code) FILTER (code IS NOT NULL) AS codes,
        list(y) FILTER (code IS NOT NULL) AS ys
    FROM coded
    GROUP BY ALL
), measured AS (
    SELECT code, max(y / x) AS highest
    FROM (SELECT unnest(codes) AS code, unnest(ys) AS y, x FROM classes)
    GROUP BY code
)
SELECT s AS value, total AS row_count, total / n AS frequency, highest AS alpha
FROM measured JOIN sensitive_values USING (code)
ORDER BY s;

COMMENT ON MACRO TABLE duckanon.alpha IS
    'Per sensitive value, its share of the table and highest share of a class: value, row_count, frequency, alpha.';

-- ---------------------------------------------------------------------------------------------------------------
-- leakage(tbl, qi, sensitive): leakage probability of each sensitive value.
--   Output  value; row_count: y; alp: average leakage probability; highest_lp: the highest y_i / x_i; dif: how far
--           the highest is above the average. By value.
--   NULL    counts in x_i, and has no row.
--   Formula ALP_s = (sum over the classes of y_i^2 / x_i) / y; DIF_s = max(y_i / x_i) - ALP_s (wang eq. 2).
CREATE OR REPLACE MACRO duckanon.leakage(tbl, qi, sensitive) AS TABLE
WITH records AS NOT MATERIALIZED (
    SELECT COLUMNS(qi) AS "q_\0", COLUMNS([sensitive]) AS s
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.leakage: qi must be a list of one or more column names')
        WHEN typeof(sensitive) <> 'VARCHAR' THEN error('duckanon.leakage: sensitive must be one column name')
        WHEN list_contains(list_transform(TRY_CAST(qi AS VARCHAR[]), lambda q: lower(q)), lower(sensitive::VARCHAR))
            THEN error('duckanon.leakage: the sensitive column ' || sensitive::VARCHAR || ' is also in qi')
        ELSE tbl END)
), sensitive_values AS MATERIALIZED (
    SELECT s, total, (row_number() OVER (ORDER BY s))::INTEGER AS code
    FROM (SELECT s, count(*) AS total FROM records GROUP BY s)
), census AS (
    SELECT COLUMNS('^q_'), s, count(*) AS y
    FROM records
    GROUP BY ALL
), coded AS (
    SELECT COLUMNS('^q_'), code, y
    FROM census LEFT JOIN sensitive_values USING (s)
), classes AS (
    SELECT
        COLUMNS('^q_'),
        sum(y)::BIGINT AS x,
        list(code) FILTER (code IS NOT NULL) AS codes,
        list(y) FILTER (code IS NOT NULL) AS ys
    FROM coded
    GROUP BY ALL
), measured AS (
    SELECT code, max(y / x) AS highest, sum((y::DOUBLE * y / x)::DECIMAL(38, 18)) AS leaked
    FROM (SELECT unnest(codes) AS code, unnest(ys) AS y, x FROM classes)
    GROUP BY code
)
SELECT
    s AS value,
    total AS row_count,
    leaked / total AS alp,
    highest AS highest_lp,
    abs(round(highest - leaked / total, 12)) AS dif  -- never below 0; abs turns a rounded -0.0 into 0.0
FROM measured JOIN sensitive_values USING (code)
ORDER BY s;

COMMENT ON MACRO TABLE duckanon.leakage IS
    'Per sensitive value, its leakage probability, average and highest: value, row_count, alp, highest_lp, dif.';

-- ---------------------------------------------------------------------------------------------------------------
-- association(tbl, qi, sensitive): the association matrix, one row for each pair of a value and a class.
--   Output  value; the class's qi columns; class_size: x_i; weight: y_i / x_i, 0 where the class lacks the value.
--           The highest weight of a value is its alpha. In no particular order.
--   NULL    counts in x_i, and has no row.
--   Formula mohapatra table 4.
CREATE OR REPLACE MACRO duckanon.association(tbl, qi, sensitive) AS TABLE
WITH records AS NOT MATERIALIZED (
    SELECT COLUMNS(qi) AS "q_\0", COLUMNS([sensitive]) AS s
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.association: qi must be a list of one or more column names')
        WHEN typeof(sensitive) <> 'VARCHAR' THEN error('duckanon.association: sensitive must be one column name')
        WHEN list_contains(list_transform(TRY_CAST(qi AS VARCHAR[]), lambda q: lower(q)), lower(sensitive::VARCHAR))
            THEN error('duckanon.association: the sensitive column ' || sensitive::VARCHAR || ' is also in qi')
        ELSE tbl END)
), sensitive_values AS MATERIALIZED (
    SELECT s, (row_number() OVER (ORDER BY s))::INTEGER AS code
    FROM (SELECT DISTINCT s FROM records WHERE s IS NOT NULL)
), census AS (
    SELECT COLUMNS('^q_'), s, count(*) AS y
    FROM records
    GROUP BY ALL
), coded AS (
    SELECT COLUMNS('^q_'), code, y
    FROM census LEFT JOIN sensitive_values USING (s)
), classes AS MATERIALIZED (
    SELECT
        COLUMNS('^q_'),
        row_number() OVER () AS id,
        sum(y)::BIGINT AS x,
        list(code) FILTER (code IS NOT NULL) AS codes,
        list(y) FILTER (code IS NOT NULL) AS ys
    FROM coded
    GROUP BY ALL
), pairs AS (
    SELECT id, unnest(codes) AS code, unnest(ys) AS y FROM classes
), matrix AS (
    SELECT * FROM (SELECT * EXCLUDE (codes, ys) FROM classes) CROSS JOIN sensitive_values
)
SELECT s AS value, COLUMNS('(?s)^q_(.*)$') AS "\1", x AS class_size, coalesce(y, 0) / x AS weight
FROM matrix LEFT JOIN pairs USING (id, code);

COMMENT ON MACRO TABLE duckanon.association IS
    'The association matrix, zeros included: value, the qi columns of the class, class_size, weight.';

-- ---------------------------------------------------------------------------------------------------------------
-- homogeneity(tbl, qi, sensitive): classes that give their sensitive value away.
--   Output  homogeneous_classes: classes whose rows all have the same non-NULL value (a class of one row with a value
--           is one); homogeneous_rows: the rows in them; expected_classes: how many to expect by chance.
--   NULL    a class with a NULL is not homogeneous. NULL is none of the K values.
--   Formula expected_classes = Σ K^(1−x) over the classes of x rows, with K the number of distinct values; NULL for an
--           empty table, 0 without any value. Where all classes have k rows this is SE = (K / K^k) (n / k) (mohapatra
--           eq. 1); it never exceeds the number of classes.
CREATE OR REPLACE MACRO duckanon.homogeneity(tbl, qi, sensitive) AS TABLE
WITH records AS NOT MATERIALIZED (
    SELECT COLUMNS(qi) AS "q_\0", COLUMNS([sensitive]) AS s
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.homogeneity: qi must be a list of one or more column names')
        WHEN typeof(sensitive) <> 'VARCHAR' THEN error('duckanon.homogeneity: sensitive must be one column name')
        WHEN list_contains(list_transform(TRY_CAST(qi AS VARCHAR[]), lambda q: lower(q)), lower(sensitive::VARCHAR))
            THEN error('duckanon.homogeneity: the sensitive column ' || sensitive::VARCHAR || ' is also in qi')
        ELSE tbl END)
), census AS (
    SELECT COLUMNS('^q_'), s, count(*) AS y
    FROM records
    GROUP BY ALL
), classes AS (
    SELECT COLUMNS('^q_'), sum(y) AS x, max(y) FILTER (s IS NOT NULL) AS highest
    FROM census
    GROUP BY ALL
), domain AS (
    SELECT count(DISTINCT s) AS size FROM records
)
SELECT
    count(*) FILTER (highest = x) AS homogeneous_classes,
    coalesce(sum(x) FILTER (highest = x), 0)::BIGINT AS homogeneous_rows,
    sum(CASE size WHEN 0 THEN 0 ELSE pow(size, 1 - x) END) AS expected_classes
FROM classes CROSS JOIN domain;

COMMENT ON MACRO TABLE duckanon.homogeneity IS
    'Classes with one single sensitive value: homogeneous_classes, homogeneous_rows, expected_classes (by chance).';

-- ---------------------------------------------------------------------------------------------------------------
-- skewness(tbl, qi, sensitive, c := 0.5): classes in which one value is too frequent.
--   Output  skewed_classes: classes where some value's frequency y_i / x_i exceeds c; skewed_rows: the rows in them.
--   NULL    counts in x_i; its own frequency does not matter.
--   Formula y_i / x_i > c: the c of (l, c)-anonymity (yang definition 1; fig. 1, 2).
CREATE OR REPLACE MACRO duckanon.skewness(tbl, qi, sensitive, c := 0.5) AS TABLE
WITH census AS (
    SELECT COLUMNS(qi) AS "q_\0", COLUMNS([sensitive]) AS s, count(*) AS y
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.skewness: qi must be a list of one or more column names')
        WHEN typeof(sensitive) <> 'VARCHAR' THEN error('duckanon.skewness: sensitive must be one column name')
        WHEN list_contains(list_transform(TRY_CAST(qi AS VARCHAR[]), lambda q: lower(q)), lower(sensitive::VARCHAR))
            THEN error('duckanon.skewness: the sensitive column ' || sensitive::VARCHAR || ' is also in qi')
        ELSE tbl END)
    GROUP BY ALL
), classes AS (
    SELECT COLUMNS('^q_'), sum(y) AS x, max(y) FILTER (s IS NOT NULL) AS highest
    FROM census
    GROUP BY ALL
), measured AS (
    SELECT x, highest / x > coalesce(c + 1e-9, error('duckanon.skewness: c is NULL')) AS skewed
    FROM classes
)
SELECT
    count(*) FILTER (skewed) AS skewed_classes,
    coalesce(sum(x) FILTER (skewed), 0)::BIGINT AS skewed_rows
FROM measured;

COMMENT ON MACRO TABLE duckanon.skewness IS
    'Classes in which the frequency of some value exceeds c: skewed_classes, skewed_rows.';

-- ---------------------------------------------------------------------------------------------------------------
-- t_closeness(tbl, qi, sensitive): the t for which the table is t-close.
--   Output  t: the greatest distance of a class's distribution of values from the table's; NULL without any value.
--   NULL    left out of both distributions; a class without any value contributes nothing.
--   Formula Numbers (DuckDB's integer, decimal and floating types): ordered distance
--           1/(m-1) * sum over ranks of |P - Q|, P and Q the cumulative distributions over the m distinct values in
--           order; 0 for m = 1. Everything else: equal distance, half the sum of |p - q|.
--   How     Equal: half the sum of |p - q| is the sum of p - q where p is greater: only the values that a class has
--           matter. Ordered: the class's n ranks in order are its cumulative distribution; after c of them, between
--           rank i and the next that is present, it stays at c/n. There |c/n - C(w)/N| falls until the table's
--           cumulative count C reaches c N/n, and rises from there. With e that rank, kept within i and next, and T(w)
--           the sum of C below w, the stretch sums to c N (2e - i - next) + n (T(i) + T(next) - 2 T(e)), in units of
--           1/(n N). The stretch before the first rank sums to n T(first). So a class is the sum of its
--           c N (2e - i - next) + 2n (T(i) - T(e)), plus n T(m + 1): integers. The ranks e come from one sort of the
--           table's counts together with the few different pairs (c, n); an ASOF join may become a nested loop when the
--           planner misjudges their number. Rows meet `whole` only after MATERIALIZED: before an unnest, each of them
--           would bring along its list.
CREATE OR REPLACE MACRO duckanon.t_closeness(tbl, qi, sensitive) AS TABLE
WITH records AS NOT MATERIALIZED (
    SELECT COLUMNS(qi) AS "q_\0", COLUMNS([sensitive]) AS s
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.t_closeness: qi must be a list of one or more column names')
        WHEN typeof(sensitive) <> 'VARCHAR' THEN error('duckanon.t_closeness: sensitive must be one column name')
        WHEN list_contains(list_transform(TRY_CAST(qi AS VARCHAR[]), lambda q: lower(q)), lower(sensitive::VARCHAR))
            THEN error('duckanon.t_closeness: the sensitive column ' || sensitive::VARCHAR || ' is also in qi')
        ELSE tbl END)
), ranked AS (
    SELECT
        s,
        total,
        (row_number() OVER (ORDER BY s))::INTEGER AS i,
        (sum(total) OVER (ORDER BY s))::BIGINT AS cumulative
    FROM (SELECT s, count(*) AS total FROM records WHERE s IS NOT NULL GROUP BY s)
), distribution AS MATERIALIZED (
    SELECT
        *,
        coalesce(sum(cumulative) OVER (ORDER BY i ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS below
    FROM ranked
), whole AS MATERIALIZED (
    SELECT count(*)::INTEGER AS m, sum(total)::HUGEINT AS all_rows, sum(cumulative)::HUGEINT AS area
    FROM distribution
),
-- equal distance
census AS (
    SELECT COLUMNS('^q_'), s, count(*) AS y
    FROM records
    WHERE NOT regexp_full_match(typeof(s), 'U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*|BIGNUM')
    GROUP BY ALL
), weighed AS (
    SELECT COLUMNS('^q_'), y, total
    FROM census JOIN distribution USING (s)
), classes AS (
    SELECT
        COLUMNS('^q_'),
        row_number() OVER () AS id,
        sum(y) AS n,
        list(y) AS ys,
        list(total) AS totals
    FROM weighed
    GROUP BY ALL
), pairs AS MATERIALIZED (
    SELECT id, n, unnest(ys) AS y, unnest(totals) AS total FROM classes
), equal_distance AS (
    SELECT sum(greatest(y * all_rows - total * n, 0)) / any_value(n * all_rows) AS distance
    FROM pairs CROSS JOIN whole
    GROUP BY id
),
-- ordered distance
sorted_classes AS (
    SELECT COLUMNS('^q_'), row_number() OVER () AS id, list(i ORDER BY i) FILTER (i IS NOT NULL) AS ranks
    FROM records LEFT JOIN distribution USING (s)
    WHERE regexp_full_match(typeof(s), 'U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*|BIGNUM')
    GROUP BY ALL
), steps AS MATERIALIZED (
    SELECT id, n, i, next_i, c
    FROM (
        SELECT
            id,
            len(ranks) AS n,
            unnest(ranks) AS i,
            unnest(ranks[2:]) AS next_i,
            generate_subscripts(ranks, 1) AS c
        FROM sorted_classes
    )
    WHERE i IS DISTINCT FROM next_i
), crossings AS (
    SELECT c, n, (1 + sum(passed) OVER (ORDER BY position))::INTEGER AS crossing
    FROM (
        SELECT c, n, (c * all_rows + n - 1) // n AS position, 0 AS passed
        FROM (SELECT DISTINCT c, n FROM steps) CROSS JOIN whole
        UNION ALL
        SELECT NULL, NULL, cumulative + 1, 1 FROM distribution
    )
), stretches AS (
    SELECT id, n, c, steps.i, coalesce(next_i, m + 1) AS next_i, below, all_rows, m, area,
        greatest(steps.i, least(coalesce(next_i, m + 1), crossing)) AS e
    FROM steps JOIN crossings USING (c, n) JOIN distribution USING (i) CROSS JOIN whole
), ordered_distance AS (
    SELECT
        (sum(c * all_rows * (2 * e - stretches.i - next_i) + 2 * n * (stretches.below - ending.below))
            + any_value(n * area)) / any_value(n * all_rows) / greatest(any_value(m) - 1, 1) AS distance
    FROM stretches JOIN distribution AS ending ON ending.i = e
    GROUP BY id
)
SELECT max(distance) AS t
FROM (FROM equal_distance UNION ALL FROM ordered_distance);

COMMENT ON MACRO TABLE duckanon.t_closeness IS
    'The t of t-closeness to the table''s own distribution (numbers: ordered distance, others: equal distance): t.';

-- ---------------------------------------------------------------------------------------------------------------
-- t_closeness_to(tbl, qi, sensitive, reference): t against the distribution in another table.
--   reference  a table or view with a column of the same name, such as the source that tbl was released from.
--   Output  t: the greatest distance of a class's distribution from that of the reference; NULL when either table has
--           no value. The m values of the ordered distance are those of both tables.
--   NULL    left out of all distributions; a class without any value contributes nothing.
--   Formula as t_closeness, which also tells how it is computed.
CREATE OR REPLACE MACRO duckanon.t_closeness_to(tbl, qi, sensitive, reference) AS TABLE
WITH duckanon_records AS NOT MATERIALIZED (
    SELECT COLUMNS(qi) AS "q_\0", COLUMNS([sensitive]) AS s
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.t_closeness_to: qi must be a list of one or more column names')
        WHEN typeof(sensitive) <> 'VARCHAR' THEN error('duckanon.t_closeness_to: sensitive must be one column name')
        WHEN list_contains(list_transform(TRY_CAST(qi AS VARCHAR[]), lambda q: lower(q)), lower(sensitive::VARCHAR))
            THEN error('duckanon.t_closeness_to: the sensitive column ' || sensitive::VARCHAR || ' is also in qi')
        ELSE tbl END)
), duckanon_reference AS NOT MATERIALIZED (
    SELECT COLUMNS([sensitive]) AS s FROM query_table(reference)
), ranked AS (
    SELECT
        s,
        total,
        (row_number() OVER (ORDER BY s))::INTEGER AS i,
        (sum(total) OVER (ORDER BY s))::BIGINT AS cumulative
    FROM (
        SELECT s, sum(present)::BIGINT AS total
        FROM (
            SELECT s, count(*) AS present FROM duckanon_reference GROUP BY s
            UNION ALL
            SELECT DISTINCT s, 0 FROM duckanon_records
        )
        WHERE s IS NOT NULL
        GROUP BY s
    )
), distribution AS MATERIALIZED (
    SELECT
        *,
        coalesce(sum(cumulative) OVER (ORDER BY i ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS below
    FROM ranked
), whole AS MATERIALIZED (
    SELECT count(*)::INTEGER AS m, nullif(sum(total), 0)::HUGEINT AS all_rows, sum(cumulative)::HUGEINT AS area
    FROM distribution
),
-- equal distance
census AS (
    SELECT COLUMNS('^q_'), s, count(*) AS y
    FROM duckanon_records
    WHERE NOT regexp_full_match(typeof(s), 'U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*|BIGNUM')
    GROUP BY ALL
), weighed AS (
    SELECT COLUMNS('^q_'), y, total
    FROM census JOIN distribution USING (s)
), classes AS (
    SELECT
        COLUMNS('^q_'),
        row_number() OVER () AS id,
        sum(y) AS n,
        list(y) AS ys,
        list(total) AS totals
    FROM weighed
    GROUP BY ALL
), pairs AS MATERIALIZED (
    SELECT id, n, unnest(ys) AS y, unnest(totals) AS total FROM classes
), equal_distance AS (
    SELECT sum(greatest(y * all_rows - total * n, 0)) / any_value(n * all_rows) AS distance
    FROM pairs CROSS JOIN whole
    GROUP BY id
),
-- ordered distance
sorted_classes AS (
    SELECT COLUMNS('^q_'), row_number() OVER () AS id, list(i ORDER BY i) FILTER (i IS NOT NULL) AS ranks
    FROM duckanon_records LEFT JOIN distribution USING (s)
    WHERE regexp_full_match(typeof(s), 'U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*|BIGNUM')
    GROUP BY ALL
), steps AS MATERIALIZED (
    SELECT id, n, i, next_i, c
    FROM (
        SELECT
            id,
            len(ranks) AS n,
            unnest(ranks) AS i,
            unnest(ranks[2:]) AS next_i,
            generate_subscripts(ranks, 1) AS c
        FROM sorted_classes
    )
    WHERE i IS DISTINCT FROM next_i
), crossings AS (
    SELECT c, n, (1 + sum(passed) OVER (ORDER BY position))::INTEGER AS crossing
    FROM (
        SELECT c, n, (c * all_rows + n - 1) // n AS position, 0 AS passed
        FROM (SELECT DISTINCT c, n FROM steps) CROSS JOIN whole
        UNION ALL
        SELECT NULL, NULL, cumulative + 1, 1 FROM distribution
    )
), stretches AS (
    SELECT id, n, c, steps.i, coalesce(next_i, m + 1) AS next_i, below, all_rows, m, area,
        greatest(steps.i, least(coalesce(next_i, m + 1), crossing)) AS e
    FROM steps JOIN crossings USING (c, n) JOIN distribution USING (i) CROSS JOIN whole
), ordered_distance AS (
    SELECT
        (sum(c * all_rows * (2 * e - stretches.i - next_i) + 2 * n * (stretches.below - ending.below))
            + any_value(n * area)) / any_value(n * all_rows) / greatest(any_value(m) - 1, 1) AS distance
    FROM stretches JOIN distribution AS ending ON ending.i = e
    GROUP BY id
)
SELECT CASE
    WHEN regexp_full_match(
            typeof((SELECT any_value(s) FROM duckanon_records WHERE false)),
            'U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*|BIGNUM')
        <> regexp_full_match(
            typeof((SELECT any_value(s) FROM duckanon_reference WHERE false)),
            'U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*|BIGNUM')
        THEN error('duckanon.t_closeness_to: ' || sensitive || ' is a number in one of the two tables only')
    ELSE max(distance) END AS t
FROM (FROM equal_distance UNION ALL FROM ordered_distance);

COMMENT ON MACRO TABLE duckanon.t_closeness_to IS
    't-closeness to the distribution of the same column in another table, such as the source of a release: t.';

-- ---------------------------------------------------------------------------------------------------------------
-- t_closeness_by(tbl, qi, sensitive, hierarchy, reference := NULL): t by a hierarchy of the values.
--   hierarchy  a table or view with it: level_0, level_1, … and one top as its last level (a hierarchy file, or what
--              `duckanon hierarchy POLICY COLUMN --csv` prints)
--   reference  as of t_closeness_to; none: tbl itself.
--   Output  t: the greatest distance of a class's distribution from that of the reference, where two values are as far
--           apart as the level at which they meet, by the height of the top; NULL when either table has no value.
--   NULL    left out of all distributions; a class without any value contributes nothing.
--   Formula The mean, over the levels below the top, of the equal distances of what both show there: half the sum of
--           |p - q|. It is the earth mover's distance: what enters or leaves a node passes the edge above it.
CREATE OR REPLACE MACRO duckanon.t_closeness_by(tbl, qi, sensitive, hierarchy, reference := NULL) AS TABLE
WITH duckanon_records AS NOT MATERIALIZED (
    SELECT COLUMNS(qi) AS "q_\0", COLUMNS([sensitive]) AS s
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.t_closeness_by: qi must be a list of one or more column names')
        WHEN typeof(sensitive) <> 'VARCHAR' THEN error('duckanon.t_closeness_by: sensitive must be one column name')
        WHEN list_contains(list_transform(TRY_CAST(qi AS VARCHAR[]), lambda q: lower(q)), lower(sensitive::VARCHAR))
            THEN error('duckanon.t_closeness_by: the sensitive column ' || sensitive::VARCHAR || ' is also in qi')
        ELSE tbl END)
), duckanon_reference AS NOT MATERIALIZED (
    SELECT COLUMNS([sensitive]) AS s
    FROM query_table(CASE
        WHEN typeof(sensitive) <> 'VARCHAR' THEN error('duckanon.t_closeness_by: sensitive must be one column name')
        ELSE coalesce(reference, tbl) END)
), duckanon_levels AS (
    UNPIVOT (
        SELECT DISTINCT COLUMNS(['level_0'])::VARCHAR AS s, COLUMNS('^level_[0-9]+$')::VARCHAR
        FROM query_table(hierarchy)
    ) ON COLUMNS('^level_[0-9]+$') INTO NAME level VALUE node
), height AS MATERIALIZED (
    SELECT substr(level, 7)::INTEGER AS h, count(DISTINCT node) AS tops
    FROM duckanon_levels
    GROUP BY h
    ORDER BY h DESC
    LIMIT 1
), nodes AS MATERIALIZED (
    SELECT s, substr(level, 7)::INTEGER AS level, node
    FROM duckanon_levels CROSS JOIN height
    WHERE CASE
        WHEN tops > 1 OR h = 0 THEN error('duckanon.t_closeness_by: the hierarchy must end with one top')
        ELSE substr(level, 7)::INTEGER < h END
), census AS (
    SELECT COLUMNS('^q_'), s::VARCHAR AS s, count(*) AS y FROM duckanon_records WHERE s IS NOT NULL GROUP BY ALL
), classes AS (
    SELECT COLUMNS('^q_'), row_number() OVER () AS id, sum(y) AS n, list(s) AS present, list(y) AS ys
    FROM census
    GROUP BY ALL
), pairs AS MATERIALIZED (
    SELECT id, n, unnest(present) AS s, unnest(ys) AS y FROM classes
), below AS (
    SELECT id, n, level, sum(y) AS y,
        CASE WHEN node IS NULL
            THEN error('duckanon.t_closeness_by: the hierarchy does not know every value of ' || sensitive)
            ELSE node END AS node
    FROM pairs LEFT JOIN nodes USING (s)
    GROUP BY id, n, level, node
), distribution AS MATERIALIZED (
    SELECT level, sum(total) AS total,
        CASE WHEN node IS NULL
            THEN error('duckanon.t_closeness_by: the hierarchy does not know every value of ' || sensitive)
            ELSE node END AS node
    FROM (SELECT s::VARCHAR AS s, count(*) AS total FROM duckanon_reference WHERE s IS NOT NULL GROUP BY ALL)
    LEFT JOIN nodes USING (s)
    GROUP BY level, node
), whole AS MATERIALIZED (
    SELECT sum(total)::HUGEINT AS all_rows FROM distribution WHERE level = 0
), distances AS (
    SELECT sum(greatest(y * all_rows - coalesce(total, 0) * n, 0)) / any_value(n * all_rows) / any_value(h) AS distance
    FROM below LEFT JOIN distribution USING (level, node) CROSS JOIN whole CROSS JOIN height
    GROUP BY id
)
SELECT max(distance) AS t FROM distances;

COMMENT ON MACRO TABLE duckanon.t_closeness_by IS
    't-closeness by a hierarchy of the values, in which near ones lie closer to each other: t.';

-- ---------------------------------------------------------------------------------------------------------------
-- beta_likeness(tbl, qi, sensitive, reference := NULL): the least beta for which beta-likeness holds.
--   reference  a table or view with a column of the same name, such as the source that tbl was released from; none:
--           tbl itself.
--   Output  beta: the greatest (q - p) / p over classes and values, q being a value's share of a class and p its share
--           of the reference; enhanced_beta: the same, or NULL where it is above -ln p for some value, so that no beta
--           will do (Cao and Karras). Both are NULL without any value, and where the reference lacks one.
--   NULL    left out of all shares; a class without any value contributes nothing.
CREATE OR REPLACE MACRO duckanon.beta_likeness(tbl, qi, sensitive, reference := NULL) AS TABLE
WITH duckanon_records AS NOT MATERIALIZED (
    SELECT COLUMNS(qi) AS "q_\0", COLUMNS([sensitive]) AS s
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.beta_likeness: qi must be a list of one or more column names')
        WHEN typeof(sensitive) <> 'VARCHAR' THEN error('duckanon.beta_likeness: sensitive must be one column name')
        WHEN list_contains(list_transform(TRY_CAST(qi AS VARCHAR[]), lambda q: lower(q)), lower(sensitive::VARCHAR))
            THEN error('duckanon.beta_likeness: the sensitive column ' || sensitive::VARCHAR || ' is also in qi')
        ELSE tbl END)
), duckanon_reference AS NOT MATERIALIZED (
    SELECT COLUMNS([sensitive]) AS s
    FROM query_table(CASE
        WHEN typeof(sensitive) <> 'VARCHAR' THEN error('duckanon.beta_likeness: sensitive must be one column name')
        ELSE coalesce(reference, tbl) END)
), distribution AS MATERIALIZED (
    SELECT s, sum(present)::BIGINT AS total, (sum(sum(present)) OVER ())::BIGINT AS all_rows
    FROM (
        SELECT s, count(*) AS present FROM duckanon_reference GROUP BY s
        UNION ALL
        SELECT DISTINCT s, 0 FROM duckanon_records
    )
    WHERE s IS NOT NULL
    GROUP BY s
), census AS (
    SELECT COLUMNS('^q_'), s, count(*) AS y FROM duckanon_records GROUP BY ALL
), classes AS (
    SELECT
        COLUMNS('^q_'),
        coalesce(sum(y) FILTER (s IS NOT NULL), 0) AS n,
        list(s) FILTER (s IS NOT NULL) AS present,
        list(y) FILTER (s IS NOT NULL) AS ys
    FROM census
    GROUP BY ALL
), pairs AS MATERIALIZED (
    SELECT n, unnest(present) AS s, unnest(ys) AS y FROM classes
), likeness AS (
    SELECT distribution.s, coalesce(any_value(total / nullif(all_rows, 0)), 0) AS p, count(n) AS present,
        max(y * all_rows::DOUBLE / (n * total::DOUBLE)) AS highest,
        min(y * all_rows::DOUBLE / (n * total::DOUBLE)) AS lowest
    FROM distribution LEFT JOIN pairs USING (s)
    GROUP BY distribution.s
)
SELECT
    CASE WHEN bool_and(p > 0) THEN max(highest) - 1 END AS beta,
    CASE WHEN bool_and(p > 0 AND (highest IS NULL OR highest - 1 <= 1e-9 - ln(p))) THEN max(highest) - 1 END
        AS enhanced_beta
FROM likeness;

COMMENT ON MACRO TABLE duckanon.beta_likeness IS
    'By how many times its share of the table a value is more frequent in a class, at most: beta, enhanced_beta.';

-- ---------------------------------------------------------------------------------------------------------------
-- delta_disclosure(tbl, qi, sensitive, reference := NULL): above which delta delta-disclosure holds.
--   reference  as of beta_likeness.
--   Output  delta: the greatest |ln(q / p)| over classes and values, q being a value's share of a class and p its share
--           of the reference; NULL where a class lacks a value, so that no delta will do (Brickell and Shmatikov);
--           present_delta: the same over the values that each class has. Both are NULL without any value, and where the
--           reference lacks one.
--   NULL    left out of all shares; a class without any value lacks all of them.
CREATE OR REPLACE MACRO duckanon.delta_disclosure(tbl, qi, sensitive, reference := NULL) AS TABLE
WITH duckanon_records AS NOT MATERIALIZED (
    SELECT COLUMNS(qi) AS "q_\0", COLUMNS([sensitive]) AS s
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.delta_disclosure: qi must be a list of one or more column names')
        WHEN typeof(sensitive) <> 'VARCHAR' THEN error('duckanon.delta_disclosure: sensitive must be one column name')
        WHEN list_contains(list_transform(TRY_CAST(qi AS VARCHAR[]), lambda q: lower(q)), lower(sensitive::VARCHAR))
            THEN error('duckanon.delta_disclosure: the sensitive column ' || sensitive::VARCHAR || ' is also in qi')
        ELSE tbl END)
), duckanon_reference AS NOT MATERIALIZED (
    SELECT COLUMNS([sensitive]) AS s
    FROM query_table(CASE
        WHEN typeof(sensitive) <> 'VARCHAR' THEN error('duckanon.delta_disclosure: sensitive must be one column name')
        ELSE coalesce(reference, tbl) END)
), distribution AS MATERIALIZED (
    SELECT s, sum(present)::BIGINT AS total, (sum(sum(present)) OVER ())::BIGINT AS all_rows
    FROM (
        SELECT s, count(*) AS present FROM duckanon_reference GROUP BY s
        UNION ALL
        SELECT DISTINCT s, 0 FROM duckanon_records
    )
    WHERE s IS NOT NULL
    GROUP BY s
), census AS (
    SELECT COLUMNS('^q_'), s, count(*) AS y FROM duckanon_records GROUP BY ALL
), classes AS (
    SELECT
        COLUMNS('^q_'),
        coalesce(sum(y) FILTER (s IS NOT NULL), 0) AS n,
        list(s) FILTER (s IS NOT NULL) AS present,
        list(y) FILTER (s IS NOT NULL) AS ys
    FROM census
    GROUP BY ALL
), pairs AS MATERIALIZED (
    SELECT n, unnest(present) AS s, unnest(ys) AS y FROM classes
), likeness AS (
    SELECT distribution.s, coalesce(any_value(total / nullif(all_rows, 0)), 0) AS p, count(n) AS present,
        max(y * all_rows::DOUBLE / (n * total::DOUBLE)) AS highest,
        min(y * all_rows::DOUBLE / (n * total::DOUBLE)) AS lowest
    FROM distribution LEFT JOIN pairs USING (s)
    GROUP BY distribution.s
)
SELECT
    CASE WHEN bool_and(p > 0 AND present = (SELECT count(*) FROM classes))
        THEN max(greatest(abs(ln(highest)), abs(ln(lowest)))) END AS delta,
    CASE WHEN bool_and(p > 0) THEN max(greatest(abs(ln(highest)), abs(ln(lowest)))) END AS present_delta
FROM likeness;

COMMENT ON MACRO TABLE duckanon.delta_disclosure IS
    'How far the share of a value in a class lies from that of the table, as |ln(q / p)|: delta, present_delta.';

-- ---------------------------------------------------------------------------------------------------------------
-- value_diversity(tbl, qi, sensitive): how diverse the classes are that contain each value.
--   Output  value; row_count: y; distinct_l: the least number of distinct values in a class that contains the value.
--           By value. (l, c)-anonymity asks each value s for a distinct_l of at least its own l_s (yang).
--   NULL    not a value, and has no row.
CREATE OR REPLACE MACRO duckanon.value_diversity(tbl, qi, sensitive) AS TABLE
WITH records AS NOT MATERIALIZED (
    SELECT COLUMNS(qi) AS "q_\0", COLUMNS([sensitive]) AS s
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.value_diversity: qi must be a list of one or more column names')
        WHEN typeof(sensitive) <> 'VARCHAR' THEN error('duckanon.value_diversity: sensitive must be one column name')
        WHEN list_contains(list_transform(TRY_CAST(qi AS VARCHAR[]), lambda q: lower(q)), lower(sensitive::VARCHAR))
            THEN error('duckanon.value_diversity: the sensitive column ' || sensitive::VARCHAR || ' is also in qi')
        ELSE tbl END)
), sensitive_values AS MATERIALIZED (
    SELECT s, total, (row_number() OVER (ORDER BY s))::INTEGER AS code
    FROM (SELECT s, count(*) AS total FROM records WHERE s IS NOT NULL GROUP BY s)
), census AS (
    SELECT DISTINCT COLUMNS('^q_'), s
    FROM records
), coded AS (
    SELECT COLUMNS('^q_'), code
    FROM census JOIN sensitive_values USING (s)
), classes AS (
    SELECT COLUMNS('^q_'), list(code) AS codes
    FROM coded
    GROUP BY ALL
), measured AS (
    SELECT code, min(distinct_values) AS least
    FROM (SELECT unnest(codes) AS code, len(codes) AS distinct_values FROM classes)
    GROUP BY code
)
SELECT s AS value, total AS row_count, least AS distinct_l
FROM measured JOIN sensitive_values USING (code)
ORDER BY s;

COMMENT ON MACRO TABLE duckanon.value_diversity IS
    'Per sensitive value, the least distinct values of a class that contains it: value, row_count, distinct_l.';

-- ---------------------------------------------------------------------------------------------------------------
-- proximity(tbl, qi, sensitive, epsilon): how much of a class has nearly the same number, for (epsilon, m).
--   epsilon  the distance, 0 or more, up to which two numbers count as near each other.
--   Output  share: the largest share of a class that lies within epsilon of one of its values, that row included.
--           (epsilon, m) holds when share <= 1/m. NULL without any value.
--   NULL    counts in the size of the class, and is near nothing.
--   Numbers are compared as DOUBLE. A sensitive column that is no number is an error.
CREATE OR REPLACE MACRO duckanon.proximity(tbl, qi, sensitive, epsilon) AS TABLE
WITH records AS NOT MATERIALIZED (
    SELECT row(*COLUMNS(qi)) AS class_key, COLUMNS([sensitive]) AS s
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.proximity: qi must be a list of one or more column names')
        WHEN typeof(sensitive) <> 'VARCHAR' THEN error('duckanon.proximity: sensitive must be one column name')
        WHEN list_contains(list_transform(TRY_CAST(qi AS VARCHAR[]), lambda q: lower(q)), lower(sensitive::VARCHAR))
            THEN error('duckanon.proximity: the sensitive column ' || sensitive::VARCHAR || ' is also in qi')
        ELSE tbl END)
), classes AS (
    SELECT class_key, row_number() OVER () AS id, count(*) AS x
    FROM records
    GROUP BY class_key
), census AS (
    SELECT id, x, s, count(*) AS y
    FROM records JOIN classes USING (class_key)
    WHERE s IS NOT NULL
    GROUP BY ALL
), numbers AS (
    SELECT
        id,
        x,
        y,
        CASE
            WHEN regexp_full_match(typeof(s), 'U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*|BIGNUM')
                THEN TRY_CAST(s AS DOUBLE)
            ELSE error('duckanon.proximity: the sensitive column ' || sensitive || ' is no number')
        END AS number,
        CASE
            WHEN epsilon >= 0 THEN epsilon + 1e-9
            ELSE error('duckanon.proximity: epsilon must be 0 or more')
        END AS reach
    FROM census
), neighbours AS (
    SELECT
        x,
        sum(y) OVER (PARTITION BY id ORDER BY number RANGE BETWEEN reach PRECEDING AND reach FOLLOWING) AS near
    FROM numbers
)
SELECT max(near / x) AS share
FROM neighbours;

COMMENT ON MACRO TABLE duckanon.proximity IS
    'The largest share of a class that lies within epsilon of one of its numbers, for (epsilon, m): share.';

-- ---------------------------------------------------------------------------------------------------------------
-- people(tbl, qi, entity): k where a person may have several rows.
--   entity  the column that names the person of a row; the classes are counted by people, not by rows
--   Output  k: the least number of people of a class (NULL for an empty table); classes; people: of the table;
--           row_count: n; unique_people: people alone in some class; average_people: of a class.
--   NULL    a quasi-identifier value of its own. As entity it is nobody: such rows count for no person.
CREATE OR REPLACE MACRO duckanon.people(tbl, qi, entity) AS TABLE
WITH records AS NOT MATERIALIZED (
    SELECT COLUMNS(qi) AS "q_\0", COLUMNS([entity]) AS e
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.people: qi must be a list of one or more column names')
        WHEN typeof(entity) <> 'VARCHAR' THEN error('duckanon.people: entity must be one column name')
        ELSE tbl END)
), classes AS (
    SELECT COLUMNS('^q_'), count(DISTINCT e) AS x, count(*) AS n, min(e) AS somebody
    FROM records
    GROUP BY ALL
)
SELECT
    min(x) AS k,
    count(*) AS classes,
    (SELECT count(DISTINCT e) FROM records) AS people,
    coalesce(sum(n), 0)::BIGINT AS row_count,
    count(DISTINCT somebody) FILTER (x = 1) AS unique_people,
    avg(x) AS average_people
FROM classes;

COMMENT ON MACRO TABLE duckanon.people IS
    'k counted by people: k (least people of a class), classes, people, row_count, unique_people, average_people.';

-- ---------------------------------------------------------------------------------------------------------------
-- people_diversity(tbl, qi, sensitive, entity): l where a person may have several rows, with several values.
--   Output  distinct_l: the least number of distinct values in a class, 1 if one of them is everybody's there;
--           entropy_l: the least exp(-sum p ln p) of a class, p = its people with the value / the sum of these over its
--           values, to 12 decimals, 1 likewise; classes; homogeneous_classes: classes of which everybody has the same
--           value; homogeneous_people: the people in them, each as often as they are in one.
--   NULL    not a value. As entity it is nobody: such rows count for no person.
CREATE OR REPLACE MACRO duckanon.people_diversity(tbl, qi, sensitive, entity) AS TABLE
WITH records AS NOT MATERIALIZED (
    SELECT COLUMNS(qi) AS "q_\0", COLUMNS([sensitive]) AS s, COLUMNS([entity]) AS e
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.people_diversity: qi must be a list of one or more column names')
        WHEN typeof(sensitive) <> 'VARCHAR'
            THEN error('duckanon.people_diversity: sensitive must be one column name')
        WHEN list_contains(list_transform(TRY_CAST(qi AS VARCHAR[]), lambda q: lower(q)), lower(sensitive::VARCHAR))
            THEN error('duckanon.people_diversity: the sensitive column ' || sensitive::VARCHAR || ' is also in qi')
        WHEN typeof(entity) <> 'VARCHAR' THEN error('duckanon.people_diversity: entity must be one column name')
        ELSE tbl END)
), census AS (
    SELECT COLUMNS('^q_'), s, valued, count(DISTINCT e) AS y
    FROM (
        SELECT *, true AS valued FROM records
        UNION ALL
        SELECT * REPLACE (NULL AS s), false AS valued FROM records  -- the class as a whole
    )
    GROUP BY ALL
), classes AS (
    SELECT
        COLUMNS('^q_'),
        max(y) FILTER (NOT valued) AS x,
        count(s) FILTER (y > 0) AS distinct_values,
        max(y) FILTER (s IS NOT NULL) AS highest,
        sum(y) FILTER (s IS NOT NULL) AS m,
        sum((y * ln(greatest(y, 1)))::DECIMAL(38, 12)) FILTER (s IS NOT NULL) AS y_ln_y
    FROM census
    GROUP BY ALL
)
SELECT
    min(CASE WHEN highest = x THEN least(distinct_values, 1) ELSE distinct_values END) AS distinct_l,
    round(min(CASE
        WHEN coalesce(m, 0) = 0 THEN 0
        WHEN highest = x THEN 1
        ELSE exp(ln(m) - coalesce(y_ln_y, 0) / m)
    END), 12) AS entropy_l,
    count(*) AS classes,
    count(*) FILTER (highest = x AND x > 0) AS homogeneous_classes,
    coalesce(sum(x) FILTER (highest = x), 0)::BIGINT AS homogeneous_people
FROM classes;

COMMENT ON MACRO TABLE duckanon.people_diversity IS
    'l counted by people: distinct_l, entropy_l, classes, homogeneous_classes, homogeneous_people.';

-- ---------------------------------------------------------------------------------------------------------------
-- people_value_diversity(tbl, qi, sensitive, entity): how diverse the classes are that contain each value, by people.
--   Output  value; people: who has it; distinct_l: the least number of distinct values in a class that contains it, 1 if
--           some value is everybody's there. By value.
--   NULL    as a value has no row. As entity it is nobody: such rows count for no person.
CREATE OR REPLACE MACRO duckanon.people_value_diversity(tbl, qi, sensitive, entity) AS TABLE
WITH records AS NOT MATERIALIZED (
    SELECT COLUMNS(qi) AS "q_\0", COLUMNS([sensitive]) AS s, COLUMNS([entity]) AS e
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.people_value_diversity: qi must be a list of one or more column names')
        WHEN typeof(sensitive) <> 'VARCHAR'
            THEN error('duckanon.people_value_diversity: sensitive must be one column name')
        WHEN list_contains(list_transform(TRY_CAST(qi AS VARCHAR[]), lambda q: lower(q)), lower(sensitive::VARCHAR))
            THEN error('duckanon.people_value_diversity: the sensitive column ' || sensitive::VARCHAR || ' is also in qi')
        WHEN typeof(entity) <> 'VARCHAR' THEN error('duckanon.people_value_diversity: entity must be one column name')
        ELSE tbl END)
), sensitive_values AS MATERIALIZED (
    SELECT s, total, (row_number() OVER (ORDER BY s))::INTEGER AS code
    FROM (SELECT s, count(DISTINCT e) AS total FROM records WHERE s IS NOT NULL GROUP BY s)
), census AS (
    SELECT COLUMNS('^q_'), s, valued, count(DISTINCT e) AS y
    FROM (
        SELECT *, true AS valued FROM records
        UNION ALL
        SELECT * REPLACE (NULL AS s), false AS valued FROM records  -- the class as a whole
    )
    GROUP BY ALL
), coded AS (
    SELECT COLUMNS('^q_'), valued, code, y
    FROM census LEFT JOIN sensitive_values USING (s)
    WHERE y > 0
), classes AS (
    SELECT
        COLUMNS('^q_'),
        max(y) FILTER (NOT valued) AS x,
        max(y) FILTER (code IS NOT NULL) AS highest,
        list(code) FILTER (code IS NOT NULL) AS codes
    FROM coded
    GROUP BY ALL
), measured AS (
    SELECT code, min(distinct_values) AS distinct_l
    FROM (SELECT unnest(codes) AS code, CASE WHEN highest = x THEN 1 ELSE len(codes) END AS distinct_values FROM classes)
    GROUP BY code
)
SELECT s AS value, total AS people, distinct_l
FROM measured JOIN sensitive_values USING (code)
ORDER BY s;

COMMENT ON MACRO TABLE duckanon.people_value_diversity IS
    'Per sensitive value, the least diversity, by people, of the classes that contain it: value, people, distinct_l.';

-- ---------------------------------------------------------------------------------------------------------------
-- people_leakage(tbl, qi, sensitive, entity): leakage of each sensitive value where a person may have several rows.
--   Output  value; people: who has it; alp: average leakage probability; highest_lp: the highest share of a class's
--           people who have it, its alpha; dif: how far the highest is above the average. By value.
--   NULL    as a value has no row, and who has no other is still one of the class. As entity it is nobody.
--   Formula as of leakage, with x_i the people of class i and y_i those of them who have the value.
CREATE OR REPLACE MACRO duckanon.people_leakage(tbl, qi, sensitive, entity) AS TABLE
WITH records AS NOT MATERIALIZED (
    SELECT COLUMNS(qi) AS "q_\0", COLUMNS([sensitive]) AS s, COLUMNS([entity]) AS e
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.people_leakage: qi must be a list of one or more column names')
        WHEN typeof(sensitive) <> 'VARCHAR'
            THEN error('duckanon.people_leakage: sensitive must be one column name')
        WHEN list_contains(list_transform(TRY_CAST(qi AS VARCHAR[]), lambda q: lower(q)), lower(sensitive::VARCHAR))
            THEN error('duckanon.people_leakage: the sensitive column ' || sensitive::VARCHAR || ' is also in qi')
        WHEN typeof(entity) <> 'VARCHAR' THEN error('duckanon.people_leakage: entity must be one column name')
        ELSE tbl END)
), sensitive_values AS MATERIALIZED (
    SELECT s, total, (row_number() OVER (ORDER BY s))::INTEGER AS code
    FROM (SELECT s, count(DISTINCT e) AS total FROM records WHERE s IS NOT NULL GROUP BY s)
), census AS (
    SELECT COLUMNS('^q_'), s, valued, count(DISTINCT e) AS y
    FROM (
        SELECT *, true AS valued FROM records
        UNION ALL
        SELECT * REPLACE (NULL AS s), false AS valued FROM records  -- the class as a whole
    )
    GROUP BY ALL
), coded AS (
    SELECT COLUMNS('^q_'), valued, code, y
    FROM census LEFT JOIN sensitive_values USING (s)
), classes AS (
    SELECT
        COLUMNS('^q_'),
        max(y) FILTER (NOT valued) AS x,
        list(code) FILTER (code IS NOT NULL) AS codes,
        list(y) FILTER (code IS NOT NULL) AS ys
    FROM coded
    GROUP BY ALL
), measured AS (
    SELECT
        code,
        max(y / x) AS highest,
        sum((y::DOUBLE * y / x)::DECIMAL(38, 18)) / sum(y) AS average
    FROM (SELECT unnest(codes) AS code, unnest(ys) AS y, x FROM classes)
    WHERE y > 0
    GROUP BY code
)
SELECT
    s AS value,
    total AS people,
    average AS alp,
    highest AS highest_lp,
    abs(round(highest - average, 12)) AS dif
FROM measured JOIN sensitive_values USING (code)
ORDER BY s;

COMMENT ON MACRO TABLE duckanon.people_leakage IS
    'Per sensitive value, its leakage counted by people: value, people, alp, highest_lp, dif.';

-- ---------------------------------------------------------------------------------------------------------------
-- k_violations(tbl, qi, k := 5): the classes that break k-anonymity. No rows: it holds.
--   Output  the qi columns; class_size: x_i < k. By class_size, then the qi columns.
--   NULL    a quasi-identifier value of its own.
CREATE OR REPLACE MACRO duckanon.k_violations(tbl, qi, k := 5) AS TABLE
SELECT COLUMNS(qi), count(*) AS class_size
FROM query_table(CASE
    WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
        THEN error('duckanon.k_violations: qi must be a list of one or more column names')
    ELSE tbl END)
GROUP BY ALL
HAVING count(*) < coalesce(k, error('duckanon.k_violations: k is NULL'))
ORDER BY count(*), COLUMNS(qi);

COMMENT ON MACRO TABLE duckanon.k_violations IS
    'One row per class smaller than k (no rows: k-anonymity holds): the qi columns, class_size.';

-- ---------------------------------------------------------------------------------------------------------------
-- l_violations(tbl, qi, sensitive, l := 2): the classes that break distinct l-diversity. No rows: it holds.
--   Output  the qi columns; class_size: x_i; distinct_l: its distinct values, fewer than l. By class_size, then the
--           qi columns.
--   NULL    not a value: a class without any other value has distinct_l 0.
CREATE OR REPLACE MACRO duckanon.l_violations(tbl, qi, sensitive, l := 2) AS TABLE
WITH census AS (
    SELECT COLUMNS(qi) AS "q_\0", COLUMNS([sensitive]) AS s, count(*) AS y
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.l_violations: qi must be a list of one or more column names')
        WHEN typeof(sensitive) <> 'VARCHAR' THEN error('duckanon.l_violations: sensitive must be one column name')
        WHEN list_contains(list_transform(TRY_CAST(qi AS VARCHAR[]), lambda q: lower(q)), lower(sensitive::VARCHAR))
            THEN error('duckanon.l_violations: the sensitive column ' || sensitive::VARCHAR || ' is also in qi')
        ELSE tbl END)
    GROUP BY ALL
), classes AS (
    SELECT COLUMNS('^q_'), sum(y)::BIGINT AS x, count(s) AS distinct_values
    FROM census
    GROUP BY ALL
)
SELECT COLUMNS('(?s)^q_(.*)$') AS "\1", x AS class_size, distinct_values AS distinct_l
FROM classes
WHERE distinct_values < coalesce(l, error('duckanon.l_violations: l is NULL'))
ORDER BY x, COLUMNS('^q_');

COMMENT ON MACRO TABLE duckanon.l_violations IS
    'One row per class with fewer than l distinct values (no rows: it holds): the qi columns, class_size, distinct_l.';

-- ---------------------------------------------------------------------------------------------------------------
-- alpha_violations(tbl, qi, sensitive, alpha := 0.5): the classes that break general (alpha, k). No rows: it holds.
--   Output  the qi columns; class_size: x_i; highest_frequency: y_i / x_i of its most frequent value, above alpha.
--           By class_size, then the qi columns.
--   NULL    counts in x_i; its own frequency does not matter.
CREATE OR REPLACE MACRO duckanon.alpha_violations(tbl, qi, sensitive, alpha := 0.5) AS TABLE
WITH census AS (
    SELECT COLUMNS(qi) AS "q_\0", COLUMNS([sensitive]) AS s, count(*) AS y
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.alpha_violations: qi must be a list of one or more column names')
        WHEN typeof(sensitive) <> 'VARCHAR' THEN error('duckanon.alpha_violations: sensitive must be one column name')
        WHEN list_contains(list_transform(TRY_CAST(qi AS VARCHAR[]), lambda q: lower(q)), lower(sensitive::VARCHAR))
            THEN error('duckanon.alpha_violations: the sensitive column ' || sensitive::VARCHAR || ' is also in qi')
        ELSE tbl END)
    GROUP BY ALL
), classes AS (
    SELECT COLUMNS('^q_'), sum(y)::BIGINT AS x, max(y) FILTER (s IS NOT NULL) AS highest
    FROM census
    GROUP BY ALL
)
SELECT COLUMNS('(?s)^q_(.*)$') AS "\1", x AS class_size, highest / x AS highest_frequency
FROM classes
WHERE highest / x > coalesce(alpha + 1e-9, error('duckanon.alpha_violations: alpha is NULL'))
ORDER BY x, COLUMNS('^q_');

COMMENT ON MACRO TABLE duckanon.alpha_violations IS
    'One row per class that breaks alpha (no rows: it holds): the qi columns, class_size, highest_frequency.';

-- ---------------------------------------------------------------------------------------------------------------
-- distinction(tbl, columns, most := 3): which columns, alone or together, single people out.
--   columns  a list of one or more different column names; ['*'] is every column of the table
--   most     how many columns a set has at most, 1 or more. All sets up to that size are measured: 8 columns make 92 sets
--            of up to three, 60 columns 1830 of up to two. Every set is a GROUP BY: more than 10,000 are refused.
--   Output  columns: the set, a list; distinct_values: its distinct combinations of values; unique_rows: rows alone
--           with theirs; unique_share: unique_rows / n. Small sets first, then the most identifying. No rows for an
--           empty table.
--   NULL    a value like any other.
--   Which columns ['*'] stands for is not known while the text for query() is written: every value becomes its rank
--   among those of its column, a row a list of ranks, and a set a list of positions in it.
CREATE OR REPLACE MACRO duckanon.distinction(tbl, columns, most := 3) AS TABLE
WITH RECURSIVE census AS (
    FROM query(CASE
        WHEN typeof(columns) <> 'VARCHAR[]' OR len(columns) = 0
            THEN error('duckanon.distinction: columns must be a list of one or more column names')
        WHEN len(list_distinct(list_transform(TRY_CAST(columns AS VARCHAR[]), lambda name: lower(name)))) < len(columns)
            THEN error('duckanon.distinction: a column is named twice')
        WHEN typeof(most) NOT IN ('INTEGER', 'BIGINT') OR most < 1 OR most IS NULL
            THEN error('duckanon.distinction: most must be a whole number, 1 or more')
        ELSE
            'SELECT '
            || CASE
                WHEN columns = ['*'] THEN 'COLUMNS(*) AS "q_\0"'
                ELSE array_to_string(list_transform(TRY_CAST(columns AS VARCHAR[]), lambda name:
                    format('COLUMNS([''{}'']) AS "q_\0"', replace(name, '''', ''''''))), ', ')
            END
            || ', count(*) AS x FROM query_table(''' || replace(tbl, '''', '''''') || ''') GROUP BY ALL'
        END)
), coded AS MATERIALIZED (
    SELECT list_value(*COLUMNS('^c_'))::INTEGER[] AS codes, x
    FROM (SELECT dense_rank() OVER (ORDER BY COLUMNS('^q_')) AS "c_\0", x FROM census)
), named AS MATERIALIZED (
    SELECT list_transform(list_value(*COLUMNS('^q_')), lambda name: substr(name, 3)) AS names
    FROM (SELECT alias(COLUMNS('^q_')) AS "\0" FROM (SELECT 1) LEFT JOIN (FROM census LIMIT 1) ON true)
), sized AS (
    SELECT
        names,
        list_sum([list_product([(len(names) - size + i) / i for i in range(1, size + 1)])
            for size in range(1, least(most, len(names)) + 1)]) AS number_of_sets
    FROM named
), grown AS (
    SELECT
        []::INTEGER[] AS members,
        CASE
            WHEN number_of_sets > 10000
                THEN error(format('duckanon.distinction: {} columns make {:.0f} sets of up to {}, and 10000 are the most: '
                    || 'name fewer columns, or set most lower', len(names), number_of_sets, most))
            ELSE len(names)
        END AS width
    FROM sized
    UNION ALL
    SELECT list_append(members, member), width
    FROM (
        SELECT members, width, unnest(range(coalesce(members[-1], 0) + 1, width + 1))::INTEGER AS member
        FROM grown
        WHERE len(members) < most
    )
), sets AS MATERIALIZED (
    SELECT members, (row_number() OVER ())::INTEGER AS number
    FROM grown
    WHERE len(members) > 0
), groups AS (
    SELECT number, list_select(codes, members) AS class, sum(x) AS x
    FROM coded, sets
    GROUP BY ALL
), measured AS (
    SELECT number, count(*) AS distinct_values, count(*) FILTER (x = 1) AS unique_rows, sum(x) AS n
    FROM groups
    GROUP BY number
)
SELECT list_select(names, members) AS "columns", distinct_values, unique_rows, unique_rows / n AS unique_share
FROM measured JOIN sets USING (number), named
ORDER BY len(members), unique_rows DESC, distinct_values DESC, members;

COMMENT ON MACRO TABLE duckanon.distinction IS
    'Which sets of up to so many columns single people out: columns, distinct_values, unique_rows, unique_share.';

-- ---------------------------------------------------------------------------------------------------------------
-- utility(source, release, qi): what a release keeps of its source, as far as it shows without the hierarchies.
--   source, release  tables or views, both with the qi columns.
--   Output  one row per measure: measure; column (of distinct_values; NULL otherwise); source; release; ratio: release
--           / source, NULL for an empty source. All figures are DOUBLE. The measures, in this order:
--             row_count           rows; what the release lacks was suppressed
--             classes             distinct combinations of the quasi-identifiers
--             average_class_size  row_count / classes
--             discernibility      sum of x_i^2 over the classes, plus N for each suppressed row, N = the source's rows
--                                 (pan eq. 8)
--             distinct_values     one row for each quasi-identifier, in the order of the source
--   NULL    a quasi-identifier value of its own.
CREATE OR REPLACE MACRO duckanon.utility(source, release, qi) AS TABLE
WITH duckanon_source AS MATERIALIZED (
    SELECT COLUMNS(qi) AS "q_\0", count(*) AS x
    FROM query_table(CASE
        WHEN typeof(qi) <> 'VARCHAR[]' OR len(qi) = 0
            THEN error('duckanon.utility: qi must be a list of one or more column names')
        ELSE source END)
    GROUP BY ALL
), duckanon_release AS MATERIALIZED (
    SELECT COLUMNS(qi) AS "q_\0", count(*) AS x
    FROM query_table(release)
    GROUP BY ALL
), source_table AS (
    SELECT coalesce(sum(x), 0)::DOUBLE AS n, count(*) AS classes, coalesce(sum(x * x::HUGEINT), 0)::DOUBLE AS squares
    FROM duckanon_source
), release_table AS (
    SELECT coalesce(sum(x), 0)::DOUBLE AS n, count(*) AS classes, coalesce(sum(x * x::HUGEINT), 0)::DOUBLE AS squares
    FROM duckanon_release
), source_values AS (
    UNPIVOT (
        SELECT count(DISTINCT COLUMNS('^q_')) + coalesce(bool_or(COLUMNS('^q_') IS NULL), false)::BIGINT AS "\0"
        FROM duckanon_source
    ) ON COLUMNS('^q_') INTO NAME name VALUE size
), release_values AS (
    UNPIVOT (
        SELECT count(DISTINCT COLUMNS('^q_')) + coalesce(bool_or(COLUMNS('^q_') IS NULL), false)::BIGINT AS "\0"
        FROM duckanon_release
    ) ON COLUMNS('^q_') INTO NAME name VALUE size
), figures AS (
    SELECT 1 AS place, 'row_count' AS label, NULL AS name, s.n AS before, r.n AS after
    FROM source_table AS s, release_table AS r
    UNION ALL
    SELECT 2, 'classes', NULL, s.classes, r.classes
    FROM source_table AS s, release_table AS r
    UNION ALL
    SELECT 3, 'average_class_size', NULL, s.n / nullif(s.classes, 0), r.n / nullif(r.classes, 0)
    FROM source_table AS s, release_table AS r
    UNION ALL
    SELECT 4, 'discernibility', NULL, s.squares, r.squares + greatest(s.n - r.n, 0) * s.n
    FROM source_table AS s, release_table AS r
    UNION ALL
    SELECT 4 + s.place, 'distinct_values', substr(s.name, 3), s.size, r.size
    FROM (SELECT *, row_number() OVER () AS place FROM source_values) AS s
    JOIN release_values AS r ON lower(s.name) = lower(r.name)
)
SELECT
    label AS measure, name AS "column", before AS "source", after AS "release", after / nullif(before, 0) AS ratio
FROM figures
ORDER BY place;

COMMENT ON MACRO TABLE duckanon.utility IS
    'What a release keeps of its source, one row per measure: measure, column, source, release, ratio.';

-- ---------------------------------------------------------------------------------------------------------------
-- roll_up(tbl, col, hierarchy, level): a column whose values are of several levels, brought to one.
--   col        the column; in a locally recoded release it holds labels of several levels of its hierarchy
--   hierarchy  a table or view with that hierarchy: level_0, level_1, … (a hierarchy file, or what
--              `duckanon hierarchy POLICY COLUMN --csv` prints)
--   level      the level to bring it to: 0, 1, …
--   Output  all columns of tbl; rolled_up: the label of that level which contains the row's value, '*' where the row
--           is released at a higher level and so belongs to none. In no particular order.
--   NULL    stays NULL. A value that is in no level of the hierarchy, or below two labels of the level, is an error.
CREATE OR REPLACE MACRO duckanon.roll_up(tbl, col, hierarchy, level) AS TABLE
WITH duckanon_steps AS (
    UNPIVOT (
        SELECT COLUMNS(['level_' || level])::VARCHAR AS duckanon_above, COLUMNS('^level_[0-9]+$')::VARCHAR
        FROM query_table(CASE
            WHEN typeof(level) <> 'INTEGER' OR level < 0 OR level IS NULL
                THEN error('duckanon.roll_up: level must be a whole number, 0 or more')
            ELSE hierarchy END)
    ) ON COLUMNS('^level_[0-9]+$') INTO NAME duckanon_at VALUE duckanon_label
), duckanon_labels AS (
    SELECT
        duckanon_label,
        count(DISTINCT duckanon_above) FILTER (substr(duckanon_at, 7)::INTEGER <= level) AS duckanon_ancestors,
        min(duckanon_above) FILTER (substr(duckanon_at, 7)::INTEGER <= level) AS duckanon_ancestor
    FROM duckanon_steps
    GROUP BY duckanon_label
), duckanon_rows AS (
    SELECT *, COLUMNS([col])::VARCHAR AS duckanon_shown FROM query_table(tbl)
)
SELECT
    duckanon_rows.* EXCLUDE (duckanon_shown),
    CASE
        WHEN duckanon_shown IS NULL THEN NULL
        WHEN duckanon_label IS NULL THEN error('duckanon.roll_up: the hierarchy does not know every value of ' || col)
        WHEN duckanon_ancestors > 1
            THEN error('duckanon.roll_up: a value of ' || col || ' lies below two labels of level ' || level)
        ELSE coalesce(duckanon_ancestor, '*')
    END AS rolled_up
FROM duckanon_rows LEFT JOIN duckanon_labels ON duckanon_shown = duckanon_label;

COMMENT ON MACRO TABLE duckanon.roll_up IS
    'A column with values of several levels of a hierarchy, brought to one: the columns of the table, rolled_up.';
