"""How many random examples a property is tried with."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# The suite tries the same examples every time; PROPERTY_EXAMPLES=20 tries twenty times as many, and new ones.
MORE = int(os.environ.get("PROPERTY_EXAMPLES", "1"))


def examples(count: int) -> settings:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(max_examples=count * MORE, deadline=None, derandomize=MORE == 1, suppress_health_check=slow)
