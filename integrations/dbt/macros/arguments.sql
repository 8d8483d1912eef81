{#- What is wrong with a test's arguments: each macro returns a list of sentences, empty when all is well. -#}

{% macro refuse(test, problems) %}
    {%- if problems %}
        {{- exceptions.raise_compiler_error(test ~ ': ' ~ problems | join('; ')) }}
    {%- endif %}
{% endmacro %}


{% macro quasi_identifier_problems(quasi_identifiers) %}
    {%- set example = 'list the columns that others may know of a person, such as [age, zip]' %}
    {%- if quasi_identifiers is none %}
        {{- return(['quasi_identifiers is missing: ' ~ example]) }}
    {%- elif duckanon.is_no_list(quasi_identifiers) %}
        {{- return(['quasi_identifiers must be a list of column names, not ' ~ quasi_identifiers ~ ': ' ~ example]) }}
    {%- elif not quasi_identifiers %}
        {{- return(['quasi_identifiers is empty: ' ~ example]) }}
    {%- endif %}
    {%- set problems = [] %}
    {%- set seen = [] %}
    {%- for column in quasi_identifiers %}
        {%- if column is not string or not column %}
            {%- do problems.append('quasi_identifiers holds ' ~ (column or 'an empty name')
                ~ ', which is no column name: put it in quotes if it is one') %}
        {%- elif duckanon.identity(column) in seen %}
            {%- do problems.append('quasi_identifiers names ' ~ column ~ ' twice') %}
        {%- else %}
            {%- do seen.append(duckanon.identity(column)) %}
        {%- endif %}
    {%- endfor %}
    {{- return(problems) }}
{% endmacro %}


{% macro sensitive_column_problems(sensitive_column, quasi_identifiers) %}
    {%- if sensitive_column is none or not sensitive_column %}
        {{- return(['sensitive_column is missing: name the column that nobody should learn of a person']) }}
    {%- elif sensitive_column is not string %}
        {{- return(['sensitive_column must be one column name, not ' ~ sensitive_column]) }}
    {%- elif quasi_identifiers is none or duckanon.is_no_list(quasi_identifiers) %}
        {{- return([]) }}
    {%- endif %}
    {%- for column in quasi_identifiers if column is string and column %}
        {%- if duckanon.identity(column) == duckanon.identity(sensitive_column) %}
            {{- return(['sensitive_column ' ~ sensitive_column
                ~ ' is among the quasi_identifiers: a column is one or the other']) }}
        {%- endif %}
    {%- endfor %}
    {{- return([]) }}
{% endmacro %}


{% macro whole_number_problems(name, number) %}
    {%- if number is none %}
        {{- return([name ~ ' is missing: give a whole number of at least 1']) }}
    {%- elif number is not integer or number < 1 %}
        {{- return([name ~ ' must be a whole number of at least 1, not ' ~ number]) }}
    {%- endif %}
    {{- return([]) }}
{% endmacro %}


{% macro share_problems(name, number) %}
    {%- if number is none %}
        {{- return([name ~ ' is missing: give a number above 0 and at most 1']) }}
    {%- elif number is boolean or number is not number or not (0 < number <= 1) %}
        {{- return([name ~ ' must be a number above 0 and at most 1, not ' ~ number]) }}
    {%- endif %}
    {{- return([]) }}
{% endmacro %}


{% macro values_problems(values) %}
    {%- if values is none %}
        {{- return([]) }}
    {%- elif duckanon.is_no_list(values) or not values %}
        {{- return(['values must be a list of sensitive values; leave it out and alpha applies to every value']) }}
    {%- endif %}
    {%- for value in values %}
        {%- if value is none %}
            {{- return(['values holds null, which needs no protection']) }}
        {%- elif value is mapping or (value is sequence and value is not string) %}
            {{- return(['values must be a list of single values: one of them is a list or a mapping']) }}
        {%- endif %}
    {%- endfor %}
    {{- return([]) }}
{% endmacro %}


{% macro boolean_problems(name, answer) %}
    {{- return([] if answer is boolean else [name ~ ' must be true or false, not ' ~ answer]) }}
{% endmacro %}


{% macro table_test_problems(column_name) %}
    {{- return([] if column_name is none else ['this is a test of a table, not of the column ' ~ column_name
        ~ ': list it under the data_tests of the model, seed, snapshot or source table']) }}
{% endmacro %}


{% macro is_no_list(argument) %}
    {{- return(argument is string or argument is mapping or argument is not sequence) }}
{% endmacro %}
