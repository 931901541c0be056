"""The behaviours of clients/BEHAVIOUR.md, against the gateway that the environment names.

Run directly, several at a time, it prints ``ok B01`` or ``not ok B01 - why`` for each. With unittest they are tests
like others; without a gateway in the environment there are none.
"""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import threading
import time
import traceback
import unittest
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Dict, List, Optional, Type

from support import PACKAGE
from nestjs_delay_queue import (
    DelayQueue,
    DelayQueueError,
    DuplicateMessageError,
    ForbiddenError,
    Handler,
    InvalidArgumentError,
    ListSchedulesError,
    Message,
    NotFoundError,
    PayloadTooLargeError,
    PublishedMessage,
    PublishManyError,
    ReceivedMessage,
    Settlement,
    UnauthorizedError,
    UnavailableError,
    UnrecoverableError,
    Worker,
)

#: Longest time in which something has to come; it comes much sooner.
PATIENCE = "30s"

#: How long to wait to see that nothing comes.
QUIET = "1s"

AT_ONCE = 14

BEHAVIOURS: Dict[str, Callable[[], None]] = {}

#: Its tests count, and say more.
check = unittest.TestCase()
check.maxDiff = 2000


def behaviour(test: Callable[[], None]) -> Callable[[], None]:
    BEHAVIOURS[test.__name__[:3].upper()] = test
    return test


def given(name: str) -> str:
    return os.environ[f"GATEWAY_{name}"]


def client(name: str = "URL", token: str = "TOKEN", **options: Any) -> DelayQueue:
    key = name, token, tuple(options.items())
    with _clients_lock:
        if key not in _clients:
            _clients[key] = DelayQueue(given(name), given(token), timeout="30s", **options)
        return _clients[key]


_clients: Dict[Any, DelayQueue] = {}
_clients_lock = threading.Lock()


def topic(number: int) -> str:
    return f"{given('TOPIC_PREFIX')}.{number:02}"


def take(name: str, count: int = 1, **options: Any) -> List[ReceivedMessage]:
    """Receives so many messages."""
    taken: List[ReceivedMessage] = []
    while len(taken) < count:
        some = client().receive(name, max=count - len(taken), wait=PATIENCE, **options)
        check.assertTrue(some, f"of {count} messages {len(taken)} came within {PATIENCE}")
        taken += some
    return taken


def nothing_comes(name: str, wait: str = QUIET) -> None:
    check.assertEqual(client().receive(name, wait=wait), [])


