"""The metrics as plain SELECTs for any warehouse."""

from duckanon.analysts.portable.scripts import DIALECTS, comment, metric_queries, metrics_script
from duckanon.query.steps import Metric

__all__ = ["DIALECTS", "Metric", "comment", "metric_queries", "metrics_script"]
