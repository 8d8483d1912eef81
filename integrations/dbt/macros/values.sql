{#- The condition that alpha applies to the value in `sensitive`: to every value, or to those listed; never to NULL. -#}
{% macro is_protected(values) %}
    {%- if values is none -%}
        sensitive is not null
    {%- else -%}
        {%- for value in values -%}
            {{ ' or ' if not loop.first }}{{ duckanon.is_value(value) }}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}


{#- YAML reads yes and on as true, no and off as false: all their spellings are meant. -#}
{% macro is_value(value) %}
    {%- if value is boolean -%}
        lower(cast(sensitive as {{ dbt.type_string() }})) in {{ "('true', 'yes', 'on')" if value else "('false', 'no', 'off')" }}
    {%- elif value is number -%}
        {{ duckanon.sensitive_number() }} = {{ value }}
    {%- else -%}
        sensitive = {{ duckanon.literal(value | string) }}
    {%- endif -%}
{% endmacro %}


{#-
  The sensitive value as a number. DuckDB and Snowflake would cast a text column for the comparison, and name one of its values
  in the error; the others refuse to compare, naming types only.
-#}
{% macro sensitive_number() %}
    {{- return(adapter.dispatch('sensitive_number', 'duckanon')()) }}
{% endmacro %}

{% macro default__sensitive_number() %}{{ return('sensitive') }}{% endmacro %}

{% macro duckdb__sensitive_number() %}{{ return('try_cast(sensitive as double)') }}{% endmacro %}

{% macro snowflake__sensitive_number() %}{{ return('try_cast(cast(sensitive as varchar) as float)') }}{% endmacro %}


{#- Text as a literal; a backslash is an escape on BigQuery and Snowflake. -#}
{% macro literal(text) %}
    {{- return(adapter.dispatch('literal', 'duckanon')(text)) }}
{% endmacro %}

{% macro default__literal(text) %}
    {{- return("'" ~ text | replace("'", "''") ~ "'") }}
{% endmacro %}

{% macro snowflake__literal(text) %}
    {{- return("'" ~ text | replace("\\", "\\\\") | replace("'", "''") ~ "'") }}
{% endmacro %}

{% macro bigquery__literal(text) %}
    {{- return("'" ~ text | replace("\\", "\\\\") | replace("'", "\\'") | replace("\n", "\\n") ~ "'") }}
{% endmacro %}
