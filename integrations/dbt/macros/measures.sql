{#- What dbt reports as the number of failures: the rows in failing classes, not the lines of the answer. -#}
{% macro failing_rows(show_values) %}
    {{- return('coalesce(sum(' ~ ('class_size' if show_values is true else 'row_count') ~ '), 0)') }}
{% endmacro %}


{#- A sum of counts is a count: without the cast it is a HUGEINT on DuckDB and a NUMERIC on Postgres. -#}
{% macro total(counts) -%}
    cast(sum({{ counts }}) as {{ dbt.type_bigint() }})
{%- endmacro %}


{#- A float of 64 bits. dbt's own type_float has 32 on DuckDB, Spark and Trino: too few to compare shares. -#}
{% macro type_double() %}
    {{- return(adapter.dispatch('type_double', 'duckanon')()) }}
{% endmacro %}

{% macro default__type_double() %}{{ return(dbt.type_float()) }}{% endmacro %}

{% macro duckdb__type_double() %}{{ return('double') }}{% endmacro %}

{% macro spark__type_double() %}{{ return('double') }}{% endmacro %}

{% macro trino__type_double() %}{{ return('double') }}{% endmacro %}
