-- Privacy metrics of "clinic"."patients", for postgres. Nothing is written.
-- Quasi-identifiers: "age", "zip", "odd name". A class is the rows that share them all; NULL is a value.
-- A sensitive NULL counts in its class's size and is no value. Every name is quoted: spelled as in the catalog.

-- k_anonymity: how many rows does the smallest class have?
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2"
  FROM "clinic"."patients"
), "sizes" AS (
  SELECT
    COUNT(*) AS "x"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2"
)
SELECT
  MIN("x") AS "k",
  COUNT(*) AS "classes",
  CAST(COALESCE(SUM("x"), 0) AS BIGINT) AS "row_count",
  COUNT(CASE WHEN "x" = 1 THEN 1 END) AS "unique_rows",
  AVG(CAST("x" AS DOUBLE PRECISION)) AS "average_class_size"
FROM "sizes";

-- class_sizes: how many classes are there of each size?
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2"
  FROM "clinic"."patients"
), "sizes" AS (
  SELECT
    COUNT(*) AS "x"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2"
)
SELECT
  "x" AS "class_size",
  COUNT(*) AS "classes",
  CAST(SUM("x") AS BIGINT) AS "row_count"
FROM "sizes"
GROUP BY
  "x"
ORDER BY
  "class_size";

-- risk: how likely is it to find a person, and how many rows are in classes below 5?
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2"
  FROM "clinic"."patients"
), "sizes" AS (
  SELECT
    COUNT(*) AS "x"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2"
)
SELECT
  CAST(1 AS DOUBLE PRECISION) / CAST(MIN("x") AS DOUBLE PRECISION) AS "highest_risk",
  CAST(COUNT(*) AS DOUBLE PRECISION) / CAST(SUM("x") AS DOUBLE PRECISION) AS "average_risk",
  CAST(COALESCE(SUM(CASE WHEN "x" < 5 THEN "x" END), 0) AS BIGINT) AS "rows_at_risk",
  COUNT(CASE WHEN "x" = 1 THEN 1 END) AS "unique_rows"
FROM "sizes";

-- k_violations: which sizes below 5 are there? No rows: 5-anonymity holds.
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2"
  FROM "clinic"."patients"
), "sizes" AS (
  SELECT
    COUNT(*) AS "x"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2"
)
SELECT
  "x" AS "class_size",
  COUNT(*) AS "classes",
  CAST(SUM("x") AS BIGINT) AS "row_count"
FROM "sizes"
WHERE
  "x" < 5
GROUP BY
  "x"
ORDER BY
  "class_size";

-- column_risk: how many rows are alone without each quasi-identifier, and how many more with it?
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2"
  FROM "clinic"."patients"
), "tuples" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    COUNT(*) AS "n"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2"
), "groups" AS (
  SELECT
    0 AS "part",
    SUM("n") AS "x"
  FROM "tuples"
  GROUP BY
    "g0",
    "g1",
    "g2"
  UNION ALL
  SELECT
    1 AS "part",
    SUM("n") AS "x"
  FROM "tuples"
  GROUP BY
    "g1",
    "g2"
  UNION ALL
  SELECT
    2 AS "part",
    SUM("n") AS "x"
  FROM "tuples"
  GROUP BY
    "g0",
    "g2"
  UNION ALL
  SELECT
    3 AS "part",
    SUM("n") AS "x"
  FROM "tuples"
  GROUP BY
    "g0",
    "g1"
), "alone" AS (
  SELECT
    "part",
    COUNT(CASE WHEN "x" = 1 THEN 1 END) AS "alone"
  FROM "groups"
  GROUP BY
    "part"
), "names" AS (
  SELECT
    1 AS "part",
    0 AS "whole",
    'age' AS "column_name"
  UNION ALL
  SELECT
    2 AS "part",
    0 AS "whole",
    'zip' AS "column_name"
  UNION ALL
  SELECT
    3 AS "part",
    0 AS "whole",
    'odd name' AS "column_name"
)
SELECT
  "names"."column_name",
  COALESCE("without"."alone", 0) AS "unique_rows_without",
  COALESCE("everything"."alone", 0) - COALESCE("without"."alone", 0) AS "unique_rows_added"
FROM "names"
LEFT JOIN "alone" AS "without"
  ON "without"."part" = "names"."part"
LEFT JOIN "alone" AS "everything"
  ON "everything"."part" = "names"."whole"
ORDER BY
  "unique_rows_added" DESC NULLS LAST,
  "names"."part";

-- distinction: how many rows are alone by each set of up to 3 quasi-identifiers?
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2"
  FROM "clinic"."patients"
), "tuples" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    COUNT(*) AS "n"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2"
), "groups" AS (
  SELECT
    1 AS "size",
    'age' AS "columns",
    SUM("n") AS "x"
  FROM "tuples"
  GROUP BY
    "g0"
  UNION ALL
  SELECT
    1 AS "size",
    'zip' AS "columns",
    SUM("n") AS "x"
  FROM "tuples"
  GROUP BY
    "g1"
  UNION ALL
  SELECT
    1 AS "size",
    'odd name' AS "columns",
    SUM("n") AS "x"
  FROM "tuples"
  GROUP BY
    "g2"
  UNION ALL
  SELECT
    2 AS "size",
    'age, zip' AS "columns",
    SUM("n") AS "x"
  FROM "tuples"
  GROUP BY
    "g0",
    "g1"
  UNION ALL
  SELECT
    2 AS "size",
    'age, odd name' AS "columns",
    SUM("n") AS "x"
  FROM "tuples"
  GROUP BY
    "g0",
    "g2"
  UNION ALL
  SELECT
    2 AS "size",
    'zip, odd name' AS "columns",
    SUM("n") AS "x"
  FROM "tuples"
  GROUP BY
    "g1",
    "g2"
  UNION ALL
  SELECT
    3 AS "size",
    'age, zip, odd name' AS "columns",
    SUM("n") AS "x"
  FROM "tuples"
  GROUP BY
    "g0",
    "g1",
    "g2"
)
SELECT
  "columns",
  COUNT(*) AS "distinct_values",
  COUNT(CASE WHEN "x" = 1 THEN 1 END) AS "unique_rows",
  CAST(COUNT(CASE WHEN "x" = 1 THEN 1 END) AS DOUBLE PRECISION) / CAST(SUM("x") AS DOUBLE PRECISION) AS "unique_share"
