"""The hierarchy of a sensitive column: nothing is generalized by it, t asks it how far values lie apart."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from duckanon.engine import Column, Warehouse, Workbench
from duckanon.engine.scratch import Scratch
from duckanon.errors import HierarchyError
from duckanon.hierarchy.checked import check_lists
from duckanon.hierarchy.computed import Kind
from duckanon.hierarchy.faults import Faults
from duckanon.hierarchy.kinds import asked_of, kind_of
from duckanon.hierarchy.listed import list_file, list_table
from duckanon.hierarchy.listing import Listing
from duckanon.hierarchy.mapping import mapping_query
from duckanon.hierarchy.scheme import Scheme
from duckanon.hierarchy.unmapped import find_unmapped, unmapped_fault
from duckanon.policy import HierarchySpec, MappingFile, MappingTable, QuasiIdentifier, Sensitive
from duckanon.query.steps import select


@dataclass(frozen=True)
class Ground:
    """The mapping table has a value and, for every level between it and the top, code_l: that of the node above it."""

    scheme: Scheme
    mapping: exp.Table

    @property
    def height(self) -> int:
        return self.scheme.height


def build_ground(
    place: int, wanted: Sensitive, source_column: Column, warehouse: Warehouse, scratch: Scratch, values: exp.Table
) -> Ground:
    """Over the values (value, n) of the column, all of which it must know: of a class with one that is nowhere, nobody
    could say how far it lies from the source. `place`: its number among all hierarchies of the policy."""
    spec, where = wanted.hierarchy, f"sensitive.{wanted.column}.t.hierarchy"
    assert spec is not None
    listing = _listing(place, spec, where, warehouse, scratch)
    kind = None if listing is not None else _kind(spec, source_column, values, where, scratch.workbench)
    scheme = Scheme(0, QuasiIdentifier(wanted.column, spec), source_column, kind, listing, where)
    unmapped = find_unmapped([scheme], [values], scratch.workbench)
    if unmapped:
        fault = unmapped_fault(scheme, unmapped[0], values, scratch.workbench)
        raise HierarchyError([replace(fault, remedy="add them to the hierarchy, or clean the source")])
    mapping = scratch.table(f"ground_{place}", mapping_query(scheme, values), f"hierarchy of {wanted.column}")
    scratch.drop(values)
    return Ground(scheme, mapping)


def _listing(place: int, spec: HierarchySpec, where: str, warehouse: Warehouse, scratch: Scratch) -> Listing | None:
    """None: it is not listed."""
    if isinstance(spec, MappingFile):
        unchecked = list_file(spec, place, where, scratch)
    elif isinstance(spec, MappingTable):
        unchecked = list_table(spec, place, where, warehouse, scratch)
    else:
        return None
    faults = Faults()
    listings = check_lists({place: unchecked}, faults, scratch.workbench)
    faults.must_be_none()
    return listings[place]


def _kind(spec: HierarchySpec, source_column: Column, values: exp.Table, where: str, workbench: Workbench) -> Kind:
    assert not isinstance(spec, (MappingFile, MappingTable))
    answers = exp.Array(expressions=asked_of(spec, source_column))
    ((_, answers),) = workbench.fetch(select(values_="COUNT(*)", answers=answers).from_(values.copy()))
    return kind_of(spec, source_column, answers, where)
