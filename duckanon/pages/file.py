"""The file that a report goes to: replaced only where it is a report of the same policy, and whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from duckanon.errors import Fault, UsageError
from duckanon.pages import charts
from duckanon.pages.html import html_page
from duckanon.pages.markdown import markdown_page
from duckanon.pages.report import Report
from duckanon.policy import Policy

_PAGES = {".html": html_page, ".htm": html_page, ".md": markdown_page, ".markdown": markdown_page}
_BEGINNING = 1_000  # bytes in which a report says what it is


@dataclass(frozen=True)
class ReportFile:
    """A place that was found good for a report of one policy."""

    path: Path
    policy: str

    @classmethod
    def at(cls, named: Path, policy: Policy, said: str) -> ReportFile:
        """Look at the place before any work is done; `said`: the option that names it."""
        try:
            file = cls(named.resolve(), policy.name)
            fault = file._fault(policy)
        except (ValueError, OSError, RuntimeError):
            fault = ("is not a path", "")
        if fault:
            raise UsageError([Fault(f"{said} {named}", *fault)])
        if named.suffix.lower() in (".html", ".htm"):
            charts.must_be_there()
        return file

    def write(self, report: Report) -> None:
        """Beside its place, then renamed."""
        page = _PAGES[self.path.suffix.lower()](report)
        handle, unfinished = tempfile.mkstemp(prefix=f".{self.path.name}.", suffix=".unfinished", dir=self.path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(page)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(unfinished, self._mode())
            os.replace(unfinished, self.path)
        except BaseException:
            with suppress(OSError):
                os.unlink(unfinished)
            raise

    def _mode(self) -> int:
        """That of the report which is replaced; else what the umask says."""
        if self.path.exists():
            return stat.S_IMODE(self.path.stat().st_mode)
        umask = os.umask(0)
        os.umask(umask)
        return 0o666 & ~umask

    def _fault(self, policy: Policy) -> tuple[str, str] | None:
        """What is wrong with the place, and what to do."""
        path = self.path
        if path.suffix.lower() not in _PAGES:
            return "is neither a page nor Markdown", "name a file that ends in .html or .md"
        if not path.parent.is_dir():
            return f"there is no folder {path.parent}", "make it first"
        if not os.access(path.parent, os.W_OK):
            return f"{path.parent} cannot be written", ""
        if policy.release.is_relation or policy.release.is_address:
            return self._taken()
        place = (policy.folder / policy.release.to).resolve()
        if path == place or place in path.parents:
            return "is where the release goes", "choose another name"
        return self._taken()

    def _taken(self) -> tuple[str, str] | None:
        if not self.path.exists():
            return None
        if not self.path.is_file():
            return "is no file", "choose another name"
        with self.path.open("rb") as file:
            beginning = file.read(_BEGINNING).decode("utf-8", errors="replace")
        if mark_of(self.policy) in beginning:
            return None
        return f"exists and is no report of the policy {self.policy}", "choose another name, or remove it"


def mark_of(policy: str) -> str:
    """What every report says of itself in its first lines; a name of a policy has letters, digits and _ only."""
    return f"duckanon report of {policy} "
