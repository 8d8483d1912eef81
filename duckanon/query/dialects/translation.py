"""How a dialect comes to its words: before sqlglot writes a tree down, what is of our own in it, or is said otherwise
than sqlglot says it, is replaced. What a dialect has no words for is refused by name, never guessed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NoReturn

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import UnsupportedError

from duckanon.query.own import OWN, Own

# What to say in place of a node.
Word = Callable[[Any], exp.Expr]
Words = Mapping[type[exp.Expr], Word]


class Translating(Dialect):
    """Comes after the dialect of sqlglot's that it is: it begins where that one ends."""

    WORDS: ClassVar[Words]

    def generate(self, expression: exp.Expr, copy: bool = True, **opts: Any) -> str:
        return super().generate(_translated(expression, self.WORDS), copy=False, **opts)


def _translated(tree: exp.Expr, words: Words) -> exp.Expr:
    """A copy. What stands within others comes first."""
    tree = tree.copy()
    for node in reversed([*tree.find_all(*words)]):
        word = words.get(type(node))
        said = node if word is None else word(node)
        if node is tree:
            tree = said
        elif said is not node:
            node.replace(said)
    return tree


def functions(said: Mapping[Own, Callable[..., exp.Expr]], others: Word) -> Word:
    """What to say in place of a function that sqlglot does not know: in that of our own what is `said`, with its
    arguments."""

    def word(node: exp.Anonymous) -> exp.Expr:
        own = said.get(Own(node.name)) if node.name in OWN else None
        return others(node) if own is None else own(*node.expressions)

    return word


def unsaid(what: str) -> Callable[..., NoReturn]:
    """A node that the dialect has no words for."""

    def refuse(*_: exp.Expr) -> NoReturn:
        raise UnsupportedError(what)

    return refuse


def inside(node: exp.Expr) -> exp.Expr:
    """What a node is made around, and nothing else."""
    return node.this.copy()  # type: ignore[no-any-return]


def itself(node: exp.Expr) -> exp.Expr:
    return node


def text(value: exp.Expr) -> exp.Expr:
    return exp.cast(value, "VARCHAR")


def called(name: str) -> Callable[..., exp.Expr]:
    """A function of the engine's own."""
    return lambda *arguments: exp.Anonymous(this=name, expressions=list(arguments))


# Whole numbers of any size, where there are none of 128 bits.
def narrower(node: exp.DataType) -> exp.Expr:
    return _LONGEST_DECIMAL.copy() if is_wide(node) else node


def is_wide(node: exp.DataType) -> bool:
    return bool(node.this == exp.DataType.Type.INT128)


_LONGEST_DECIMAL = exp.DataType.build("DECIMAL(38, 0)")
