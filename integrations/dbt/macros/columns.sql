{#-
  Column names are spelled as in SQL. A plain word means what it means without quotes: on Postgres it is folded to lower case,
  on Snowflake to upper case. Every other name is taken literally, and so is a name in the warehouse's own quotes ('"Age"').

  The tests give each quasi-identifier a key (qi_1, qi_2, ...) before anything else, so that no column of the table can be
  mistaken for one of theirs.
-#}

{% macro quoted(spelling) %}
    {%- set mark = adapter.quote('')[0] %}
    {{- return(adapter.quote(duckanon.name(spelling) | replace(mark, mark ~ mark))) }}
{% endmacro %}


{% macro name(spelling) %}
    {%- set mark = adapter.quote('')[0] %}
    {%- if spelling | length > 2 and spelling[0] == mark and spelling[-1] == mark %}
        {{- return(spelling[1:-1] | replace(mark ~ mark, mark)) }}
    {%- elif modules.re.match('^[A-Za-z_][A-Za-z0-9_]*$', spelling) %}
        {{- return(adapter.dispatch('folded', 'duckanon')(spelling)) }}
    {%- endif %}
    {{- return(spelling) }}
{% endmacro %}

{% macro default__folded(word) %}{{ return(word) }}{% endmacro %}

{% macro postgres__folded(word) %}{{ return(word | lower) }}{% endmacro %}

{% macro snowflake__folded(word) %}{{ return(word | upper) }}{% endmacro %}


{#- Two spellings are of one column when their identities are equal. -#}
{% macro identity(spelling) %}
    {{- return(adapter.dispatch('identity', 'duckanon')(spelling)) }}
{% endmacro %}

{% macro default__identity(spelling) %}{{ return(duckanon.name(spelling) | lower) }}{% endmacro %}

{% macro postgres__identity(spelling) %}{{ return(duckanon.name(spelling)) }}{% endmacro %}

{% macro snowflake__identity(spelling) %}{{ return(duckanon.name(spelling)) }}{% endmacro %}


{#- "age" as qi_1, "zip" as qi_2 -#}
{% macro columns_as_keys(quasi_identifiers) %}
    {%- for column in quasi_identifiers -%}
        {{ duckanon.quoted(column) }} as qi_{{ loop.index }}{{ ', ' if not loop.last }}
    {%- endfor -%}
{% endmacro %}

{#- qi_1, qi_2 -#}
{% macro key_list(quasi_identifiers) %}
    {%- for column in quasi_identifiers -%}
        qi_{{ loop.index }}{{ ', ' if not loop.last }}
    {%- endfor -%}
{% endmacro %}

{#- qi_1 as "age", qi_2 as "zip"; a quasi-identifier called like a measure keeps its key as its name -#}
{% macro keys_as_columns(quasi_identifiers, measures) %}
    {%- for column in quasi_identifiers -%}
        qi_{{ loop.index }}
        {%- if duckanon.name(column) | lower not in measures %} as {{ duckanon.quoted(column) }}{% endif %}
        {{- ', ' if not loop.last }}
    {%- endfor -%}
{% endmacro %}