FROM "groups"
GROUP BY
  "size",
  "columns"
ORDER BY
  "size",
  "unique_rows" DESC NULLS LAST,
  "distinct_values" DESC NULLS LAST,
  "columns";

-- row_risk: how many rows are in the class of each? All rows are shown.
SELECT
  *,
  COUNT(*) OVER (PARTITION BY "age", "zip", "odd name") AS "class_size",
  CAST(1 AS DOUBLE PRECISION) / CAST(COUNT(*) OVER (PARTITION BY "age", "zip", "odd name") AS DOUBLE PRECISION) AS "risk"
FROM "clinic"."patients";

-- k_map: how many rows of the population have the quasi-identifiers of the class with the fewest?
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2"
  FROM "clinic"."patients"
), "both" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    1 AS "x",
    0 AS "m"
  FROM "renamed"
  UNION ALL
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2",
    0 AS "x",
    1 AS "m"
  FROM "clinic"."residents"
), "sizes" AS (
  SELECT
    CAST(SUM("x") AS BIGINT) AS "x",
    CAST(SUM("m") AS BIGINT) AS "m"
  FROM "both"
  GROUP BY
    "g0",
    "g1",
    "g2"
)
SELECT
  MIN(CASE WHEN "x" > 0 THEN "m" END) AS "k_map",
  COUNT(CASE WHEN "x" > 0 THEN 1 END) AS "classes",
  CAST(COALESCE(SUM("x"), 0) AS BIGINT) AS "row_count",
  CAST(COALESCE(SUM("m"), 0) AS BIGINT) AS "population_rows",
  CAST(COALESCE(SUM(CASE WHEN "x" > 0 THEN "m" END), 0) AS BIGINT) AS "covered_rows"
FROM "sizes";

-- presence: how surely is it known of somebody in the population whether the table has them?
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2"
  FROM "clinic"."patients"
), "both" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    1 AS "x",
    0 AS "m"
  FROM "renamed"
  UNION ALL
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2",
    0 AS "x",
    1 AS "m"
  FROM "clinic"."residents"
), "sizes" AS (
  SELECT
    CAST(SUM("x") AS BIGINT) AS "x",
    CAST(SUM("m") AS BIGINT) AS "m"
  FROM "both"
  GROUP BY
    "g0",
    "g1",
    "g2"
)
SELECT
  MIN(
    CAST("x" AS DOUBLE PRECISION) / CAST(CASE WHEN "m" > 0 THEN "m" ELSE 1 END AS DOUBLE PRECISION)
  ) AS "least_presence",
  MAX(
    CAST("x" AS DOUBLE PRECISION) / CAST(CASE WHEN "m" > 0 THEN "m" ELSE 1 END AS DOUBLE PRECISION)
  ) AS "most_presence"
FROM "sizes";

-- journalist_risk: how likely is it to find one of the population, and how many rows are among fewer than 5?
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2"
  FROM "clinic"."patients"
), "both" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    1 AS "x",
    0 AS "m"
  FROM "renamed"
  UNION ALL
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2",
    0 AS "x",
    1 AS "m"
  FROM "clinic"."residents"
), "sizes" AS (
  SELECT
    CAST(SUM("x") AS BIGINT) AS "x",
    CAST(SUM("m") AS BIGINT) AS "m"
  FROM "both"
  GROUP BY
    "g0",
    "g1",
    "g2"
)
SELECT
  CAST(1 AS DOUBLE PRECISION) / MIN(
    CASE
      WHEN "x" > 0
      THEN CAST(CASE WHEN "m" > 0 THEN "m" ELSE 1 END AS DOUBLE PRECISION)
    END
  ) AS "highest_risk",
  SUM(
    CAST("x" AS DOUBLE PRECISION) / CAST(CASE WHEN "m" > 0 THEN "m" ELSE 1 END AS DOUBLE PRECISION)
  ) / CAST(NULLIF(SUM("x"), 0) AS DOUBLE PRECISION) AS "average_risk",
  CAST(COALESCE(SUM(CASE WHEN "m" < 5 THEN "x" END), 0) AS BIGINT) AS "rows_at_risk"
FROM "sizes";

-- l_diversity of "disease": how many distinct values, and how many evenly spread ones, has the least diverse class?
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2",
    "disease" AS "v"
  FROM "clinic"."patients"
), "counts" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    COUNT(*) AS "y"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2",
    "v"
), "diversities" AS (
  SELECT
    COUNT("v") AS "l",
    COALESCE(
      EXP(
        LN(CAST(SUM(CASE WHEN NOT "v" IS NULL THEN "y" END) AS DOUBLE PRECISION)) - SUM(
          CASE
            WHEN NOT "v" IS NULL
            THEN CAST("y" AS DOUBLE PRECISION) * LN(CAST("y" AS DOUBLE PRECISION))
          END
        ) / CAST(SUM(CASE WHEN NOT "v" IS NULL THEN "y" END) AS DOUBLE PRECISION)
      ),
      CAST(0 AS DOUBLE PRECISION)
    ) AS "e"
  FROM "counts"
  GROUP BY
    "g0",
    "g1",
    "g2"
)
SELECT
  MIN("l") AS "distinct_l",
  MIN("e") AS "entropy_l",
  COUNT(*) AS "classes"
FROM "diversities";

