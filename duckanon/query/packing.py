"""Several small whole numbers as the bits of few large ones, in Python and as SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# Bits of a word: what a BIGINT holds with room to spare.
WORD = 62
# Those of the largest number that there is.
LONGEST = 127


@dataclass(frozen=True)
class Slot:
    """Where one of the numbers is: so many bits of its word, from a place upwards."""

    word: int
    place: int
    bits: int

    @property
    def stride(self) -> int:
        """What its word grows by with each one of it."""
        return 1 << self.place

    @property
    def largest(self) -> int:
        return (1 << self.bits) - 1

    @property
    def mask(self) -> int:
        """All of its bits in its word."""
        return self.largest << self.place

    def of(self, word: str) -> str:
        """It, out of the SQL of its word."""
        return f"(({word} >> {self.place}) & {self.largest})"


class Packing:
    """Numbers from 0 to below a base of their own each, packed into words: equal words are equal numbers, and words
    have the order of the numbers.

    A number that does not fit into a word any more begins the next; `in_one`: all are in one word, which
    holds them up to the `LONGEST` of `bits`.
    """

    def __init__(self, bases: Iterable[int], in_one: bool = False) -> None:
        widths = [(base - 1).bit_length() for base in bases]
        filled = [0]
        words: list[int] = []
        for width in widths:
            if filled[-1] + width > WORD and not in_one:
                filled.append(0)
            words.append(len(filled) - 1)
            filled[-1] += width
        self.slots: list[Slot] = []
        free = list(filled)  # bits of each word below what has its place already
        for word, width in zip(words, widths, strict=True):
            free[word] -= width
            self.slots.append(Slot(word, free[word], width))
        self.words, self.bits = len(filled), max(filled)
        self.type = "BIGINT" if self.bits <= WORD else "HUGEINT"

    def packed(self, numbers: Iterable[str | None]) -> list[str]:
        """The SQL of the words, from that of the numbers; None: 0."""
        terms: list[list[str]] = [[] for _ in range(self.words)]
        for slot, number in zip(self.slots, numbers, strict=True):
            if number is not None:
                times = f" * {slot.stride}" if slot.place else ""
                terms[slot.word].append(f"CAST({number} AS {self.type}){times}")
        return [" + ".join(parts) or f"CAST(0 AS {self.type})" for parts in terms]

    def unpacked(self, words: Sequence[str]) -> list[str]:
        """The SQL of the numbers, from that of the words."""
        return [slot.of(words[slot.word]) for slot in self.slots]

    def words_of(self, numbers: Iterable[int]) -> list[int]:
        words = [0] * self.words
        for slot, number in zip(self.slots, numbers, strict=True):
            words[slot.word] += number * slot.stride
        return words

    def numbers_of(self, words: Sequence[int]) -> tuple[int, ...]:
        return tuple(words[slot.word] >> slot.place & slot.largest for slot in self.slots)
