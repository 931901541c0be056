"""Tells the gateway what handlers did: at once, and several together if they ended while it was being told of others."""

from __future__ import annotations

import logging
import queue as queues
import threading
from dataclasses import dataclass, field
from typing import List, Optional

from ._client import DelayQueue
from ._errors import DelayQueueError
from ._messages import Settlement
from ._received import ReceivedMessage
from ._transport import is_refusal

logger = logging.getLogger("nestjs_delay_queue")

#: What the gateway takes at most in one request.
_MOST_TOGETHER = 1000


@dataclass
class _Waiting:
    message: ReceivedMessage
    settlement: Settlement
    done: threading.Event = field(default_factory=threading.Event)


class Settler:
    """:param retry_for: seconds in which a settle is repeated that did not reach the gateway; the lease, since afterwards
    the message comes again anyway
    """

    def __init__(self, queue: DelayQueue, retry_for: float) -> None:
        self._queue = queue
        self._retry_for = retry_for
        self._lock = threading.Lock()
        self._stopped = False
        #: None tells the thread to end.
        self._waiting: queues.SimpleQueue[Optional[_Waiting]] = queues.SimpleQueue()

    def start(self) -> None:
        threading.Thread(target=self._run, name="delay-queue-settler", daemon=True).start()

    def stop(self) -> None:
        """Afterwards nothing that is new is settled: a handler that ends later has lost its message."""
        with self._lock:
            self._stopped = True
            self._waiting.put(None)

    def settle(self, message: ReceivedMessage, settlement: Settlement) -> None:
        """Returns once it is settled, or cannot be: then the message comes again when its lease ends."""
        waiting = _Waiting(message, settlement)
        with self._lock:
            if self._stopped:
                return
            self._waiting.put(waiting)
        waiting.done.wait()

    def _run(self) -> None:
        while True:
            first = self._waiting.get()
            batch = [] if first is None else [first]
            while first is not None and len(batch) < _MOST_TOGETHER and not self._waiting.empty():
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
            results = self._queue.settle([one.settlement for one in batch], retry_for=self._retry_for)
            for one, result in zip(batch, results):
                self._tell(one, result.status)
        except Exception as error:  # Also of an answer that is not the gateway's: nothing may end this thread.
            if isinstance(error, DelayQueueError) and is_refusal(error) and len(batch) > 1:
                # One of them may be the reason; the others are not to suffer.
                for one in batch:
                    self._settle_together([one])
            else:
                ids = ", ".join(repr(one.message.id) for one in batch[:10])
                logger.error("Not settled, so these come again when their lease ends: %s: %s", ids, error)
        finally:
            for one in batch:
                one.done.set()

    def _tell(self, one: _Waiting, status: str) -> None:
        if status == "settled":
            return
        message = one.message
        logger.warning("%s of the message %r of %s is %s", one.settlement.outcome, message.id, message.topic, status)