-- recursive_diversity of "disease": above which c does recursive (c, 2)-diversity hold? NULL: for none.
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2",
    "disease" AS "v"
  FROM "clinic"."patients"
), "counts" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    COUNT(*) AS "y"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2",
    "v"
), "ranked" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    "y",
    ROW_NUMBER() OVER (
      PARTITION BY "g0", "g1", "g2"
      ORDER BY CASE WHEN "v" IS NULL THEN 1 ELSE 0 END, "y" DESC NULLS LAST
    ) AS "rank_"
  FROM "counts"
), "rests" AS (
  SELECT
    MAX(CASE WHEN NOT "v" IS NULL THEN "y" END) AS "top",
    SUM(CASE WHEN NOT "v" IS NULL AND "rank_" >= 2 THEN "y" END) AS "rest"
  FROM "ranked"
  GROUP BY
    "g0",
    "g1",
    "g2"
)
SELECT
  CASE
    WHEN COUNT(*) = COUNT("rest")
    THEN MAX(CAST("top" AS DOUBLE PRECISION) / CAST("rest" AS DOUBLE PRECISION))
  END AS "c"
FROM "rests";

-- homogeneity of "disease": in how many classes do all rows share one value, and how many would chance make?
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2",
    "disease" AS "v"
  FROM "clinic"."patients"
), "counts" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    COUNT(*) AS "y"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2",
    "v"
), "uniform" AS (
  SELECT
    SUM("y") AS "x",
    CASE WHEN MAX(CASE WHEN NOT "v" IS NULL THEN "y" END) = SUM("y") THEN 1 END AS "one"
  FROM "counts"
  GROUP BY
    "g0",
    "g1",
    "g2"
), "domain" AS (
  SELECT
    LN(CAST(NULLIF(COUNT(DISTINCT "v"), 0) AS DOUBLE PRECISION)) AS "log_values"
  FROM "counts"
)
SELECT
  COUNT("one") AS "homogeneous_classes",
  CAST(COALESCE(SUM(CASE WHEN "one" = 1 THEN "x" END), 0) AS BIGINT) AS "homogeneous_rows",
  SUM(
    CASE
      WHEN "log_values" IS NULL
      THEN CAST(0 AS DOUBLE PRECISION)
      WHEN CAST("x" - 1 AS DOUBLE PRECISION) * "log_values" > CAST(700 AS DOUBLE PRECISION)
      THEN CAST(0 AS DOUBLE PRECISION)
      ELSE EXP(CAST(1 - "x" AS DOUBLE PRECISION) * "log_values")
    END
  ) AS "expected_classes"
FROM "uniform"
CROSS JOIN "domain";

-- value_diversity of "disease": how many distinct values, at least, has a class that contains each value?
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2",
    "disease" AS "v"
  FROM "clinic"."patients"
), "counts" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    COUNT(*) AS "y"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2",
    "v"
), "shares" AS (
  SELECT
    "v",
    "y",
    COUNT("v") OVER (PARTITION BY "g0", "g1", "g2") AS "l"
  FROM "counts"
)
SELECT
  "v" AS "value",
  CAST(SUM("y") AS BIGINT) AS "row_count",
  MIN("l") AS "distinct_l"
FROM "shares"
WHERE
  NOT "v" IS NULL
GROUP BY
  "v"
ORDER BY
  "row_count" DESC NULLS LAST;

-- alpha of "disease": which share of all rows has each value, and which share of a class at most?
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2",
    "disease" AS "v"
  FROM "clinic"."patients"
), "counts" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    COUNT(*) AS "y"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2",
    "v"
), "shares" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    "y",
    SUM("y") OVER (PARTITION BY "g0", "g1", "g2") AS "x"
  FROM "counts"
), "totals" AS (
  SELECT
    SUM("y") AS "n"
  FROM "counts"
)
SELECT
  "v" AS "value",
  CAST(SUM("y") AS BIGINT) AS "row_count",
  CAST(SUM("y") AS DOUBLE PRECISION) / CAST(MAX("n") AS DOUBLE PRECISION) AS "frequency",
  MAX(CAST("y" AS DOUBLE PRECISION) / CAST("x" AS DOUBLE PRECISION)) AS "alpha"
FROM "shares"
CROSS JOIN "totals"
WHERE
  NOT "v" IS NULL
GROUP BY
  "v"
ORDER BY
  "row_count" DESC NULLS LAST;

-- leakage of "disease": how sure of each value is one who knows a person's class: on average (alp), at most, and the difference?
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2",
    "disease" AS "v"
  FROM "clinic"."patients"
), "counts" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    COUNT(*) AS "y"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2",
    "v"
), "shares" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    "y",
    SUM("y") OVER (PARTITION BY "g0", "g1", "g2") AS "x"
  FROM "counts"
)
SELECT
  "v" AS "value",
  CAST(SUM("y") AS BIGINT) AS "row_count",
  SUM(
    CAST("y" AS DOUBLE PRECISION) * CAST("y" AS DOUBLE PRECISION) / CAST("x" AS DOUBLE PRECISION)
  ) / CAST(SUM("y") AS DOUBLE PRECISION) AS "alp",
  MAX(CAST("y" AS DOUBLE PRECISION) / CAST("x" AS DOUBLE PRECISION)) AS "highest_lp",
  MAX(CAST("y" AS DOUBLE PRECISION) / CAST("x" AS DOUBLE PRECISION)) - SUM(
    CAST("y" AS DOUBLE PRECISION) * CAST("y" AS DOUBLE PRECISION) / CAST("x" AS DOUBLE PRECISION)
  ) / CAST(SUM("y") AS DOUBLE PRECISION) AS "dif"
FROM "shares"
WHERE
  NOT "v" IS NULL
GROUP BY
  "v"
ORDER BY
  "row_count" DESC NULLS LAST;

