"""Several small whole numbers as the digits of few large ones, in Python and as SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# A word is below it: what a BIGINT holds with room to spare.
WORD = 2**62


@dataclass(frozen=True)
class Digit:
    """One of the numbers: it is below `base`, and its word holds it `stride` times."""

    word: int
    stride: int
    base: int

    def of(self, word: str) -> str:
        """It, out of the SQL of its word."""
        return f"{word} // {self.stride} % {self.base}"


class Packing:
    """Numbers from 0 to below a base of their own each, packed into words: equal words are equal numbers.

    A number that does not fit into a word any more begins the next; `in_one`: all are in one word, however large.
    """

    def __init__(self, bases: Iterable[int], in_one: bool = False) -> None:
        self.digits: list[Digit] = []
        word, stride = 0, 1
        for base in bases:
            if stride * base > WORD and not in_one:
                word, stride = word + 1, 1
            self.digits.append(Digit(word, stride, base))
            stride *= base
        self.words = word + 1
        self.type = "BIGINT" if stride <= WORD or not in_one else "HUGEINT"

    def packed(self, numbers: Iterable[str | None]) -> list[str]:
        """The SQL of the words, from that of the numbers; None: 0."""
        terms: list[list[str]] = [[] for _ in range(self.words)]
        for digit, number in zip(self.digits, numbers, strict=True):
            if number is not None:
                times = f" * {digit.stride}" if digit.stride > 1 else ""
                terms[digit.word].append(f"CAST({number} AS {self.type}){times}")
        return [" + ".join(parts) or f"CAST(0 AS {self.type})" for parts in terms]

    def unpacked(self, words: Sequence[str]) -> list[str]:
        """The SQL of the numbers, from that of the words."""
        return [digit.of(words[digit.word]) for digit in self.digits]

    def words_of(self, numbers: Iterable[int]) -> list[int]:
        words = [0] * self.words
        for digit, number in zip(self.digits, numbers, strict=True):
            words[digit.word] += number * digit.stride
        return words

    def numbers_of(self, words: Sequence[int]) -> tuple[int, ...]:
        return tuple(words[digit.word] // digit.stride % digit.base for digit in self.digits)
