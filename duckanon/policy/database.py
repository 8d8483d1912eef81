"""Which database is meant: a DuckDB file by its path, or a server by its address, whose secrets never show."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

POSTGRES, SPARK = "postgresql", "sc"
_SCHEMES = {"postgresql": POSTGRES, "postgres": POSTGRES, "sc": SPARK}
# What tells one database of a server from another; all else of an address is how it is reached, and by whom.
_TELLING = ("host", "hostaddr", "port", "dbname", "service")
_SECRET = ("password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key")
_SPARK_OPTIONS = ("use_ssl", "user_id", "session_id", "user_agent")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^\[\]:]*)(:[0-9]*)?")
_OPTION = re.compile(r"[A-Za-z_]+=[^=]*(=[^=]*)*")
_ODD = re.compile(r"\s|%00")
_SPARK = re.compile(r"(?i:sc)://[^/;@?]+?(:[0-9]+)?(/(;[A-Za-z0-9_-]+=[^;]*)*;?)?")
# What is no address, and no path that anybody would choose, but may hold a secret.
_NEARLY = re.compile(r"(?i)(postgres(ql)?|sc):|.*\bpass(word|wd)?=")
_BAD_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
KNOWN = "a path, postgresql://host/database or sc://host:port"


@dataclass(frozen=True)
class ServerAddress:
    """Where a server is, as the user gave it. In a message it is `shown`, without user and secrets."""

    url: str = field(repr=False)

    @property
    def engine(self) -> str | None:
        """Whose it is; None: nobody's that is known here."""
        return _SCHEMES.get(self._scheme.lower())

    @property
    def _scheme(self) -> str:
        return self.url.split("://", 1)[0]

    @property
    def _options(self) -> list[tuple[str, str]]:
        """PostgreSQL's stand behind a question mark, Spark's between semicolons."""
        if self.engine == SPARK:
            return [(key, value) for key, _, value in (part.partition("=") for part in self.url.split(";")[1:])]
        return parse_qsl(self.url.partition("?")[2], keep_blank_values=True)

    @property
    def is_well_formed(self) -> bool:
        """Whether it cannot be mistaken which part is a password. One with an @, /, ? or % in it is written with %40,
        %2F, %3F or %25 for them: else its rest would pass for a host, a port or an option, which are shown."""
        if self.engine is None or _ODD.search(self.url):
            return False
        if self.engine == SPARK:
            return _SPARK.fullmatch(self.url) is not None
        where, _, options = self.url.partition("://")[2].partition("?")
        host, _, database = where.partition("/")
        ports = all(_HOST.fullmatch(part) for part in host.rpartition("@")[2].split(","))
        named = all(_OPTION.fullmatch(part) for part in options.split("&") if part)
        whole = not _BAD_PERCENT.search(self.url)
        return ports and named and whole and host.count("@") < 2 and "@" not in database

    @property
    def shown(self) -> str:
        if not self.is_well_formed:
            return f"{self.engine or self._scheme}://…"
        where = self.url.split("://", 1)[1].partition("?")[0].partition(";")[0]
        host, slash, database = where.partition("/")
        text = f"{self.engine}://{host.rpartition('@')[2]}{slash if database else ''}{database}"
        telling = [(key, value) for key, value in self._options if key in _TELLING]
        return text + (f"?{urlencode(telling, safe='/')}" if telling else "")

    @property
    def names_session(self) -> bool:
        """Whether it names a session of the server, which may be somebody else's, too."""
        return any(key == "session_id" for key, _ in self._options)

    @property
    def has_secret(self) -> bool:
        user = self.url.partition("://")[2].partition("?")[0].rpartition("@")[0]
        options = [key.lower() for key, value in self._options if value]
        if self.engine == SPARK:  # any other may be a header of whoever stands before the server
            return not set(options) <= set(_SPARK_OPTIONS)
        return ":" in user.rstrip(":") or any(key in _SECRET for key in options)

    def __str__(self) -> str:
        return self.shown


Database = Path | ServerAddress


def database_of(text: str, folder: Path = Path()) -> Database:
    """What a text names: a server by its address, or else a file, by its path from the folder."""
    return ServerAddress(text) if "://" in text or _NEARLY.match(text) else folder / text


def shown_database(database: Database) -> str:
    """As messages and the ledger call it: a file by its full path."""
    if isinstance(database, ServerAddress):
        return database.shown
    try:
        return str(database.resolve())
    except (ValueError, OSError, RuntimeError):
        return str(database)  # no path at all, as who opens it will say