-- skewness of "disease": in how many classes has some value a share above 0.5?
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2",
    "disease" AS "v"
  FROM "clinic"."patients"
), "counts" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    COUNT(*) AS "y"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2",
    "v"
), "tops" AS (
  SELECT
    SUM("y") AS "x",
    MAX(CASE WHEN NOT "v" IS NULL THEN "y" END) AS "top"
  FROM "counts"
  GROUP BY
    "g0",
    "g1",
    "g2"
)
SELECT
  COUNT(
    CASE
      WHEN CAST("top" AS DOUBLE PRECISION) / CAST("x" AS DOUBLE PRECISION) > CAST('0.500000001' AS DOUBLE PRECISION)
      THEN 1
    END
  ) AS "skewed_classes",
  CAST(COALESCE(
    SUM(
      CASE
        WHEN CAST("top" AS DOUBLE PRECISION) / CAST("x" AS DOUBLE PRECISION) > CAST('0.500000001' AS DOUBLE PRECISION)
        THEN "x"
      END
    ),
    0
  ) AS BIGINT) AS "skewed_rows"
FROM "tops";

-- t_closeness of "disease": how far does a class's distribution lie from the table's, at most? (Equal distance.)
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2",
    "disease" AS "v"
  FROM "clinic"."patients"
), "counts" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    COUNT(*) AS "y"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2",
    "v"
), "reference" AS (
  SELECT
    "v",
    SUM("y") AS "n"
  FROM "counts"
  WHERE
    NOT "v" IS NULL
  GROUP BY
    "v"
), "valued" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    "y",
    SUM("y") OVER (PARTITION BY "g0", "g1", "g2") AS "z"
  FROM "counts"
  WHERE
    NOT "v" IS NULL
), "totals" AS (
  SELECT
    SUM("n") AS "total"
  FROM "reference"
), "gaps" AS (
  SELECT
    "valued"."g0",
    "valued"."g1",
    "valued"."g2",
    CAST("valued"."y" AS DOUBLE PRECISION) / CAST("z" AS DOUBLE PRECISION) AS "p",
    CAST(COALESCE("reference"."n", 0) AS DOUBLE PRECISION) / CAST("total" AS DOUBLE PRECISION) AS "q"
  FROM "valued"
  LEFT JOIN "reference"
    ON "valued"."v" = "reference"."v"
  CROSS JOIN "totals"
), "distances" AS (
  SELECT
    SUM(CASE WHEN "q" >= "p" THEN CAST(0 AS DOUBLE PRECISION) ELSE "p" - "q" END) AS "distance"
  FROM "gaps"
  GROUP BY
    "g0",
    "g1",
    "g2"
)
SELECT
  MAX("distance") AS "t"
FROM "distances";

-- beta_likeness of "disease": by how many times its share of the table is a value's share of a class above it, at most? (enhanced_beta: NULL where it is by more than -LN of that share.)
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2",
    "disease" AS "v"
  FROM "clinic"."patients"
), "counts" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    COUNT(*) AS "y"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2",
    "v"
), "reference" AS (
  SELECT
    "v",
    SUM("y") AS "n"
  FROM "counts"
  WHERE
    NOT "v" IS NULL
  GROUP BY
    "v"
), "in_classes" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    "y",
    SUM("y") OVER (PARTITION BY "g0", "g1", "g2") AS "of_class"
  FROM "counts"
  WHERE
    NOT "v" IS NULL
), "either" AS (
  SELECT
    "v",
    SUM("n") AS "n"
  FROM (
    SELECT
      "v",
      "n"
    FROM "reference"
    UNION ALL
    SELECT DISTINCT
      "v",
      0 AS "n"
    FROM "in_classes"
  ) AS "both_"
  GROUP BY
    "v"
), "everything" AS (
  SELECT
    SUM("n") AS "total"
  FROM "either"
), "found" AS (
  SELECT
    "in_classes"."v" AS "v",
    MAX(
      CAST(CAST("y" AS DOUBLE PRECISION) * CAST("total" AS DOUBLE PRECISION) AS DOUBLE PRECISION) / (
        CAST("of_class" AS DOUBLE PRECISION) * CAST("n" AS DOUBLE PRECISION)
      )
    ) AS "highest",
    MIN(
      CAST(CAST("y" AS DOUBLE PRECISION) * CAST("total" AS DOUBLE PRECISION) AS DOUBLE PRECISION) / (
        CAST("of_class" AS DOUBLE PRECISION) * CAST("n" AS DOUBLE PRECISION)
      )
    ) AS "lowest",
    COUNT(*) AS "classes"
  FROM "in_classes"
  JOIN "either"
    ON "in_classes"."v" = "either"."v"
  CROSS JOIN "everything"
  WHERE
    "n" > 0
  GROUP BY
    "in_classes"."v"
), "each_class" AS (
  SELECT
    1 AS "one"
  FROM "counts"
  GROUP BY
    "g0",
    "g1",
    "g2"
), "every_class" AS (
  SELECT
    COUNT(*) AS "classes"
  FROM "each_class"
), "likenesses" AS (
  SELECT
    "either"."v" AS "v",
    COALESCE(
      CAST("n" AS DOUBLE PRECISION) / CAST(NULLIF("total", 0) AS DOUBLE PRECISION),
      CAST(0 AS DOUBLE PRECISION)
    ) AS "share",
    "highest" AS "highest",
    "lowest" AS "lowest",
    "every_class"."classes" - COALESCE("found"."classes", 0) AS "missing"
  FROM "either"
  LEFT JOIN "found"
    ON "either"."v" = "found"."v"
  CROSS JOIN "everything"
  CROSS JOIN "every_class"
)
SELECT
  CASE WHEN COUNT(CASE WHEN "share" = 0 THEN 1 END) = 0 THEN MAX("highest") - 1 END AS "beta",
  CASE
    WHEN COUNT(
      CASE
        WHEN "share" = 0
        OR "highest" - 1 > CAST('1e-09' AS DOUBLE PRECISION) - LN(NULLIF("share", 0))
        THEN 1
      END
    ) = 0
    THEN MAX("highest") - 1
  END AS "enhanced_beta"
