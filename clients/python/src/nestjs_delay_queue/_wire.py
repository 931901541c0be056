"""What the gateway takes and answers, as dataclasses."""

# Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Mapping, Optional, Sequence

from ._errors import DelayQueueError
from ._fields import Answer, Given, Json, Reason
from ._times import Duration, Time

#: What happens if the id exists: 'reject' refuses the message, 'ignore' leaves the first one as it is, 'replace' gives
#: that one the new payload, options and due time, 'earliest' leaves it, but due at the earlier of both times. If it is
#: left out: 'reject'.
OnDuplicate = Literal["reject", "ignore", "replace", "earliest"]
#: Its state. ``'finished'``: it has ended, and the topic's option ``finished`` keeps its outcome.
MessageState = Literal["dead", "finished", "in-flight", "scheduled"]
#: Result of a call to cancel a message. ``'in-flight'``: its handler runs and its signal aborts, and no retry follows.
CancelResult = Literal["cancelled", "in-flight", "not-found"]
#: Result of a call to move a message to another time. ``'dead'``: it is a dead letter, which somebody has to requeue
#: before it comes again.
RescheduleResult = Literal["dead", "in-flight", "moved", "not-found"]
#: What is to become of the message. 'ack': it is handled. 'retry': the attempt has failed; it comes again, or is a dead
#: letter after its last attempt. 'dead': it becomes a dead letter at once. 'release': it comes again, and spends no
#: attempt.
Outcome = Literal["ack", "retry", "dead", "release"]
#: Result of settling a delivery. ``'stale'``: the delivery was not the current one, and nothing changed.
#: ``'cancelled'``, ``'replaced'``: that happened to the message meanwhile, so a failure of the delivery has no
#: consequence.
SettleStatus = Literal["cancelled", "replaced", "settled", "stale"]
#: Result of extending a lease. ``'cancelled'``: the lease was extended, but the message is cancelled; no retry follows.
#: ``'stale'``: the delivery was no longer the current one, and nothing changed.
ExtendStatus = Literal["cancelled", "extended", "stale"]
#: Which occurrences are published after an outage; 'latest' if it is left out.
CatchUp = Literal["none", "latest", "all"]
#: Whether an occurrence is published while an earlier one waits, runs or retries ('allow'), or counts as missed
#: ('skip'); 'allow' if it is left out.
Overlap = Literal["allow", "skip"]


@dataclass(frozen=True)
class Message(Given):
    """A message to publish. What is left out is as its topic has it."""

    #: Any JSON; with its headers at most 1 MiB.
    payload: Any
    #: Names the message, unique in its topic among those of its key; 1 to 256 characters. If it is left out, one is
    #: made.
    id: Optional[str] = None
    #: Places the message in a partition, and in an ordered topic behind others of the key; 1 to 256 characters. If it
    #: is left out, it is the id.
    key: Optional[str] = None
    #: Time from now until it is due, up to 10 years. If it is left out, it is due at once.
    delay: Optional[Duration] = None
    #: When it is due, in place of a delay. A time that has passed means at once.
    deliver_at: Optional[Time] = None
    #: How many deliveries may fail before it is a dead letter, 1 to 1000.
    attempts: Optional[int] = None
    #: How long to wait between the attempts, such as {"type":"fixed","delay":"1m"}.
    backoff: Optional[Mapping[str, Any]] = None
    #: Longest run of one call of a handler in a Nest application.
    timeout: Optional[Duration] = None
    #: Dead letter if it is not delivered within this time after it was due.
    expire_after: Optional[Duration] = None
    #: Stored with the payload.
    headers: Optional[Mapping[str, str]] = None
    #: Words by which messages can be listed and cancelled: at most 8, of 1 to 128 characters.
    tags: Optional[Sequence[str]] = None
    #: What happens if the id exists: 'reject' refuses the message, 'ignore' leaves the first one as it is, 'replace'
    #: gives that one the new payload, options and due time, 'earliest' leaves it, but due at the earlier of both times.
    #: If it is left out: 'reject'.
    on_duplicate: Optional[OnDuplicate] = None
    #: If it replaces others: however often it is replaced, it is due at most so long after the first publish.
    max_wait: Optional[Duration] = None
    #: How many replicas of Redis have to confirm the publish, and in which time, such as {"min":1,"timeout":"1s"}.
    replicas: Optional[Mapping[str, Any]] = None


