"""Many nodes of the lattice measured at once.

The statements are text for DuckDB alone, the workbench: only their columns change from one to the next, and the rules
in them are rendered once. They hold no name and no value of the user's.
"""

from duckanon.search.batch.measurer import SIZES, BatchMeasurer, NodeCounts, NodeMeasurer, Sizes, node_figures

__all__ = ["SIZES", "BatchMeasurer", "NodeCounts", "NodeMeasurer", "Sizes", "node_figures"]