FROM "likenesses";

-- delta_disclosure of "disease": which |LN(q / p)| has a value's share q of a class, p being that of the table, at most? (delta: NULL where a class lacks a value. present_delta: of the values that a class has.)
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2",
    "disease" AS "v"
  FROM "clinic"."patients"
), "counts" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    COUNT(*) AS "y"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2",
    "v"
), "reference" AS (
  SELECT
    "v",
    SUM("y") AS "n"
  FROM "counts"
  WHERE
    NOT "v" IS NULL
  GROUP BY
    "v"
), "in_classes" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    "y",
    SUM("y") OVER (PARTITION BY "g0", "g1", "g2") AS "of_class"
  FROM "counts"
  WHERE
    NOT "v" IS NULL
), "either" AS (
  SELECT
    "v",
    SUM("n") AS "n"
  FROM (
    SELECT
      "v",
      "n"
    FROM "reference"
    UNION ALL
    SELECT DISTINCT
      "v",
      0 AS "n"
    FROM "in_classes"
  ) AS "both_"
  GROUP BY
    "v"
), "everything" AS (
  SELECT
    SUM("n") AS "total"
  FROM "either"
), "found" AS (
  SELECT
    "in_classes"."v" AS "v",
    MAX(
      CAST(CAST("y" AS DOUBLE PRECISION) * CAST("total" AS DOUBLE PRECISION) AS DOUBLE PRECISION) / (
        CAST("of_class" AS DOUBLE PRECISION) * CAST("n" AS DOUBLE PRECISION)
      )
    ) AS "highest",
    MIN(
      CAST(CAST("y" AS DOUBLE PRECISION) * CAST("total" AS DOUBLE PRECISION) AS DOUBLE PRECISION) / (
        CAST("of_class" AS DOUBLE PRECISION) * CAST("n" AS DOUBLE PRECISION)
      )
    ) AS "lowest",
    COUNT(*) AS "classes"
  FROM "in_classes"
  JOIN "either"
    ON "in_classes"."v" = "either"."v"
  CROSS JOIN "everything"
  WHERE
    "n" > 0
  GROUP BY
    "in_classes"."v"
), "each_class" AS (
  SELECT
    1 AS "one"
  FROM "counts"
  GROUP BY
    "g0",
    "g1",
    "g2"
), "every_class" AS (
  SELECT
    COUNT(*) AS "classes"
  FROM "each_class"
), "likenesses" AS (
  SELECT
    "either"."v" AS "v",
    COALESCE(
      CAST("n" AS DOUBLE PRECISION) / CAST(NULLIF("total", 0) AS DOUBLE PRECISION),
      CAST(0 AS DOUBLE PRECISION)
    ) AS "share",
    "highest" AS "highest",
    "lowest" AS "lowest",
    "every_class"."classes" - COALESCE("found"."classes", 0) AS "missing"
  FROM "either"
  LEFT JOIN "found"
    ON "either"."v" = "found"."v"
  CROSS JOIN "everything"
  CROSS JOIN "every_class"
)
SELECT
  CASE
    WHEN COUNT(CASE WHEN "share" = 0 OR "missing" > 0 THEN 1 END) = 0
    THEN MAX(GREATEST(ABS(LN("highest")), ABS(LN("lowest"))))
  END AS "delta",
  CASE
    WHEN COUNT(CASE WHEN "share" = 0 THEN 1 END) = 0
    THEN MAX(GREATEST(ABS(LN("highest")), ABS(LN("lowest"))))
  END AS "present_delta"
FROM "likenesses";

-- l_diversity of "salary": how many distinct values, and how many evenly spread ones, has the least diverse class?
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2",
    "salary" AS "v"
  FROM "clinic"."patients"
), "counts" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    COUNT(*) AS "y"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2",
    "v"
), "diversities" AS (
  SELECT
    COUNT("v") AS "l",
    COALESCE(
      EXP(
        LN(CAST(SUM(CASE WHEN NOT "v" IS NULL THEN "y" END) AS DOUBLE PRECISION)) - SUM(
          CASE
            WHEN NOT "v" IS NULL
            THEN CAST("y" AS DOUBLE PRECISION) * LN(CAST("y" AS DOUBLE PRECISION))
          END
        ) / CAST(SUM(CASE WHEN NOT "v" IS NULL THEN "y" END) AS DOUBLE PRECISION)
      ),
      CAST(0 AS DOUBLE PRECISION)
    ) AS "e"
  FROM "counts"
  GROUP BY
    "g0",
    "g1",
    "g2"
)
SELECT
  MIN("l") AS "distinct_l",
  MIN("e") AS "entropy_l",
  COUNT(*) AS "classes"
FROM "diversities";

-- recursive_diversity of "salary": above which c does recursive (c, 2)-diversity hold? NULL: for none.
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2",
    "salary" AS "v"
  FROM "clinic"."patients"
), "counts" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    COUNT(*) AS "y"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2",
    "v"
), "ranked" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    "y",
    ROW_NUMBER() OVER (
      PARTITION BY "g0", "g1", "g2"
      ORDER BY CASE WHEN "v" IS NULL THEN 1 ELSE 0 END, "y" DESC NULLS LAST
    ) AS "rank_"
  FROM "counts"
), "rests" AS (
  SELECT
    MAX(CASE WHEN NOT "v" IS NULL THEN "y" END) AS "top",
    SUM(CASE WHEN NOT "v" IS NULL AND "rank_" >= 2 THEN "y" END) AS "rest"
  FROM "ranked"
  GROUP BY
    "g0",
    "g1",
    "g2"
)
SELECT
  CASE
    WHEN COUNT(*) = COUNT("rest")
    THEN MAX(CAST("top" AS DOUBLE PRECISION) / CAST("rest" AS DOUBLE PRECISION))
  END AS "c"
