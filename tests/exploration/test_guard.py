"""Who is let in: the browser with the token, of this machine, from the page itself. Everybody else is refused."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from duckanon.exploration.guard import Guard
from tests.support.exploring import PORT

pytestmark = pytest.mark.unit

HOST = f"127.0.0.1:{PORT}"
ORIGIN = f"http://{HOST}"
JSON = {"content-type": "application/json", "origin": ORIGIN}


async def behind(scope: Any, receive: Any, send: Any) -> None:
    """Says where it was asked, and how much was sent."""
    body = (await receive())["body"]
    text = f"{scope['method']} {scope['path']} {len(body)}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"cache-control", b"public")]})
    await send({"type": "http.response.body", "body": text})


@pytest.fixture
def guard() -> Guard:
    return Guard(behind, PORT)


@pytest.fixture
def client(guard: Guard) -> TestClient:
    return TestClient(guard, base_url=ORIGIN, follow_redirects=False, headers={"accept-encoding": "identity"})


def entered(guard: Guard, client: TestClient) -> str:
    """Open the address; the path of the page."""
    assert client.get(guard.address).status_code == 200
    return f"/{guard.room}/"


def test_the_token_is_changed_for_a_cookie_that_no_script_sees(guard: Guard, client: TestClient) -> None:
    welcome = client.get(guard.address)
    cookie = welcome.headers["set-cookie"]
    _, _, rest = cookie.partition("=")
    assert rest.split("; ")[1:] == [f"Path=/{guard.room}/", "HttpOnly", "SameSite=Strict"]
    token = guard.address.partition("token=")[2]
    assert token not in cookie + welcome.text
    assert "url=./" in welcome.text
    assert client.get(f"/{guard.room}/").text == "GET / 0"
    assert client.post(f"/{guard.room}/figures", headers=JSON, content=b"{}").text == "POST /figures 2"


def test_every_answer_is_for_this_page_alone(guard: Guard, client: TestClient) -> None:
    page = entered(guard, client)
    for answer in (client.get(page), client.get("/"), client.get(guard.address)):
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_without_the_token_or_with_another(guard: Guard, client: TestClient) -> None:
    """A second user of the machine finds the port, and no more."""
    start, _, token = guard.address.partition("token=")
    for address in ("/", "/explore.js", f"/{guard.room}/", f"/{guard.room}", f"{start}token=", f"{start}token={token}x",
                    f"{start}token={token[:-1]}", f"{start}token={token}&a=1", f"/{guard.room}/figures?token={token}",
                    f"/x/?token={token}", f"{start}TOKEN={token}"):  # fmt: skip
        refused = client.get(address)
        assert refused.status_code == 403, address
        assert "set-cookie" not in refused.headers
    name = f"duckanon-{guard.room}"
    for cookie in ("", "x", token):
        headers = {"cookie": f"{name}={cookie}"}
        assert client.get(f"/{guard.room}/", headers=headers).status_code == 403
    assert client.post(f"/{guard.room}/figures", headers=JSON, content=b"{}").status_code == 403


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{PORT}",
        f"localhost:{PORT}",
        "127.0.0.1",
        f"127.0.0.1:{PORT + 1}",
        f"[::1]:{PORT}",
    ],
)
def test_by_another_name(host: str, guard: Guard, client: TestClient) -> None:
    """A name that somebody else has led to this machine is not the page's: DNS rebinding ends here."""
    page = entered(guard, client)
    for refused in (
        client.get(page, headers={"host": host}),
        client.get(guard.address, headers={"host": host}),
        client.post(f"{page}figures", headers=JSON | {"host": host}, content=b"{}"),
    ):
        assert refused.status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"content-type": "application/json"},
        JSON | {"origin": "null"},
        JSON | {"origin": "https://evil.example"},
        JSON | {"origin": f"http://127.0.0.1:{PORT + 1}"},
        JSON | {"origin": f"https://{HOST}"},
        {"origin": ORIGIN},
        {"origin": ORIGIN, "content-type": "text/plain"},
        {"origin": ORIGIN, "content-type": "application/x-www-form-urlencoded"},
    ],
)
def test_from_another_page(headers: dict[str, str], guard: Guard, client: TestClient) -> None:
    page = entered(guard, client)
    assert client.post(f"{page}save", headers=headers, content=b"{}").status_code == 403


def test_a_page_elsewhere_cannot_load_it_either(guard: Guard, client: TestClient) -> None:
    page = entered(guard, client)
    for headers in ({"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}, {"origin": "null"}):
        assert client.get(f"{page}explore.js", headers=headers).status_code == 403
    for site in ("none", "same-origin"):
        assert client.get(page, headers={"sec-fetch-site": site}).status_code == 200
    for method in ("HEAD", "PUT", "OPTIONS", "DELETE"):
        assert client.request(method, page, headers=JSON).status_code == 403


def test_more_than_anybody_sends(guard: Guard, client: TestClient) -> None:
    page = entered(guard, client)
    assert client.post(f"{page}figures", headers=JSON, content=b"x" * 64_000).status_code == 200

    def endless() -> Any:
        for _ in range(100):
            yield b"x" * 1_000

    assert client.post(f"{page}figures", headers=JSON, content=b"x" * 64_001).status_code == 413
    assert client.post(f"{page}figures", headers=JSON, content=endless()).status_code == 413


def test_cookies_of_others_do_no_harm(guard: Guard, client: TestClient) -> None:
    key = client.get(guard.address).headers["set-cookie"].split(";")[0]
    client.cookies.clear()
    for others in ('a={"b": [1]}; ' + key, key + '; x="; y=@', f"duckanon-other=1; {key}"):
        assert client.get(f"/{guard.room}/", headers={"cookie": others}).status_code == 200


def test_no_two_guards_know_each_other(guard: Guard, client: TestClient) -> None:
    other = Guard(behind, PORT)
    assert other.room != guard.room
    assert client.get(other.address).status_code == 403
