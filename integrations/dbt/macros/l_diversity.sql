{#-
  Every class has at least l distinct values of the sensitive column. NULL is never one of them.
  A failure counts the rows of the classes that have too few, by distinct values.
-#}
{% test l_diversity(
    model, quasi_identifiers=none, sensitive_column=none, l=none, show_values=false, column_name=none
) %}
{{ config(fail_calc=duckanon.failing_rows(show_values)) }}
{%- if execute %}
{%- set sensitive_column = column_name if sensitive_column is none else sensitive_column %}
{%- do duckanon.refuse('l_diversity',
    duckanon.quasi_identifier_problems(quasi_identifiers)
    + duckanon.sensitive_column_problems(sensitive_column, quasi_identifiers)
    + duckanon.whole_number_problems('l', l)
    + duckanon.boolean_problems('show_values', show_values)
) %}
{%- set keys = duckanon.key_list(quasi_identifiers) %}

with people as (

    select
        {{ duckanon.columns_as_keys(quasi_identifiers) }},
        {{ duckanon.quoted(sensitive_column) }} as sensitive
    from {{ model }}

),

equivalence_classes as (

    select
        {{ keys }},
        count(*) as class_size,
        count(distinct sensitive) as distinct_values
    from people
    group by {{ keys }}

)

{% if show_values -%}
select
    {{ duckanon.keys_as_columns(quasi_identifiers, ['class_size', 'distinct_values']) }},
    class_size,
    distinct_values
from equivalence_classes
where distinct_values < {{ l }}
{%- else -%}
select
    distinct_values,
    count(*) as classes,
    {{ duckanon.total('class_size') }} as row_count
from equivalence_classes
where distinct_values < {{ l }}
group by distinct_values
{%- endif %}
{%- endif %}
{% endtest %}
