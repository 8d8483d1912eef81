"""Every error a user can meet. Messages say what is wrong, where, and what to do.

A value of the data stands in a message as a `Value`, apart from its words: a terminal shows both, a log or a ledger the
words only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_LEFT_OUT = "…"


class Value(str):
    """A value of the data, as a part of a message. In any text that is not a message it does not show."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return _LEFT_OUT


class Message(str):
    """A text for who may see the data, and `discreet`: the same without the values, for logs and ledgers.

    Put into another text by an f-string it is discreet; `Message.of` keeps the values and what they are.
    """

    discreet: str

    def __new__(cls, text: str, discreet: str) -> Message:
        message = super().__new__(cls, text)
        message.discreet = discreet
        return message

    @classmethod
    def of(cls, *parts: str) -> Message:
        """The parts in a row: words, values, and other messages."""
        return cls("".join(map(str, parts)), "".join(map(discreet, parts)))

    @classmethod
    def joined(cls, separator: str, parts: Iterable[str]) -> Message:
        first, *others = parts
        return cls.of(first, *(part for other in others for part in (separator, other)))

    def __format__(self, spec: str) -> str:
        return format(self.discreet, spec)


def discreet(text: str) -> str:
    """What a log or ledger may keep of a text."""
    if isinstance(text, Message):
        return text.discreet
    return _LEFT_OUT if isinstance(text, Value) else text


def examples_of(values: Iterable[str]) -> Message:
    """Some values of the data as examples: 'a', 'b'."""
    return Message.joined(", ", [Message.of("'", Value(value), "'") for value in values])


class DuckanonError(Exception):
    """The root of all errors raised on purpose."""

    def __init__(self, message: str) -> None:
        self.message = message if isinstance(message, Message) else Message.of(message)
        super().__init__(str(message))


@dataclass(frozen=True)
class Fault:
    """One thing wrong with a policy or its data: where it is, what was found, what to do about it."""

    where: str
    what: str
    remedy: str = ""

    @property
    def message(self) -> Message:
        return Message.of(self.where, ": ", self.what, *((" — ", self.remedy) if self.remedy else ()))

    def __str__(self) -> str:
        return str(self.message)


class FaultsError(DuckanonError):
    """Several faults, reported together."""

    def __init__(self, faults: list[Fault], file: str | None = None) -> None:
        self.faults = faults
        self.file = file
        body = faults[0].message if len(faults) == 1 else self._list()
        super().__init__(Message.of(file, ": ", body) if file else body)

    def _list(self) -> Message:
        return Message.joined("\n  ", [f"{len(self.faults)} faults", *(fault.message for fault in self.faults)])


class PolicyError(FaultsError):
    """The policy file asks for something that is not possible or not there."""


class UsageError(PolicyError):
    """A command or function was called with words that mean nothing there."""


class SourceError(PolicyError):
    """The source is not what the policy takes it for: not there, without rows, with columns that have no role or cannot
    be compared."""


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


class InfeasibleError(DuckanonError):
    """There is no release, or what was checked does not hold. `result` says all that is known of it.

    A run does not raise it: that is an answer, not a mistake. Who wants it raised asks the result (`or_raise`).
    """

    def __init__(self, message: str, result: object) -> None:
        self.result = result
        super().__init__(message)


def said_of(error: BaseException) -> str:
    """What a log or ledger may keep of an error."""
    if isinstance(error, FaultsError):
        return "; ".join(fault.message.discreet for fault in error.faults)
    if isinstance(error, DuckanonError):
        return error.message.discreet
    # A path may name a partition, and so a value of its own.
    reason = error.strerror if isinstance(error, OSError) else None
    return reason or f"unexpected {type(error).__name__}"


def outcome_of(error: BaseException) -> tuple[str, str | None]:
    """How a log or ledger calls the end of a run that an error has ended, and what it may keep of that."""
    return ("interrupted", None) if isinstance(error, KeyboardInterrupt) else ("error", said_of(error))