FROM "rests";

-- homogeneity of "salary": in how many classes do all rows share one value, and how many would chance make?
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2",
    "salary" AS "v"
  FROM "clinic"."patients"
), "counts" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    COUNT(*) AS "y"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2",
    "v"
), "uniform" AS (
  SELECT
    SUM("y") AS "x",
    CASE WHEN MAX(CASE WHEN NOT "v" IS NULL THEN "y" END) = SUM("y") THEN 1 END AS "one"
  FROM "counts"
  GROUP BY
    "g0",
    "g1",
    "g2"
), "domain" AS (
  SELECT
    LN(CAST(NULLIF(COUNT(DISTINCT "v"), 0) AS DOUBLE PRECISION)) AS "log_values"
  FROM "counts"
)
SELECT
  COUNT("one") AS "homogeneous_classes",
  CAST(COALESCE(SUM(CASE WHEN "one" = 1 THEN "x" END), 0) AS BIGINT) AS "homogeneous_rows",
  SUM(
    CASE
      WHEN "log_values" IS NULL
      THEN CAST(0 AS DOUBLE PRECISION)
      WHEN CAST("x" - 1 AS DOUBLE PRECISION) * "log_values" > CAST(700 AS DOUBLE PRECISION)
      THEN CAST(0 AS DOUBLE PRECISION)
      ELSE EXP(CAST(1 - "x" AS DOUBLE PRECISION) * "log_values")
    END
  ) AS "expected_classes"
FROM "uniform"
CROSS JOIN "domain";

-- value_diversity of "salary": how many distinct values, at least, has a class that contains each value?
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2",
    "salary" AS "v"
  FROM "clinic"."patients"
), "counts" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    COUNT(*) AS "y"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2",
    "v"
), "shares" AS (
  SELECT
    "v",
    "y",
    COUNT("v") OVER (PARTITION BY "g0", "g1", "g2") AS "l"
  FROM "counts"
)
SELECT
  "v" AS "value",
  CAST(SUM("y") AS BIGINT) AS "row_count",
  MIN("l") AS "distinct_l"
FROM "shares"
WHERE
  NOT "v" IS NULL
GROUP BY
  "v"
ORDER BY
  "row_count" DESC NULLS LAST;

-- alpha of "salary": which share of all rows has each value, and which share of a class at most?
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2",
    "salary" AS "v"
  FROM "clinic"."patients"
), "counts" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    COUNT(*) AS "y"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2",
    "v"
), "shares" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    "y",
    SUM("y") OVER (PARTITION BY "g0", "g1", "g2") AS "x"
  FROM "counts"
), "totals" AS (
  SELECT
    SUM("y") AS "n"
  FROM "counts"
)
SELECT
  "v" AS "value",
  CAST(SUM("y") AS BIGINT) AS "row_count",
  CAST(SUM("y") AS DOUBLE PRECISION) / CAST(MAX("n") AS DOUBLE PRECISION) AS "frequency",
  MAX(CAST("y" AS DOUBLE PRECISION) / CAST("x" AS DOUBLE PRECISION)) AS "alpha"
FROM "shares"
CROSS JOIN "totals"
WHERE
  NOT "v" IS NULL
GROUP BY
  "v"
ORDER BY
  "row_count" DESC NULLS LAST;

-- leakage of "salary": how sure of each value is one who knows a person's class: on average (alp), at most, and the difference?
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2",
    "salary" AS "v"
  FROM "clinic"."patients"
), "counts" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    COUNT(*) AS "y"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2",
    "v"
), "shares" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    "y",
    SUM("y") OVER (PARTITION BY "g0", "g1", "g2") AS "x"
  FROM "counts"
)
SELECT
  "v" AS "value",
  CAST(SUM("y") AS BIGINT) AS "row_count",
  SUM(
    CAST("y" AS DOUBLE PRECISION) * CAST("y" AS DOUBLE PRECISION) / CAST("x" AS DOUBLE PRECISION)
  ) / CAST(SUM("y") AS DOUBLE PRECISION) AS "alp",
  MAX(CAST("y" AS DOUBLE PRECISION) / CAST("x" AS DOUBLE PRECISION)) AS "highest_lp",
  MAX(CAST("y" AS DOUBLE PRECISION) / CAST("x" AS DOUBLE PRECISION)) - SUM(
    CAST("y" AS DOUBLE PRECISION) * CAST("y" AS DOUBLE PRECISION) / CAST("x" AS DOUBLE PRECISION)
  ) / CAST(SUM("y") AS DOUBLE PRECISION) AS "dif"
FROM "shares"
WHERE
  NOT "v" IS NULL
GROUP BY
  "v"
ORDER BY
  "row_count" DESC NULLS LAST;

-- skewness of "salary": in how many classes has some value a share above 0.5?
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2",
    "salary" AS "v"
  FROM "clinic"."patients"
), "counts" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    COUNT(*) AS "y"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2",
    "v"
), "tops" AS (
  SELECT
    SUM("y") AS "x",
    MAX(CASE WHEN NOT "v" IS NULL THEN "y" END) AS "top"
  FROM "counts"
  GROUP BY
    "g0",
    "g1",
    "g2"
)
SELECT
  COUNT(
    CASE
      WHEN CAST("top" AS DOUBLE PRECISION) / CAST("x" AS DOUBLE PRECISION) > CAST('0.500000001' AS DOUBLE PRECISION)
      THEN 1
    END
  ) AS "skewed_classes",
  CAST(COALESCE(
    SUM(
      CASE
        WHEN CAST("top" AS DOUBLE PRECISION) / CAST("x" AS DOUBLE PRECISION) > CAST('0.500000001' AS DOUBLE PRECISION)
        THEN "x"
      END
    ),
    0
  ) AS BIGINT) AS "skewed_rows"
