"""Connections that are kept open between requests, for as many threads as there are."""

from __future__ import annotations

import http.client
import os
import selectors
import socket
import ssl
import threading
import time
import weakref
from typing import Any, List, Optional, Tuple, cast
from urllib.parse import urlsplit

from ._errors import invalid

#: Seconds for which a connection is kept that nobody uses: what lies between may have forgotten it later, without a word.
_LONGEST_IDLE = 45.0


class _InOnePiece(http.client.HTTPConnection):
    """Sends a request in one piece. In two, the body would wait for the head to be confirmed where something in between has
    Nagle's algorithm, which takes 40 ms."""

    _held: Optional[List[bytes]] = None

    def request(self, *args: Any, **options: Any) -> None:
        self._held = []
        try:
            super().request(*args, **options)
            content = b"".join(self._held)
        finally:
            self._held = None
        super().send(content)

    def send(self, data: Any) -> None:
        if self._held is None:
            super().send(data)
        else:
            self._held.append(data)


class _TlsConnection(_InOnePiece, http.client.HTTPSConnection):
    pass


class Connections:
    """Each request has a connection to itself; afterwards the next one may have it."""

    def __init__(self, url: str, context: Optional[ssl.SSLContext]) -> None:
        scheme, host, port, path = _parts_of(url)
        self._host = host
        self._port = port
        self._context = (context or ssl.create_default_context()) if scheme == "https" else None
        self.path = path.rstrip("/")
        #: For people.
        self.address = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}{self.path}"
        self._lock = threading.Lock()
        self._closed = False
        #: Each with when it was given back.
        self._idle: List[Tuple[http.client.HTTPConnection, float]] = []
        _all.add(self)

    def forget(self) -> None:
        """After a fork, in the child: the connections are the parent's, and another thread of it may have had the lock."""
        self._lock = threading.Lock()
        idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()

    def take(self) -> http.client.HTTPConnection:
        """One that is open, or a new one that is not yet."""
        return self._take_idle() or self._new()

    def give_back(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append((connection, time.monotonic()))
                return
        connection.close()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()

    def _take_idle(self) -> Optional[http.client.HTTPConnection]:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                # The latest, so that those that are too many grow old.
                connection, since = self._idle.pop()
            if time.monotonic() - since < _LONGEST_IDLE and not _has_ended(connection.sock):
                return connection
            connection.close()

    def _new(self) -> http.client.HTTPConnection:
        if self._context is None:
            return _InOnePiece(self._host, self._port)
        return _TlsConnection(self._host, self._port, context=self._context)


_all: weakref.WeakSet[Connections] = weakref.WeakSet()


def _forget_all() -> None:
    for connections in _all:
        connections.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def _parts_of(url: str) -> Tuple[str, str, int, str]:
    """:raises InvalidArgumentError: which does not show the url if there may be a password in it"""
    try:
        parts = urlsplit(url)
        port = parts.port
        (parts.hostname or "").encode("idna")
    except (AttributeError, TypeError, ValueError):
        parts, port = urlsplit(""), None
    if parts.username is not None:
        raise invalid("The url must not have a user or a password. Give the token by itself, or a header.")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise invalid(f"The url must be that of a gateway, such as 'http://127.0.0.1:8080'. Given: {url!r}.")
    return parts.scheme, parts.hostname, port or (443 if parts.scheme == "https" else 80), parts.path


def connected(connection: http.client.HTTPConnection, timeout: float) -> socket.socket:
    """The socket of the connection, which is opened if it is not.

    :param timeout: seconds that opening may take
    """
    if connection.sock is None:
        connection.timeout = timeout
        connection.connect()
    return cast(socket.socket, connection.sock)


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
