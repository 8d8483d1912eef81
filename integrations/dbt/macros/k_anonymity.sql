{#-
  Every class - the rows that share their quasi-identifier values, NULL being a value - has at least k rows.
  A failure counts the rows of the classes that are too small, by class size.
-#}
{% test k_anonymity(model, quasi_identifiers=none, k=none, show_values=false, column_name=none) %}
{{ config(fail_calc=duckanon.failing_rows(show_values)) }}
{%- if execute %}
{%- do duckanon.refuse('k_anonymity',
    duckanon.quasi_identifier_problems(quasi_identifiers)
    + duckanon.whole_number_problems('k', k)
    + duckanon.boolean_problems('show_values', show_values)
    + duckanon.table_test_problems(column_name)
) %}
{%- set keys = duckanon.key_list(quasi_identifiers) %}

with people as (

    select
        {{ duckanon.columns_as_keys(quasi_identifiers) }}
    from {{ model }}

),

equivalence_classes as (

    select
        {{ keys }},
        count(*) as class_size
    from people
    group by {{ keys }}

)

{% if show_values -%}
select
    {{ duckanon.keys_as_columns(quasi_identifiers, ['class_size']) }},
    class_size
from equivalence_classes
where class_size < {{ k }}
{%- else -%}
select
    class_size,
    count(*) as classes,
    {{ duckanon.total('class_size') }} as row_count
from equivalence_classes
where class_size < {{ k }}
group by class_size
{%- endif %}
{%- endif %}
{% endtest %}
