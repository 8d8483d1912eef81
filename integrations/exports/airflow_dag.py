"""An export every night, as an Airflow DAG. The policy lies where the workers can read it."""

from __future__ import annotations

import subprocess
from datetime import datetime, timedelta

from airflow.decorators import dag, task
from airflow.exceptions import AirflowException, AirflowFailException

FOLDER = "/srv/exports"
COMMAND = ["duckanon", "run", "patients.toml", "--if-changed", "--wait", "600", "--log", "json"]
NO_RELEASE = 1


@dag(schedule="15 2 * * *", start_date=datetime(2026, 1, 1), catchup=False, max_active_runs=1)
def anonymized_exports() -> None:
    @task(retries=2, retry_delay=timedelta(minutes=10))
    def patients() -> None:
        code = subprocess.run(COMMAND, cwd=FOLDER, check=False).returncode
        if code == NO_RELEASE:  # the same data will not do better in ten minutes
            raise AirflowFailException("the policy cannot be met; the last release stands")
        if code:
            raise AirflowException(f"duckanon ended with {code}; the last release stands")

    patients()


anonymized_exports()
