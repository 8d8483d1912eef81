"""Errors: what a terminal shows, and what a log or ledger may keep."""

from __future__ import annotations

import pytest

from duckanon.errors import Fault, HierarchyError, Message, PolicyError, Value, discreet, examples_of, said_of

pytestmark = pytest.mark.unit


def test_a_value_in_a_message_is_for_the_terminal_alone() -> None:
    message = Message.of("there is ", Value("HIV"), " in it")
    assert str(message) == "there is HIV in it"
    assert message.discreet == "there is … in it"


def test_in_any_other_text_a_value_does_not_show() -> None:
    assert f"found {Value('HIV')}" == "found …"
    assert f"found {Message.of('a ', Value('HIV'))}" == "found a …"
    assert discreet("words") == "words"


def test_messages_within_messages_keep_their_values_apart() -> None:
    message = Message.joined("; ", [examples_of(["a", "b"]), "more"])
    assert str(message) == "'a', 'b'; more"
    assert message.discreet == "'…', '…'; more"


def test_a_fault_says_where_what_and_what_to_do() -> None:
    assert str(Fault("privacy.k", "is missing", "say k = 5")) == "privacy.k: is missing — say k = 5"
    assert str(Fault("privacy.k", "is missing")) == "privacy.k: is missing"


def test_faults_are_told_together() -> None:
    error = PolicyError([Fault("a", "one"), Fault("b", "two")], "p.toml")
    assert str(error) == "p.toml: 2 faults\n  a: one\n  b: two"
    assert said_of(error) == "a: one; b: two"


def test_a_ledger_keeps_the_words_of_an_error_and_none_of_its_values() -> None:
    fault = Fault("zip", Message.of("1 value is unknown: ", examples_of(["02139"])))
    assert "02139" in str(HierarchyError([fault]))
    assert said_of(HierarchyError([fault])) == "zip: 1 value is unknown: '…'"
    assert said_of(FileNotFoundError(2, "No such file", "disease=HIV")) == "No such file"
    assert said_of(ValueError("HIV")) == "unexpected ValueError"
