"""A message as its receiver has it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Mapping, Optional

from ._messages import Settlement
from ._times import Duration, from_optional_time, from_time

if TYPE_CHECKING:
    from ._client import DelayQueue


@dataclass(eq=False)
class ReceivedMessage:
    """A message that belongs to its receiver until its lease ends.

    The first settle of a delivery counts. The methods return its status: ``'settled'``, or, if nothing has changed,
    ``'stale'`` (the lease had ended), ``'cancelled'`` or ``'replaced'``.
    """

    id: str
    topic: str
    partition: int
    key: str
    payload: Any
    headers: Mapping[str, str]
    #: 1 for the first.
    attempt: int
    max_attempts: int
    published_at: datetime
    due_at: datetime
    #: None if it was received with a lease of 0: then it is gone, and there is nothing to settle.
    lease_ends_at: Optional[datetime]
    receipt: str
    #: Set once the message is no longer its receiver's: its lease has ended, or it was cancelled. A worker sets it while
    #: the handler runs; without one, :meth:`extend` does.
    lost: threading.Event = field(default_factory=threading.Event, repr=False)
    #: Whether one of the methods below has settled it.
    is_settled: bool = field(default=False, repr=False)
    _queue: Optional[DelayQueue] = field(default=None, repr=False)

    @classmethod
    def from_json(cls, told: Mapping[str, Any], queue: DelayQueue) -> ReceivedMessage:
        return cls(
            id=told["id"],
            topic=told["topic"],
            partition=told["partition"],
            key=told["key"],
            payload=told.get("payload"),
            headers=told.get("headers") or {},
            attempt=told["attempt"],
            max_attempts=told["maxAttempts"],
            published_at=from_time(told["publishedAt"]),
            due_at=from_time(told["dueAt"]),
            lease_ends_at=from_optional_time(told.get("leaseEndsAt")),
            receipt=told.get("receipt") or "",
            _queue=queue,
        )

    def ack(self) -> str:
        """It is handled."""
        return self._settle(Settlement(self.receipt, "ack"))

    def retry(self, delay: Optional[Duration] = None, reason: Optional[str] = None) -> str:
        """The attempt has failed. It comes again after the delay, or by its backoff; after its last attempt it is dead."""
        return self._settle(Settlement(self.receipt, "retry", delay, reason))

    def dead(self, reason: str) -> str:
        """It becomes a dead letter at once."""
        return self._settle(Settlement(self.receipt, "dead", reason=reason))

    def release(self) -> str:
        """It comes again at once, and spends no attempt."""
        return self._settle(Settlement(self.receipt, "release"))

    def extend(self, lease: Duration) -> str:
        """Its lease ends so long after now: ``'extended'``, or ``'lost'`` or ``'cancelled'``, and then :attr:`lost` is set."""
        status = self._owner().extend(self.receipt, lease)
        if status != "extended":
            self.lost.set()
        return status

    def _settle(self, settlement: Settlement) -> str:
        status = self._owner().settle([settlement])[0].status
        self.is_settled = True
        return status

    def _owner(self) -> DelayQueue:
        if self._queue is None:
            raise RuntimeError("This message was not received through a DelayQueue, so it cannot be settled.")
        return self._queue
