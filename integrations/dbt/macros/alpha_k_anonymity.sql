{#-
  Every class has at least k rows, and in no class is the share of a sensitive value above alpha: of any value, or of those
  listed. NULL counts in the class and needs no protection.
  A failure counts the rows of the failing classes, by what they fail: 'k', 'alpha' or 'k and alpha'.
-#}
{% test alpha_k_anonymity(
    model,
    quasi_identifiers=none,
    sensitive_column=none,
    k=none,
    alpha=none,
    values=none,
    show_values=false,
    column_name=none
) %}
{{ config(fail_calc=duckanon.failing_rows(show_values)) }}
{%- if execute %}
{%- set sensitive_column = column_name if sensitive_column is none else sensitive_column %}
{%- do duckanon.refuse('alpha_k_anonymity',
    duckanon.quasi_identifier_problems(quasi_identifiers)
    + duckanon.sensitive_column_problems(sensitive_column, quasi_identifiers)
    + duckanon.whole_number_problems('k', k)
    + duckanon.share_problems('alpha', alpha)
    + duckanon.values_problems(values)
    + duckanon.boolean_problems('show_values', show_values)
) %}
{%- set keys = duckanon.key_list(quasi_identifiers) %}

with people as (

    select
        {{ duckanon.columns_as_keys(quasi_identifiers) }},
        {{ duckanon.quoted(sensitive_column) }} as sensitive
    from {{ model }}

),

value_counts as (

    select
        {{ keys }},
        sensitive,
        count(*) as value_rows
    from people
    group by {{ keys }}, sensitive

),

equivalence_classes as (

    select
        {{ keys }},
        {{ duckanon.total('value_rows') }} as class_size,
        max(case when {{ duckanon.is_protected(values) }} then value_rows else 0 end) as most_rows
    from value_counts
    group by {{ keys }}

),

shares as (

    select
        {{ keys }},
        class_size,
        cast(most_rows as {{ duckanon.type_double() }}) / class_size as highest_share
    from equivalence_classes

),

judged as (

    select
        {{ keys }},
        class_size,
        highest_share,
        case
            when class_size >= {{ k }} and highest_share > {{ alpha }} + 0.000000001 then 'alpha'
            when highest_share > {{ alpha }} + 0.000000001 then 'k and alpha'
            when class_size < {{ k }} then 'k'
        end as violation
    from shares

)

{% if show_values -%}
select
    {{ duckanon.keys_as_columns(quasi_identifiers, ['violation', 'class_size', 'highest_share']) }},
    violation,
    class_size,
    highest_share
from judged
where violation is not null
{%- else -%}
select
    violation,
    min(class_size) as smallest_class,
    max(highest_share) as highest_share,
    count(*) as classes,
    {{ duckanon.total('class_size') }} as row_count
from judged
where violation is not null
group by violation
{%- endif %}
{%- endif %}
{% endtest %}
