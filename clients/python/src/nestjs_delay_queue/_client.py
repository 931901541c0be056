"""The client."""

from __future__ import annotations

import ssl
import time
from types import TracebackType
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Type, Union

from ._connections import Connections, Interruption
from ._errors import DelayQueueError, PublishManyError, error_of
from ._messages import (
    CancelledTagged,
    Explanation,
    Extension,
    Message,
    PublishedMessage,
    Settlement,
    SettleResult,
    StoredMessage,
    TopicStats,
    chunks,
    optional_duration,
    optional_time,
    without_none,
)
from ._paths import path
from ._received import ReceivedMessage
from ._schedules import Schedules
from ._times import Duration, Time, to_milliseconds
from ._transport import Request, Transport

#: What the gateway takes at most in one request.
_MOST_IN_A_REQUEST = 1000


class DelayQueue:
    """Speaks with a gateway. One is enough for a process: threads may share it.

    :param url: of the gateway, with the path under which a Nest application may have it
    :param token: the bearer token, or a function that returns the current one; None if the gateway asks for none
    :param timeout: seconds until the gateway has to answer; a receive has its ``wait`` on top
    :param retry_for: seconds in which a call is repeated that failed on its way (no connection, 429, 502, 503, 504).
        All tries of a call have one ``Idempotency-Key``, so what was done is not done again. 0: none is repeated
    :param headers: sent with each request, such as for guards of the application
    :param ssl_context: for https
    """

    def __init__(
        self,
        url: str,
        token: Union[str, Callable[[], str], None] = None,
        *,
        timeout: float = 10.0,
        retry_for: float = 15.0,
        headers: Optional[Mapping[str, str]] = None,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        connections = Connections(url, ssl_context)
        self._address = connections.address
        self._transport = Transport(
            connections, token=token, headers=headers or {}, timeout=timeout, retry_for=retry_for
        )
        #: Rules that publish again and again.
        self.schedules = Schedules(self._transport)

    def __repr__(self) -> str:
        return f"DelayQueue({self._address!r})"

    def __enter__(self) -> DelayQueue:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections that no request uses, and the others after their requests."""
        self._transport.close()

    def publish(
        self,
        topic: str,
        payload: Any,
        *,
        id: Optional[str] = None,
        key: Optional[str] = None,
        delay: Optional[Duration] = None,
        deliver_at: Optional[Time] = None,
        headers: Optional[Mapping[str, str]] = None,
        tags: Optional[Sequence[str]] = None,
        attempts: Optional[int] = None,
        backoff: Optional[Mapping[str, Any]] = None,
        timeout: Optional[Duration] = None,
        expire_after: Optional[Duration] = None,
        on_duplicate: Optional[str] = None,
        max_wait: Optional[Duration] = None,
        replicas: Optional[Mapping[str, Any]] = None,
    ) -> PublishedMessage:
        """Publishes one message. :class:`Message` says what the options mean.

        :raises DuplicateMessageError: if the id exists, unless ``on_duplicate`` says otherwise
        :raises PayloadTooLargeError, InvalidArgumentError, ForbiddenError, NotFoundError, UnavailableError:
        """
        message = Message(
            payload,
            id=id,
            key=key,
            delay=delay,
            deliver_at=deliver_at,
            headers=headers,
            tags=tags,
            attempts=attempts,
            backoff=backoff,
            timeout=timeout,
            expire_after=expire_after,
            on_duplicate=on_duplicate,
            max_wait=max_wait,
            replicas=replicas,
        )
        return PublishedMessage.from_json(self._post(path("topics", topic, "messages"), message.to_json()))

    def publish_many(self, topic: str, messages: Iterable[Message]) -> List[PublishedMessage]:
        """Publishes messages, 1,000 in a request, and tells in their order what became of them.

        :raises PublishManyError: if some were refused; its ``results`` say what became of each
        """
        bodies = [message.to_json() for message in messages]
        results: List[Union[PublishedMessage, DelayQueueError]] = []
        for some in chunks(bodies, _MOST_IN_A_REQUEST):
            try:
                told = self._post(path("topics", topic, "messages"), {"messages": some})
                results += [_published_or_error(one) for one in told["messages"]]
            except DelayQueueError as error:
                if not results:
                    raise
                results += [error] * len(some)
        published = [result for result in results if isinstance(result, PublishedMessage)]
        if len(published) < len(results):
            raise PublishManyError(results)
        return published

    def get(self, topic: str, id: str, *, key: Optional[str] = None) -> StoredMessage:
        """:raises NotFoundError: if there is none; its code is ``MESSAGE_NOT_FOUND``"""
        return StoredMessage.from_json(self._ask("GET", path("topics", topic, "messages", id, key=key)))

    def cancel(self, topic: str, id: str, *, key: Optional[str] = None) -> str:
        """``'cancelled'``, ``'in-flight'`` (it runs already, and is not tried again) or ``'not-found'``."""
        result: str = self._ask("DELETE", path("topics", topic, "messages", id, key=key))["result"]
        return result

    def cancel_tagged(self, topic: str, tag: str) -> CancelledTagged:
        """Cancels all messages that carry the tag."""
        told = self._ask("DELETE", path("topics", topic, "messages", tag=tag))
        return CancelledTagged(told["cancelled"], told["inFlight"])

    def reschedule(
        self,
        topic: str,
        id: str,
        *,
        delay: Optional[Duration] = None,
        deliver_at: Optional[Time] = None,
        key: Optional[str] = None,
    ) -> bool:
        """Gives a waiting message another due time. False if there is none that waits."""
        when = without_none({"delay": optional_duration("delay", delay), "deliverAt": optional_time("deliver_at", deliver_at)})
        told = self._transport.send(Request("PATCH", path("topics", topic, "messages", id, key=key), lambda: when, keyed=True))
        return bool(told["rescheduled"])

    def receive(
        self,
        topics: Union[str, Sequence[str]],
        *,
        max: int = 1,
        wait: Duration = 0,
        lease: Optional[Duration] = None,
    ) -> List[ReceivedMessage]:
        """Receives messages that are due, at most so many; of several topics those of an earlier one first.

        :param max: 1 to 200
        :param wait: the longest time until there is one, at most a minute
        :param lease: for how long they belong to this receiver, at least a second. None: as the gateway has it. 0: they are
            delivered at most once, and there is nothing to settle
        """
        return self._receive(_receive_request(topics, max=max, wait=wait, lease=lease))

    def receive_once(
        self,
        topics: Sequence[str],
        *,
        max: int,
        wait: Duration,
        lease: Duration,
        interruption: Interruption,
    ) -> List[ReceivedMessage]:
        """As :meth:`receive`, for a worker: nothing is repeated, and another thread may end the wait.

        :raises Interrupted: if one did
        """
        request = _receive_request(topics, max=max, wait=wait, lease=lease)
        request.retry_for = 0
        request.interruption = interruption
        return self._receive(request)

    def _receive(self, request: Request) -> List[ReceivedMessage]:
        told = self._transport.send(request)
        return [ReceivedMessage.from_json(one, self) for one in told["messages"]]

    def settle(self, settlements: Iterable[Settlement], *, retry_for: Optional[float] = None) -> List[SettleResult]:
        """Settles messages by their receipts, whoever has received them, and tells in their order what became of it.

        :param retry_for: in place of the client's own, in seconds
        """
        bodies = [settlement.to_json() for settlement in settlements]
        results: List[SettleResult] = []
        for some in chunks(bodies, _MOST_IN_A_REQUEST):
            told = self._post("/v1/settle", {"settlements": some}, retry_for=retry_for)
            results += [SettleResult(one["receipt"], one["status"]) for one in told["results"]]
        return results

    def extend(self, receipt: str, lease: Duration) -> str:
        """The lease ends so long after now: ``'extended'``, ``'lost'`` or ``'cancelled'``."""
        return self.extend_many([receipt], lease)[0].status

    def extend_many(
        self, receipts: Iterable[str], lease: Duration, *, timeout: Optional[float] = None, retry_for: Optional[float] = None
    ) -> List[Extension]:
        """As :meth:`extend`, for several leases in one request.

        :param timeout: in place of the client's own, in seconds; ``retry_for`` likewise
        """
        milliseconds = to_milliseconds("lease", lease)
        bodies = [{"receipt": receipt, "lease": milliseconds} for receipt in receipts]
        results: List[Extension] = []
        for some in chunks(bodies, _MOST_IN_A_REQUEST):
            told = self._post("/v1/extend", {"extensions": some}, timeout=timeout, retry_for=retry_for)
            results += [Extension(one["receipt"], one["status"]) for one in told["results"]]
        return results

    def topics(self) -> List[str]:
        """The topics that are served and that this token may read."""
        return list(self._ask("GET", path("topics"))["topics"])

    def stats(self, topic: str) -> TopicStats:
        return TopicStats.from_json(self._ask("GET", path("topics", topic, "stats")))

    def explain(self, topic: str, id: str, *, key: Optional[str] = None) -> Explanation:
        """Why a message has not run, or what became of it."""
        return Explanation.from_json(self._ask("GET", path("topics", topic, "messages", id, "explain", key=key)))

    def _ask(self, method: str, address: str) -> Any:
        return self._transport.send(Request(method, address, keyed=method == "DELETE"))

    def _post(
        self,
        address: str,
        body: Mapping[str, Any],
        *,
        timeout: Optional[float] = None,
        retry_for: Optional[float] = None,
    ) -> Any:
        # Extending twice is no different from extending once.
        keyed = address != "/v1/extend"
        return self._transport.send(
            Request("POST", address, lambda: body, keyed=keyed, timeout=timeout, retry_for=retry_for)
        )


def _published_or_error(told: Mapping[str, Any]) -> Union[PublishedMessage, DelayQueueError]:
    problem = told.get("error")
    return PublishedMessage.from_json(told) if problem is None else error_of(problem.get("status", 500), problem)


def _receive_request(
    topics: Union[str, Sequence[str]], *, max: int, wait: Duration, lease: Optional[Duration]
) -> Request:
    longest = to_milliseconds("wait", wait)
    until = time.monotonic() + longest / 1000
    options = without_none({"max": max, "lease": optional_duration("lease", lease)})
    names = [topics] if isinstance(topics, str) else list(topics)
    if len(names) != 1:
        options["topics"] = names

    def body() -> Dict[str, Any]:
        left = round((until - time.monotonic()) * 1000)
        # What is negative from the start the gateway has to refuse.
        return {**options, "wait": min(longest, left if left > 0 else 0)}

    # Repeating it is safe: what was received and not settled comes again.
    address = path("topics", names[0], "receive") if len(names) == 1 else path("receive")
    return Request("POST", address, body, wait=longest / 1000 if longest > 0 else 0)
