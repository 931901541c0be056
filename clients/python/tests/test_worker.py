"""What a worker does when its gateway does not behave, and what it says to it."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
import unittest
from concurrent.futures import Future
from typing import Any, AsyncIterator, Callable, Dict, Iterator, List, Optional, Union

from support import PACKAGE  # noqa: F401
from stub_gateway import LOST, Answer, Asked, StubGateway, problem, received
from nestjs_delay_queue import (
    DelayQueue,
    DelayQueueError,
    Duration,
    ExtendResult,
    Handler,
    InvalidArgumentError,
    NotFoundError,
    ReceivedMessage,
    RetryLaterError,
    UnauthorizedError,
    UnrecoverableError,
    Worker,
)
from nestjs_delay_queue._leases import Leases


def eventually(condition: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + 30
    while not condition():
        if time.monotonic() > until:
            raise AssertionError(f"In 30 s it was not so: {what}.")
        time.sleep(0.005)


def work(queue: DelayQueue, handler: Handler, **options: Any) -> Worker:
    """A worker whose handlers have more time to end than a busy host needs, unless the test says otherwise."""
    with_time: Dict[str, Any] = {"shutdown_timeout": "60s", **options}
    return Worker(queue, "t", handler, **with_time)


def be_quiet(test: unittest.TestCase) -> None:
    """What handlers raise here is meant to be raised."""
    logger = logging.getLogger("nestjs_delay_queue")
    logger.setLevel(logging.CRITICAL)
    test.addCleanup(logger.setLevel, logging.NOTSET)


class Topic:
    """Gives out messages, and notes what is asked for them."""

    def __init__(self, *ids: str) -> None:
        self._lock = threading.Lock()
        self._ids = list(ids)
        self.settled: Dict[str, Dict[str, Any]] = {}
        self.settle_requests = 0
        self.most_asked = 0
        self.consumer: Optional[str] = None
        self.extended: List[str] = []
        self.away = False
        self.extension = "extended"
        self.is_leased = True

    def __call__(self, asked: Asked) -> Union[Answer, str]:
        if self.away:
            return LOST
        if asked.path.endswith("/receive"):
            return self._receive(asked.body)
        if asked.path == "/v1/extend":
            self.extended += [one["receipt"] for one in asked.body["extensions"]]
            results = [{"receipt": one["receipt"], "status": self.extension} for one in asked.body["extensions"]]
            return Answer(200, {"results": results})
        return self._settle(asked.body["settlements"])

    def _receive(self, body: Dict[str, Any]) -> Answer:
        with self._lock:
            self.most_asked = max(self.most_asked, body["max"])
            self.consumer = body.get("consumer")
            given, self._ids = self._ids[: body["max"]], self._ids[body["max"] :]
        if not given:
            time.sleep(0.05)
        lease = body["lease"] if self.is_leased else 0
        return Answer(200, {"messages": [{**received(id), "lease": lease} for id in given]})

    def _settle(self, settlements: List[Dict[str, Any]]) -> Answer:
        with self._lock:
            self.settle_requests += 1
        time.sleep(0.05)
        if len(settlements) > 1 and any("refuse me" in str(one) for one in settlements):
            return problem(400, "INVALID_ARGUMENT")
        for one in settlements:
            self.settled[one["receipt"].replace("receipt-of-", "")] = one
        return Answer(200, {"results": [{"receipt": one["receipt"], "status": "settled"} for one in settlements]})


class Workers(unittest.TestCase):
    def setUp(self) -> None:
        be_quiet(self)

    def test_what_the_handler_does_is_what_is_settled(self) -> None:
        topic = Topic("done", "failed", "later", "hopeless", "by itself")

        def handler(message: ReceivedMessage) -> None:
            if message.id == "failed":
                raise ValueError("no such order")
            if message.id == "later":
                raise RetryLaterError("2s", "closed")
            if message.id == "hopeless":
                raise UnrecoverableError("unknown customer")
            if message.id == "by itself":
                message.release()

        with StubGateway(topic) as gateway:
            worker = work(gateway.client(), handler).start()
            eventually(lambda: len(topic.settled) == 5, "all are settled")
            self.assertTrue(worker.stop())
        told: Dict[str, Dict[str, Any]] = {id: {**one, "receipt": ""} for id, one in topic.settled.items()}
        self.assertEqual(told["done"], {"receipt": "", "outcome": "ack"})
        self.assertEqual((told["failed"]["outcome"], told["failed"]["error"]["name"]), ("retry", "ValueError"))
        self.assertEqual(told["failed"]["error"]["message"], "no such order")
        self.assertIn("in handler", told["failed"]["error"]["stack"])
        self.assertEqual(told["later"], {"receipt": "", "outcome": "release", "delay": 2000})
        error = told["hopeless"].pop("error")
        self.assertEqual(told["hopeless"], {"receipt": "", "outcome": "dead"})
        self.assertEqual((error["name"], error["message"]), ("UnrecoverableError", "unknown customer"))
        self.assertEqual(told["by itself"], {"receipt": "", "outcome": "release"})

    def test_what_is_delivered_at_most_once_is_handled_and_neither_renewed_nor_settled(self) -> None:
        topic = Topic("a")
        topic.is_leased = False
        handled: List[str] = []

        def handler(message: ReceivedMessage) -> None:
            # Longer than the lease of the others, which would be lost.
            message.lost.wait(1.2)
            handled.append(f"{message.id} {message.lost.is_set()}")

        with StubGateway(topic) as gateway:
            worker = work(gateway.client(), handler, lease="1s").start()
            eventually(lambda: handled == ["a False"], "it is handled")
            self.assertTrue(worker.stop())
        self.assertEqual((topic.extended, topic.settled), ([], {}))

    def test_what_ends_together_is_settled_together(self) -> None:
        topic = Topic(*[str(n) for n in range(20)])
        all_run = threading.Barrier(20)
        with StubGateway(topic) as gateway:
            worker = work(gateway.client(), lambda message: all_run.wait(30), concurrency=20).start()
            eventually(lambda: len(topic.settled) == 20, "all are settled")
            worker.stop()
        self.assertLess(topic.settle_requests, 20)
        self.assertEqual(topic.consumer, socket.gethostname())

    def test_one_that_cannot_be_settled_does_not_keep_the_others_from_it(self) -> None:
        topic = Topic("a", "b", "c", "bad")
        all_run = threading.Barrier(4)

        def handler(message: ReceivedMessage) -> None:
            all_run.wait(30)
            raise UnrecoverableError("refuse me" if message.id == "bad" else "as it is")

        with StubGateway(topic) as gateway:
            worker = work(gateway.client(), handler, concurrency=4).start()
            eventually(lambda: len(topic.settled) == 4, "all are settled")
            worker.stop()

    def test_a_lease_that_the_gateway_calls_stale_is_told_to_the_handler(self) -> None:
        topic = Topic("a")
        topic.extension = "stale"
        told = threading.Event()
        with StubGateway(topic) as gateway:
            worker = work(gateway.client(), lambda m: told.set() if m.lost.wait(30) else None, lease="1s").start()
            self.assertTrue(told.wait(30))
            worker.stop()

    def test_a_lease_that_ends_while_the_gateway_is_away_is_told_to_the_handler(self) -> None:
        topic = Topic("a")
        told = threading.Event()

        def handler(message: ReceivedMessage) -> None:
            topic.away = True
            if message.lost.wait(30):
                told.set()
            topic.away = False

        with StubGateway(topic) as gateway:
            worker = work(gateway.client(), handler, lease="1s").start()
            self.assertTrue(told.wait(30))
            worker.stop()

    def test_no_thread_is_left(self) -> None:
        before = threading.active_count()
        topic = Topic("a")
        with StubGateway(topic) as gateway:
            worker = work(gateway.client(), lambda message: None).start()
            eventually(lambda: len(topic.settled) == 1, "it is settled")
            worker.stop()
        eventually(lambda: threading.active_count() <= before, "its threads have ended")

    def test_a_handler_that_does_not_end_does_not_keep_it_from_stopping(self) -> None:
        topic = Topic("a")
        runs, end = threading.Event(), threading.Event()
        lost: List[bool] = []

        def handler(message: ReceivedMessage) -> None:
            runs.set()
            lost.append(message.lost.wait(30))
            end.set()

        with StubGateway(topic) as gateway:
            worker = work(gateway.client(), handler, shutdown_timeout="200ms").start()
            self.assertTrue(runs.wait(30))
            self.assertFalse(worker.stop())
            self.assertTrue(end.wait(30))
            self.assertEqual(lost, [True])
            self.assertEqual(topic.settled, {})

    def test_sigterm_stops_it_gracefully(self) -> None:
        topic = Topic("a")

        def handler(message: ReceivedMessage) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.2)

        with StubGateway(topic) as gateway:
            before = signal.getsignal(signal.SIGTERM)
            self.assertTrue(work(gateway.client(), handler).run())
            self.assertEqual(topic.settled["a"]["outcome"], "ack")
            self.assertEqual(signal.getsignal(signal.SIGTERM), before)

    def test_run_ends_if_the_gateway_refuses_it(self) -> None:
        with StubGateway(lambda asked: problem(401, "UNAUTHORIZED")) as gateway:
            with self.assertRaises(UnauthorizedError):
                work(gateway.client(), lambda message: None).run()

    def test_a_cancelled_message_is_told_to_the_handler(self) -> None:
        topic = Topic("a")
        topic.extension = "cancelled"
        told: List[bool] = []

        def handler(message: ReceivedMessage) -> None:
            message.lost.wait(30)
            told.append(message.is_cancelled)

        with StubGateway(topic) as gateway:
            worker = work(gateway.client(), handler, lease="9s").start()
            eventually(lambda: told == [True], "the handler is told")
            worker.stop()

    def test_a_handler_that_takes_longer_than_its_timeout_is_told(self) -> None:
        topic = Topic("a")
        told = threading.Event()
        with StubGateway(topic) as gateway:
            worker = work(gateway.client(), lambda m: told.set() if m.lost.wait(30) else None, timeout="200ms").start()
            self.assertTrue(told.wait(30))
            worker.stop()
        self.assertEqual((topic.settled["a"]["outcome"], topic.settled["a"]["error"]["name"]), ("retry", "HandlerTimeoutError"))

    def test_a_gateway_that_shuts_down_and_comes_back_is_no_reason_to_end(self) -> None:
        restart: List[Union[Answer, str]] = [
            Answer(200, {"messages": []}, {"Connection": "close"}),
            problem(503, "RECEIVER_UNAVAILABLE", **{"Retry-After": "1"}),
            LOST,
        ]
        topic = Topic("a")
        times: List[float] = []

        def answer(asked: Asked) -> Union[Answer, str]:
            times.append(time.monotonic())
            return restart.pop(0) if restart else topic(asked)

        with StubGateway(answer) as gateway, self.assertLogs("nestjs_delay_queue", "INFO") as logs:
            worker = work(gateway.client(), lambda message: None).start()
            eventually(lambda: "a" in topic.settled, "it is settled")
            worker.stop()
        # As the gateway has asked for.
        self.assertGreaterEqual(times[2] - times[1], 1)
        self.assertEqual(["Nothing can" in line for line in logs.output[:3]], [True, True, False], logs.output)
        self.assertIn("received again", logs.output[2])

    def test_a_long_outage_is_logged_once(self) -> None:
        topic = Topic("a")
        tries: List[Asked] = []

        def answer(asked: Asked) -> Union[Answer, str]:
            tries.append(asked)
            return LOST if len(tries) < 5 else topic(asked)

        with StubGateway(answer) as gateway, self.assertLogs("nestjs_delay_queue", "WARNING") as logs:
            worker = work(gateway.client(), lambda message: None).start()
            eventually(lambda: "a" in topic.settled, "it is settled")
            worker.stop()
        self.assertEqual(len(logs.output), 1, logs.output)

    def test_a_settle_that_gets_no_answer_is_repeated_under_its_key(self) -> None:
        topic = Topic("a")
        keys: List[str] = []
        end = threading.Event()

        def answer(asked: Asked) -> Union[Answer, str]:
            if asked.path == "/v1/settle":
                keys.append(asked.headers["Idempotency-Key"])
                if len(keys) == 1:
                    end.wait(30)
                    return LOST
            return topic(asked)

        with StubGateway(answer) as gateway:
            worker = work(gateway.client(timeout="500ms"), lambda message: None).start()
            eventually(lambda: "a" in topic.settled, "it is settled")
            end.set()
            worker.stop()
        self.assertEqual(len(set(keys)), 1)
        self.assertGreater(len(keys), 1)

    def test_whatever_a_handler_raises_is_told_as_text(self) -> None:
        class Unprintable(Exception):
            def __str__(self) -> str:
                raise ValueError("It has no text.")

        topic = Topic("exit", "surrogate", "unprintable")
        errors = {"exit": SystemExit(3), "surrogate": OSError("no file \udcff"), "unprintable": Unprintable()}

        def handler(message: ReceivedMessage) -> None:
            raise errors[message.id]

        with StubGateway(topic) as gateway:
            worker = work(gateway.client(), handler, concurrency=1).start()
            eventually(lambda: len(topic.settled) == 3, "all are settled")
            self.assertTrue(worker.stop())
        self.assertEqual({one["outcome"] for one in topic.settled.values()}, {"retry"})
        texts = {id: (one["error"]["name"], one["error"]["message"]) for id, one in topic.settled.items()}
        self.assertEqual(texts["exit"], ("SystemExit", "3"))
        self.assertEqual(texts["surrogate"], ("OSError", "no file ?"))
        self.assertEqual(texts["unprintable"], ("Unprintable", "Its text cannot be made."))

    def test_a_second_signal_does_what_it_would_without_a_worker(self) -> None:
        topic = Topic("a")
        signals: List[int] = []
        before = signal.signal(signal.SIGTERM, lambda number, frame: signals.append(number))
        self.addCleanup(signal.signal, signal.SIGTERM, before)

        def handler(message: ReceivedMessage) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            eventually(lambda: worker._stopping.is_set(), "it stops")
            os.kill(os.getpid(), signal.SIGTERM)
            eventually(lambda: len(signals) == 1, "the other handler of the signal is called")

        with StubGateway(topic) as gateway:
            worker = work(gateway.client(), handler)
            self.assertTrue(worker.run())
        self.assertEqual(topic.settled["a"]["outcome"], "ack")

    def test_run_goes_on_if_it_was_not_the_gateway_that_refused(self) -> None:
        topic = Topic("a")
        answers: List[Union[Answer, str]] = [Answer(404, "No such site")]
        with StubGateway(lambda asked: answers.pop() if answers else topic(asked)) as gateway:
            worker = work(gateway.client(), lambda message: None)

            def stop() -> None:
                eventually(lambda: "a" in topic.settled, "it is settled")
                worker.stop()

            stopper = threading.Thread(target=stop)
            stopper.start()
            self.assertTrue(worker.run(handle_signals=False))
            stopper.join()

    def test_wrong_options_are_refused_at_once(self) -> None:
        async def coroutine(message: ReceivedMessage) -> None:
            pass

        def generator(message: ReceivedMessage) -> Iterator[None]:
            yield

        def handler(message: ReceivedMessage) -> None:
            pass

        with StubGateway(Topic()) as gateway:
            queue = gateway.client()
            wrong: Dict[str, Callable[[], Any]] = {
                "concurrency": lambda: Worker(queue, "t", handler, concurrency=0),
                "lease": lambda: Worker(queue, "t", handler, lease="10ms"),
                "wait": lambda: Worker(queue, "t", handler, wait=0),
                "timeout": lambda: Worker(queue, "t", handler, timeout=0),
                "shutdown_timeout": lambda: Worker(queue, "t", handler, shutdown_timeout=-1),
                "topics": lambda: Worker(queue, [], handler),
                "coroutine": lambda: Worker(queue, "t", coroutine),
                "generator": lambda: Worker(queue, "t", generator),
            }
            for name, make in wrong.items():
                with self.subTest(name), self.assertRaises(InvalidArgumentError):
                    make()

    def test_what_has_still_to_be_run_is_a_failure(self) -> None:
        async def coroutine() -> None:
            pass

        async def async_generator() -> AsyncIterator[None]:
            yield

        results: Dict[str, Callable[[], Any]] = {
            "coroutine": coroutine,
            "generator": lambda: (n for n in range(1)),
            "async generator": async_generator,
            "future": Future,
        }
        topic = Topic(*results)
        with StubGateway(topic) as gateway:
            worker = work(gateway.client(), lambda message: results[message.id]()).start()
            eventually(lambda: len(topic.settled) == len(results), "all are settled")
            worker.stop()
        told = {(one["outcome"], one["error"]["name"]) for one in topic.settled.values()}
        self.assertEqual(told, {("retry", "TypeError")})

    def test_a_handler_may_stop_its_worker(self) -> None:
        for is_run in (True, False):
            told: List[bool] = []
            topic = Topic("a")
            with StubGateway(topic) as gateway:
                worker = work(gateway.client(), lambda message: told.append(worker.stop()))
                if is_run:
                    worker.run(handle_signals=False)
                else:
                    worker.start()
                eventually(lambda: [one["outcome"] for one in topic.settled.values()] == ["ack"], "it is settled")
            self.assertEqual(told, [False])

    def test_run_ends_at_a_guard_and_goes_on_at_a_proxy(self) -> None:
        for status in (401, 403):
            with StubGateway(lambda asked: Answer(status, {"message": "Not you", "statusCode": status})) as gateway:
                with self.assertRaises(DelayQueueError) as raised:
                    work(gateway.client(), lambda message: None).run(handle_signals=False)
            self.assertEqual(raised.exception.code, {401: "UNAUTHORIZED", 403: "FORBIDDEN"}[status])
        answers: List[Answer] = [Answer(400, {"message": "No"}), Answer(400, b"<html>")]
        topic = Topic("a")
        with StubGateway(lambda asked: answers.pop() if answers else topic(asked)) as gateway:
            worker = work(gateway.client(), lambda message: worker.stop())
            self.assertTrue(worker.run(handle_signals=False))

    def test_a_delay_that_is_none_puts_the_message_off_all_the_same(self) -> None:
        delays: List[Duration] = ["soon", -1, "11y"]
        for delay in delays:
            self.assertEqual(RetryLaterError(delay).delay, 30_000)

    def test_it_starts_once(self) -> None:
        with StubGateway(Topic()) as gateway:
            worker = work(gateway.client(), lambda message: None).start()
            worker.stop()
            with self.assertRaises(RuntimeError):
                worker.start()


class LeasesAlone(unittest.TestCase):
    """With leases that are longer than any test, to see what is done at once."""

    def setUp(self) -> None:
        be_quiet(self)
        self.extended: List[str] = []
        self.answer = "extended"
        self.given_up: List[ReceivedMessage] = []
        self.refused: Optional[str] = None

    def extend_many(self, receipts: List[str], lease: int, **_options: Any) -> List[ExtendResult]:
        if self.refused in receipts:
            raise NotFoundError("The topic is not served here.", "TOPIC_NOT_SERVED", 404)
        self.extended += receipts
        return [ExtendResult(receipt, self.answer) for receipt in receipts]  # type: ignore[arg-type]

    def leases(self, timeout: Optional[float] = None) -> Leases:
        leases = Leases(self, 600_000, timeout, self.given_up.append)  # type: ignore[arg-type]
        self.addCleanup(leases.stop)
        leases.start()
        return leases

    def message(self, id: str = "a", lease: int = 600_000) -> ReceivedMessage:
        return ReceivedMessage.from_json({**received(id), "lease": lease})

    def test_what_was_waited_for_longer_than_until_a_renewal_is_renewed_at_once(self) -> None:
        leases, message = self.leases(), self.message()
        leases.add(message, time.monotonic() - 1000)
        eventually(lambda: self.extended == [message.receipt], "it is renewed")
        self.assertFalse(message.lost.is_set())

    def test_what_came_at_once_is_renewed_later(self) -> None:
        leases, message = self.leases(), self.message()
        leases.add(message, time.monotonic())
        time.sleep(0.5)
        self.assertEqual(self.extended, [])

    def test_what_is_not_renewed_in_time_is_lost(self) -> None:
        leases, message = self.leases(), self.message(lease=500)
        leases.add(message, time.monotonic())
        self.assertTrue(message.lost.wait(30))

    def test_what_has_taken_too_long_is_renewed_no_longer(self) -> None:
        leases, message = self.leases(timeout=3), self.message()
        leases.add(message, time.monotonic())
        self.assertTrue(message.lost.wait(30))
        self.assertEqual((self.given_up, message.is_settled), ([message], True))
        leases.add(self.message("b"), time.monotonic() - 1000)
        eventually(lambda: self.extended == ["receipt-of-b"], "the other one is renewed")

    def test_one_that_is_refused_does_not_keep_the_others_from_being_renewed(self) -> None:
        leases, refused, message = self.leases(), self.message("refused"), self.message()
        self.refused = refused.receipt
        leases.add(refused, time.monotonic())
        leases.add(message, time.monotonic() - 1000)
        eventually(lambda: self.extended == [message.receipt], "the other one is renewed")

    def test_a_handler_that_has_ended_is_told_nothing(self) -> None:
        self.answer = "stale"
        leases, message = self.leases(), self.message()
        leases.add(message, time.monotonic())
        leases.handled(message)
        other = self.message("b")
        leases.add(other, time.monotonic() - 1000)
        self.assertTrue(other.lost.wait(30))
        self.assertEqual((len(self.extended), message.lost.is_set()), (2, False))


if __name__ == "__main__":
    unittest.main()