def eventually(condition: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + 60
    while not condition():
        check.assertLess(time.monotonic(), until, f"in 60 s it was not so: {what}")
        time.sleep(0.05)


def refused(kind: Type[DelayQueueError], code: str, call: Callable[[], Any]) -> DelayQueueError:
    with check.assertRaises(kind) as raised:
        call()
    check.assertEqual(raised.exception.code, code)
    return raised.exception


@behaviour
def b01_published_and_received() -> None:
    # So late that it is published before, on a busy host too.
    at = datetime.now(timezone.utc).replace(microsecond=0) + timedelta(seconds=5)
    payload = {"order": 42, "lines": [1.5, None, True, "x"]}
    published = client().publish(topic(1), payload, id="b01", key="shop", headers={"trace": "t-1"}, deliver_at=at)
    check.assertEqual((published.id, published.topic, published.due_at), ("b01", topic(1), at))
    message = take(topic(1))[0]
    check.assertEqual((message.id, message.topic, message.payload), ("b01", topic(1), payload))
    check.assertEqual((message.headers, message.key, message.attempt), ({"trace": "t-1"}, "shop", 1))
    check.assertEqual((message.due_at, message.partition), (at, published.partition))
    check.assertEqual(message.ack(), "settled")


@behaviour
def b02_delayed() -> None:
    begin = time.monotonic()
    client().publish(topic(2), "later", delay=timedelta(seconds=2))
    message = take(topic(2))[0]
    check.assertGreaterEqual(time.monotonic() - begin, 2)
    check.assertEqual(message.payload, "later")
    message.ack()


@behaviour
def b03_published_many() -> None:
    published = client().publish_many(topic(3), [Message(n, id=f"m{n}") for n in range(3)])
    check.assertEqual([one.id for one in published], ["m0", "m1", "m2"])
    with check.assertRaises(PublishManyError) as raised:
        client().publish_many(topic(3), [Message(3, id="m3"), Message(1, id="m1"), Message(4, id="m4")])
    first, second, third = raised.exception.results
    check.assertIsInstance(first, PublishedMessage)
    check.assertIsInstance(second, DuplicateMessageError)
    check.assertIsInstance(third, PublishedMessage)
    messages = take(topic(3), 5)
    check.assertEqual(sorted(message.payload for message in messages), [0, 1, 2, 3, 4])
    client().settle_many([Settlement(message.receipt, "ack") for message in messages])


@behaviour
def b04_duplicates() -> None:
    first = client().publish(topic(4), "first", id="same", delay="1h")
    error = refused(
        DuplicateMessageError, "DUPLICATE_MESSAGE", lambda: client().publish(topic(4), "second", id="same", delay="1h")
    )
    check.assertEqual(error.status, 409)
    again = client().publish(topic(4), "second", id="same", on_duplicate="ignore")
    check.assertEqual((first.duplicate, again.duplicate, again.due_at), (False, True, first.due_at))
    check.assertEqual(client().get(topic(4), "same").payload, "first")


@behaviour
def b05_looked_up() -> None:
    published = client().publish(topic(5), {"n": 5}, id="b05", delay="1h", tags=["night"], headers={"a": "b"})
    stored = client().get(topic(5), "b05")
    check.assertEqual((stored.state, stored.payload, stored.at), ("scheduled", {"n": 5}, published.due_at))
    check.assertEqual((stored.tags, stored.headers, stored.attempts), (["night"], {"a": "b"}, 0))
    error = refused(NotFoundError, "MESSAGE_NOT_FOUND", lambda: client().get(topic(5), "nobody"))
    check.assertEqual(error.status, 404)


@behaviour
def b06_cancelled() -> None:
    client().publish(topic(6), "no", id="b06", delay="500ms")
    check.assertEqual(client().cancel(topic(6), "b06"), "cancelled")
    check.assertEqual(client().cancel(topic(6), "b06"), "not-found")
    nothing_comes(topic(6))


@behaviour
def b07_cancelled_by_tag() -> None:
    for n in range(4):
        client().publish(topic(7), n, id=f"t{n}", delay="1h", tags=["odd" if n % 2 else "even", "all"])
    done = client().cancel_tagged(topic(7), "odd")
    check.assertEqual((done.cancelled, done.in_flight), (2, 0))
    check.assertEqual(client().stats(topic(7)).scheduled, 2)
    check.assertEqual(client().get(topic(7), "t2").state, "scheduled")


@behaviour
def b08_rescheduled() -> None:
    client().publish(topic(8), "sooner", id="b08", delay="1h")
    begin = time.monotonic()
    check.assertEqual(client().reschedule(topic(8), "b08", delay="1s"), "moved")
    check.assertEqual(take(topic(8))[0].ack(), "settled")
    check.assertGreaterEqual(time.monotonic() - begin, 1)
    check.assertEqual(client().reschedule(topic(8), "nobody", delay="1s"), "not-found")


@behaviour
def b09_acknowledged() -> None:
    client().publish(topic(9), "once")
    message = take(topic(9), lease="8s")[0]
    check.assertEqual(message.ack(), "settled")
    check.assertEqual(message.ack(), "stale")
    check.assertEqual(message.retry(), "stale")
    # Longer than the lease was.
    nothing_comes(topic(9), "9s")


@behaviour
def b10_retried() -> None:
    client().publish(topic(10), "again")
    first = take(topic(10))[0]
    begin = time.monotonic()
    check.assertEqual(first.retry(delay="1s", reason="not yet"), "settled")
    second = take(topic(10))[0]
    check.assertGreaterEqual(time.monotonic() - begin, 1)
    check.assertEqual((second.id, second.attempt), (first.id, 2))
    second.ack()


@behaviour
def b11_given_up() -> None:
    client().publish(topic(11), "hopeless", id="b11")
    check.assertEqual(take(topic(11))[0].dead("unknown customer"), "settled")
    stored = client().get(topic(11), "b11")
    check.assertEqual(stored.state, "dead")
    assert stored.failure is not None
    check.assertIn("unknown customer", stored.failure.message)
    nothing_comes(topic(11))


@behaviour
def b12_released() -> None:
    client().publish(topic(12), "not mine")
    first = take(topic(12))[0]
    check.assertEqual(first.release(), "settled")
    second = take(topic(12))[0]
    check.assertEqual((second.id, second.attempt), (first.id, 1))
    begin = time.monotonic()
    check.assertEqual(second.release("1s"), "settled")
    third = take(topic(12))[0]
    check.assertGreaterEqual(time.monotonic() - begin, 1)
    check.assertEqual((third.id, third.attempt), (first.id, 1))
    third.ack()


@behaviour
def b13_extended() -> None:
    client().publish(topic(13), "slow")
    first = take(topic(13), lease="8s")[0]
    begin = time.monotonic()
    check.assertEqual(first.extend("12s"), "extended")
    second = take(topic(13))[0]
    check.assertGreaterEqual(time.monotonic() - begin, 12)
    check.assertEqual(second.id, first.id)
    check.assertEqual(first.extend("12s"), "stale")
    check.assertTrue(first.lost.is_set())
    second.ack()


RECEIVE_AND_HANG = """
import sys, time
from nestjs_delay_queue import DelayQueue
url, token, topic = sys.argv[1:]
print(DelayQueue(url, token).receive(topic, wait="30s", lease="2s")[0].receipt, flush=True)
time.sleep(60)
"""


@behaviour
def b14_killed() -> None:
    client().publish(topic(14), "orphan")
    command = [sys.executable, "-c", RECEIVE_AND_HANG, given("URL"), given("TOKEN"), topic(14)]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        receipt = process.stdout.readline().strip()
        process.kill()
    check.assertNotEqual(receipt, "")
    second = take(topic(14))[0]
    check.assertEqual(second.payload, "orphan")
    check.assertEqual([one.status for one in client().settle_many([Settlement(receipt, "ack")])], ["stale"])
    check.assertEqual(second.ack(), "settled")


@behaviour
def b15_lost_publish() -> None:
    published = client("LOSSY_URL").publish(topic(15), "without an id")
    named = client("LOSSY_URL").publish(topic(15), "with one", id="b15")
    many = client("LOSSY_URL").publish_many(topic(15), [Message("one of many")])
    check.assertEqual([one.duplicate for one in (published, named, *many)], [False, False, False])
    messages = take(topic(15), 3)
    check.assertEqual({one.id for one in messages}, {published.id, "b15", many[0].id})
    nothing_comes(topic(15))
    client().settle_many([Settlement(one.receipt, "ack") for one in messages])


@behaviour
def b16_lost_settle() -> None:
    client().publish(topic(16), "settled once")
    receipt = take(topic(16))[0].receipt
    check.assertEqual([one.status for one in client("LOSSY_URL").settle_many([Settlement(receipt, "ack")])], ["settled"])
    nothing_comes(topic(16))


@behaviour
def b17_at_most_once() -> None:
    client().publish(topic(17), "only once", id="b17")
    message = take(topic(17), lease=0)[0]
    check.assertEqual((message.payload, message.lease), ("only once", 0))
    nothing_comes(topic(17))
    stats = client().stats(topic(17))
    check.assertEqual((stats.scheduled, stats.in_flight, stats.dead), (0, 0, 0))


@behaviour
def b18_priority() -> None:
    first, second, third = topic(18), topic(51), topic(52)
    for name in (third, second, first):
        client().publish_many(name, [Message(n) for n in range(2)])
    order: List[str] = []
    while len(order) < 6:
        some = client().receive([first, second, third], wait=PATIENCE, max=1)
        check.assertTrue(some)
        order += [message.topic for message in some]
        some[0].ack()
    check.assertEqual(order, [first, first, second, second, third, third])


@behaviour
def b19_large() -> None:
    payload = {"text": "aé€😀" * 100_000}
    payload["text"] += "x" * (1024 * 1024 - 20 - len(payload["text"].encode()))
    client().publish(topic(19), payload)
    message = take(topic(19))[0]
    check.assertTrue(message.payload == payload, "the payload is not the one that was published")
    message.ack()
    error = refused(
        PayloadTooLargeError, "PAYLOAD_TOO_LARGE", lambda: client().publish(topic(19), "x" * (1024 * 1024))
    )
    check.assertEqual(error.status, 413)


@behaviour
def b20_waited() -> None:
    begin = time.monotonic()
    nothing_comes(topic(20))
    check.assertGreaterEqual(time.monotonic() - begin, 0.99)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(client().receive, topic(20), wait="60s")
        time.sleep(0.5)
        client().publish(topic(20), "now")
        published = time.monotonic()
        messages = waiting.result()
    # If nothing woke it, it would end after a minute, and with none.
    check.assertLess(time.monotonic() - published, 30)
    check.assertEqual([one.payload for one in messages], ["now"])
    messages[0].ack()


@behaviour
def b21_errors() -> None:
    away = client("AWAY_URL", retry_for=0)
    name = topic(21)
    cases = [
        (InvalidArgumentError, "INVALID_ARGUMENT", 400, lambda: client().publish(name, 1, delay=-1)),
        (UnauthorizedError, "UNAUTHORIZED", 401, lambda: DelayQueue(given("URL"), "wrong").publish(name, 1)),
        (ForbiddenError, "FORBIDDEN", 403, lambda: client(token="READ_TOKEN").publish(name, 1)),
        (NotFoundError, "TOPIC_NOT_SERVED", 404, lambda: client().publish(f"{name}.not-served", 1)),
        (UnavailableError, "BROKER_UNAVAILABLE", 503, lambda: away.publish(name, 1)),
    ]
    for kind, code, status, call in cases:
        error = refused(kind, code, call)
        check.assertEqual(error.status, status)
        check.assertNotEqual(error.detail, "")


@behaviour
def b22_settled_many() -> None:
    client().publish_many(topic(22), [Message(n, id=f"s{n}") for n in range(4)])
    messages = {message.id: message for message in take(topic(22), 4)}
    messages["s3"].ack()
    results = client().settle_many(
        [
            Settlement(messages["s0"].receipt, "ack"),
            Settlement(messages["s1"].receipt, "retry", delay="1h", reason="later"),
            Settlement(messages["s2"].receipt, "dead", reason="never"),
            Settlement(messages["s3"].receipt, "ack"),
        ]
    )
    check.assertEqual([one.status for one in results], ["settled", "settled", "settled", "stale"])
    check.assertEqual([one.receipt for one in results], [messages[f"s{n}"].receipt for n in range(4)])
    check.assertEqual(client().get(topic(22), "s1").state, "scheduled")
    check.assertEqual(client().get(topic(22), "s2").state, "dead")


@behaviour
def b23_stats_and_explained() -> None:
    client().publish(topic(23), "dead", id="d")
    take(topic(23))[0].dead("as a test")
    client().publish(topic(23), "runs", id="r")
    running = take(topic(23))[0]
    client().publish_many(topic(23), [Message("waits", id=f"w{n}", delay="1h") for n in range(2)])
    stats = client().stats(topic(23))
    check.assertEqual((stats.scheduled, stats.in_flight, stats.dead), (2, 1, 1))
    check.assertEqual(stats.counters["published"], 4)
    causes = [client().explain(topic(23), id).cause for id in ("w0", "r", "d", "nobody")]
    check.assertEqual(causes, ["not-due", "running", "dead", "unknown-id"])
    check.assertNotEqual(client().explain(topic(23), "w0").advice, "")
    running.ack()


@behaviour
def b24_any_characters() -> None:
    odd = "a/b c?d=e&f#%2F\"'\\ é 😀 \u4e2d\n{}"
    client().publish(topic(24), {odd: odd}, id=odd, key=f"key {odd}", headers={"note": odd}, tags=[odd], delay="300ms")
    check.assertEqual(client().get(topic(24), odd, key=f"key {odd}").id, odd)
    check.assertEqual(client().explain(topic(24), odd, key=f"key {odd}").facts["id"], odd)
    message = take(topic(24))[0]
    check.assertEqual((message.id, message.key, message.payload), (odd, f"key {odd}", {odd: odd}))
    check.assertEqual(message.headers, {"note": odd})
    message.ack()
    client().publish(topic(24), 1, id=odd, tags=[odd], delay="1h")
    check.assertEqual(client().reschedule(topic(24), odd, delay="2h"), "moved")
    check.assertEqual(client().cancel(topic(24), odd), "cancelled")
    client().publish(topic(24), 1, tags=[odd], delay="1h")
    check.assertEqual(client().cancel_tagged(topic(24), odd).cancelled, 1)


def work(number: int, handler: Handler, queue: Optional[DelayQueue] = None, **options: Any) -> Worker:
    """Starts a worker whose handlers have more time to end than a busy host needs."""
    return Worker(queue or client(), topic(number), handler, shutdown_timeout="60s", **options).start()


class Running:
    """Handler calls that take a time, and how many of them run at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: Ends them before their time.
        self.end = threading.Event()
        self.now = 0
        self.most = 0
        self.calls: List[str] = []

    def __call__(self, message: ReceivedMessage, seconds: float = 0) -> None:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.calls.append(message.id)
        self.end.wait(seconds)
        with self._lock:
            self.now -= 1


@behaviour
def b25_worker() -> None:
    running = Running()
    held: List[int] = []

    def handler(message: ReceivedMessage) -> None:
        running(message, 0.5)
        held.append(client().stats(topic(25)).in_flight)
        if message.payload == "fails once" and message.attempt == 1:
            raise ValueError("the first attempt")
        if message.payload == "hopeless":
            raise UnrecoverableError("as a test")

    payloads = [*["fine"] * 7, "fails once", "hopeless"]
    again = {"type": "fixed", "delay": 100}
    client().publish_many(topic(25), [Message(one, id=f"{n}", backoff=again) for n, one in enumerate(payloads)])
    worker = work(25, handler, concurrency=3)
    eventually(lambda: client().stats(topic(25)).counters["acked"] == 8, "eight messages are acknowledged")
    check.assertTrue(worker.stop())
    check.assertEqual(sorted(running.calls), sorted([*"012345678", "7"]))
    check.assertEqual(running.most, 3)
    check.assertLessEqual(max(held), 3)
    stats = client().stats(topic(25))
    check.assertEqual((stats.scheduled, stats.in_flight, stats.dead), (0, 0, 1))


@behaviour
def b26_worker_renews() -> None:
    running = Running()
    lost: List[bool] = []

    def handler(message: ReceivedMessage) -> None:
        running(message, 13)
        lost.append(message.lost.is_set())

    client().publish(topic(26), "slow")
    worker = work(26, handler, concurrency=2, lease="6s")
    eventually(lambda: client().stats(topic(26)).counters["acked"] == 1, "it is acknowledged")
    worker.stop()
    check.assertEqual((len(running.calls), lost), (1, [False]))
    check.assertEqual(client().stats(topic(26)).counters["delivered"], 1)


@behaviour
def b27_worker_stops() -> None:
    running = Running()
    client().publish_many(topic(27), [Message(n) for n in range(6)])
    worker = work(27, lambda message: running(message, 60), concurrency=2)
    eventually(lambda: running.now == 2, "two handlers run")
    begin = time.monotonic()
    threading.Timer(1, running.end.set).start()
    check.assertTrue(worker.stop())
    check.assertGreaterEqual(time.monotonic() - begin, 0.9)
    check.assertEqual(len(running.calls), 2)
    stats = client().stats(topic(27))
    check.assertEqual((stats.counters["acked"], stats.scheduled, stats.in_flight), (2, 4, 0))
    # One that waits for messages stops as well, and what comes afterwards it does not take.
    idle = work(53, running, wait="60s")
    time.sleep(0.5)
    begin = time.monotonic()
    check.assertTrue(idle.stop())
    check.assertLess(time.monotonic() - begin, 30)
    client().publish(topic(53), "later")
    check.assertEqual(take(topic(53), lease="10s")[0].ack(), "settled")
    check.assertEqual(len(running.calls), 2)


@behaviour
def b28_worker_goes_on() -> None:
    running = Running()
    worker = work(28, running, client("BROKEN_URL"), concurrency=4, lease="2s")
    # Longer than the gateway is away and there again.
    for n in range(16):
        client().publish(topic(28), n, id=f"{n}")
        time.sleep(0.4)
    eventually(lambda: client().stats(topic(28)).counters["acked"] == 16, "all are acknowledged")
    worker.stop()
    check.assertEqual(set(running.calls), {f"{n}" for n in range(16)})


@behaviour
def b29_schedules() -> None:
    schedules = client().schedules
    name = topic(29)
    stored = schedules.put(name, name, {"kind": "sales"}, every="1h")
    check.assertEqual((stored.id, stored.topic, stored.paused), (name, name, False))
    check.assertEqual(schedules.get(name).payload, {"kind": "sales"})
    check.assertIn(name, [one.id for one in schedules.list(name)])
    check.assertTrue(schedules.pause(name).paused)
    check.assertFalse(schedules.resume(name).paused)
    published = schedules.run(name)
    message = take(name)[0]
    check.assertEqual((message.id, message.payload), (published.id, {"kind": "sales"}))
    message.ack()
    check.assertTrue(schedules.remove(name))
    refused(NotFoundError, "SCHEDULE_NOT_FOUND", lambda: schedules.get(name))


def odd(what: str, number: int, **options: Any) -> DelayQueue:
    """By a proxy that does something odd."""
    return DelayQueue(f"{given('ODD_URL')}/{what}/{topic(number)}", given("TOKEN"), timeout="30s", **options)


def publish_one(number: int, payload: Any = 1, **options: Any) -> None:
    client().publish(topic(number), payload, id=f"{number}", **options)


def failure_of(number: int) -> Any:
    """Why the message is a dead letter."""
    eventually(lambda: client().get(topic(number), f"{number}").state == "dead", "it is a dead letter")
    return client().get(topic(number), f"{number}").failure


@behaviour
def b30_guards() -> None:
    for what, kind, code in (("401", UnauthorizedError, "UNAUTHORIZED"), ("403", ForbiddenError, "FORBIDDEN")):
        queue = odd(what, 30)
        refused(kind, code, lambda: queue.publish(topic(30), 1))
        refused(kind, code, lambda: Worker(queue, topic(30), print).run(handle_signals=False))


@behaviour
def b31_proxies() -> None:
    refused(DelayQueueError, "UNEXPECTED_ANSWER", lambda: odd("400-twice", 31).publish(topic(31), 1))
    publish_one(31)
    worker = Worker(odd("400-twice", 51), topic(31), lambda message: worker.stop())
    check.assertTrue(worker.run(handle_signals=False))
    check.assertEqual(client().stats(topic(31)).counters["acked"], 1)


@behaviour
def b32_retry_after() -> None:
    begin = time.monotonic()
    check.assertFalse(odd("503-once", 32).publish(topic(32), 1).duplicate)
    check.assertGreaterEqual(time.monotonic() - begin, 2)


@behaviour
def b33_some_of_many() -> None:
    published = odd("207-once", 33).publish_many(topic(33), [Message(n) for n in range(3)])
    check.assertEqual((len(published), client().stats(topic(33)).counters["published"]), (3, 3))


@behaviour
def b34_untrusted() -> None:
    queue = DelayQueue(given("UNTRUSTED_URL"), given("TOKEN"))
    refused(DelayQueueError, "UNTRUSTED_CERTIFICATE", lambda: queue.publish(topic(34), 1))
    refused(DelayQueueError, "UNTRUSTED_CERTIFICATE", lambda: Worker(queue, topic(34), print).run(handle_signals=False))


@behaviour
def b35_timeouts() -> None:
    runs: List[str] = []
    end = threading.Event()
    publish_one(35, attempts=1)

    def hang(message: ReceivedMessage) -> None:
        runs.append(message.id)
        end.wait(60)

    worker = work(35, hang, timeout="1s", lease="10s")
    check.assertEqual(failure_of(35).name, "HandlerTimeoutError")
    end.set()
    check.assertTrue(worker.stop())
    check.assertEqual(runs, ["35"])


@behaviour
def b36_what_has_not_run() -> None:
    async def handle() -> None:
        pass

    publish_one(36, attempts=1)
    worker = work(36, lambda message: handle())
    check.assertEqual(failure_of(36).name, "TypeError")
    worker.stop()


@behaviour
def b37_unreadable() -> None:
    for payload in ("one", "deep", "two"):
        client().publish(topic(37), payload, id=payload, key="k")
    handled: List[str] = []
    worker = work(37, lambda message: handled.append(message.payload), odd("deep", 37))
    eventually(lambda: sorted(handled) == ["one", "two"], "the others are handled")
    eventually(lambda: client().get(topic(37), "deep", key="k").state == "dead", "it is a dead letter")
    worker.stop()
    failure = client().get(topic(37), "deep", key="k").failure
    check.assertIn("nested deeper", failure.message if failure else "")


@behaviour
def b38_stopped_by_a_handler() -> None:
    publish_one(38)
    worker = Worker(client(), topic(38), lambda message: worker.stop(), concurrency=1)
    check.assertTrue(worker.run(handle_signals=False))
    check.assertEqual(client().stats(topic(38)).counters["acked"], 1)


@behaviour
def b39_numbers() -> None:
    for number in (2**53 + 1, -0.0):
        error = refused(InvalidArgumentError, "INVALID_ARGUMENT", lambda: publish_one(39, {"lines": [{"id": number}]}))
        check.assertIn("payload.lines[0].id", error.detail)
    numbers = [2**53, 10**17, 0.1, -12.5, 1e300]
    publish_one(39, numbers)
    message = take(topic(39))[0]
    check.assertEqual(message.payload, numbers)
    message.ack()


@behaviour
def b40_tokens() -> None:
    tokens = iter(["another", given("TOKEN"), None, given("TOKEN"), given("TOKEN")])

    def token() -> str:
        return next(tokens) or str(1 / 0)

    queue = DelayQueue(given("URL"), token, timeout="30s")
    for _ in range(3):
        queue.publish(topic(40), 1)
    check.assertEqual(next(tokens, "none"), "none")


@behaviour
def b41_errors() -> None:
    def handler(message: ReceivedMessage) -> None:
        raise LookupError("no such order")

    publish_one(41, attempts=1)
    worker = work(41, handler)
    failure = failure_of(41)
    worker.stop()
    check.assertEqual((failure.name, failure.message), ("LookupError", "no such order"))
    check.assertIn("test_behaviour.py", failure.stack)


@behaviour
def b42_consumers() -> None:
    def is_known(name: str) -> bool:
        receivers = client().explain(topic(42), "none").facts["receivers"]
        return any(receiver["consumer"] == name for receiver in receivers)

    for given_name, name in ((None, socket.gethostname()), ("mails-1", "mails-1")):
        worker = work(42, lambda message: None, consumer=given_name)
        eventually(lambda: is_known(name), f"{name} is known")
        worker.stop()
    too_long = Worker(client(), topic(42), print, consumer="x" * 129)
    refused(InvalidArgumentError, "INVALID_ARGUMENT", lambda: too_long.run(handle_signals=False))


@behaviour
def b43_settled_together() -> None:
    all_run = threading.Barrier(20)

    def handler(message: ReceivedMessage) -> None:
        if message.payload == 0:
            client().settle(message.receipt, "ack")
        all_run.wait(60)

    client().publish_many(topic(43), [Message(n) for n in range(20)])
    worker = work(43, handler, odd("19-settles", 43), concurrency=20)
    eventually(lambda: client().stats(topic(43)).counters["acked"] == 20, "all are acknowledged")
    check.assertTrue(worker.stop())
    check.assertEqual(client().stats(topic(43)).in_flight, 0)


@behaviour
def b44_failed_schedules() -> None:
    name = topic(44)
    client().schedules.put(name, name, None, every="1h")
    with check.assertRaises(ListSchedulesError) as raised:
        odd("failed-schedules", 44).schedules.list()
    (failed,) = raised.exception.failed
    check.assertEqual((failed.topic, failed.ids, failed.error.code), ("away", ["nightly"], "BROKER_UNAVAILABLE"))
    check.assertIn(name, [one.id for one in raised.exception.schedules])
    client().schedules.remove(name)


@behaviour
def b45_told_besides() -> None:
    queue, name = odd("more", 45), topic(45)
    check.assertEqual(queue.publish(name, 1, id="45").id, "45")
    check.assertEqual(queue.get(name, "45").state, "scheduled")
    check.assertEqual(queue.stats(name).dead, 0)
    check.assertNotEqual(queue.explain(name, "45").advice, "")
    worker = Worker(queue, name, lambda message: worker.stop())
    check.assertTrue(worker.run(handle_signals=False))
    check.assertEqual(client().stats(name).counters["acked"], 1)
    queue.schedules.put(name, name, None, every="1h")
    check.assertEqual([one.id for one in queue.schedules.list(name)], [name])
    check.assertTrue(queue.schedules.remove(name))


def load_tests(_loader: unittest.TestLoader, _tests: unittest.TestSuite, _pattern: str) -> unittest.TestSuite:
    tests = BEHAVIOURS.values() if "GATEWAY_URL" in os.environ else []
    return unittest.TestSuite(unittest.FunctionTestCase(test) for test in tests)


def run_one(number: str) -> bool:
    try:
        BEHAVIOURS[number]()
    except Exception as error:
        why = " ".join(str(error).split()) or type(error).__name__
        place = traceback.extract_tb(error.__traceback__)
        line = next((frame.lineno for frame in place if frame.filename == __file__ and frame.name[0] == "b"), 0)
        say(f"not ok {number} - {type(error).__name__} in line {line}: {why[:500]}")
        return False
    say(f"ok {number}")
    return True


def say(line: str) -> None:
    # In one piece, since print() would let another thread's line between the text and its end.
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(chosen: List[str]) -> int:
    logging.getLogger("nestjs_delay_queue").setLevel(logging.CRITICAL)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        passed = list(pool.map(run_one, chosen or sorted(BEHAVIOURS, reverse=True)))
    for one in _clients.values():
        one.close()
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
