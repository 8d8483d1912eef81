"""A network between a client and a PostgreSQL server, which may go silent: what is said arrives no more."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class Proxy:
    """Forwards from a port of this machine to the socket of a server, until it is silent."""

    def __init__(self, folder: Path | str) -> None:
        self._server = str(Path(folder) / ".s.PGSQL.5432")
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.silent = threading.Event()
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._listening.accept()
                there = socket.socket(socket.AF_UNIX)
                self._open += [here, there]
                there.connect(self._server)
                for ends in ((here, there), (there, here)):
                    threading.Thread(target=self._forward, args=ends, daemon=True).start()

    def _forward(self, source: socket.socket, to: socket.socket) -> None:
        with suppress(OSError):
            while said := source.recv(65536):
                if self.silent.is_set():
                    return  # and both stay open
                to.sendall(said)
            to.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        for end in (self._listening, *self._open):
            end.close()


@contextmanager
def proxy(folder: Path | str) -> Iterator[Proxy]:
    between = Proxy(folder)
    try:
        yield between
    finally:
        between.close()
