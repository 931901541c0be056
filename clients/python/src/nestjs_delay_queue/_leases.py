"""Renews the leases of the messages that are being handled."""

from __future__ import annotations

import logging
import threading
import time
from typing import Dict, List, Tuple

from ._client import DelayQueue
from ._received import ReceivedMessage

logger = logging.getLogger("nestjs_delay_queue")


class Leases:
    """Three times a lease it extends all that run, in one request. What it could not extend in time is lost, and its handler
    is told at the moment in which the lease ends by this machine's clock.

    :param lease: milliseconds
    """

    def __init__(self, queue: DelayQueue, lease: int) -> None:
        self._queue = queue
        self._lease = lease
        self._period = lease / 3000
        self._changed = threading.Condition()
        #: By receipt, with the end of the lease.
        self._held: Dict[str, Tuple[ReceivedMessage, float]] = {}
        self._stopped = False

    def start(self) -> None:
        threading.Thread(target=self._run, name="delay-queue-leases", daemon=True).start()

    def stop(self) -> None:
        """Whoever still runs has lost its message."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
            for message, _ in self._held.values():
                message.lost.set()
            self._held.clear()

    def add(self, message: ReceivedMessage, received: float) -> None:
        """:param received: when, by ``time.monotonic()``"""
        with self._changed:
            self._held[message.receipt] = (message, received + self._lease / 1000)
            self._changed.notify_all()

    def remove(self, message: ReceivedMessage) -> None:
        with self._changed:
            self._held.pop(message.receipt, None)

    def _run(self) -> None:
        renewal = time.monotonic() + self._period
        while True:
            with self._changed:
                if self._stopped:
                    return
                now = time.monotonic()
                if not self._held:
                    # Nothing to do until there is a message, and a third of its lease after that.
                    self._changed.wait()
                    renewal = time.monotonic() + self._period
                    continue
                self._lose_ended(now)
                if now < renewal:
                    self._changed.wait(min([renewal, *self._ends()]) - now)
                    continue
                receipts = list(self._held)
                left = min(self._ends(), default=now) - now
            renewal = time.monotonic() + self._period
            if receipts:
                self._extend(receipts, min(self._period, left))

    def _ends(self) -> List[float]:
        return [end for _, end in self._held.values()]

    def _lose_ended(self, now: float) -> None:
        for receipt, (message, end) in list(self._held.items()):
            if end <= now:
                self._lose(receipt, message, "has ended, since it could not be renewed")

    def _lose(self, receipt: str, message: ReceivedMessage, why: str) -> None:
        logger.warning("The lease of the message %r of %s %s", message.id, message.topic, why)
        message.lost.set()
        self._held.pop(receipt, None)

    def _extend(self, receipts: List[str], timeout: float) -> None:
        asked = time.monotonic()
        try:
            # Not repeated: the next time comes soon, and an answer after the lease has ended is of no use.
            extensions = self._queue.extend_many(receipts, self._lease, timeout=timeout, retry_for=0)
        except Exception as error:  # Also of an answer that is not the gateway's: nothing may end this thread.
            logger.warning("Leases could not be renewed: %s", error)
            return
        with self._changed:
            for extension in extensions:
                held = self._held.get(extension.receipt)
                if held is None:
                    continue
                message, _ = held
                if extension.status == "extended":
                    self._held[extension.receipt] = (message, asked + self._lease / 1000)
                else:
                    why = "is lost" if extension.status == "lost" else "is over: the message was cancelled"
                    self._lose(extension.receipt, message, why)
