"""One request and its answer, repeated if it failed on its way."""

from __future__ import annotations

import http.client
import random
import re
import ssl
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, TypeVar, Union

from ._connections import Connections, Interruption, connected
from ._errors import (
    UNEXPECTED_ANSWER,
    DelayQueueError,
    UnauthorizedError,
    UnavailableError,
    UntrustedCertificateError,
    error_of,
    invalid,
)
from ._json import parse
from ._times import SHORTEST_TIMEOUT, Duration, milliseconds_within
from ._version import __version__

T = TypeVar("T")

#: For how long a call may be repeated, in milliseconds: the gateway knows an Idempotency-Key for two minutes.
LONGEST_RETRY = 100_000

#: What a header can carry as a token (RFC 6750).
_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+\-.^_`|~]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\xa0-\xff]*")


@dataclass
class Request:
    method: str
    path: str
    #: JSON, or what makes it for each try, since a wait gets shorter.
    body: Union[bytes, Callable[[], bytes], None] = None
    #: Seconds that the answer may take longer than any other.
    wait: float = 0.0
    #: In place of the client's own, in seconds.
    timeout: Optional[float] = None
    retry_for: Optional[float] = None
    interruption: Optional[Interruption] = None
    #: For what must not be done twice: all tries have one Idempotency-Key. Everything else is safe to repeat.
    is_keyed: bool = False
    #: Why an answer is not the last word, so that all of it is asked for again under its key; None: it is.
    trouble_in: Callable[[Any], Optional[UnavailableError]] = lambda told: None
    key: str = field(default_factory=lambda: uuid.uuid4().hex)


class Interrupted(Exception):
    """The request was ended by its :class:`Interruption`."""


class Pauses:
    """How long to wait before asking again: longer each time, unless the gateway says how long."""

    FIRST = 0.1
    #: One that comes back later may miss a gateway that is there for a short time, again and again.
    LONGEST = 2.0
    #: Of what a proxy may say.
    LONGEST_ASKED_FOR = 30.0

    def __init__(self) -> None:
        self._next = self.FIRST

    def after(self, error: BaseException) -> float:
        pause, self._next = self._next, min(self._next * 2, self.LONGEST)
        asked_for = error.retry_after if isinstance(error, UnavailableError) else None
        if asked_for is not None:
            return min(asked_for, self.LONGEST_ASKED_FOR)
        # A random share keeps clients apart that have lost the same gateway.
        return pause * random.uniform(0.5, 1.0)


class Transport:
    def __init__(
        self,
        connections: Connections,
        *,
        token: Union[str, Callable[[], str], None],
        headers: Mapping[str, str],
        timeout: Duration,
        retry_for: Duration,
    ) -> None:
        self._connections = connections
        self._token = token
        self._headers = _checked_headers(headers)
        self._timeout = milliseconds_within("timeout", timeout, SHORTEST_TIMEOUT) / 1000
        self._retry_for = milliseconds_within("retry_for", retry_for, SHORTEST_TIMEOUT, LONGEST_RETRY, or_zero=True) / 1000

    def close(self) -> None:
        self._connections.close()

    def send(self, request: Request, read: Callable[[Any], T]) -> T:
        """Sends it until it is answered or ``retry_for`` is over.

        :param read: makes the result of what was answered
        :raises DelayQueueError: what the gateway answered, or that it was not reached
        """
        told = self._answer_to(request)
        try:
            return read(told)
        except (AttributeError, KeyError, TypeError, ValueError) as cause:
            raise DelayQueueError(
                f"What answered at {self._connections.address} is not the gateway, or not this version of it: "
                f"{type(cause).__name__}: {cause}.",
                UNEXPECTED_ANSWER,
            ) from cause

    def _answer_to(self, request: Request) -> Any:
        retry_for = self._retry_for if request.retry_for is None else request.retry_for
        deadline = time.monotonic() + request.wait + retry_for
        pauses = Pauses()
        credentials = _Credentials(self._token, request.is_keyed)
        told = None
        while True:
            try:
                told = self._try(request, credentials)
                error = request.trouble_in(told)
                if error is None:
                    return told
            except UnavailableError as cause:
                error = cause
            pause = pauses.after(error)
            if retry_for == 0 or time.monotonic() + pause > deadline:
                if told is None:
                    raise error
                # What was answered before says what became of each of many.
                return told
            time.sleep(pause)

    def _try(self, request: Request, credentials: _Credentials) -> Any:
        try:
            status, headers, content = self._exchange(request, credentials.current())
        except ssl.SSLCertVerificationError as cause:
            raise UntrustedCertificateError(
                f"The certificate of {self._connections.address} is not trusted: {cause.verify_message}", "UNTRUSTED_CERTIFICATE"
            ) from cause
        except (OSError, http.client.HTTPException) as cause:
            if request.interruption is not None and request.interruption.happened:
                raise Interrupted from cause
            reason = str(cause) or type(cause).__name__
            raise UnavailableError(
                f"The gateway at {self._connections.address} cannot be reached: {reason}.", "GATEWAY_UNREACHABLE"
            ) from cause
        told = parse(content)
        if 200 <= status < 300:
            return told
        error = error_of(status, told, headers.get("Retry-After"))
        if isinstance(error, UnauthorizedError) and credentials.renew():
            return self._try(request, credentials)
        raise error

    def _exchange(self, request: Request, token: Optional[str]) -> Tuple[int, http.client.HTTPMessage, bytes]:
        timeout = self._timeout if request.timeout is None else request.timeout
        body = request.body() if callable(request.body) else request.body
        interruption = request.interruption or Interruption()
        connection = self._connections.take()
        is_whole = False
        try:
            sock = connected(connection, timeout)
            sock.settimeout(timeout + request.wait)
            interruption.watch(sock)
            address = self._connections.path + request.path
            try:
                connection.request(request.method, address, body, self._headers_of(request, token))
            except ConnectionError:
                pass  # The gateway may refuse a request before all of it is sent; then the answer says why.
            response = connection.getresponse()
            content = response.read()
            is_whole = not response.will_close
            return response.status, response.headers, content
        finally:
            interruption.watch(None)
            if is_whole and not interruption.happened:
                self._connections.give_back(connection)
            else:
                connection.close()

    def _headers_of(self, request: Request, token: Optional[str]) -> Dict[str, str]:
        headers = {
            "Accept": "application/json, application/problem+json",
            "User-Agent": f"nestjs-delay-queue-python/{__version__}",
            **self._headers,
        }
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if request.body is not None:
            headers["Content-Type"] = "application/json"
        if request.is_keyed:
            headers["Idempotency-Key"] = request.key
        return headers


class _Credentials:
    """The token of one request, which is asked for at its first try."""

    def __init__(self, source: Union[str, Callable[[], str], None], is_keyed: bool) -> None:
        self._source = source
        self._is_keyed = is_keyed
        self._token: Optional[str] = None
        self._is_known = False
        self._is_renewed = False
        self._tries = 0

    def current(self) -> Optional[str]:
        """The same for all tries: with another token a request is another operation to the gateway, and would be done again."""
        if not self._is_known:
            self._token = _checked_token(self._source)
            self._is_known = True
        self._tries += 1
        return self._token

    def renew(self) -> bool:
        """Once, if a token that was refused may have ended. A request with a key may be done already if an earlier try of it got
        no answer."""
        if not callable(self._source) or self._is_renewed or (self._is_keyed and self._tries > 1):
            return False
        self._is_renewed = True
        self._is_known = False
        return True


def _checked_headers(headers: Mapping[str, str]) -> Dict[str, str]:
    for name, value in headers.items():
        is_text = isinstance(name, str) and isinstance(value, str)
        if not is_text or not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise invalid(f"headers must be text that HTTP can carry (of {name!r} it is not). Values are not shown.")
    return dict(headers)


def _checked_token(source: Union[str, Callable[[], str], None]) -> Optional[str]:
    """
    :raises UnavailableError: if the function that gives it has failed
    :raises InvalidArgumentError: if it is none
    """
    try:
        token = source() if callable(source) else source
    except Exception as cause:
        raise UnavailableError(f"There is no token: {type(cause).__name__}: {cause}.", "NO_TOKEN") from cause
    if token is not None and not (isinstance(token, str) and _TOKEN.fullmatch(token)):
        raise invalid(
            "The token must be characters of A-Z a-z 0-9 - . _ ~ + / with = at its end at most. "
            "It is not shown, since it is a secret."
        )
    return token