FROM "tops";

-- t_closeness of "salary": how far does a class's distribution lie from the table's, at most? (Ordered distance.)
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2",
    "salary" AS "v"
  FROM "clinic"."patients"
), "counts" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    COUNT(*) AS "y"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2",
    "v"
), "reference" AS (
  SELECT
    "v",
    SUM("y") AS "n"
  FROM "counts"
  WHERE
    NOT "v" IS NULL
  GROUP BY
    "v"
), "valued" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    "y",
    SUM("y") OVER (PARTITION BY "g0", "g1", "g2") AS "z"
  FROM "counts"
  WHERE
    NOT "v" IS NULL
), "domain" AS (
  SELECT
    "v",
    SUM("n") AS "n"
  FROM (
    SELECT
      "v",
      "n"
    FROM "reference"
    UNION ALL
    SELECT DISTINCT
      "v",
      0 AS "n"
    FROM "valued"
  ) AS "both_"
  GROUP BY
    "v"
), "reached" AS (
  SELECT
    "v",
    ROW_NUMBER() OVER (ORDER BY "v" NULLS FIRST) AS "i",
    CAST(SUM("n") OVER (ORDER BY "v" NULLS FIRST) AS DOUBLE PRECISION) AS "reached"
  FROM "domain"
), "whole" AS (
  SELECT
    COUNT(*) AS "values_",
    NULLIF(MAX("reached"), CAST(0 AS DOUBLE PRECISION)) AS "total",
    SUM("reached") AS "area"
  FROM "reached"
), "ladder" AS (
  SELECT
    "v",
    "i",
    "reached",
    SUM("reached") OVER (ORDER BY "i" NULLS FIRST) - "reached" AS "before",
    CAST("reached" AS DOUBLE PRECISION) / "total" AS "q"
  FROM "reached"
  CROSS JOIN "whole"
), "placed" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "y",
    "i",
    "before"
  FROM "valued"
  JOIN "ladder"
    ON "valued"."v" = "ladder"."v"
), "stretches" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "i",
    "before",
    LEAD("i") OVER (PARTITION BY "g0", "g1", "g2" ORDER BY "i" NULLS FIRST) AS "next_",
    CAST(SUM("y") OVER (PARTITION BY "g0", "g1", "g2" ORDER BY "i" NULLS FIRST) AS BIGINT) AS "c",
    CAST(SUM("y") OVER (PARTITION BY "g0", "g1", "g2") AS BIGINT) AS "n"
  FROM "placed"
), "marks" AS (
  SELECT DISTINCT
    "c",
    "n",
    CAST("c" AS DOUBLE PRECISION) / CAST("n" AS DOUBLE PRECISION) AS "at",
    0 AS "passed"
  FROM "stretches"
  UNION ALL
  SELECT
    CAST(NULL AS BIGINT) AS "c",
    CAST(NULL AS BIGINT) AS "n",
    "q" AS "at",
    1 AS "passed"
  FROM "ladder"
), "turns" AS (
  SELECT
    "c",
    "n",
    "at",
    1 + SUM("passed") OVER (ORDER BY "at" NULLS FIRST, "passed" NULLS FIRST) AS "turn"
  FROM "marks"
), "turned" AS (
  SELECT
    "stretches"."g0",
    "stretches"."g1",
    "stretches"."g2",
    "i",
    "before",
    "at",
    "values_",
    "total",
    "area",
    COALESCE("next_", "values_" + 1) AS "end_",
    GREATEST("i", LEAST(COALESCE("next_", "values_" + 1), "turn")) AS "turn_"
  FROM "stretches"
  JOIN "turns"
    ON "stretches"."c" = "turns"."c" AND "stretches"."n" = "turns"."n"
  CROSS JOIN "whole"
), "distances" AS (
  SELECT
    (
      SUM("turned"."at" * CAST(2 * "turn_" - "turned"."i" - "end_" AS DOUBLE PRECISION)) + CAST((
        SUM(2 * (
          "turned"."before" - "ladder"."before"
        )) + MAX("area")
      ) AS DOUBLE PRECISION) / MAX("total")
    ) / CAST(GREATEST(MAX("values_") - 1, 1) AS DOUBLE PRECISION) AS "distance"
  FROM "turned"
  JOIN "ladder"
    ON "ladder"."i" = "turned"."turn_"
  GROUP BY
    "g0",
    "g1",
    "g2"
)
SELECT
  MAX("distance") AS "t"
FROM "distances";

