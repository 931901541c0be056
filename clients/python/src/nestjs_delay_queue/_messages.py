"""What is given to the gateway and what comes back, as dataclasses."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ._times import Duration, Time, from_optional_time, from_time, to_milliseconds, to_time

Json = Mapping[str, Any]


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
    deliver_at: Optional[Time] = None
    headers: Optional[Mapping[str, str]] = None
    tags: Optional[Sequence[str]] = None
    #: How many deliveries may fail before it is a dead letter.
    attempts: Optional[int] = None
    #: Such as ``{'type': 'exponential', 'delay': '1s'}``, or ``{'type': 'steps', 'delays': ['1s', timedelta(minutes=1)]}``.
    backoff: Optional[Mapping[str, Any]] = None
    timeout: Optional[Duration] = None
    expire_after: Optional[Duration] = None
    #: ``'reject'``, ``'ignore'``, ``'replace'`` or ``'earliest'``.
    on_duplicate: Optional[str] = None
    max_wait: Optional[Duration] = None
    #: Such as ``{'min': 1, 'timeout': '1s'}``.
    replicas: Optional[Mapping[str, Any]] = None

    def to_json(self) -> Dict[str, Any]:
        options = {
            "id": self.id,
            "key": self.key,
            "delay": optional_duration("delay", self.delay),
            "deliverAt": optional_time("deliver_at", self.deliver_at),
            "headers": self.headers,
            "tags": None if self.tags is None else list(self.tags),
            "attempts": self.attempts,
            "backoff": None if self.backoff is None else _with_milliseconds(self.backoff),
            "timeout": optional_duration("timeout", self.timeout),
            "expireAfter": optional_duration("expire_after", self.expire_after),
            "onDuplicate": self.on_duplicate,
            "maxWait": optional_duration("max_wait", self.max_wait),
            "replicas": self.replicas,
        }
        return {"payload": self.payload, **without_none(options)}


@dataclass(frozen=True)
class PublishedMessage:
    id: str
    topic: str
    partition: int
    due_at: datetime
    #: Whether the id existed; then the message was left as it is or replaced.
    duplicate: bool

    @classmethod
    def from_json(cls, told: Json) -> PublishedMessage:
        return cls(told["id"], told["topic"], told["partition"], from_time(told["dueAt"]), told["duplicate"])


@dataclass(frozen=True)
class Failure:
    """Why a message is dead, or why its latest attempt failed."""

    reason: str
    name: str
    message: str
    code: Optional[str] = None

    @classmethod
    def from_json(cls, told: Json) -> Failure:
        return cls(told["reason"], told["name"], told["message"], told.get("code"))


@dataclass(frozen=True)
class FailedAttempt:
    at: datetime
    attempt: int
    name: str
    message: str
    #: Milliseconds.
    duration: float

    @classmethod
    def from_json(cls, told: Json) -> FailedAttempt:
        return cls(from_time(told["at"]), told["attempt"], told["name"], told["message"], told["duration"])


@dataclass(frozen=True)
class StoredMessage:
    """A message as it is stored."""

    id: str
    key: str
    topic: str
    partition: int
    #: ``'scheduled'``, ``'in-flight'``, ``'dead'`` or ``'finished'``.
    state: str
    #: Finished: ``'acked'``, ``'cancelled'`` or ``'delivered'``.
    outcome: Optional[str]
    #: Scheduled: when it is due. In flight: when its lease ends. Dead: when it died. Finished: when it ended.
    at: datetime
    published_at: Optional[datetime]
    payload: Any
    headers: Mapping[str, str]
    tags: Sequence[str]
    deliveries: int
    attempts: int
    failure: Optional[Failure]
    #: The latest attempts that failed, the last one first.
    history: Sequence[FailedAttempt]
    #: In an ordered topic: the id of the message that has to be done before.
    blocked_by: Optional[str]

    @classmethod
    def from_json(cls, told: Json) -> StoredMessage:
        failure = told.get("failure")
        return cls(
            id=told["id"],
            key=told["key"],
            topic=told["topic"],
            partition=told["partition"],
            state=told["state"],
            outcome=told.get("outcome"),
            at=from_time(told["at"]),
            published_at=from_optional_time(told.get("publishedAt")),
            payload=told.get("payload"),
            headers=told.get("headers") or {},
            tags=told.get("tags") or [],
            deliveries=told["deliveries"],
            attempts=told["attempts"],
            failure=Failure.from_json(failure) if failure else None,
            history=[FailedAttempt.from_json(one) for one in told.get("history") or []],
            blocked_by=told.get("blockedBy"),
        )


@dataclass(frozen=True)
class CancelledTagged:
    cancelled: int
    #: These run already; they are not tried again.
    in_flight: int


@dataclass(frozen=True)
class Settlement:
    """What is to become of a received message: ``'ack'``, ``'retry'``, ``'dead'`` or ``'release'``."""

    receipt: str
    outcome: str
    #: Only with ``'retry'``: when it comes again. Without it, by its backoff.
    delay: Optional[Duration] = None
    #: Only with ``'retry'`` and ``'dead'``; it is kept with the message.
    reason: Optional[str] = None

    def to_json(self) -> Dict[str, Any]:
        options = {"delay": optional_duration("delay", self.delay), "reason": self.reason}
        return {"receipt": self.receipt, "outcome": self.outcome, **without_none(options)}


@dataclass(frozen=True)
class SettleResult:
    receipt: str
    #: ``'settled'``, or nothing has changed: ``'stale'`` (the lease had ended), ``'cancelled'`` or ``'replaced'``.
    status: str


@dataclass(frozen=True)
class Extension:
    receipt: str
    #: ``'extended'``, ``'lost'`` or ``'cancelled'``.
    status: str


@dataclass(frozen=True)
class TopicStats:
    """What a topic holds, in numbers of messages."""

    topic: str
    scheduled: int
    due: int
    blocked: int
    in_flight: int
    dead: int
    finished: int
    next_due_at: Optional[datetime]
    paused: bool
    #: What has happened since the topic was first used, such as ``published`` and ``acked``.
    counters: Mapping[str, int]
    partitions: Sequence[Mapping[str, Any]]

    @classmethod
    def from_json(cls, told: Json) -> TopicStats:
        return cls(
            topic=told["topic"],
            scheduled=told["scheduled"],
            due=told["due"],
            blocked=told["blocked"],
            in_flight=told["inFlight"],
            dead=told["dead"],
            finished=told["finished"],
            next_due_at=from_optional_time(told.get("nextDueAt")),
            paused=told["paused"],
            counters=told["counters"],
            partitions=told.get("partitions") or [],
        )


@dataclass(frozen=True)
class Explanation:
    """Why a message has not run, or what became of it."""

    #: Such as ``'not-due'``, ``'running'`` or ``'dead'``.
    cause: str
    also: Sequence[str]
    facts: Mapping[str, Any]
    #: What it means and what to do, as sentences.
    advice: str

    @classmethod
    def from_json(cls, told: Json) -> Explanation:
        return cls(told["cause"], told["also"], told["facts"], told["advice"])


@dataclass(frozen=True)
class Schedule:
    """A rule that publishes again and again."""

    id: str
    topic: str
    payload: Any
    key: str
    #: Milliseconds.
    every: Optional[int]
    cron: Optional[str]
    time_zone: Optional[str]
    paused: bool
    #: When its next occurrence is; None if it is paused or has ended.
    next: Optional[datetime]
    last: Optional[datetime]
    missed: int
    catch_up: str
    overlap: str
    start_at: Optional[datetime] = None
    end_at: Optional[datetime] = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, told: Json) -> Schedule:
        return cls(
            id=told["id"],
            topic=told["topic"],
            payload=told.get("payload"),
            key=told["key"],
            every=told.get("every"),
            cron=told.get("cron"),
            time_zone=told.get("timeZone"),
            paused=told["paused"],
            next=from_optional_time(told.get("next")),
            last=from_optional_time(told.get("last")),
            missed=told["missed"],
            catch_up=told["catchUp"],
            overlap=told["overlap"],
            start_at=from_optional_time(told.get("startAt")),
            end_at=from_optional_time(told.get("endAt")),
            headers=told.get("headers") or {},
        )


def optional_duration(name: str, value: Optional[Duration]) -> Optional[int]:
    return None if value is None else to_milliseconds(name, value)


def optional_time(name: str, value: Optional[Time]) -> Any:
    return None if value is None else to_time(name, value)


def _with_milliseconds(backoff: Mapping[str, Any]) -> Dict[str, Any]:
    """A backoff in which each ``timedelta`` is milliseconds."""

    def plain(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [plain(one) for one in value]
        return to_milliseconds("backoff", value) if isinstance(value, timedelta) else value

    return {name: plain(value) for name, value in backoff.items()}


def without_none(options: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def chunks(items: Sequence[Any], size: int) -> List[Sequence[Any]]:
    return [items[start : start + size] for start in range(0, len(items), size)]
