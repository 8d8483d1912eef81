"""A password is in no message, log, ledger or mark, however it was given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from duckanon.policy.database import ServerAddress
from tests.support.command import Command
from tests.support.far_people import FAR
from tests.support.far_place import Place
from tests.support.folder import Folder

PASSWORD = "s3cr3t"
ODD = {
    "plain": f"postgresql://u:{PASSWORD}@h:1/d",
    "of many hosts": f"postgresql://u:{PASSWORD}@127.0.0.1:1,[::1]:2/d",
    "IPv6": f"postgresql://u:{PASSWORD}@[::1]:1/d",
    "escaped": "postgresql://u:s3cr3t%40x@127.0.0.1:1/d",
    "an option": f"postgresql://u@127.0.0.1:1/d?password={PASSWORD}",
    "an option in other letters": f"postgresql://u@127.0.0.1:1/d?p%61ssword={PASSWORD}",
    "of a key": f"postgresql://u@127.0.0.1:1/d?sslpassword={PASSWORD}",
    "unix socket": f"postgresql://u:{PASSWORD}@/d?host=/nowhere",
    "with an at": f"postgresql://u:{PASSWORD}@x@127.0.0.1:1/d",
    "with a slash": f"postgresql://u:{PASSWORD}/x@127.0.0.1:1/d",
    "with a slash behind digits": f"postgresql://u:12/{PASSWORD}@127.0.0.1:1/d",
    "with a question mark": f"postgresql://u:{PASSWORD}?x@127.0.0.1:1/d",
    "with a question mark behind digits": f"postgresql://u:12?{PASSWORD}@127.0.0.1:1/d",
    "with a hash": f"postgresql://u:{PASSWORD}#x@127.0.0.1:1/d",
    "with a percent sign": f"postgresql://u:{PASSWORD}%zz@127.0.0.1:1/d",
    "with a colon": f"postgresql://u:{PASSWORD}:x@127.0.0.1:1/d",
    "of nobody's server": f"mysql://u:{PASSWORD}/x@127.0.0.1:1/d",
}


@pytest.mark.parametrize("kind", ODD)
def test_a_password_is_in_no_message(folder: Folder, duckanon: Command, kind: str) -> None:
    url = ODD[kind]
    for more in ([], ["--log", "json"], ["--json"]):
        told = duckanon("run", folder.policy(FAR), "--db", url, *more)
        assert told.code == 2
        assert PASSWORD not in told.out + told.err
    assert PASSWORD not in duckanon("check", folder.policy(FAR), "--db", url).err
    assert PASSWORD not in repr(ServerAddress(url)) + ServerAddress(url).shown
    in_policy = FAR.replace('table = "people"', f'table = "people"\ndatabase = "{url}"')
    told = duckanon("run", folder.policy(in_policy))
    assert told.code == 2
    assert PASSWORD not in told.err
    refused = "there is no warehouse for mysql://…" if url.startswith("mysql") else "is no place for one"
    assert refused in told.err


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me@h:5/d", "postgresql://h:5/d"),
        ("postgres://h", "postgresql://h"),
        ("postgresql:///d?host=/run/pg&user=me", "postgresql:///d?host=/run/pg"),
        ("postgresql://a:1,[::1]:2/d?target_session_attrs=read-write", "postgresql://a:1,[::1]:2/d"),
        ("postgresql://?service=nightly", "postgresql://?service=nightly"),
        ("postgresql://me@h/d?options=-c%20role%3Dteam", "postgresql://h/d"),
    ],
)
def test_an_address_is_shown_without_user_and_options(url: str, shown: str) -> None:
    address = ServerAddress(url)
    assert (address.shown, address.has_secret, address.is_well_formed) == (shown, False, True)


@pytest.fixture
def guarded(inhabited: Place) -> Iterator[Place]:
    """A user who needs a password."""
    access = Path(inhabited.folder) / "data" / "pg_hba.conf"
    before = access.read_text(encoding="utf-8")
    access.write_text(f"local all {inhabited.database}_user scram-sha-256\n{before}", encoding="utf-8")
    user = f"{inhabited.database}_user"
    inhabited.sql(
        f"CREATE ROLE {user} LOGIN PASSWORD '{PASSWORD}'",
        f"ALTER TABLE people OWNER TO {user}",
        f"GRANT CREATE ON SCHEMA public TO {user}",
        f"GRANT CREATE ON DATABASE {inhabited.database} TO {user}",
        "SELECT pg_reload_conf()",
    )
    yield inhabited.of(user)
    access.write_text(before, encoding="utf-8")
    inhabited.sql("SELECT pg_reload_conf()", f"DROP OWNED BY {user} CASCADE", f"DROP ROLE {user}")


def test_a_wrong_password_says_where_it_is_looked_for(
    guarded: Place, folder: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "wr0ng")
    told = duckanon("run", folder.policy(FAR), "--db", guarded.url, "--wait", "60")
    assert told.code == 2
    assert "password authentication failed" in told.err
    assert "is the password in PGPASSWORD, ~/.pgpass or a service file?" in told.err
    assert "wr0ng" not in told.err


@pytest.mark.parametrize("where", ["PGPASSWORD", ".pgpass", "service", "--db"])
def test_a_password_of_the_usual_places_is_found_and_told_to_nobody(
    guarded: Place, folder: Folder, duckanon: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, where: str
) -> None:
    url = guarded.url
    if where == "PGPASSWORD":
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
    elif where == ".pgpass":
        (tmp_path / "pass").write_text(f"*:*:*:*:{PASSWORD}\n")
        (tmp_path / "pass").chmod(0o600)
        monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pass"))
    elif where == "service":
        service = f"host={guarded.folder}\nuser={guarded.user}\ndbname={guarded.database}\npassword={PASSWORD}\n"
        (tmp_path / "services").write_text(f"[nightly]\n{service}")
        monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
        url = "postgresql://?service=nightly"
    else:
        url = url.replace("@", f":{PASSWORD}@", 1)
    told = duckanon("run", folder.policy(FAR), "--db", url, "--log", "json", "--json")
    assert told.code == 0
    assert PASSWORD not in told.out + told.err
    owner = guarded.owner
    ledger = owner.sql("SELECT CAST(r AS text) FROM duckanon.releases r")
    marks = owner.sql("SELECT description FROM pg_description d JOIN pg_class c ON c.oid = d.objoid")
    assert PASSWORD not in str(ledger) + str(marks)
    assert guarded.user not in ledger[0][0].split("people_anonymous")[0]