-- beta_likeness of "salary": by how many times its share of the table is a value's share of a class above it, at most? (enhanced_beta: NULL where it is by more than -LN of that share.)
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2",
    "salary" AS "v"
  FROM "clinic"."patients"
), "counts" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    COUNT(*) AS "y"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2",
    "v"
), "reference" AS (
  SELECT
    "v",
    SUM("y") AS "n"
  FROM "counts"
  WHERE
    NOT "v" IS NULL
  GROUP BY
    "v"
), "in_classes" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    "y",
    SUM("y") OVER (PARTITION BY "g0", "g1", "g2") AS "of_class"
  FROM "counts"
  WHERE
    NOT "v" IS NULL
), "either" AS (
  SELECT
    "v",
    SUM("n") AS "n"
  FROM (
    SELECT
      "v",
      "n"
    FROM "reference"
    UNION ALL
    SELECT DISTINCT
      "v",
      0 AS "n"
    FROM "in_classes"
  ) AS "both_"
  GROUP BY
    "v"
), "everything" AS (
  SELECT
    SUM("n") AS "total"
  FROM "either"
), "found" AS (
  SELECT
    "in_classes"."v" AS "v",
    MAX(
      CAST(CAST("y" AS DOUBLE PRECISION) * CAST("total" AS DOUBLE PRECISION) AS DOUBLE PRECISION) / (
        CAST("of_class" AS DOUBLE PRECISION) * CAST("n" AS DOUBLE PRECISION)
      )
    ) AS "highest",
    MIN(
      CAST(CAST("y" AS DOUBLE PRECISION) * CAST("total" AS DOUBLE PRECISION) AS DOUBLE PRECISION) / (
        CAST("of_class" AS DOUBLE PRECISION) * CAST("n" AS DOUBLE PRECISION)
      )
    ) AS "lowest",
    COUNT(*) AS "classes"
  FROM "in_classes"
  JOIN "either"
    ON "in_classes"."v" = "either"."v"
  CROSS JOIN "everything"
  WHERE
    "n" > 0
  GROUP BY
    "in_classes"."v"
), "each_class" AS (
  SELECT
    1 AS "one"
  FROM "counts"
  GROUP BY
    "g0",
    "g1",
    "g2"
), "every_class" AS (
  SELECT
    COUNT(*) AS "classes"
  FROM "each_class"
), "likenesses" AS (
  SELECT
    "either"."v" AS "v",
    COALESCE(
      CAST("n" AS DOUBLE PRECISION) / CAST(NULLIF("total", 0) AS DOUBLE PRECISION),
      CAST(0 AS DOUBLE PRECISION)
    ) AS "share",
    "highest" AS "highest",
    "lowest" AS "lowest",
    "every_class"."classes" - COALESCE("found"."classes", 0) AS "missing"
  FROM "either"
  LEFT JOIN "found"
    ON "either"."v" = "found"."v"
  CROSS JOIN "everything"
  CROSS JOIN "every_class"
)
SELECT
  CASE WHEN COUNT(CASE WHEN "share" = 0 THEN 1 END) = 0 THEN MAX("highest") - 1 END AS "beta",
  CASE
    WHEN COUNT(
      CASE
        WHEN "share" = 0
        OR "highest" - 1 > CAST('1e-09' AS DOUBLE PRECISION) - LN(NULLIF("share", 0))
        THEN 1
      END
    ) = 0
    THEN MAX("highest") - 1
  END AS "enhanced_beta"
FROM "likenesses";

-- delta_disclosure of "salary": which |LN(q / p)| has a value's share q of a class, p being that of the table, at most? (delta: NULL where a class lacks a value. present_delta: of the values that a class has.)
WITH "renamed" AS (
  SELECT
    "age" AS "g0",
    "zip" AS "g1",
    "odd name" AS "g2",
    "salary" AS "v"
  FROM "clinic"."patients"
), "counts" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    COUNT(*) AS "y"
  FROM "renamed"
  GROUP BY
    "g0",
    "g1",
    "g2",
    "v"
), "reference" AS (
  SELECT
    "v",
    SUM("y") AS "n"
  FROM "counts"
  WHERE
    NOT "v" IS NULL
  GROUP BY
    "v"
), "in_classes" AS (
  SELECT
    "g0",
    "g1",
    "g2",
    "v",
    "y",
    SUM("y") OVER (PARTITION BY "g0", "g1", "g2") AS "of_class"
  FROM "counts"
  WHERE
    NOT "v" IS NULL
), "either" AS (
  SELECT
    "v",
    SUM("n") AS "n"
  FROM (
    SELECT
      "v",
      "n"
    FROM "reference"
    UNION ALL
    SELECT DISTINCT
      "v",
      0 AS "n"
    FROM "in_classes"
  ) AS "both_"
  GROUP BY
    "v"
), "everything" AS (
  SELECT
    SUM("n") AS "total"
  FROM "either"
), "found" AS (
  SELECT
    "in_classes"."v" AS "v",
    MAX(
      CAST(CAST("y" AS DOUBLE PRECISION) * CAST("total" AS DOUBLE PRECISION) AS DOUBLE PRECISION) / (
        CAST("of_class" AS DOUBLE PRECISION) * CAST("n" AS DOUBLE PRECISION)
      )
    ) AS "highest",
    MIN(
      CAST(CAST("y" AS DOUBLE PRECISION) * CAST("total" AS DOUBLE PRECISION) AS DOUBLE PRECISION) / (
        CAST("of_class" AS DOUBLE PRECISION) * CAST("n" AS DOUBLE PRECISION)
      )
    ) AS "lowest",
    COUNT(*) AS "classes"
  FROM "in_classes"
  JOIN "either"
    ON "in_classes"."v" = "either"."v"
  CROSS JOIN "everything"
  WHERE
    "n" > 0
  GROUP BY
    "in_classes"."v"
), "each_class" AS (
  SELECT
    1 AS "one"
  FROM "counts"
  GROUP BY
    "g0",
    "g1",
    "g2"
), "every_class" AS (
  SELECT
    COUNT(*) AS "classes"
  FROM "each_class"
), "likenesses" AS (
  SELECT
    "either"."v" AS "v",
    COALESCE(
      CAST("n" AS DOUBLE PRECISION) / CAST(NULLIF("total", 0) AS DOUBLE PRECISION),
      CAST(0 AS DOUBLE PRECISION)
    ) AS "share",
    "highest" AS "highest",
    "lowest" AS "lowest",
    "every_class"."classes" - COALESCE("found"."classes", 0) AS "missing"
  FROM "either"
  LEFT JOIN "found"
    ON "either"."v" = "found"."v"
  CROSS JOIN "everything"
  CROSS JOIN "every_class"
)
SELECT
  CASE
    WHEN COUNT(CASE WHEN "share" = 0 OR "missing" > 0 THEN 1 END) = 0
    THEN MAX(GREATEST(ABS(LN("highest")), ABS(LN("lowest"))))
  END AS "delta",
  CASE
    WHEN COUNT(CASE WHEN "share" = 0 THEN 1 END) = 0
    THEN MAX(GREATEST(ABS(LN("highest")), ABS(LN("lowest"))))
  END AS "present_delta"
FROM "likenesses";
