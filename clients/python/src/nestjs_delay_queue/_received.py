"""A message as its receiver has it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Optional, Protocol

from ._fields import Json, Reason
from ._times import Duration
from ._wire import ExtendStatus, Outcome, ReceivedFields, SettleStatus


class Desk(Protocol):
    """Where receipts are brought back to."""

    def settle(
        self, receipt: str, outcome: Outcome, *, delay: Optional[Duration] = None, reason: Optional[Reason] = None
    ) -> SettleStatus: ...

    def extend(self, receipt: str, lease: Duration) -> ExtendStatus: ...


@dataclass(eq=False)
class ReceivedMessage(ReceivedFields):
    """A message that belongs to its receiver until its lease ends. The first settle of a delivery counts."""

    #: Set once the handler's work is of no use any more: the lease has ended, or the message was cancelled. A worker sets
    #: it while the handler runs; without one, :meth:`extend` does.
    lost: threading.Event = field(default_factory=threading.Event, init=False, repr=False)
    #: Whether it is lost since it was cancelled, as far as this process knows.
    is_cancelled: bool = field(default=False, init=False, repr=False)
    #: Whether it is settled: one of the methods below has done so, or its worker, since the handler took too long.
    is_settled: bool = field(default=False, init=False, repr=False)
    _desk: Optional[Desk] = field(default=None, init=False, repr=False)

    @classmethod
    def of(cls, told: Json, desk: Desk) -> ReceivedMessage:
        message = cls.from_json(told)
        message._desk = desk
        return message

    def ack(self) -> SettleStatus:
        """It is handled."""
        return self._settle("ack")

    def retry(self, delay: Optional[Duration] = None, reason: Optional[Reason] = None) -> SettleStatus:
        """The attempt has failed. It comes again after the delay, or by its backoff; after its last attempt it is dead."""
        return self._settle("retry", delay, reason)

    def dead(self, reason: Optional[Reason] = None) -> SettleStatus:
        """It becomes a dead letter at once."""
        return self._settle("dead", reason=reason)

    def release(self, delay: Optional[Duration] = None) -> SettleStatus:
        """It comes again, at once or after the delay, and spends no attempt."""
        return self._settle("release", delay)

    def extend(self, lease: Duration) -> ExtendStatus:
        """Its lease ends so long after now. If it is not ``'extended'``, :attr:`lost` is set."""
        status = self._its_desk().extend(self.receipt, lease)
        if status != "extended":
            self.lose(is_cancelled=status == "cancelled")
        return status

    def lose(self, *, is_cancelled: bool = False) -> None:
        """Tells its handler that the message is not for it any more. For whoever renews leases, and for tests."""
        self.is_cancelled = is_cancelled
        self.lost.set()

    def _settle(
        self, outcome: Outcome, delay: Optional[Duration] = None, reason: Optional[Reason] = None
    ) -> SettleStatus:
        status = self._its_desk().settle(self.receipt, outcome, delay=delay, reason=reason)
        self.is_settled = True
        return status

    def _its_desk(self) -> Desk:
        if self._desk is None:
            raise RuntimeError("This message was not received through a DelayQueue, so it cannot be settled.")
        return self._desk
