-- The patients as they may be shared: ages in twenties, the first three digits of the zip code, no names.
select
    cast(floor(age / 20) * 20 as integer) as age_from,
    substring(zip, 1, 3) as zip_area,
    diagnosis
from {{ ref('patients') }}
