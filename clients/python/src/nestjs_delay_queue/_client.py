"""The client."""

from __future__ import annotations

import ssl
import time
from types import TracebackType
from typing import Any, Callable, Iterable, List, Mapping, Optional, Sequence, Tuple, Type, Union

from ._connections import Connections, Interruption
from ._errors import DelayQueueError, UnavailableError, error_of
from ._fields import Json, Reason, optional_duration, optional_time, without_none
from ._json import UNREADABLE, json_of
from ._log import logger
from ._options import PublishMethod
from ._partly import PublishManyError
from ._paths import path
from ._received import ReceivedMessage
from ._schedules import Schedules
from ._times import Duration, Time, to_milliseconds
from ._transport import Request, T, Transport
from ._wire import (
    CancelledTagged,
    CancelResult,
    Explanation,
    ExtendResult,
    ExtendStatus,
    Message,
    Outcome,
    PublishedMessage,
    RescheduleResult,
    Settlement,
    SettleResult,
    SettleStatus,
    StoredMessage,
    TopicStats,
)

#: What the gateway takes at most in one request.
_MOST_IN_A_REQUEST = 1000

#: Why a message is given up that cannot be read.
_TOO_DEEP = "Its payload is nested deeper than Python can read."

#: Bytes of messages in one request: half of what the gateway takes, unless it is told otherwise.
_MOST_BYTES = 4 * 1024 * 1024


