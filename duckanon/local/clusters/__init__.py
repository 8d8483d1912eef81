"""Local recoding by clusters: classes that fail merge with their nearest, as in the papers."""

from duckanon.local.clusters.clusters import Clusters, Standing

__all__ = ["Clusters", "Standing"]
