"""What is given to the gateway and what comes back, as dataclasses."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from functools import lru_cache
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    List,
    Literal,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    Union,
    get_type_hints,
)

from ._errors import DelayQueueError, error_of
from ._failures import error_to_json
from ._times import Duration, Time, from_time, to_milliseconds, to_time

Json = Mapping[str, Any]

OnDuplicate = Literal["reject", "ignore", "replace", "earliest"]
MessageState = Literal["scheduled", "in-flight", "dead", "finished"]
CancelResult = Literal["cancelled", "in-flight", "not-found"]
RescheduleResult = Literal["moved", "in-flight", "dead", "not-found"]
Outcome = Literal["ack", "retry", "dead", "release"]
#: Why a message is not acknowledged.
Reason = Union[str, BaseException]
#: Unless it is ``'settled'``, nothing has changed. ``'stale'``: the lease had ended, or it was settled before. ``'cancelled'``
#: or ``'replaced'``: that has happened to the message meanwhile, so no retry follows.
SettleStatus = Literal["settled", "stale", "cancelled", "replaced"]
#: ``'cancelled'``: so is the message, and no retry follows. ``'stale'``: the message was not its receiver's any more.
ExtendStatus = Literal["extended", "cancelled", "stale"]
CatchUp = Literal["none", "latest", "all"]
Overlap = Literal["allow", "skip"]

A = TypeVar("A", bound="Answer")


class Answer:
    """What the gateway tells. Each property has its name as Python writes it; one that may be missing has a default."""

    @classmethod
    def from_json(cls: Type[A], told: Json) -> A:
        """:raises KeyError, TypeError, ValueError: if it is not what the gateway tells"""
        # mypy takes the class for one of its instances, which may not be hashable.
        properties = _properties_of(cls)  # type: ignore[arg-type]
        return cls(**{name: read(told[key]) for name, key, read in properties if key in told})


@lru_cache(maxsize=None)
def _properties_of(kind: Type[Any]) -> List[Tuple[str, str, Callable[[Any], Any]]]:
    """Name, name in JSON, and what reads the value."""
    types = get_type_hints(kind)
    return [(one.name, _camel_case(one.name), _reader_of(types[one.name])) for one in fields(kind) if one.init]


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


def _reader_of(kind: Any) -> Callable[[Any], Any]:
    if kind in (datetime, Optional[datetime]):
        return from_time
    if kind == Optional[Failure]:
        return Failure.from_json
    if kind is DelayQueueError:
        return lambda told: error_of(told["status"], told)
    if kind == Sequence[FailedAttempt]:
        return lambda told: [FailedAttempt.from_json(one) for one in told]
    return lambda told: told


@dataclass(frozen=True)
class Message:
    """A message to publish. What is None is left to the topic or the gateway."""

    payload: Any
    #: Names the message; unique in its topic while it exists.
    id: Optional[str] = None
    #: Places the message in a partition, and orders it with others of the key in an ordered topic.
    key: Optional[str] = None
    #: Time from now until it is due. Not together with ``deliver_at``.
    delay: Optional[Duration] = None
    #: When it is due; a time that has passed means at once.
    deliver_at: Optional[Time] = None
    #: Stored with the payload.
    headers: Optional[Mapping[str, str]] = None
    #: Words by which messages can be listed and cancelled.
    tags: Optional[Sequence[str]] = None
    #: How many deliveries may fail before it is a dead letter.
    attempts: Optional[int] = None
    #: Such as ``{'type': 'exponential', 'delay': '1s'}``, or ``{'type': 'steps', 'delays': ['1s', timedelta(minutes=1)]}``.
    backoff: Optional[Mapping[str, Any]] = None
    #: Longest run of a handler within the Nest application; it is not for those who receive.
    timeout: Optional[Duration] = None
    #: It becomes a dead letter if it is not delivered so long after it was due.
    expire_after: Optional[Duration] = None
    #: What happens if the id exists; None means ``'reject'``.
    on_duplicate: Optional[OnDuplicate] = None
    #: With ``on_duplicate='replace'``: however often it is replaced, it is due so long after the first time.
    max_wait: Optional[Duration] = None
    #: Such as ``{'min': 1, 'timeout': '1s'}``.
    replicas: Optional[Mapping[str, Any]] = None

    def to_json(self) -> Dict[str, Any]:
        return {
            "payload": self.payload,
            **options_to_json(
                key=self.key,
                headers=self.headers,
                tags=self.tags,
                attempts=self.attempts,
                backoff=self.backoff,
                timeout=self.timeout,
                expire_after=self.expire_after,
            ),
            **without_none(
                {
                    "id": self.id,
                    "delay": optional_duration("delay", self.delay),
                    "deliverAt": optional_time("deliver_at", self.deliver_at),
                    "onDuplicate": self.on_duplicate,
                    "maxWait": optional_duration("max_wait", self.max_wait),
                    "replicas": None if self.replicas is None else _with_milliseconds(self.replicas),
                }
            ),
        }


def options_to_json(
    *,
    key: Optional[str],
    headers: Optional[Mapping[str, str]],
    tags: Optional[Sequence[str]],
    attempts: Optional[int],
    backoff: Optional[Mapping[str, Any]],
    timeout: Optional[Duration],
    expire_after: Optional[Duration],
) -> Dict[str, Any]:
    """What messages of schedules take too."""
    return without_none(
        {
            "key": key,
            "headers": headers,
            # A text would be taken for a list of its letters. The gateway says what is wrong with other things.
            "tags": list(tags) if isinstance(tags, Iterable) and not isinstance(tags, str) else tags,
            "attempts": attempts,
            "backoff": None if backoff is None else _with_milliseconds(backoff),
            "timeout": optional_duration("timeout", timeout),
            "expireAfter": optional_duration("expire_after", expire_after),
        }
    )


@dataclass(frozen=True)
class PublishedMessage(Answer):
    id: str
    topic: str
    partition: int
    due_at: datetime
    #: Whether the id existed; then the message was left as it is or replaced.
    duplicate: bool


@dataclass(frozen=True)
class Failure(Answer):
    """Why a message is dead, or why its latest attempt failed."""

    reason: str
    name: str
    message: str
    code: Optional[str] = None
    stack: Optional[str] = None
    #: The error behind it, as the gateway tells it: its name, its message, and what is behind that one.
    cause: Optional[Json] = None
    #: What an ``AggregateError`` consists of, likewise.
    errors: Sequence[Json] = ()
    #: Why the attempt before failed, if the last one ended without an error of its own.
    last_error: Optional[Failure] = None
    #: What the schema of the topic found wrong: each ``message`` and, if it has one, its ``path``.
    issues: Sequence[Json] = ()


@dataclass(frozen=True)
class FailedAttempt(Answer):
    at: datetime
    attempt: int
    name: str
    message: str
    #: Milliseconds.
    duration: float


@dataclass(frozen=True)
class StoredMessage(Answer):
    """A message as it is stored."""

    id: str
    key: str
    topic: str
    partition: int
    state: MessageState
    #: Scheduled: when it is due. In flight: when its lease ends. Dead: when it died. Finished: when it ended.
    at: datetime
    headers: Mapping[str, str]
    tags: Sequence[str]
    deliveries: int
    attempts: int
    #: The latest attempts that failed, the last one first.
    history: Sequence[FailedAttempt]
    payload: Any = None
    published_at: Optional[datetime] = None
    max_attempts: Optional[int] = None
    #: As it was published, times in milliseconds; so are the next two.
    backoff: Optional[Mapping[str, Any]] = None
    timeout: Optional[int] = None
    expire_after: Optional[int] = None
    failure: Optional[Failure] = None
    #: In an ordered topic: the id of the message that has to be done before.
    blocked_by: Optional[str] = None
    #: Finished: which process has handled it.
    process: Optional[str] = None
    #: Finished: ``'acked'``, ``'cancelled'`` or ``'delivered'``.
    outcome: Optional[str] = None
    #: Finished: when it was due last.
    due_at: Optional[datetime] = None
    #: Finished: how long the last call of its handler took, in milliseconds.
    duration: Optional[float] = None


@dataclass(frozen=True)
class CancelledTagged(Answer):
    cancelled: int
    #: These run already; they are not tried again.
    in_flight: int


@dataclass(frozen=True)
class Settlement:
    """What is to become of a received message."""

    receipt: str
    outcome: Outcome
    #: Only with ``'retry'`` and ``'release'``: when it comes again. Without it, a retry comes by its backoff, and what is
    #: released at once.
    delay: Optional[Duration] = None
    #: Only with ``'retry'`` and ``'dead'``; it is kept with the message: a text, or what was raised, with its traceback.
    reason: Optional[Reason] = None

    def to_json(self) -> Dict[str, Any]:
        options: Dict[str, Any] = {"delay": optional_duration("delay", self.delay)}
        if isinstance(self.reason, BaseException):
            options["error"] = error_to_json(self.reason)
        else:
            options["reason"] = self.reason
        return {"receipt": self.receipt, "outcome": self.outcome, **without_none(options)}


@dataclass(frozen=True)
class SettleResult(Answer):
    receipt: str
    status: SettleStatus


@dataclass(frozen=True)
class ExtendResult(Answer):
    receipt: str
    status: ExtendStatus


@dataclass(frozen=True)
class TopicStats(Answer):
    """What a topic holds, in numbers of messages."""

    topic: str
    scheduled: int
    due: int
    blocked: int
    in_flight: int
    dead: int
    finished: int
    paused: bool
    #: What has happened since the topic was first used, such as ``published`` and ``acked``.
    counters: Mapping[str, int]
    #: The same by partition, as the gateway tells it.
    partitions: Sequence[Json]
    #: Partitions that did not answer, which no number includes.
    unreachable: Sequence[int]
    next_due_at: Optional[datetime] = None
    oldest_due_at: Optional[datetime] = None
    held_until: Optional[datetime] = None
    #: Of those that are blocked, the ones whose time has come. None, as the next: a gateway of version 0.1 does not tell it.
    blocked_due: Optional[int] = None
    #: Messages that have failed and are tried again.
    retrying: Optional[int] = None
    oldest_blocked_due_at: Optional[datetime] = None


@dataclass(frozen=True)
class Explanation(Answer):
    """Why a message has not run, or what became of it."""

    #: Such as ``'not-due'``, ``'running'`` or ``'dead'``.
    cause: str
    #: What stands in its way besides.
    also: Sequence[str]
    #: What it means and what to do, as sentences.
    advice: str
    #: As the gateway tells them.
    facts: Json


@dataclass(frozen=True)
class Schedule(Answer):
    """A rule that publishes again and again."""

    id: str
    topic: str
    partition: int
    key: str
    headers: Mapping[str, str]
    paused: bool
    #: Whether a handler of the Nest application has declared it.
    declared: bool
    #: How many occurrences were not published, because of an outage or since an earlier one was not over.
    missed: int
    catch_up: CatchUp
    overlap: Overlap
    payload: Any = None
    #: Milliseconds.
    every: Optional[int] = None
    cron: Optional[str] = None
    time_zone: Optional[str] = None
    start_at: Optional[datetime] = None
    end_at: Optional[datetime] = None
    #: When its next occurrence is; None if it is paused or has ended.
    next: Optional[datetime] = None
    #: Its latest occurrence that was published.
    last: Optional[datetime] = None


@dataclass(frozen=True)
class FailedSchedules(Answer):
    """Schedules of a topic that cannot be told now."""

    topic: str
    ids: Sequence[str]
    error: DelayQueueError


def optional_duration(name: str, value: Optional[Duration]) -> Optional[int]:
    return None if value is None else to_milliseconds(name, value)


def optional_time(name: str, value: Optional[Time]) -> Any:
    return None if value is None else to_time(name, value)


def _with_milliseconds(options: Any) -> Any:
    """The same, but each ``timedelta`` in it is milliseconds. What is no mapping the gateway refuses."""

    def plain(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [plain(one) for one in value]
        return to_milliseconds("delay", value) if isinstance(value, timedelta) else value

    return {name: plain(value) for name, value in options.items()} if isinstance(options, Mapping) else options


def without_none(options: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
