"""One request and its answer, repeated if it failed on its way."""

from __future__ import annotations

import http.client
import json
import random
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, Union

from ._connections import Connections, Interruption
from ._errors import DelayQueueError, UnavailableError, error_of, unreachable
from ._version import __version__

#: Seconds before the first repetition and at most between two; doubled from one to the next.
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 2.0

#: Of these statuses, 502 and 504 come from a proxy before the gateway.
_REPEATED_STATUSES = (429, 502, 503, 504)

#: The message is stored, and repeating would not bring the replicas back: its publisher decides.
_FINAL_CODES = ("NOT_REPLICATED",)


@dataclass
class Request:
    method: str
    path: str
    #: Called for each try, since a wait gets shorter.
    body: Optional[Callable[[], Mapping[str, Any]]] = None
    #: Seconds that the answer may take longer than any other.
    wait: float = 0.0
    interruption: Optional[Interruption] = None
    #: In place of the client's own, in seconds.
    timeout: Optional[float] = None
    retry_for: Optional[float] = None
    #: Whether all tries are to have one Idempotency-Key, so that what was done is not done again if only the answer was lost.
    keyed: bool = False
    key: str = field(default_factory=lambda: uuid.uuid4().hex)


class Interrupted(Exception):
    """The request was ended by its :class:`Interruption`."""


class _NotSent(Exception):
    """No connection could be made."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


class Transport:
    def __init__(
        self,
        connections: Connections,
        *,
        token: Union[str, Callable[[], str], None],
        headers: Mapping[str, str],
        timeout: float,
        retry_for: float,
    ) -> None:
        self._connections = connections
        self._token = token
        self._headers = dict(headers)
        self._timeout = timeout
        self._retry_for = retry_for

    def close(self) -> None:
        self._connections.close()

    def send(self, request: Request) -> Any:
        """Sends it until it is answered or ``retry_for`` is over.

        :raises DelayQueueError: what the gateway answered, or that it was not reached
        """
        retry_for = self._retry_for if request.retry_for is None else request.retry_for
        deadline = time.monotonic() + retry_for
        pause = FIRST_PAUSE
        # The same for all tries: with another token a request is another operation to the gateway, and would be done again.
        token = self._token() if callable(self._token) else self._token
        while True:
            try:
                return self._try(request, token)
            except _Repeatable as failure:
                # A random share keeps clients apart that have lost the same gateway.
                wait = failure.retry_after or pause * random.uniform(0.5, 1.0)
                if time.monotonic() + wait > deadline:
                    raise failure.error from failure.__cause__
            time.sleep(wait)
            pause = min(pause * 2, LONGEST_PAUSE)

    def _try(self, request: Request, token: Optional[str]) -> Any:
        try:
            status, headers, content = self._exchange(request, token)
        except _NotSent as failure:
            _raise_if_interrupted(request)
            raise _Repeatable(unreachable(self._connections.address, failure.cause)) from failure.cause
        except (OSError, http.client.HTTPException) as cause:
            _raise_if_interrupted(request)
            raise _Repeatable(unreachable(self._connections.address, cause)) from cause
        told = _parse(content)
        if 200 <= status < 300 and (isinstance(told, dict) or not content):
            return told
        error = error_of(status, told)
        if status in _REPEATED_STATUSES and error.code not in _FINAL_CODES:
            raise _Repeatable(error, _seconds(headers.get("Retry-After")))
        raise error

    def _exchange(self, request: Request, token: Optional[str]) -> Tuple[int, http.client.HTTPMessage, bytes]:
        timeout = self._timeout if request.timeout is None else request.timeout
        connection = self._connections.take()
        watch = request.interruption.watch if request.interruption else None
        done = False
        try:
            if connection.sock is None:
                connection.timeout = timeout
                try:
                    connection.connect()
                except OSError as cause:
                    raise _NotSent(cause) from cause
            if connection.sock is not None:
                connection.sock.settimeout(timeout + request.wait)
            if watch:
                watch(connection.sock)
            body = None if request.body is None else _encode(request.body())
            connection.request(request.method, self._connections.path + request.path, body, self._headers_of(request, body, token))
            response = connection.getresponse()
            content = response.read()
            done = not response.will_close
            return response.status, response.headers, content
        finally:
            if watch:
                watch(None)
            interrupted = request.interruption is not None and request.interruption.happened
            if done and not interrupted:
                self._connections.give_back(connection)
            else:
                connection.close()

    def _headers_of(self, request: Request, body: Optional[bytes], token: Optional[str]) -> Dict[str, str]:
        headers = {
            "Accept": "application/json, application/problem+json",
            "User-Agent": f"nestjs-delay-queue-python/{__version__}",
            **self._headers,
        }
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        if request.keyed:
            headers["Idempotency-Key"] = request.key
        return headers


def _raise_if_interrupted(request: Request) -> None:
    if request.interruption is not None and request.interruption.happened:
        raise Interrupted


class _Repeatable(Exception):
    def __init__(self, error: DelayQueueError, retry_after: Optional[float] = None) -> None:
        super().__init__(str(error))
        self.error = error
        self.retry_after = retry_after


def is_refusal(error: DelayQueueError) -> bool:
    """Whether asking again would be answered in the same way."""
    return not isinstance(error, UnavailableError) and error.status is not None and error.status < 500


def _encode(body: Mapping[str, Any]) -> bytes:
    # What other languages could not read is refused here: NaN is no JSON.
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")


def _parse(content: bytes) -> Any:
    try:
        return json.loads(content) if content else None
    except ValueError:
        return None  # Not of the gateway, but of a proxy before it.


def _seconds(retry_after: Optional[str]) -> Optional[float]:
    return float(retry_after) if retry_after is not None and retry_after.isdigit() else None
