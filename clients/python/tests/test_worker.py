"""What a worker does when its gateway does not behave, and what it says to it."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
import unittest
from typing import Any, Callable, Dict, List, Union

from support import PACKAGE  # noqa: F401
from stub_gateway import LOST, Answer, Asked, StubGateway, problem, received
from nestjs_delay_queue import GiveUp, ReceivedMessage, RetryLater, UnauthorizedError, Worker


def eventually(condition: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + 10
    while not condition():
        if time.monotonic() > until:
            raise AssertionError(f"In 10 s it was not so: {what}.")
        time.sleep(0.005)


class Topic:
    """Gives out messages, and notes what is asked for them."""

    def __init__(self, *ids: str) -> None:
        self._lock = threading.Lock()
        self._ids = list(ids)
        self.settled: Dict[str, Dict[str, Any]] = {}
        self.settle_requests = 0
        self.most_asked = 0
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
            given, self._ids = self._ids[: body["max"]], self._ids[body["max"] :]
        if not given:
            time.sleep(0.05)
        messages = [received(id) for id in given]
        if not self.is_leased:
            messages = [{**message, "leaseEndsAt": None} for message in messages]
        return Answer(200, {"messages": messages})

    def _settle(self, settlements: List[Dict[str, Any]]) -> Answer:
        with self._lock:
            self.settle_requests += 1
        time.sleep(0.05)
        if len(settlements) > 1 and any(one.get("reason") == "refuse me" for one in settlements):
            return problem(400, "INVALID_ARGUMENT")
        for one in settlements:
            self.settled[one["receipt"].replace("receipt-of-", "")] = one
        return Answer(200, {"results": [{"receipt": one["receipt"], "status": "settled"} for one in settlements]})


class Workers(unittest.TestCase):
    def setUp(self) -> None:
        # What handlers throw here is meant to be thrown.
        logging.getLogger("nestjs_delay_queue").setLevel(logging.CRITICAL)
        self.addCleanup(logging.getLogger("nestjs_delay_queue").setLevel, logging.NOTSET)

    def test_what_the_handler_does_is_what_is_settled(self) -> None:
        topic = Topic("done", "failed", "later", "hopeless", "by itself")

        def handler(message: ReceivedMessage) -> None:
            if message.id == "failed":
                raise ValueError("no such order")
            if message.id == "later":
                raise RetryLater("2s", "closed")
            if message.id == "hopeless":
                raise GiveUp("unknown customer")
            if message.id == "by itself":
                message.release()

        with StubGateway(topic) as gateway:
            worker = Worker(gateway.client(), "t", handler).start()
            eventually(lambda: len(topic.settled) == 5, "all are settled")
            self.assertTrue(worker.stop())
        told = {id: {**one, "receipt": ""} for id, one in topic.settled.items()}
        self.assertEqual(told["done"], {"receipt": "", "outcome": "ack"})
        self.assertEqual(told["failed"], {"receipt": "", "outcome": "retry", "reason": "ValueError: no such order"})
        self.assertEqual(told["later"], {"receipt": "", "outcome": "retry", "delay": 2000, "reason": "closed"})
        self.assertEqual(told["hopeless"], {"receipt": "", "outcome": "dead", "reason": "unknown customer"})
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
            worker = Worker(gateway.client(), "t", handler, lease="1s").start()
            eventually(lambda: handled == ["a False"], "it is handled")
            self.assertTrue(worker.stop())
        self.assertEqual((topic.extended, topic.settled), ([], {}))

    def test_what_ends_together_is_settled_together(self) -> None:
        topic = Topic(*[str(n) for n in range(20)])
        all_run = threading.Barrier(20)
        with StubGateway(topic) as gateway:
            worker = Worker(gateway.client(), "t", lambda message: all_run.wait(10), concurrency=20).start()
            eventually(lambda: len(topic.settled) == 20, "all are settled")
            worker.stop()
        self.assertLess(topic.settle_requests, 10)

    def test_one_that_cannot_be_settled_does_not_keep_the_others_from_it(self) -> None:
        topic = Topic("a", "b", "c", "bad")
        all_run = threading.Barrier(4)

        def handler(message: ReceivedMessage) -> None:
            all_run.wait(10)
            raise GiveUp("refuse me" if message.id == "bad" else "as it is")

        with StubGateway(topic) as gateway:
            worker = Worker(gateway.client(), "t", handler, concurrency=4).start()
            eventually(lambda: len(topic.settled) == 4, "all are settled")
            worker.stop()

    def test_a_lease_that_the_gateway_calls_lost_is_told_to_the_handler(self) -> None:
        topic = Topic("a")
        topic.extension = "lost"
        told = threading.Event()
        with StubGateway(topic) as gateway:
            worker = Worker(gateway.client(), "t", lambda m: told.set() if m.lost.wait(10) else None, lease="1s").start()
            self.assertTrue(told.wait(10))
            worker.stop()

    def test_a_lease_that_ends_while_the_gateway_is_away_is_told_to_the_handler(self) -> None:
        topic = Topic("a")
        times: List[float] = []

        def handler(message: ReceivedMessage) -> None:
            begin = time.monotonic()
            topic.away = True
            if message.lost.wait(10):
                times.append(time.monotonic() - begin)
            topic.away = False

        with StubGateway(topic) as gateway:
            worker = Worker(gateway.client(), "t", handler, lease="1s").start()
            eventually(lambda: len(times) == 1, "the handler is told")
            worker.stop()
        self.assertGreater(times[0], 0.9)

    def test_it_comes_back_soon_however_long_the_gateway_was_away(self) -> None:
        topic = Topic("a")
        topic.away = True
        pauses: List[float] = []

        def wait(pause: float) -> None:
            pauses.append(pause)
            topic.away = len(pauses) < 12

        with StubGateway(topic) as gateway:
            worker = Worker(gateway.client(), "t", lambda message: None)
            setattr(worker._stopping, "wait", wait)
            worker.start()
            eventually(lambda: "a" in topic.settled, "it is settled")
            worker.stop()
        self.assertGreater(max(pauses), 0.9)
        # One that comes back later may miss a gateway that is there for a short time, again and again.
        self.assertLessEqual(max(pauses), 2)

    def test_no_thread_is_left(self) -> None:
        before = threading.active_count()
        topic = Topic("a")
        with StubGateway(topic) as gateway:
            worker = Worker(gateway.client(), "t", lambda message: None).start()
            eventually(lambda: len(topic.settled) == 1, "it is settled")
            worker.stop()
        eventually(lambda: threading.active_count() <= before, "its threads have ended")

    def test_a_handler_that_does_not_end_does_not_keep_it_from_stopping(self) -> None:
        topic = Topic("a")
        runs, end = threading.Event(), threading.Event()
        lost: List[bool] = []

        def handler(message: ReceivedMessage) -> None:
            runs.set()
            lost.append(message.lost.wait(10))
            end.set()

        with StubGateway(topic) as gateway:
            worker = Worker(gateway.client(), "t", handler).start()
            self.assertTrue(runs.wait(10))
            self.assertFalse(worker.stop(0.2))
            self.assertTrue(end.wait(10))
            self.assertEqual(lost, [True])
            self.assertEqual(topic.settled, {})

    def test_sigterm_stops_it_gracefully(self) -> None:
        topic = Topic("a")

        def handler(message: ReceivedMessage) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.2)

        with StubGateway(topic) as gateway:
            before = signal.getsignal(signal.SIGTERM)
            self.assertTrue(Worker(gateway.client(), "t", handler).run())
            self.assertEqual(topic.settled["a"]["outcome"], "ack")
            self.assertEqual(signal.getsignal(signal.SIGTERM), before)

    def test_run_ends_if_the_gateway_refuses_it(self) -> None:
        with StubGateway(lambda asked: problem(401, "UNAUTHORIZED")) as gateway:
            with self.assertRaises(UnauthorizedError):
                Worker(gateway.client(), "t", lambda message: None).run()

    def test_wrong_options_are_refused_at_once(self) -> None:
        with StubGateway(Topic()) as gateway:
            for options in ({"concurrency": 0}, {"lease": "10ms"}):
                with self.subTest(options=options), self.assertRaises(ValueError):
                    Worker(gateway.client(), "t", lambda message: None, **options)  # type: ignore[arg-type]
            with self.assertRaises(ValueError):
                RetryLater(-1)


if __name__ == "__main__":
    unittest.main()
