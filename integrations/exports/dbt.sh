#!/bin/sh
# dbt holds the warehouse while it works, and its hooks are SQL: so the export follows the build.
set -e
dbt build --select +patients
duckanon run patients.toml --if-changed --wait 600
