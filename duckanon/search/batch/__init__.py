"""Many nodes of the lattice measured at once."""

from duckanon.search.batch.measurer import BatchMeasurer, NodeCounts

__all__ = ["BatchMeasurer", "NodeCounts"]
