"""From a TOML file to a Policy: every key of the file, checked; all faults together."""

from __future__ import annotations

import re
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

from duckanon.errors import Fault, PolicyError
from duckanon.models import TableModel
from duckanon.models.registry import column_models, models_of
from duckanon.policy import Policy, QuasiIdentifier, Search
from duckanon.policy.hierarchy import read_hierarchy
from duckanon.policy.numbers import RELEASED_AS, numbers_can
from duckanon.policy.overrides import Override, named, overridden, text_with
from duckanon.policy.population import read_population
from duckanon.policy.profiles import PROFILES
from duckanon.policy.release import read_ledger, read_pseudonyms, read_release
from duckanon.policy.schema import FULL_DOMAIN, LOCAL
from duckanon.policy.sensitive import read_sensitive
from duckanon.policy.sizes import read_sizes, sizes_can
from duckanon.policy.source import read_source
from duckanon.query.names import folded
from duckanon.toml import Section
from duckanon.toml.checks import is_number, number, one_of, text, texts, whole

METHODS = (*FULL_DOMAIN, *LOCAL)
_UNDECIDED = re.compile(r"TODO(:|\s|$)\s*")
LOSSES = ("ncp", "precision", "discernibility")


def load_policy(path: Path, overrides: tuple[Override, ...] = ()) -> Policy:
    try:
        content = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise PolicyError([Fault(str(path), f"cannot be read: {error.strerror or error}")]) from None
    except UnicodeDecodeError:
        raise PolicyError([Fault(str(path), "is not UTF-8 text", "save it as UTF-8")]) from None
    return parse_policy(content, path.parent, str(path), overrides)


def parse_policy(content: str, folder: Path, file: str | None, overrides: tuple[Override, ...] = ()) -> Policy:
    """The policy that a text asks for, but for what the overrides say."""
    data = _parsed(content, file)
    if not overrides:
        return _checked(data, content, folder, file)
    changed = overridden(data, overrides)
    try:
        return _checked(changed, text_with(changed, overrides), folder, file)
    except PolicyError as error:
        raise named(error, overrides, _faults(data, folder, file)) from None


