"""Handles messages as they fall due."""

from __future__ import annotations

import inspect
import logging
import queue as queues
import signal
import socket
import threading
import time
from concurrent.futures import Future
from types import FrameType
from typing import Any, Callable, Optional, Sequence, Tuple, Union

from ._client import DelayQueue
from ._connections import Interruption
from ._errors import DelayQueueError, InvalidArgumentError, invalid, is_refusal
from ._leases import Leases
from ._log import logger
from ._received import ReceivedMessage
from ._settler import Settler
from ._threads import start_thread
from ._times import SHORTEST_TIMEOUT, Duration, milliseconds_within
from ._transport import Interrupted, Pauses
from ._wire import Settlement

#: What the gateway gives at most in one request.
_MOST_RECEIVED = 200

#: Longest name of who receives, in characters.
_LONGEST_CONSUMER = 128

#: Longest delay that the gateway takes, and what counts if nobody can say how long it is, in milliseconds.
_LONGEST_DELAY = 315_576_000_000
_UNKNOWN_DELAY = 30_000


class RetryLaterError(Exception):
    """Raised by a handler that cannot do its work now: the message comes again after the delay, and no attempt is spent,
    however often this happens. A delay that cannot be read counts as 30 s: an error about it would spend the attempt after all.
    """

    def __init__(self, delay: Duration, reason: str = "The handler asked for a later retry.") -> None:
        super().__init__(reason)
        try:
            self.delay = milliseconds_within("delay", delay, 0, _LONGEST_DELAY)
        except InvalidArgumentError as error:
            logger.warning("A message is put off by 30 s, since its handler gave no delay: %s", error.detail)
            self.delay = _UNKNOWN_DELAY


