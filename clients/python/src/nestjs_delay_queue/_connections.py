"""Connections that are kept open between requests, for as many threads as there are."""

from __future__ import annotations

import http.client
import os
import selectors
import socket
import ssl
import threading
from typing import List, Optional
from urllib.parse import urlsplit

from ._errors import InvalidArgumentError


class Connections:
    """Each request has a connection to itself; afterwards the next one may have it."""

    def __init__(self, url: str, context: Optional[ssl.SSLContext]) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidArgumentError(
                f"The url must be that of a gateway, such as 'http://127.0.0.1:8080'. Given: {url!r}.",
                code="INVALID_ARGUMENT",
            )
        self._host = parts.hostname
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._context = (context or ssl.create_default_context()) if parts.scheme == "https" else None
        self.path = parts.path.rstrip("/")
        #: For messages; without the user and password that a url may have.
        self.address = f"{parts.scheme}://{self._host}:{self._port}{self.path}"
        self._lock = threading.Lock()
        self._idle: List[http.client.HTTPConnection] = []
        self._process = os.getpid()
        self._closed = False

    def take(self) -> http.client.HTTPConnection:
        """One that is open, or a new one that is not yet."""
        return self._take_idle() or self._open()

    def give_back(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if not self._closed and connection.sock is not None:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take_idle(self) -> Optional[http.client.HTTPConnection]:
        while True:
            with self._lock:
                if self._process != os.getpid():
                    # After a fork these are the parent's.
                    self._idle, self._process = [], os.getpid()
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if not _has_ended(connection.sock):
                return connection
            connection.close()

    def _open(self) -> http.client.HTTPConnection:
        if self._context is None:
            return http.client.HTTPConnection(self._host, self._port)
        return http.client.HTTPSConnection(self._host, self._port, context=self._context)


def _has_ended(sock: socket.socket) -> bool:
    """Whether the other side has closed it: only then is there something to read between two requests."""
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_READ)
        return bool(selector.select(0))


class Interruption:
    """Ends a request that waits in another thread, and lets what was answered already arrive."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sock: Optional[socket.socket] = None
        self.happened = False

    def watch(self, sock: Optional[socket.socket]) -> None:
        with self._lock:
            self._sock = sock
            if self.happened:
                self._end()

    def interrupt(self) -> None:
        with self._lock:
            self.happened = True
            self._end()

    def _end(self) -> None:
        if self._sock is None:
            return
        try:
            # The gateway sees that nobody asks any more, and gives what it claimed back. What it had sent before still
            # arrives; a TLS socket cannot be closed by halves.
            is_tls = isinstance(self._sock, ssl.SSLSocket)
            self._sock.shutdown(socket.SHUT_RDWR if is_tls else socket.SHUT_WR)
        except OSError:
            pass  # It has ended already.
