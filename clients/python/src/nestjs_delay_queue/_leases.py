"""Renews the leases of the messages that are being handled."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Callable, Dict, List, Optional

from ._client import DelayQueue
from ._errors import may_be_due_to_one
from ._log import logger
from ._received import ReceivedMessage
from ._threads import start_thread


@dataclass
class _Held:
    message: ReceivedMessage
    #: When its lease ends at the earliest, by ``time.monotonic()``.
    ends: float
    #: When its handler has had time enough.
    gives_up: float
    #: Whether its handler has ended, and only the settle is missing.
    is_handled: bool = False


class Leases:
    """Three times a lease it extends all that run, in one request. What it could not extend in time is lost, and its handler
    is told at the moment in which the lease ends by this machine's clock.

    :param lease: milliseconds
    :param timeout: seconds that a handler may take; None: as long as it likes
    :param give_up: is told of a message whose handler takes longer; it must not wait
    """

    def __init__(
        self, queue: DelayQueue, lease: int, timeout: Optional[float], give_up: Callable[[ReceivedMessage], None]
    ) -> None:
        self._queue = queue
        self._lease = lease
        self._period = lease / 3000
        self._timeout = float("inf") if timeout is None else timeout
        self._give_up = give_up
        self._changed = threading.Condition()
        #: By receipt.
        self._held: Dict[str, _Held] = {}
        self._renewal = float("inf")
        self._stopped = False

    def start(self) -> None:
        start_thread("leases", self._run)

    def stop(self) -> None:
        """Whoever still runs has lost its message."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
            for held in self._held.values():
                held.message.lose()
            self._held.clear()

    def add(self, message: ReceivedMessage, asked: float) -> None:
        """:param asked: when the request was sent that has brought it, by ``time.monotonic()``"""
        now = time.monotonic()
        lease = message.lease / 1000
        with self._changed:
            # The lease began between the two times. The earlier one counts, but after a long wait the message would be
            # lost by that before its handler runs: it is renewed at once then, and there is time for that.
            ends = max(asked + lease, now + lease / 2)
            self._renewal = min(self._renewal, asked + self._period)
            self._held[message.receipt] = _Held(message, ends, now + self._timeout)
            self._changed.notify_all()

    def handled(self, message: ReceivedMessage) -> None:
        """Its lease is renewed until it is settled, but its handler is told nothing any more."""
        with self._changed:
            held = self._held.get(message.receipt)
            if held is not None:
                held.is_handled = True
                held.gives_up = float("inf")

    def remove(self, message: ReceivedMessage) -> None:
        with self._changed:
            self._held.pop(message.receipt, None)

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._stopped:
                    return
                now = time.monotonic()
                self._lose_overdue(now)
                if not self._held:
                    self._renewal = float("inf")
                    self._changed.wait()
                    continue
                ends = min(held.ends for held in self._held.values())
                if now < self._renewal:
                    gives_up = min(held.gives_up for held in self._held.values())
                    self._changed.wait(min(self._renewal, ends, gives_up) - now)
                    continue
                receipts = list(self._held)
                self._renewal = now + self._period
            self._extend(receipts, now, timeout=min(self._period, ends - now))

    def _lose_overdue(self, now: float) -> None:
        for held in list(self._held.values()):
            if held.ends <= now:
                self._lose(held, "has ended, since it could not be renewed")
            elif held.gives_up <= now:
                self._held.pop(held.message.receipt, None)
                # What its handler does from now on is of no meaning.
                held.message.is_settled = True
                self._give_up(held.message)
                held.message.lose()

    def _lose(self, held: _Held, why: str, *, is_cancelled: bool = False) -> None:
        message = held.message
        self._held.pop(message.receipt, None)
        if not held.is_handled:
            logger.warning("The lease of the message %r of %s %s.", message.id, message.topic, why)
            message.lose(is_cancelled=is_cancelled)

    def _extend(self, receipts: List[str], now: float, timeout: float) -> None:
        try:
            # Not repeated by the client: an answer after the lease has ended is of no use.
            results = self._queue.extend_many(receipts, self._lease, timeout=timedelta(seconds=timeout), retry_for=0)
        except Exception as error:  # Whatever it is: nothing may end this thread.
            if may_be_due_to_one(error) and len(receipts) > 1:
                for receipt in receipts:
                    self._extend([receipt], now, timeout)
                return
            logger.warning("Leases could not be renewed: %s", error)
            with self._changed:
                self._renewal = min(self._renewal, time.monotonic() + self._period / 4)
            return
        with self._changed:
            for result in results:
                held = self._held.get(result.receipt)
                if held is None:
                    continue
                if result.status == "extended":
                    held.ends = now + self._lease / 1000
                elif result.status == "cancelled":
                    self._lose(held, "is over: the message was cancelled", is_cancelled=True)
                else:
                    self._lose(held, "is lost: the message may be handled elsewhere")
