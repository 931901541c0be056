"""Handles messages as they fall due."""

from __future__ import annotations

import logging
import queue as queues
import random
import signal
import threading
import time
from types import FrameType
from typing import Any, Callable, List, Optional, Sequence, Union

from ._client import DelayQueue
from ._connections import Interruption
from ._errors import DelayQueueError
from ._leases import Leases
from ._messages import Settlement
from ._received import ReceivedMessage
from ._settler import Settler
from ._times import Duration, to_milliseconds
from ._transport import FIRST_PAUSE, LONGEST_PAUSE, Interrupted, is_refusal

logger = logging.getLogger("nestjs_delay_queue")

#: What the gateway gives at most in one request.
_MOST_RECEIVED = 200

#: Longest reason that is sent, in characters; the gateway keeps less of it.
_LONGEST_REASON = 1000


class RetryLater(Exception):
    """Raised by a handler: the message comes again after this delay, in place of its backoff."""

    def __init__(self, delay: Duration, reason: Optional[str] = None) -> None:
        super().__init__(reason or "The handler asked for a later retry.")
        self.delay = to_milliseconds("delay", delay)
        if self.delay < 0:
            raise ValueError(f"The delay of a RetryLater must not be negative. Given: {delay!r}.")


class GiveUp(Exception):
    """Raised by a handler: the message becomes a dead letter at once."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)


Handler = Callable[[ReceivedMessage], Any]


class Worker:
    """Receives messages and calls the handler with them, in threads.

    The handler returns: the message is done. It raises: the message comes again by its backoff, and is a dead letter after
    its last attempt; see also :class:`RetryLater` and :class:`GiveUp`. Leases are renewed while handlers run. A handler
    that may be stopped half-way looks at ``message.lost``: it is set once the message may be handled elsewhere.

    Whatever happens to the gateway, the worker goes on by itself once it is back. It logs to ``nestjs_delay_queue``.

    :param topics: one, or several of which an earlier one's messages come first
    :param concurrency: how many handler calls run at once; no more messages than that are received
    :param lease: for how long a message is this worker's if the worker dies; at least a second
    :param wait: for how long one request waits for messages
    """

    def __init__(
        self,
        queue: DelayQueue,
        topics: Union[str, Sequence[str]],
        handler: Handler,
        *,
        concurrency: int = 10,
        lease: Duration = "30s",
        wait: Duration = "20s",
    ) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency must be at least 1. Given: {concurrency!r}.")
        self._queue = queue
        self._topics = [topics] if isinstance(topics, str) else list(topics)
        self._handler = handler
        self._concurrency = concurrency
        self._lease = to_milliseconds("lease", lease)
        if self._lease < 1000:
            raise ValueError(f"The lease of a worker must be at least a second. Given: {lease!r}.")
        self._wait = to_milliseconds("wait", wait)
        self._settler = Settler(queue, self._lease / 1000)
        self._leases = Leases(queue, self._lease)
        #: None tells one thread to end.
        self._handed: queues.SimpleQueue[Optional[ReceivedMessage]] = queues.SimpleQueue()
        self._changed = threading.Condition()
        self._running = 0
        self._stopping = threading.Event()
        #: Wakes run(). A signal handler may put into it, as it may not set an event that its own thread waits for.
        self._asked_to_stop: queues.SimpleQueue[None] = queues.SimpleQueue()
        self._interruption = Interruption()
        self._intake: Optional[threading.Thread] = None
        self._ends_on_refusal = False
        self._refusal: Optional[Exception] = None

    def start(self) -> Worker:
        """Begins to receive, in threads of its own. A worker starts once."""
        if self._intake is not None:
            raise RuntimeError("This worker was started before; make another one.")
        self._settler.start()
        self._leases.start()
        for number in range(self._concurrency):
            _thread(f"handler-{number}", self._handle_all)
        self._intake = _thread("intake", self._receive_all)
        return self

    def stop(self, timeout: float = 10.0) -> bool:
        """Takes no more messages, and waits until the handlers that run have ended and what they did is settled.

        :param timeout: seconds. Then ``message.lost`` is set for the handlers that still run, and their leases are renewed
            no longer, so that their messages come again
        :returns: whether all had ended
        """
        until = time.monotonic() + timeout
        self._stopping.set()
        self._asked_to_stop.put(None)
        self._interruption.interrupt()
        with self._changed:
            self._changed.notify_all()
        if self._intake is not None:
            self._intake.join(max(0.0, until - time.monotonic()))
        with self._changed:
            all_ended = self._changed.wait_for(lambda: self._running == 0, max(0.0, until - time.monotonic()))
        self._leases.stop()
        self._settler.stop()
        for _ in range(self._concurrency):
            self._handed.put(None)
        return all_ended

    def run(self, stop_timeout: float = 10.0, *, handle_signals: bool = True) -> bool:
        """Starts, and stops on SIGTERM or SIGINT. For the main thread of a program that does nothing else.

        :param stop_timeout: see :meth:`stop`
        :param handle_signals: False: it stops when another thread calls :meth:`stop`
        :returns: whether all handlers had ended
        :raises DelayQueueError: if the gateway refuses what is asked, such as for a wrong token
        """
        self._ends_on_refusal = True

        def ask_to_stop(_number: int, _frame: Optional[FrameType]) -> None:
            self._asked_to_stop.put(None)

        signals = (signal.SIGTERM, signal.SIGINT) if handle_signals else ()
        before = [(number, signal.signal(number, ask_to_stop)) for number in signals]
        try:
            self.start()
            self._asked_to_stop.get()
            all_ended = self.stop(stop_timeout)
        finally:
            for number, handler in before:
                signal.signal(number, handler)
        if self._refusal is not None:
            raise self._refusal
        return all_ended

    def _receive_all(self) -> None:
        failures = 0
        while self._wait_for_room():
            try:
                self._receive_some()
                failures = 0
            except Interrupted:
                return
            except Exception as error:  # Also of an answer that is not the gateway's: nothing may end this thread.
                if self._stopping.is_set():
                    return
                refused = isinstance(error, DelayQueueError) and is_refusal(error)
                if refused and self._ends_on_refusal:
                    self._refusal = error
                    self._asked_to_stop.put(None)
                    return
                logger.log(logging.ERROR if refused else logging.WARNING, "Nothing can be received: %s", error)
                pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(failures, 10))
                self._stopping.wait(pause * random.uniform(0.5, 1.0))
                failures += 1

    def _wait_for_room(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._stopping.is_set() or self._running < self._concurrency)
        return not self._stopping.is_set()

    def _receive_some(self) -> None:
        messages = self._queue.receive_once(
            self._topics,
            max=min(self._concurrency - self._running, _MOST_RECEIVED),
            wait=self._wait,
            lease=self._lease,
            interruption=self._interruption,
        )
        received = time.monotonic()
        if not messages:
            return
        if self._stopping.is_set():
            self._release(messages)
            return
        for message in messages:
            if message.lease_ends_at is not None:
                self._leases.add(message, received)
        with self._changed:
            self._running += len(messages)
        for message in messages:
            self._handed.put(message)

    def _release(self, messages: Sequence[ReceivedMessage]) -> None:
        leased = [message for message in messages if message.lease_ends_at is not None]
        if len(leased) < len(messages):
            logger.error("Lost, since they came after the stop and are delivered at most once: %d", len(messages) - len(leased))
        if not leased:
            return
        try:
            self._queue.settle([Settlement(message.receipt, "release") for message in leased], retry_for=1)
        except DelayQueueError as error:
            logger.warning("Messages that came after the stop come again when their lease ends: %s", error)

    def _handle_all(self) -> None:
        while True:
            message = self._handed.get()
            if message is None:
                return
            try:
                settlement = self._call(message)
                # Without a lease it was delivered at most once: it is gone, whatever the handler has done.
                if not message.is_settled and message.lease_ends_at is not None:
                    self._settler.settle(message, settlement)
            finally:
                self._leases.remove(message)
                with self._changed:
                    self._running -= 1
                    self._changed.notify_all()

    def _call(self, message: ReceivedMessage) -> Settlement:
        receipt = message.receipt
        try:
            self._handler(message)
        except RetryLater as later:
            return Settlement(receipt, "retry", delay=later.delay, reason=_reason(str(later)))
        except GiveUp as end:
            logger.warning("The handler of %s gave the message %r up: %s", message.topic, message.id, end)
            return Settlement(receipt, "dead", reason=_reason(str(end)))
        except BaseException as error:  # SystemExit of a handler too: it must not end the thread without a settle.
            logger.warning("The handler of %s failed for the message %r", message.topic, message.id, exc_info=True)
            return Settlement(receipt, "retry", reason=_reason(f"{type(error).__name__}: {error}"))
        return Settlement(receipt, "ack")


def _reason(text: str) -> str:
    return text[:_LONGEST_REASON]


def _thread(name: str, target: Callable[[], None]) -> threading.Thread:
    # A handler that hangs must not keep the process from ending.
    thread = threading.Thread(target=target, name=f"delay-queue-{name}", daemon=True)
    thread.start()
    return thread
