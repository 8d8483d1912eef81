"""What a policy might be instead: other k, budgets and methods side by side, from one census. Nothing is written."""

from duckanon.comparison.choices import Choice, Grid
from duckanon.comparison.comparing import Comparing, Comparison

__all__ = ["Choice", "Comparing", "Comparison", "Grid"]
