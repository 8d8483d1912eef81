"""A page of HTML, read as a browser would."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path


class Page(HTMLParser):
    """What a page holds: its figures, its text, its tags."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.figures: dict[str, list[float | None]] = {}
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.source = source
        self.feed(source)

    @classmethod
    def of(cls, path: Path) -> Page:
        return cls(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        if tag == "data":
            value = found["value"]
            self.figures.setdefault(str(found["data-figure"]), []).append(float(value) if value else None)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def words(self) -> str:
        return "".join(self.texts)

    def only(self, name: str) -> float | None:
        (value,) = self.figures[name]
        return value
