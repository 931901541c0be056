"""Tells the gateway what handlers did: at once, and several together if they ended while it was being told of others."""

from __future__ import annotations

import logging
import queue as queues
import threading
from dataclasses import dataclass, field
from typing import List, Optional

from ._client import DelayQueue
from ._errors import may_be_due_to_one
from ._log import logger
from ._received import ReceivedMessage
from ._threads import start_thread
from ._transport import LONGEST_RETRY
from ._wire import Settlement


@dataclass
class _Waiting:
    message: ReceivedMessage
    settlement: Settlement
    done: threading.Event = field(default_factory=threading.Event)


class Settler:
    """:param lease: milliseconds. For so long a settle is repeated that did not reach the gateway; afterwards the message comes
    again anyway
    """

    def __init__(self, queue: DelayQueue, lease: int) -> None:
        self._queue = queue
        self._retry_for = min(lease, LONGEST_RETRY)
        self._lock = threading.Lock()
        self._stopped = False
        self._thread: Optional[threading.Thread] = None
        #: None tells the thread to end.
        self._waiting: queues.SimpleQueue[Optional[_Waiting]] = queues.SimpleQueue()

    def start(self) -> None:
        self._thread = start_thread("settler", self._run)

    def stop(self, longest: float) -> None:
        """Afterwards nothing that is new is settled: a handler that ends later has lost its message.

        :param longest: seconds that what is settled already may take
        """
        with self._lock:
            self._stopped = True
            self._waiting.put(None)
        if self._thread is not None:
            self._thread.join(longest)

    def settle(self, message: ReceivedMessage, settlement: Settlement) -> None:
        """Returns once it is settled, or cannot be: then the message comes again when its lease ends."""
        self.settle_later(message, settlement).wait()

    def settle_later(self, message: ReceivedMessage, settlement: Settlement) -> threading.Event:
        """As :meth:`settle`, but returns at once what is set then."""
        waiting = _Waiting(message, settlement)
        with self._lock:
            if self._stopped:
                waiting.done.set()
            else:
                self._waiting.put(waiting)
        return waiting.done

    def _run(self) -> None:
        while True:
            first = self._waiting.get()
            batch = [] if first is None else [first]
            while first is not None and not self._waiting.empty():
                following = self._waiting.get()
                if following is None:
                    first = None
                else:
                    batch.append(following)
            if batch:
                self._settle_together(batch)
            if first is None:
                return

    def _settle_together(self, batch: List[_Waiting]) -> None:
        try:
            results = self._queue.settle_many([one.settlement for one in batch], retry_for=self._retry_for)
            for one, result in zip(batch, results):
                self._tell(one, result.status)
        except Exception as error:  # Whatever it is: nothing may end this thread.
            if may_be_due_to_one(error) and len(batch) > 1:
                for one in batch:
                    self._settle_together([one])
            else:
                ids = ", ".join(repr(one.message.id) for one in batch[:10])
                logger.error("Not settled, so these come again when their leases end: %s: %s", ids, error)
        finally:
            for one in batch:
                one.done.set()

    def _tell(self, one: _Waiting, status: str) -> None:
        if status == "settled":
            return
        message = one.message
        level = logging.WARNING if status == "stale" else logging.INFO
        logger.log(level, "%s of the message %r of %s is %s", one.settlement.outcome, message.id, message.topic, status)
