"""Every error a user can meet. Messages say what is wrong, where, and what to do; they never show people's values."""

from __future__ import annotations

from dataclasses import dataclass


class DuckanonError(Exception):
    """The root of all errors raised on purpose."""


@dataclass(frozen=True)
class Fault:
    """One thing wrong with a policy or its data: where it is, what was found, what to do about it."""

    where: str
    what: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" + (f" — {self.remedy}" if self.remedy else "")


class FaultsError(DuckanonError):
    """Several faults, reported together."""

    def __init__(self, faults: list[Fault], file: str | None = None) -> None:
        self.faults = faults
        self.file = file
        lines = [str(fault) for fault in faults]
        body = lines[0] if len(lines) == 1 else f"{len(lines)} faults\n" + "\n".join(f"  {x}" for x in lines)
        super().__init__(f"{file}: {body}" if file else body)


class PolicyError(FaultsError):
    """The policy file asks for something that is not possible or not there."""


class HierarchyError(FaultsError):
    """A hierarchy cannot serve as one: values unmapped, two parents, two tops, intervals that do not nest."""


class ReleaseError(DuckanonError):
    """The release cannot be put where the policy says."""


class EngineError(DuckanonError):
    """The database refused. Carries the SQL that it refused."""

    def __init__(self, message: str, sql: str | None = None) -> None:
        self.sql = sql
        super().__init__(message)


class BusyError(DuckanonError):
    """Another run holds what this one needs."""


def without_values(error: BaseException) -> str:
    """What a log or ledger may keep of an error: of what follows a quotation mark, which may be a value, nothing."""
    if isinstance(error, FaultsError):
        return "; ".join(without_quotes(str(fault)) for fault in error.faults)
    return without_quotes(str(error)) if isinstance(error, DuckanonError) else f"unexpected {type(error).__name__}"


def without_quotes(text: str) -> str:
    said, quote, _ = text.partition("'")
    return said.rstrip() + " …" if quote else said