@dataclass(frozen=True)
class Settlement(Given):
    """What is to become of a received message."""

    #: What a received message has.
    receipt: str
    #: What is to become of the message. 'ack': it is handled. 'retry': the attempt has failed; it comes again, or is a
    #: dead letter after its last attempt. 'dead': it becomes a dead letter at once. 'release': it comes again, and
    #: spends no attempt.
    outcome: Outcome
    #: Of a retry or a release: time until it comes again. If it is left out, a retry comes by its backoff, and what is
    #: released at once.
    delay: Optional[Duration] = None
    #: Of a retry or a dead letter: why. It is kept with the message.
    reason: Optional[Reason] = None


@dataclass(frozen=True)
class ScheduledMessage(Given):
    """How the messages of the schedule are published."""

    #: The key of all its messages, which cannot be changed later; the id of the schedule if it is left out.
    key: Optional[str] = None
    #: How many deliveries may fail before it is a dead letter, 1 to 1000.
    attempts: Optional[int] = None
    #: How long to wait between the attempts, such as {"type":"fixed","delay":"1m"}.
    backoff: Optional[Mapping[str, Any]] = None
    #: Longest run of one call of a handler in a Nest application.
    timeout: Optional[Duration] = None
    #: Dead letter if it is not delivered within this time after it was due.
    expire_after: Optional[Duration] = None
    #: Stored with the payload.
    headers: Optional[Mapping[str, str]] = None
    #: Words by which messages can be listed and cancelled: at most 8, of 1 to 128 characters.
    tags: Optional[Sequence[str]] = None


@dataclass(frozen=True)
class NewSchedule(Given):
    """A rule that publishes a message again and again: at an interval, or at the times of a cron expression."""

    #: Where its messages go. It cannot be changed.
    topic: str
    #: What its messages carry.
    payload: Any
    #: Interval between two occurrences, at least 100 ms; or else there is a cron expression.
    every: Optional[Duration] = None
    #: A cron expression of five fields, or of six, the first of which are the seconds.
    cron: Optional[str] = None
    #: The time zone of the expression, such as 'Europe/Berlin'; UTC if it is left out.
    time_zone: Optional[str] = None
    #: No occurrence comes before this time; with an interval, it is the first one.
    start_at: Optional[Time] = None
    #: No occurrence comes after this time.
    end_at: Optional[Time] = None
    #: Which occurrences are published after an outage; 'latest' if it is left out.
    catch_up: Optional[CatchUp] = None
    #: Whether an occurrence is published while an earlier one waits, runs or retries ('allow'), or counts as missed
    #: ('skip'); 'allow' if it is left out.
    overlap: Optional[Overlap] = None
    #: How the messages of the schedule are published.
    options: Optional[ScheduledMessage] = None


@dataclass(frozen=True)
class PublishedMessage(Answer):
    """Result of publishing a message."""

    #: Id that it was published with, or the generated one.
    id: str
    #: Topic that it was published to.
    topic: str
    #: Index of its partition in the topic.
    partition: int
    #: Time when the stored message is due, on the Redis server's clock.
    due_at: datetime
    #: Whether the id existed. Then the message was left as it is (``'ignore'``, ``'earliest'``) or replaced
    #: (``'replace'``). ``False`` if it took the place of a finished one.
    duplicate: bool


@dataclass(frozen=True)
class StoredMessage(Answer):
    """A message as it is stored."""

    #: Id of the message.
    id: str
    #: Topic to which it was published.
    topic: str
    #: Its partition in the topic.
    partition: int
    #: Its key; the id, if it was published without one.
    key: str
    #: Headers as they were published.
    headers: Mapping[str, str]
    #: Its state. ``'finished'``: it has ended, and the topic's option ``finished`` keeps its outcome.
    state: MessageState
    #: Scheduled: when it is due. In flight: when its lease ends. Dead: when it died. Finished: when it ended.
    at: datetime
    #: Tags by which it can be found. Finished messages can no longer be found by their tags.
    tags: Sequence[str]
    #: Deliveries so far.
    deliveries: int
    #: Attempts spent so far.
    attempts: int
    #: The latest failed attempts, the last one first; at most 10. An attempt that crashed has no entry.
    history: Sequence[FailedAttempt]
    #: The published payload; None if it cannot be decoded.
    payload: Any = None
    #: Wait after a failed attempt, if it was published with the option; times are milliseconds.
    backoff: Optional[Mapping[str, Any]] = None
    #: Most attempts, if it was published with the option; otherwise its handler or its topic decides.
    max_attempts: Optional[int] = None
    #: When it was published, by its publisher's estimate of the Redis server's clock; None if the stored message cannot
    #: be decoded.
    published_at: Optional[datetime] = None
    #: In flight or finished: when it was last due. Its handler did not begin earlier. None if that is unknown.
    due_at: Optional[datetime] = None
    #: Finished: its outcome. One of ``'acked'``, ``'cancelled'`` and ``'delivered'``.
    outcome: Optional[str] = None
    #: Finished: duration of the last handler call, in milliseconds; None if it was never called, or that is unknown.
    duration: Optional[float] = None
    #: Finished: name of the process that handled it; None if none did, or that is unknown.
    process: Optional[str] = None
    #: The longest run of its handler in milliseconds, if it was published with the option.
    timeout: Optional[float] = None
    #: How long after its due time it expires, in milliseconds, if it was published with the option.
    expire_after: Optional[float] = None
    #: Why it is dead, or why its latest failed attempt failed.
    failure: Optional[Failure] = None
    #: In an ordered topic, the id of the message of the same key that has to be done before this one; None if nothing
    #: is in the way, and in lists.
    blocked_by: Optional[str] = None


