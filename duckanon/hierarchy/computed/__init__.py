"""Hierarchies that are computed: one module for each way to compute a label from a value."""

from duckanon.hierarchy.computed.calendar import WIDEST, iso_day
from duckanon.hierarchy.computed.cuts import CutsKind
from duckanon.hierarchy.computed.dates import DatesKind
from duckanon.hierarchy.computed.flat import FlatKind
from duckanon.hierarchy.computed.intervals import IntervalsKind
from duckanon.hierarchy.computed.kind import VALUE, Kind
from duckanon.hierarchy.computed.mask import MaskKind
from duckanon.hierarchy.computed.prefixes import PrefixesKind
from duckanon.hierarchy.computed.units import Units, number_of

__all__ = [
    "VALUE",
    "WIDEST",
    "CutsKind",
    "DatesKind",
    "FlatKind",
    "IntervalsKind",
    "Kind",
    "MaskKind",
    "PrefixesKind",
    "Units",
    "iso_day",
    "number_of",
]