def _parsed(content: str, file: str | None) -> dict[str, Any]:
    try:
        # Numbers stay as written: 0.1 means a tenth, and a budget of 0.29 of 100 rows is 29.
        return tomllib.loads(content, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise PolicyError([Fault("TOML", f"cannot be parsed: {error}")], file) from None
    except ArithmeticError:
        raise PolicyError([Fault("TOML", "has a number that cannot be read")], file) from None


def _faults(data: dict[str, Any], folder: Path, file: str | None) -> list[Fault]:
    """Those that a document has by itself."""
    try:
        _checked(data, "", folder, file)
    except PolicyError as error:
        return error.faults
    return []


def _checked(data: dict[str, Any], content: str, folder: Path, file: str | None) -> Policy:
    faults: list[Fault] = []
    _must_be_decided(data, "", faults)
    policy = _policy(Section(data, "", faults), content, folder, file)
    if faults:
        raise PolicyError(faults, file)
    return policy


def _policy(top: Section, content: str, folder: Path, file: str | None) -> Policy:
    name = top.get("name", _name, "", required='name = "…" names what a run creates')
    source = read_source(top.section("source"), folder)
    privacy = top.section("privacy")
    profile = PROFILES.get(privacy.get("profile", one_of(*PROFILES), ""))
    k, thresholds = read_sizes(privacy, profile.k if profile else None)
    suppression = privacy.get("suppression", _budget, 0)
    unmapped = privacy.get("unmapped", one_of("error", "suppress", "top"), "error")
    entity = privacy.get("entity", text)
    privacy.finish()
    population = read_population(top.section("population"), folder) if "population" in top.data else None
    quasi_identifiers = tuple(_quasi_identifier(n, s, folder) for n, s in top.sections("quasi_identifiers"))
    if not top.data.get("quasi_identifiers", {}):
        top.fault("quasi_identifiers", "there is none", "name at least one: [quasi_identifiers.age]")
    columns = top.section("columns")
    policy = Policy(
        name=name,
        source=source,
        k=k,
        suppression=suppression,
        quasi_identifiers=quasi_identifiers,
        sensitive=tuple(read_sensitive(n, s, folder) for n, s in top.sections("sensitive")),
        identifiers=tuple(columns.get("identifiers", texts, [])),
        keep=tuple(columns.get("keep", texts, [])),
        search=_search(top.section("search")),
        release=read_release(top.section("release")),
        unmapped=unmapped,
        pseudonyms=read_pseudonyms(tuple(columns.get("pseudonyms", texts, [])), top.section("pseudonyms")),
        drop=tuple(columns.get("drop", texts, [])),
        entity=entity,
        thresholds=thresholds,
        population=population,
        ledger=read_ledger(top.section("ledger"), folder),
        folder=folder,
        file=file,
        text=content,
    )
    columns.finish()
    top.finish()
    policy = profile.applied(policy, top) if profile else policy
    _one_role_each(policy, top)
    _go_together(policy, top)
    _entity_can(policy, top)
    numbers_can(policy, top)
    sizes_can(policy, top)
    return policy


def _must_be_decided(data: dict[str, Any], where: str, faults: list[Fault]) -> None:
    """What a draft leaves to a person is no policy yet. It is said once, then passed over as if it were not there."""
    for key, value in list(data.items()):
        here = f"{where}.{key}" if where else key
        if isinstance(value, dict):
            _must_be_decided(value, here, faults)
        elif isinstance(value, str) and _UNDECIDED.match(value):
            question = _UNDECIDED.sub("", value)
            faults.append(Fault(here, "is not decided yet (TODO)", question or "put a value in the place of TODO"))
            del data[key]


def _go_together(policy: Policy, top: Section) -> None:
    """What the parts of a policy ask of each other. The clusterings reach what a class must hold; what the whole table
    must, only climb sees to of the local methods."""
    if policy.pseudonyms and policy.release.kind == "view":
        top.fault("release.kind", "a view cannot hold the key of pseudonyms", "release a table or a file")
    if policy.source.file is not None and not policy.source.csv.header and policy.release.kind == "view":
        what = "a view of a CSV file without a header could not tell its columns once their order changes"
        top.fault("release.kind", what, "release a table or a file, or give the CSV file a header")
    _can_be_searched_there(policy, top)
    if not policy.search.is_local:
        return
    if policy.unmapped == "top":
        remedy = 'choose "suppress", or the method greedy, optimal or datafly'
        top.fault("privacy.unmapped", f'"top" does not go with the method {policy.search.method}', remedy)
    if policy.release.difference == "refuse":
        what = f"refuse does not go with {policy.search.method}: classes at their own levels cannot be compared"
        top.fault("release.difference", what, "use greedy, optimal or datafly, or warn")
    if policy.release.mode != "search":
        what = f"is {policy.release.mode}, but {policy.search.method} has no levels that all rows share"
        top.fault("release.mode", what, "use greedy, optimal or datafly")
    if policy.search.method == "climb":
        return
    if policy.search.method == "alpha_l_diversification" and not any(s.needs_levels for s in policy.sensitive):
        remedy = "give a sensitive column levels with level_alpha or level_l, or use alpha_k_clustering"
        top.fault("search.method", "alpha_l_diversification needs levels, and nothing asks for them", remedy)
    tables = " and ".join(model.written for model in column_models() if isinstance(model, TableModel))
    for sensitive in policy.sensitive:
        if any(isinstance(model, TableModel) for model in models_of(sensitive)):
            what = f"{policy.search.method} cannot reach {tables}, which sensitive.{sensitive.column} asks for"
            top.fault("search.method", what, "use climb, greedy or optimal")


def _can_be_searched_there(policy: Policy, top: Section) -> None:
    """The lattice is walked in a warehouse; classes are placed, and people are told apart, on the workbench only."""
    if policy.search.where != "warehouse":
        return
    if policy.search.is_local:
        what = f'"warehouse" does not go with {policy.search.method}, which places classes on the workbench'
        top.fault("search.where", what, "use greedy, optimal or datafly")
    if policy.entity is not None:
        what = '"warehouse" does not go with privacy.entity: people are told apart on the workbench'
        top.fault("search.where", what, "leave one of them out")


def _entity_can(policy: Policy, top: Section) -> None:
    """Who is counted as one person must not be shown, and the method must be one that counts people."""
    if policy.entity is None:
        return
    shown = {folded(q.column): "quasi_identifiers" for q in policy.quasi_identifiers}
    shown |= {folded(s.column): "sensitive" for s in policy.sensitive}
    shown |= {folded(name): "columns.keep" for name in policy.keep}
    if role := shown.get(folded(policy.entity)):
        remedy = "name a column of columns.identifiers or columns.pseudonyms"
        top.fault("privacy.entity", f"'{policy.entity}' is also under {role}", remedy)
    if policy.search.is_local:
        what = f"does not go with {policy.search.method}, which counts rows"
        top.fault("privacy.entity", what, "use greedy, optimal or datafly")
    for sensitive in policy.sensitive:
        for model in models_of(sensitive):
            if not model.counts_people:
                what = f"does not go with sensitive.{sensitive.column}.{model.written}, which counts rows"
                top.fault("privacy.entity", what, "leave one of them out")


def _one_role_each(policy: Policy, top: Section) -> None:
    roles: dict[str, list[str]] = {}
    named = [(q.column, "quasi_identifiers") for q in policy.quasi_identifiers]
    named += [(s.column, "sensitive") for s in policy.sensitive]
    named += [(c, "columns.identifiers") for c in policy.identifiers]
    named += [(c, "columns.drop") for c in policy.drop]
    named += [(c, "columns.keep") for c in policy.keep]
    named += [(c, "columns.pseudonyms") for c in (policy.pseudonyms.columns if policy.pseudonyms else ())]
    for column, role in named:
        roles.setdefault(folded(column), []).append(role)
    spelled = {folded(column): column for column, _ in named}
    for name, found in roles.items():
        if len(set(found)) > 1:
            top.fault(spelled[name], f"has two roles: {' and '.join(found)}", "give each column one role")
        elif len(found) > 1:
            top.fault(found[0], f"names '{spelled[name]}' twice")


def _quasi_identifier(column: str, section: Section, folder: Path) -> QuasiIdentifier:
    hierarchy = read_hierarchy(section, folder)
    importance = float(section.get("importance", number(above=0, most=1), 1))
    at_least = section.get("at_least", whole(0), 0)
    at_most = section.get("at_most", whole(0))
    if at_most is not None and at_most < at_least:
        section.fault("at_most", f"is {at_most}, below at_least = {at_least}", "no level would be left")
    release_as = section.get("release_as", one_of(*RELEASED_AS), "label")
    section.finish()
    return QuasiIdentifier(column, hierarchy, importance, at_least, at_most, release_as)


def _search(section: Section) -> Search:
    method = section.get("method", one_of(*METHODS), "greedy")
    loss = section.get("loss", one_of(*LOSSES), "ncp")
    weighting = section.get("weighting", one_of("importance", "printed"), "importance")
    time_limit = section.get("time_limit", number(above=0))
    nodes = section.get("nodes", whole(1))
    beta = section.get("beta", number(least=0), 0)
    most = section.get("census_limit", whole(1), Search.census_limit)
    where = section.get("where", one_of("workbench", "warehouse"), "workbench")
    section.finish()
    seconds = None if time_limit is None else float(time_limit)
    return Search(method, loss, weighting, seconds, nodes, float(beta), most, where)


def _name(value: Any) -> str | None:
    good = isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9_]{1,60}", value)
    return None if good else "must be 1 to 60 letters, digits or _"


def _budget(value: Any) -> str | None:
    if isinstance(value, bool) or not is_number(value) or value < 0 or (isinstance(value, Decimal) and value >= 1):
        return "must be a share from 0 to below 1, or a whole number of rows"
    return None