@dataclass(frozen=True)
class Failure(Answer):
    """A failure as kept with its message."""

    #: Reason why it is dead, or why the attempt failed. One of ``'crashed'``, ``'expired'``, ``'failed'``,
    #: ``'invalid'``, ``'undecodable'`` and ``'unrecoverable'``.
    reason: str
    #: Name of the error's class.
    name: str
    #: The error's message, at most 4,096 characters.
    message: str
    #: The error's code, if it has one.
    code: Optional[str] = None
    #: The error's stack, at most 4,096 characters.
    stack: Optional[str] = None
    #: The error's ``cause``.
    cause: Optional[Json] = None
    #: The errors that it consists of, as an ``AggregateError`` does; the first 5.
    errors: Sequence[Json] = ()
    #: With ``'crashed'``: failure of an earlier attempt, if there was one.
    last_error: Optional[Failure] = None
    #: Issues that the schema found, if the reason is ``'invalid'``; the first 10.
    issues: Sequence[Json] = ()


@dataclass(frozen=True)
class FailedAttempt(Answer):
    """A failed attempt as kept in the history of its message."""

    #: Time of the failure, by the process's estimate of the Redis server's clock.
    at: datetime
    #: Number of the attempt, 1 for the first. Counting starts anew when a dead letter is requeued.
    attempt: int
    #: Name of the error's class.
    name: str
    #: Message of the error with that of its cause, at most 200 characters.
    message: str
    #: Run time of the handler, in milliseconds.
    duration: float


@dataclass(frozen=True)
class CancelledTagged(Answer):
    """Result of cancelling the messages with a tag."""

    #: Number of messages that waited and are cancelled.
    cancelled: int
    #: Number of messages being handled: their signals abort, and no retry follows.
    in_flight: int


@dataclass(eq=False)
class ReceivedFields(Answer):
    """A message that belongs to its receiver until its lease ends. The first settlement of its receipt counts."""

    #: Id of the message, the same in each delivery.
    id: str
    #: Topic that it was published to.
    topic: str
    #: Index of its partition in the topic.
    partition: int
    #: Its key; the id, if it was published without one.
    key: str
    #: Payload as it was published; the same as the first argument of the handler.
    payload: Any
    #: Headers as they were published.
    headers: Mapping[str, str]
    #: Number of this attempt, 1 for the first.
    attempt: int
    #: Number of the attempt after which the message becomes a dead letter.
    max_attempts: int
    #: Lease that it was received with, in milliseconds; 0 if it was received at most once, so it needs no settling.
    lease: float
    #: Text with which any process can settle the delivery or extend its lease; fit for URLs and headers.
    receipt: str
    #: Time when it was published.
    published_at: datetime
    #: Time when this delivery was due, on the Redis server's clock; for a retry, the end of its backoff.
    due_at: datetime


@dataclass(frozen=True)
class SettleResult(Answer):
    """Outcome of a settlement."""

    #: Names the delivery.
    receipt: str
    #: Result of settling a delivery. ``'stale'``: the delivery was not the current one, and nothing changed.
    #: ``'cancelled'``, ``'replaced'``: that happened to the message meanwhile, so a failure of the delivery has no
    #: consequence.
    status: SettleStatus


@dataclass(frozen=True)
class ExtendResult(Answer):
    """Outcome of an extension."""

    #: Names the delivery.
    receipt: str
    #: Result of extending a lease. ``'cancelled'``: the lease was extended, but the message is cancelled; no retry
    #: follows. ``'stale'``: the delivery was no longer the current one, and nothing changed.
    status: ExtendStatus