class DelayQueue(PublishMethod):
    """Speaks with a gateway. One is enough for a process: threads may share it.

    :param url: of the gateway, with the path under which a Nest application may have it
    :param token: the bearer token, or a function that returns the current one. It is asked for each call, and once more if the
        gateway refuses what it has returned; if it fails, so has that try of the call. None if the gateway asks for none
    :param timeout: until then the gateway has to answer one try; a receive has its ``wait`` on top
    :param retry_for: for how long a call is repeated that failed on its way (no connection, no answer in time, 408, 429,
        502, 503, 504), at most 100 s. What must not be done twice has one ``Idempotency-Key`` for all its tries, so what was done
        is not done again. 0: none is repeated
    :param headers: sent with each request, such as for guards of the application
    :param ssl_context: for https
    """

    def __init__(
        self,
        url: str,
        token: Union[str, Callable[[], str], None] = None,
        *,
        timeout: Duration = "10s",
        retry_for: Duration = "15s",
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

    def _publish(self, topic: str, message: Message) -> PublishedMessage:
        body = json_of("The message", message.to_json())
        request = Request("POST", path("topics", topic, "messages"), body, is_keyed=True)
        return self._transport.send(request, PublishedMessage.from_json)

    def publish_many(self, topic: str, messages: Iterable[Message]) -> List[PublishedMessage]:
        """Publishes messages, many in a request, and tells in their order what became of them. If Redis is away for some of a
        request, all of it is sent again, which publishes none twice.

        :raises PublishManyError: if some were not published; its ``results`` say what became of each
        """
        results: List[Union[PublishedMessage, DelayQueueError]] = []
        away: Optional[UnavailableError] = None
        for count, body in _lists("messages", [message.to_json() for message in messages]):
            if away is not None:
                # The others are not to wait for it as long, one after the other.
                results += [away] * count
                continue
            request = Request("POST", path("topics", topic, "messages"), body, is_keyed=True, trouble_in=_trouble_in)
            try:
                results += self._transport.send(request, lambda told: _counted(count, _publish_results(told)))
            except DelayQueueError as error:
                if not results:
                    raise
                results += [error] * count
                away = error if isinstance(error, UnavailableError) else None
        published = [result for result in results if isinstance(result, PublishedMessage)]
        if len(published) < len(results):
            raise PublishManyError(results)
        return published

    def get(self, topic: str, id: str, *, key: Optional[str] = None) -> StoredMessage:
        """:raises NotFoundError: if there is none; its code is ``MESSAGE_NOT_FOUND``"""
        return self._get(path("topics", topic, "messages", id, key=key), StoredMessage.from_json)

    def cancel(self, topic: str, id: str, *, key: Optional[str] = None) -> CancelResult:
        """``'in-flight'``: it runs already, and is not tried again.

        ``'not-found'`` may also mean that it was cancelled, and only the answer to the first try was lost.
        """
        request = Request("DELETE", path("topics", topic, "messages", id, key=key))
        return self._transport.send(request, _result)

    def cancel_tagged(self, topic: str, tag: str) -> CancelledTagged:
        """Cancels all messages that carry the tag, and counts them. What an earlier try has cancelled it does not count."""
        request = Request("DELETE", path("topics", topic, "messages", tag=tag))
        return self._transport.send(request, CancelledTagged.from_json)

    def reschedule(
        self,
        topic: str,
        id: str,
        *,
        delay: Optional[Duration] = None,
        deliver_at: Optional[Time] = None,
        key: Optional[str] = None,
    ) -> RescheduleResult:
        """Moves a message that waits to another time. Unless it is ``'moved'``, nothing has changed."""
        when = {"delay": optional_duration("delay", delay), "deliverAt": optional_time("deliver_at", deliver_at)}
        body = json_of("The time", without_none(when))
        request = Request("PATCH", path("topics", topic, "messages", id, key=key), body)
        return self._transport.send(request, _result)

    def receive(
        self,
        topics: Union[str, Sequence[str]],
        *,
        max: int = 1,
        wait: Duration = 0,
        lease: Optional[Duration] = None,
        consumer: Optional[str] = None,
    ) -> List[ReceivedMessage]:
        """Receives messages that are due, at most so many; of several topics those of an earlier one first.

        :param max: 1 to 200
        :param wait: the longest time until there is one, at most a minute
        :param lease: for how long they belong to this receiver, at least a second. None: as the gateway has it. 0: they are
            delivered at most once, and there is nothing to settle
        :param consumer: names who receives, for those who look at the fleet, 1 to 128 characters. None: the gateway names it
        """
        return self._receive(_receive_request(topics, max=max, wait=wait, lease=lease, consumer=consumer))

    def receive_once(
        self,
        topics: Sequence[str],
        *,
        max: int,
        wait: Duration,
        lease: Duration,
        consumer: Optional[str],
        interruption: Interruption,
    ) -> List[ReceivedMessage]:
        """As :meth:`receive`, for a worker: nothing is repeated, and another thread may end the wait.

        :raises Interrupted: if one did
        """
        request = _receive_request(topics, max=max, wait=wait, lease=lease, consumer=consumer)
        request.retry_for = 0
        request.interruption = interruption
        return self._receive(request)

    def _receive(self, request: Request) -> List[ReceivedMessage]:
        received = self._transport.send(request, lambda told: [ReceivedMessage.of(one, self) for one in told["messages"]])
        unreadable = [message for message in received if message.payload is UNREADABLE]
        self._give_up(unreadable)
        return [message for message in received if message.payload is not UNREADABLE]

    def _give_up(self, messages: Sequence[ReceivedMessage]) -> None:
        """Nobody can handle them here, and those that came with them must not suffer."""
        for message in messages:
            logger.error("The payload of the message %r of %s is nested deeper than Python can read.", message.id, message.topic)
        leased = [Settlement(one.receipt, "dead", reason=_TOO_DEEP) for one in messages if one.lease > 0]
        try:
            self.settle_many(leased)
        except DelayQueueError as error:
            logger.error("They come again when their leases end: %s", error)

    def settle(
        self, receipt: str, outcome: Outcome, *, delay: Optional[Duration] = None, reason: Optional[Reason] = None
    ) -> SettleStatus:
        """Settles a message by its receipt, whoever has received it. :class:`Settlement` says what the options mean."""
        return self.settle_many([Settlement(receipt, outcome, delay, reason)])[0].status

    def settle_many(
        self, settlements: Iterable[Settlement], *, retry_for: Optional[Duration] = None
    ) -> List[SettleResult]:
        """As :meth:`settle`, for several messages in one request. Tells in their order what became of each.

        :param retry_for: in place of the client's own
        """
        results: List[SettleResult] = []
        for count, body in _lists("settlements", [settlement.to_json() for settlement in settlements]):
            request = Request("POST", path("settle"), body, retry_for=_seconds("retry_for", retry_for), is_keyed=True)
            results += self._transport.send(request, lambda told: _counted(count, _settle_results(told)))
        return results

    def extend(self, receipt: str, lease: Duration) -> ExtendStatus:
        """The lease ends so long after now."""
        return self.extend_many([receipt], lease)[0].status

    def extend_many(
        self,
        receipts: Iterable[str],
        lease: Duration,
        *,
        timeout: Optional[Duration] = None,
        retry_for: Optional[Duration] = None,
    ) -> List[ExtendResult]:
        """As :meth:`extend`, for several leases in one request.

        :param timeout: in place of the client's own; ``retry_for`` likewise
        """
        for_one_try, for_all = _seconds("timeout", timeout), _seconds("retry_for", retry_for)
        milliseconds = to_milliseconds("lease", lease)
        results: List[ExtendResult] = []
        for count, body in _lists("extensions", [{"receipt": receipt, "lease": milliseconds} for receipt in receipts]):
            request = Request("POST", path("extend"), body, timeout=for_one_try, retry_for=for_all)
            results += self._transport.send(request, lambda told: _counted(count, _extend_results(told)))
        return results

    def topics(self) -> List[str]:
        """The topics that are served and that this token may read."""
        return self._get(path("topics"), lambda told: list(told["topics"]))

    def stats(self, topic: str) -> TopicStats:
        """How many messages the topic holds, by their states."""
        return self._get(path("topics", topic, "stats"), TopicStats.from_json)

    def explain(self, topic: str, id: str, *, key: Optional[str] = None) -> Explanation:
        """Why a message has not run, or what became of it."""
        return self._get(path("topics", topic, "messages", id, "explain", key=key), Explanation.from_json)

    def _get(self, address: str, read: Callable[[Any], T]) -> T:
        return self._transport.send(Request("GET", address), read)


def _seconds(name: str, value: Optional[Duration]) -> Optional[float]:
    return None if value is None else to_milliseconds(name, value) / 1000


def _publish_results(told: Json) -> List[Union[PublishedMessage, DelayQueueError]]:
    return [
        error_of(one["error"]["status"], one["error"]) if "error" in one else PublishedMessage.from_json(one)
        for one in told["messages"]
    ]


def _trouble_in(told: Any) -> Optional[UnavailableError]:
    """Why some of the messages of an answer were not published, if that may be over when all are sent again."""
    results = told.get("messages") if isinstance(told, dict) else None
    for one in results if isinstance(results, list) else []:
        problem = one.get("error") if isinstance(one, dict) else None
        if isinstance(problem, dict) and isinstance(problem.get("status"), int):
            error = error_of(problem["status"], problem)
            if isinstance(error, UnavailableError):
                return error
    return None


def _counted(count: int, results: List[Any]) -> List[Any]:
    """:raises ValueError: if they are not so many"""
    if len(results) != count:
        raise ValueError(f"{len(results)} results were answered, and not {count}")
    return results


def _settle_results(told: Json) -> List[SettleResult]:
    return [SettleResult.from_json(one) for one in told["results"]]


def _extend_results(told: Json) -> List[ExtendResult]:
    return [ExtendResult.from_json(one) for one in told["results"]]


def _result(told: Json) -> Any:
    return told["result"]


def _lists(name: str, items: Iterable[Json]) -> List[Tuple[int, bytes]]:
    """Bodies that are lists, none of them with more than the gateway takes, and how many items each has."""
    parts: List[List[bytes]] = []
    size = 0
    for item in items:
        text = json_of(f"One of the {name}", item)
        if not parts or len(parts[-1]) == _MOST_IN_A_REQUEST or size + len(text) > _MOST_BYTES:
            parts.append([])
            size = 0
        parts[-1].append(text)
        size += len(text)
    return [(len(part), b'{"%s":[%s]}' % (name.encode(), b",".join(part))) for part in parts]


def _receive_request(
    topics: Union[str, Sequence[str]], *, max: int, wait: Duration, lease: Optional[Duration], consumer: Optional[str]
) -> Request:
    names = [topics] if isinstance(topics, str) else list(topics)
    longest = to_milliseconds("wait", wait)
    until = time.monotonic() + longest / 1000
    options = without_none({"max": max, "lease": optional_duration("lease", lease), "consumer": consumer})
    if len(names) != 1:
        options["topics"] = names

    def body() -> bytes:
        left = round((until - time.monotonic()) * 1000)
        # What is negative from the start the gateway has to refuse.
        return json_of("A receive", {**options, "wait": min(longest, left if left > 0 else 0)})

    # Repeating it is safe: what was received and not settled comes again.
    address = path("topics", names[0], "receive") if len(names) == 1 else path("receive")
    return Request("POST", address, body, wait=longest / 1000 if longest > 0 else 0)
