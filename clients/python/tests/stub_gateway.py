"""An HTTP server that answers what a test tells it to."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Callable, Dict, List, Mapping, Optional, Type, Union

from support import PACKAGE  # noqa: F401
from nestjs_delay_queue import DelayQueue


@dataclass
class Asked:
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass
class Answer:
    status: int = 200
    body: Any = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


#: In place of an answer: the connection ends.
LOST = "lost"

Answering = Callable[[Asked], Union[Answer, str]]


class StubGateway:
    """:param answer: called for each request, by a thread of its own"""

    def __init__(self, answer: Answering) -> None:
        self.asked: List[Asked] = []
        self.connections = 0
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                stub.connections += 1
                super().setup()

            def answer(self) -> None:
                content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                asked = Asked(self.command, self.path, dict(self.headers), json.loads(content) if content else None)
                stub.asked.append(asked)
                told = answer(asked)
                if isinstance(told, str):
                    self.close_connection = True
                    return
                body = told.body if isinstance(told.body, bytes) else json.dumps(told.body).encode()
                self.send_response(told.status)
                headers: Dict[str, str] = {"Content-Length": str(len(body)), **told.headers}
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._clients: List[DelayQueue] = []
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def client(self, token: Union[str, Callable[[], str], None] = None, path: str = "", **options: Any) -> DelayQueue:
        """One that is closed with the gateway."""
        client = DelayQueue(self.url + path, token, **options)
        self._clients.append(client)
        return client

    def __enter__(self) -> StubGateway:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        for client in self._clients:
            client.close()
        self._server.shutdown()
        self._server.server_close()


def problem(status: int, code: str, detail: str = "Not now.", **headers: str) -> Answer:
    told = {"status": status, "code": code, "detail": detail, "title": code, "type": "urn:nestjs-delay-queue:problem:x"}
    return Answer(status, told, headers)


def published(id: str = "a") -> Dict[str, Any]:
    return {"id": id, "topic": "t", "partition": 0, "dueAt": "2026-11-24T12:00:00.250Z", "duplicate": False}


def received(id: str, attempt: int = 1) -> Dict[str, Any]:
    return {
        "id": id,
        "topic": "t",
        "partition": 0,
        "key": id,
        "payload": {"id": id},
        "headers": {},
        "attempt": attempt,
        "maxAttempts": 5,
        "publishedAt": "2026-11-24T12:00:00.000Z",
        "dueAt": "2026-11-24T12:00:00.000Z",
        "lease": 30_000,
        "receipt": f"receipt-of-{id}",
    }


STORED = {
    "id": "42",
    "key": "42",
    "topic": "order.timeout",
    "partition": 0,
    "state": "scheduled",
    "at": "2026-11-24T12:30:00.000Z",
    "deliveries": 0,
    "attempts": 0,
    "headers": {},
    "tags": [],
    "history": [],
}
STATS = {
    "topic": "order.timeout",
    "scheduled": 1,
    "due": 0,
    "blocked": 0,
    "inFlight": 0,
    "dead": 0,
    "finished": 0,
    "paused": False,
    "counters": {},
    "partitions": [],
    "unreachable": [],
}
SCHEDULE = {
    "id": "nightly",
    "topic": "report",
    "partition": 0,
    "key": "nightly",
    "headers": {},
    "declared": False,
    "paused": False,
    "missed": 0,
    "catchUp": "latest",
    "overlap": "allow",
}