@dataclass(frozen=True)
class TopicStats(Answer):
    """Counts of a topic, in total and by partition."""

    #: The topic that is counted.
    topic: str
    #: Partitions that answered, ascending.
    partitions: Sequence[Json]
    #: Partitions that did not answer in time, because their shard of a Redis Cluster is down. No count includes their
    #: messages. Empty if the counts are complete.
    unreachable: Sequence[int]
    #: Waiting messages, including those that are due or blocked.
    scheduled: int
    #: Messages whose time has come and that no process has claimed yet.
    due: int
    #: Messages that wait behind others of their key, or for its limits.
    blocked: int
    #: Messages that are being handled.
    in_flight: int
    #: Dead letters.
    dead: int
    #: Messages that have ended and are kept.
    finished: int
    #: Whether nothing is handed out until someone resumes it; for a topic, whether any of its partitions is paused.
    paused: bool
    #: Counters of events since the topic was first used.
    counters: Mapping[str, int]
    #: Blocked messages whose time has come. They are late like those that are ``due``, and start once others of their
    #: key end. None if the gateway is of version 0.1.
    blocked_due: Optional[int] = None
    #: Messages whose last attempt failed and that are tried again: they wait, or are in flight. None if the gateway is
    #: of version 0.1.
    retrying: Optional[int] = None
    #: The earliest due time; None if nothing waits that could be delivered then.
    next_due_at: Optional[datetime] = None
    #: The earliest due time among those that are due; None if none is. Its age shows how late handling is.
    oldest_due_at: Optional[datetime] = None
    #: The earliest due time among those that are due and blocked; None if none is.
    oldest_blocked_due_at: Optional[datetime] = None
    #: Time until which nothing is handed out, because someone holds the topic or a handler has met a rate limit; None
    #: if neither. For a topic, that of the partition that is held longest.
    held_until: Optional[datetime] = None


@dataclass(frozen=True)
class Explanation(Answer):
    """Explanation of why a message has not run, or of its outcome."""

    #: The first cause that holds, in a fixed order. One of ``'behind'``, ``'blocked-by-key'``, ``'dead'``,
    #: ``'finished'``, ``'max-in-flight'``, ``'no-consumer'``, ``'no-owner'``, ``'not-due'``, ``'owner-silent'``,
    #: ``'paused'``, ``'rate-limited'``, ``'retrying'``, ``'running'``, ``'starved'`` and ``'unknown-id'``.
    cause: str
    #: The other causes that hold, in the same order: what would keep the message waiting without the first one.
    also: Sequence[str]
    #: Facts on which the explanation is based.
    facts: Json
    #: Meaning of the cause, and what to do, in English.
    advice: str


@dataclass(frozen=True)
class Schedule(Answer):
    """A stored schedule."""

    #: Id of the schedule.
    id: str
    #: Topic of its messages.
    topic: str
    #: Partition of its messages in the topic.
    partition: int
    #: Key of its messages; the id if it was stored without one.
    key: str
    #: Headers of its messages.
    headers: Mapping[str, str]
    #: Occurrences that are published after an outage.
    catch_up: CatchUp
    #: Whether an occurrence is published while an earlier one waits, runs or retries.
    overlap: Overlap
    #: Whether it publishes nothing until it is resumed.
    paused: bool
    #: Whether a handler of a Nest application declares it. Once no handler does, it can be pruned.
    declared: bool
    #: Number of occurrences that were not published, because of an outage or because an earlier one was not over. For a
    #: cron expression, one outage counts as at most 1,000.
    missed: int
    #: Payload of its messages, read with the topic's serializer, if any. None if it can't be read.
    payload: Any = None
    #: Interval in milliseconds, if it has no cron expression.
    every: Optional[float] = None
    #: Cron expression, if it has no interval.
    cron: Optional[str] = None
    #: Time zone of the expression.
    time_zone: Optional[str] = None
    #: No occurrence comes before this time.
    start_at: Optional[datetime] = None
    #: No occurrence comes after this time.
    end_at: Optional[datetime] = None
    #: Time of its next occurrence; None if it is paused or has ended.
    next: Optional[datetime] = None
    #: Latest occurrence that was published; None before the first.
    last: Optional[datetime] = None


@dataclass(frozen=True)
class FailedSchedules(Answer):
    """Schedules of a topic that cannot be read now."""

    #: Topic of their messages.
    topic: str
    #: Names of the schedules.
    ids: Sequence[str]
    #: Why they cannot be read.
    error: DelayQueueError