class UnrecoverableError(Exception):
    """Raised by a handler: the message becomes a dead letter at once."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)


class HandlerTimeoutError(Exception):
    """Why an attempt has failed whose handler took longer than the worker's timeout. It is told under this name, as the library
    calls it, and not raised.
    """


Handler = Callable[[ReceivedMessage], Any]


class Worker:
    """Receives messages and calls the handler with them, in threads.

    The handler returns: the message is done. It raises: the message comes again by its backoff, and is a dead letter after
    its last attempt; see also :class:`RetryLaterError` and :class:`UnrecoverableError`. What it returns is of no meaning, but a
    coroutine, a generator or a future has not run yet: it counts as a failure. Leases are renewed while handlers run. A
    handler that may be stopped half-way looks at ``message.lost``: it is set once the message may be handled elsewhere.

    Whatever happens to the gateway, the worker goes on by itself once it is back. It logs to ``nestjs_delay_queue``. A
    process that forks starts its workers afterwards, since threads do not come along.

    :param topics: one, or several of which an earlier one's messages come first
    :param concurrency: how many handler calls run at once; no more messages than that are received
    :param lease: for how long a message is this worker's if the worker dies; at least a second
    :param timeout: how long a handler may take. Then its attempt has failed and ``message.lost`` is set; its thread cannot be
        ended, and is busy until the handler returns, whose result is of no meaning any more. None: no end
    :param wait: for how long one request waits for messages, 100 ms to a minute. Where a proxy does not tell the gateway that a
        stopped worker waits no more, what falls due meanwhile comes after its lease
    :param shutdown_timeout: how long the handlers that run have to end when the worker is stopped. Then ``message.lost`` is
        set for them, and their leases are renewed no longer, so that their messages come again
    :param consumer: names this worker for those who look at the fleet, 1 to 128 characters. None: its host does
    """

    def __init__(
        self,
        queue: DelayQueue,
        topics: Union[str, Sequence[str]],
        handler: Handler,
        *,
        concurrency: int = 10,
        lease: Duration = "30s",
        timeout: Optional[Duration] = None,
        wait: Duration = "5s",
        shutdown_timeout: Duration = "10s",
        consumer: Optional[str] = None,
    ) -> None:
        self._queue = queue
        self._consumer = _host_name() if consumer is None else consumer
        self._topics = [topics] if isinstance(topics, str) else list(topics)
        if not self._topics:
            raise invalid("A worker needs a topic at least.")
        if not callable(handler) or _runs_later(handler):
            raise invalid(f"The handler must be a plain function, which takes a message. Given: {handler!r}.")
        self._handler = handler
        if not isinstance(concurrency, int) or concurrency < 1:
            raise invalid(f"concurrency must be at least 1. Given: {concurrency!r}.")
        self._concurrency = concurrency
        self._lease = milliseconds_within("lease", lease, 1000)
        self._timeout = None if timeout is None else milliseconds_within("timeout", timeout, SHORTEST_TIMEOUT)
        # A shorter wait would ask all the time, and the gateway takes no longer one.
        self._wait = milliseconds_within("wait", wait, SHORTEST_TIMEOUT, 60_000)
        limit = milliseconds_within("shutdown_timeout", shutdown_timeout, SHORTEST_TIMEOUT, or_zero=True)
        self._shutdown_timeout = limit / 1000
        self._settler = Settler(queue, self._lease)
        self._leases = Leases(queue, self._lease, None if self._timeout is None else self._timeout / 1000, self._give_up)
        #: None tells one thread to end.
        self._handed: queues.SimpleQueue[Optional[ReceivedMessage]] = queues.SimpleQueue()
        self._changed = threading.Condition()
        self._running = 0
        #: Set in the threads of handlers.
        self._own = threading.local()
        self._stopping = threading.Event()
        #: Wakes run(). A signal handler may put into it, as it may not set an event that its own thread waits for.
        self._asked_to_stop: queues.SimpleQueue[None] = queues.SimpleQueue()
        self._interruption = Interruption()
        self._intake: Optional[threading.Thread] = None
        self._ends_on_refusal = False
        self._refusal: Optional[BaseException] = None

    def start(self) -> Worker:
        """Begins to receive, in threads of its own. A worker starts once."""
        if self._intake is not None or self._stopping.is_set():
            raise RuntimeError("This worker was started or stopped before; make another one.")
        self._settler.start()
        self._leases.start()
        for number in range(self._concurrency):
            start_thread(f"handler-{number}", self._handle_all)
        self._intake = start_thread("intake", self._receive_all)
        return self

    def stop(self) -> bool:
        """Takes no more messages, and waits until the handlers that run have ended and what they did is settled, for
        ``shutdown_timeout`` at most. A handler may call it too; there it waits for nothing, and returns False.

        :returns: whether all had ended
        """
        self._take_no_more()
        if getattr(self._own, "handles", False):
            # Waiting here would be waiting for itself.
            start_thread("stop", self._end)
            return False
        return self._end()

    def _take_no_more(self) -> None:
        self._stopping.set()
        self._asked_to_stop.put(None)
        self._interruption.interrupt()
        with self._changed:
            self._changed.notify_all()

    def _end(self) -> bool:
        until = time.monotonic() + self._shutdown_timeout
        if self._intake is not None:
            self._intake.join(max(0.0, until - time.monotonic()))
        with self._changed:
            all_ended = self._changed.wait_for(lambda: self._running == 0, max(0.0, until - time.monotonic()))
        if not all_ended:
            logger.warning("Stopped before all handlers had ended; their messages come again: %d", self._running)
        self._leases.stop()
        self._settler.stop(max(0.0, until - time.monotonic()))
        for _ in range(self._concurrency):
            self._handed.put(None)
        return all_ended

    def run(self, *, handle_signals: bool = True) -> bool:
        """Starts, and stops on SIGTERM or SIGINT. For the main thread of a program that does nothing else.

        A second signal does what it would do without a worker: most often, it ends the process at once.

        :param handle_signals: False: it stops when another thread calls :meth:`stop`
        :returns: whether all handlers had ended
        :raises DelayQueueError: if the gateway refuses what is asked, such as for a wrong token
        """
        self._ends_on_refusal = True
        signals = (signal.SIGTERM, signal.SIGINT) if handle_signals else ()
        before = [(number, signal.getsignal(number)) for number in signals]

        def restore() -> None:
            for number, handler in before:
                signal.signal(number, handler)

        def ask_to_stop(_number: int, _frame: Optional[FrameType]) -> None:
            restore()
            self._asked_to_stop.put(None)

        for number in signals:
            signal.signal(number, ask_to_stop)
        try:
            self.start()
            self._asked_to_stop.get()
            all_ended = self.stop()
        finally:
            restore()
        if self._refusal is not None:
            raise self._refusal
        return all_ended

    def _receive_all(self) -> None:
        pauses, trouble = Pauses(), ""
        while self._wait_for_room():
            try:
                self._receive_some()
            except Interrupted:
                return
            except Exception as error:  # Whatever it is: nothing may end this thread.
                if self._stopping.is_set():
                    return
                is_refused = is_refusal(error)
                if is_refused and self._ends_on_refusal:
                    self._refusal = error
                    self._asked_to_stop.put(None)
                    return
                # An outage may be long; each of its errors once is enough.
                level = logging.DEBUG if str(error) == trouble else logging.ERROR if is_refused else logging.WARNING
                logger.log(level, "Nothing can be received: %s", error)
                trouble = str(error)
                self._stopping.wait(pauses.after(error))
            else:
                if trouble:
                    logger.info("Messages can be received again.")
                pauses, trouble = Pauses(), ""

    def _wait_for_room(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._stopping.is_set() or self._running < self._concurrency)
        return not self._stopping.is_set()

    def _receive_some(self) -> None:
        asked = time.monotonic()
        messages = self._queue.receive_once(
            self._topics,
            max=min(self._concurrency - self._running, _MOST_RECEIVED),
            wait=self._wait,
            lease=self._lease,
            consumer=self._consumer,
            interruption=self._interruption,
        )
        if self._stopping.is_set():
            self._release(messages)
            return
        for message in messages:
            if message.lease > 0:
                self._leases.add(message, asked)
        with self._changed:
            self._running += len(messages)
        for message in messages:
            self._handed.put(message)

    def _release(self, messages: Sequence[ReceivedMessage]) -> None:
        leased = [message for message in messages if message.lease > 0]
        if len(leased) < len(messages):
            logger.error("Lost, since they came after the stop and are delivered at most once: %d", len(messages) - len(leased))
        try:
            self._queue.settle_many([Settlement(message.receipt, "release") for message in leased], retry_for="1s")
        except DelayQueueError as error:
            logger.warning("Messages that came after the stop come again when their leases end: %s", error)

    def _handle_all(self) -> None:
        self._own.handles = True
        while True:
            message = self._handed.get()
            if message is None:
                return
            try:
                settlement = self._call(message)
                self._leases.handled(message)
                # Without a lease it was delivered at most once: it is gone, whatever the handler has done.
                if not message.is_settled and message.lease > 0:
                    self._settler.settle(message, settlement)
            finally:
                self._leases.remove(message)
                with self._changed:
                    self._running -= 1
                    self._changed.notify_all()

    def _call(self, message: ReceivedMessage) -> Settlement:
        receipt = message.receipt
        try:
            _check_result(self._handler(message))
        except RetryLaterError as later:
            logger.info("The handler of %s put the message %r off: %s", message.topic, message.id, later)
            return Settlement(receipt, "release", delay=later.delay)
        except UnrecoverableError as end:
            logger.warning("The handler of %s gave the message %r up: %s", message.topic, message.id, end)
            return Settlement(receipt, "dead", reason=end)
        except BaseException as error:  # SystemExit of a handler too: it must not end the thread without a settle.
            logger.warning("The handler of %s failed for the message %r", message.topic, message.id, exc_info=True)
            return Settlement(receipt, "retry", reason=error)
        return Settlement(receipt, "ack")

    def _give_up(self, message: ReceivedMessage) -> None:
        """Of a message whose handler has taken too long, and goes on."""
        error = HandlerTimeoutError(f"The handler did not finish within its timeout of {self._timeout} ms.")
        logger.warning("The handler of %s failed for the message %r: %s", message.topic, message.id, error)
        if message.lease > 0:
            self._settler.settle_later(message, Settlement(message.receipt, "retry", reason=error))


def _host_name() -> Optional[str]:
    """None: it has no name, and the gateway gives one."""
    return socket.gethostname()[:_LONGEST_CONSUMER] or None


def _runs_later(handler: Handler) -> bool:
    """Its calls would return at once, and nothing would be done."""
    kinds: Tuple[Callable[[Any], bool], ...] = (
        inspect.iscoroutinefunction,
        inspect.isgeneratorfunction,
        inspect.isasyncgenfunction,
    )
    return any(is_it(one) for is_it in kinds for one in (handler, type(handler).__call__))


def _check_result(result: Any) -> None:
    """:raises TypeError: if it is what has still to be run, by nobody"""
    if inspect.iscoroutine(result):
        result.close()  # Else Python warns that nobody has awaited it.
    if inspect.isawaitable(result) or inspect.isgenerator(result) or inspect.isasyncgen(result) or isinstance(result, Future):
        raise TypeError(
            f"The handler has returned a {type(result).__name__}, which is not done: a worker calls plain functions. "
            "Run it to its end within the handler, such as by asyncio.run() or result()."
        )
