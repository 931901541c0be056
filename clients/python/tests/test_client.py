from __future__ import annotations

import json
import os
import pickle
import socket
import threading
import time
import unittest
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Dict, List, Type, Union
from unittest import mock

from support import PACKAGE  # noqa: F401
from stub_gateway import LOST, SCHEDULE, STORED, Answer, Asked, StubGateway, problem, published, received
from nestjs_delay_queue import (
    ConfigurationError,
    DelayQueue,
    DelayQueueError,
    DuplicateMessageError,
    FailedAttempt,
    Failure,
    ForbiddenError,
    InvalidArgumentError,
    InvalidPayloadError,
    ListSchedulesError,
    Message,
    NotFoundError,
    NotReplicatedError,
    PayloadTooLargeError,
    PublishedMessage,
    PublishManyError,
    ReceivedMessage,
    Settlement,
    TooManyWaitingError,
    UnauthorizedError,
    UnavailableError,
)
from nestjs_delay_queue._json import json_of
from nestjs_delay_queue._transport import Pauses


class Answers:
    """Gives the answers one after the other; the last one again and again."""

    def __init__(self, *answers: Union[Answer, str]) -> None:
        self._answers = list(answers)

    def __call__(self, asked: Asked) -> Union[Answer, str]:
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


class Errors(unittest.TestCase):
    def test_each_code_has_its_class(self) -> None:
        classes: Dict[str, Type[DelayQueueError]] = {
            "400 INVALID_ARGUMENT": InvalidArgumentError,
            "400 INVALID_JSON": InvalidArgumentError,
            "400 SERIALIZATION": InvalidArgumentError,
            "400 INVALID_PAYLOAD": InvalidPayloadError,
            "401 UNAUTHORIZED": UnauthorizedError,
            "403 FORBIDDEN": ForbiddenError,
            "404 TOPIC_NOT_SERVED": NotFoundError,
            "404 MESSAGE_NOT_FOUND": NotFoundError,
            "404 SCHEDULE_NOT_FOUND": NotFoundError,
            "409 DUPLICATE_MESSAGE": DuplicateMessageError,
            "409 CONFIGURATION": ConfigurationError,
            "413 BODY_TOO_LARGE": PayloadTooLargeError,
            "413 PAYLOAD_TOO_LARGE": PayloadTooLargeError,
            "415 UNSUPPORTED_MEDIA_TYPE": DelayQueueError,
            "429 TOO_MANY_WAITING": TooManyWaitingError,
            "500 INTERNAL": DelayQueueError,
            "503 BROKER_UNAVAILABLE": UnavailableError,
            "503 NOT_REPLICATED": NotReplicatedError,
            "503 RECEIVER_UNAVAILABLE": UnavailableError,
        }
        for case, kind in classes.items():
            status, code = case.split()
            with self.subTest(case), StubGateway(Answers(problem(int(status), code, "Why."))) as gateway:
                with self.assertRaises(DelayQueueError) as raised:
                    gateway.client(retry_for=0).publish("t", 1)
                error = raised.exception
                self.assertIs(type(error), kind)
                self.assertEqual((error.code, error.status, error.detail), (code, int(status), "Why."))

    def test_what_a_proxy_answers_is_an_error_too(self) -> None:
        with StubGateway(Answers(Answer(502, "Bad gateway"))) as gateway:
            with self.assertRaises(UnavailableError) as raised:
                gateway.client(retry_for=0).publish("t", 1)
        self.assertEqual((raised.exception.code, raised.exception.status), ("UNEXPECTED_ANSWER", 502))

    def test_no_gateway_is_unavailable_and_no_secret_is_shown(self) -> None:
        with StubGateway(Answers(LOST)) as gateway:
            url = gateway.url
        queue = DelayQueue(url, "token-geheim", retry_for=0)
        with self.assertRaises(UnavailableError) as raised:
            queue.publish("t", 1)
        self.assertEqual((raised.exception.code, raised.exception.status), ("GATEWAY_UNREACHABLE", None))
        self.assertNotIn("geheim", str(raised.exception) + repr(queue))

    def test_many_with_refused_ones_tell_what_became_of_each(self) -> None:
        refused = {"error": {"status": 409, "code": "DUPLICATE_MESSAGE", "detail": "It exists."}}
        with StubGateway(Answers(Answer(207, {"messages": [published("a"), refused]}))) as gateway:
            with self.assertRaises(PublishManyError) as raised:
                gateway.client().publish_many("t", [Message(1), Message(2)])
        first, second = raised.exception.results
        self.assertIsInstance(first, PublishedMessage)
        self.assertIsInstance(second, DuplicateMessageError)

    def test_many_are_split_and_a_part_that_fails_is_told_beside_the_others(self) -> None:
        answers = Answers(Answer(201, {"messages": [published()] * 1000}), problem(413, "BODY_TOO_LARGE"))
        with StubGateway(answers) as gateway:
            with self.assertRaises(PublishManyError) as raised:
                gateway.client().publish_many("t", [Message(n) for n in range(1001)])
        self.assertIsInstance(raised.exception.results[999], PublishedMessage)
        self.assertIsInstance(raised.exception.results[1000], PayloadTooLargeError)

    def test_a_part_that_is_not_reached_is_not_followed_by_others(self) -> None:
        answers = Answers(Answer(201, {"messages": [published()] * 1000}), problem(503, "BROKER_UNAVAILABLE"))
        with StubGateway(answers) as gateway:
            with self.assertRaises(PublishManyError) as raised:
                gateway.client(retry_for=0).publish_many("t", [Message(n) for n in range(2001)])
            self.assertEqual(len(gateway.asked), 2)
        self.assertEqual([type(one) for one in raised.exception.results[999:]], [PublishedMessage, *[UnavailableError] * 1001])

    def test_many_that_are_large_are_split(self) -> None:
        def answer(asked: Asked) -> Answer:
            return Answer(201, {"messages": [published()] * len(asked.body["messages"])})

        with StubGateway(answer) as gateway:
            self.assertEqual(len(gateway.client().publish_many("t", [Message("x" * 1_000_000)] * 9)), 9)
            self.assertEqual([len(asked.body["messages"]) for asked in gateway.asked], [4, 4, 1])

    def test_what_the_schema_found_is_told(self) -> None:
        refused = problem(400, "INVALID_PAYLOAD")
        refused.body["issues"] = [{"message": "must be a number", "path": "total"}]
        with StubGateway(Answers(refused)) as gateway, self.assertRaises(InvalidPayloadError) as raised:
            gateway.client().publish("t", 1)
        self.assertEqual(raised.exception.issues, [{"message": "must be a number", "path": "total"}])

    def test_what_is_not_allowed_is_refused_before_anything_is_sent(self) -> None:
        circle: List[Any] = []
        circle.append(circle)
        with StubGateway(Answers(Answer(201, published()))) as gateway:
            queue = gateway.client()
            wrong: Dict[str, Callable[[], Any]] = {
                "NaN": lambda: queue.publish("t", float("nan")),
                "object": lambda: queue.publish("t", object()),
                "circle": lambda: queue.publish("t", circle),
                "surrogate": lambda: queue.publish("t", "\udcff"),
                "one of many": lambda: queue.publish_many("t", [Message(1), Message({1, 2})]),
                "delay": lambda: queue.publish("t", 1, delay="soon"),
                "backoff": lambda: queue.publish("t", 1, backoff={"type": "fixed", "delay": object()}),
                "topic": lambda: queue.publish("", 1),
                "id": lambda: queue.cancel("t", 42),  # type: ignore[arg-type]
                "token": lambda: DelayQueue(gateway.url, "ge heim").publish("t", 1),
                "password": lambda: DelayQueue("http://user:geheim@localhost"),
                "url": lambda: DelayQueue("localhost:8080"),
                "port": lambda: DelayQueue("http://localhost:http"),
                "no url": lambda: DelayQueue(None),  # type: ignore[arg-type]
                "seconds": lambda: DelayQueue(gateway.url, timeout=10),
                "retry_for": lambda: DelayQueue(gateway.url, retry_for="10m"),
            }
            for name, call in wrong.items():
                with self.subTest(name), self.assertRaises(InvalidArgumentError) as raised:
                    call()
                self.assertNotIn("heim", str(raised.exception))
                self.assertIsInstance(raised.exception, ValueError)
            self.assertEqual(gateway.asked, [])

    def test_what_is_not_the_gateway_is_told_as_that(self) -> None:
        bodies: List[Any] = [{}, [], "Welcome", {"id": "a", "dueAt": "soon"}, {"messages": [1]}]
        for body in bodies:
            with self.subTest(body=body), StubGateway(Answers(Answer(200, body))) as gateway:
                calls: List[Callable[[DelayQueue], Any]] = [lambda queue: queue.publish("t", 1), lambda queue: queue.receive("t")]
                for call in calls:
                    with self.assertRaises(DelayQueueError) as raised:
                        call(gateway.client())
                    self.assertEqual(raised.exception.code, "UNEXPECTED_ANSWER")

    def test_they_reach_other_processes_as_they_are(self) -> None:
        error = UnavailableError("Not now.", "BROKER_UNAVAILABLE", 503)
        error.retry_after = 1
        again = pickle.loads(pickle.dumps(PublishManyError([error])))
        self.assertEqual(str(again), "1 of 1 messages were not published. The first of them: Not now. (PUBLISH_MANY)")
        self.assertEqual(vars(again.results[0]), vars(error))


class Repeating(unittest.TestCase):
    def test_lost_and_unavailable_answers_are_repeated_under_one_key(self) -> None:
        answers = Answers(LOST, problem(503, "BROKER_UNAVAILABLE"), Answer(201, published()))
        with StubGateway(answers) as gateway:
            self.assertEqual(gateway.client().publish("t", 1).id, "a")
            keys = [asked.headers["Idempotency-Key"] for asked in gateway.asked]
        self.assertEqual(len(keys), 3)
        self.assertEqual(len(set(keys)), 1)

    def test_each_call_has_a_key_of_its_own(self) -> None:
        with StubGateway(Answers(Answer(201, published()))) as gateway:
            queue = gateway.client()
            queue.publish("t", 1)
            queue.publish("t", 1)
            self.assertNotEqual(*[asked.headers["Idempotency-Key"] for asked in gateway.asked])

    def test_the_time_that_the_gateway_asks_for_is_waited(self) -> None:
        answers = Answers(problem(429, "TOO_MANY_WAITING", **{"Retry-After": "1"}), Answer(200, {"messages": []}))
        with StubGateway(answers) as gateway:
            begin = time.monotonic()
            gateway.client().receive("t")
            self.assertGreaterEqual(time.monotonic() - begin, 1)

    def test_it_ends_when_the_time_is_over(self) -> None:
        with StubGateway(Answers(problem(503, "BROKER_UNAVAILABLE"))) as gateway:
            begin = time.monotonic()
            with self.assertRaises(UnavailableError):
                gateway.client(retry_for="4s").publish("t", 1)
            self.assertGreater(len(gateway.asked), 1)
            # Without an end it would be tried until the test run is killed.
            self.assertLess(time.monotonic() - begin, 30)

    def test_what_is_refused_is_not_repeated(self) -> None:
        for answer in (problem(409, "DUPLICATE_MESSAGE"), problem(503, "NOT_REPLICATED")):
            with self.subTest(answer=answer), StubGateway(Answers(answer)) as gateway:
                with self.assertRaises(DelayQueueError):
                    gateway.client().publish("t", 1)
                self.assertEqual(len(gateway.asked), 1)

    def test_a_schedule_is_run_once_though_it_is_asked_for_again(self) -> None:
        with StubGateway(Answers(LOST, Answer(200, published()))) as gateway:
            self.assertEqual(gateway.client().schedules.run("s").id, "a")
            first, second = [asked.headers["Idempotency-Key"] for asked in gateway.asked]
        self.assertEqual(first, second)

    def test_only_what_must_not_be_done_twice_has_a_key(self) -> None:
        results = {"results": [{"receipt": "r", "status": "extended"}]}
        told = {**SCHEDULE, **STORED, **results, "result": "cancelled", "cancelled": 1, "inFlight": 0, "removed": True}
        with StubGateway(Answers(Answer(200, {**told, **published(), "messages": []}))) as gateway:
            queue = gateway.client()
            queue.publish("t", 1)
            queue.settle("r", "ack")
            queue.schedules.run("s")
            queue.schedules.pause("s")
            queue.schedules.resume("s")
            self.assertTrue(all("Idempotency-Key" in asked.headers for asked in gateway.asked))
            gateway.asked.clear()
            queue.get("t", "a")
            queue.cancel("t", "a")
            queue.cancel_tagged("t", "x")
            queue.reschedule("t", "a", delay=0)
            queue.receive("t")
            queue.extend("r", "1m")
            queue.schedules.put("s", "t", 1, every="1h")
            queue.schedules.remove("s")
            self.assertEqual(len(gateway.asked), 8)
            self.assertFalse(any("Idempotency-Key" in asked.headers for asked in gateway.asked))

    def test_many_of_which_some_failed_on_their_way_are_sent_again(self) -> None:
        away = {"error": {"status": 503, "code": "BROKER_UNAVAILABLE", "detail": "Redis is away."}}
        some = Answer(207, {"messages": [published("a"), away]})
        with StubGateway(Answers(some, Answer(201, {"messages": [published("a"), published("b")]}))) as gateway:
            told = gateway.client().publish_many("t", [Message(1), Message(2)])
            self.assertEqual([one.id for one in told], ["a", "b"])
            first, second = [asked.headers["Idempotency-Key"] for asked in gateway.asked]
        self.assertEqual(first, second)
        with StubGateway(Answers(some)) as gateway, self.assertRaises(PublishManyError) as raised:
            gateway.client(retry_for="500ms").publish_many("t", [Message(1), Message(2)])
        self.assertIsInstance(raised.exception.results[1], UnavailableError)

    def test_what_is_safe_to_repeat_is_repeated_too(self) -> None:
        with StubGateway(Answers(LOST, problem(503, "BROKER_UNAVAILABLE"), Answer(200, {"result": "moved"}))) as gateway:
            self.assertEqual(gateway.client().reschedule("t", "a", delay="1m"), "moved")
            self.assertEqual(len(gateway.asked), 3)

    def test_pauses_get_longer_but_not_much(self) -> None:
        pauses = Pauses()
        error = UnavailableError("Not now.", "BROKER_UNAVAILABLE", 503)
        all_of_them = [pauses.after(error) for _ in range(12)]
        self.assertLessEqual(all_of_them[0], Pauses.FIRST)
        self.assertTrue(all(Pauses.LONGEST / 2 <= one <= Pauses.LONGEST for one in all_of_them[6:]))
        error.retry_after = 3600
        self.assertEqual(pauses.after(error), Pauses.LONGEST_ASKED_FOR)

    def test_all_tries_have_one_token_since_another_one_makes_another_operation(self) -> None:
        tokens: List[str] = ["first", "second"]
        with StubGateway(Answers(LOST, Answer(201, published()))) as gateway:
            gateway.client(lambda: tokens.pop(0)).publish("t", 1)
            self.assertEqual([one.headers["Authorization"] for one in gateway.asked], ["Bearer first"] * 2)

    def test_a_repeated_wait_is_what_is_left_of_it(self) -> None:
        def answer(asked: Asked) -> Union[Answer, str]:
            time.sleep(0.2)
            return LOST if len(gateway.asked) == 1 else Answer(200, {"messages": []})

        with StubGateway(answer) as gateway:
            gateway.client().receive("t", wait="10s")
            first, second = [asked.body["wait"] for asked in gateway.asked]
        self.assertLessEqual(first, 10_000)
        self.assertLessEqual(second, first - 200)

    def test_a_receive_may_wait_for_longer_than_the_timeout(self) -> None:
        def answer(asked: Asked) -> Answer:
            time.sleep(1)
            return Answer(200, {"messages": []})

        with StubGateway(answer) as gateway:
            self.assertEqual(gateway.client(timeout="500ms", retry_for=0).receive("t", wait="60s"), [])

    def test_a_gateway_that_hangs_is_left_after_the_timeout(self) -> None:
        ended = threading.Event()

        def answer(asked: Asked) -> Union[Answer, str]:
            ended.wait(60)
            return LOST

        with StubGateway(answer) as gateway:
            with self.assertRaises(UnavailableError):
                gateway.client(timeout="200ms", retry_for=0).publish("t", 1)
            ended.set()


class Requests(unittest.TestCase):
    def test_connections_are_kept_and_shared(self) -> None:
        with StubGateway(Answers(Answer(201, published()))) as gateway:
            queue = gateway.client()
            for _ in range(5):
                queue.publish("t", 1)
            self.assertEqual(gateway.connections, 1)
            # What nobody used for long may be gone, without a word.
            with mock.patch("nestjs_delay_queue._connections._LONGEST_IDLE", 0):
                queue.publish("t", 1)
            self.assertEqual(gateway.connections, 2)
            threads = [threading.Thread(target=queue.publish, args=("t", 1)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(len(gateway.asked), 14)

    def test_one_that_the_gateway_ends_is_not_used_again(self) -> None:
        with StubGateway(Answers(Answer(201, published(), {"Connection": "close"}))) as gateway:
            queue = gateway.client(retry_for=0)
            queue.publish("t", 1)
            queue.publish("t", 1)
            self.assertEqual(gateway.connections, 2)

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork()")
    def test_a_child_has_connections_of_its_own(self) -> None:
        with StubGateway(Answers(Answer(201, published()))) as gateway:
            queue = gateway.client()
            queue.publish("t", 1)
            # As if another thread had the lock at this moment.
            with queue._transport._connections._lock:
                child = os.fork()
                if child == 0:
                    try:
                        queue.publish("t", "of the child")
                        os._exit(0)
                    finally:
                        os._exit(1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            queue.publish("t", 1)
            self.assertEqual((gateway.connections, len(gateway.asked)), (2, 3))

    def test_a_refusal_arrives_though_the_gateway_has_not_read_all(self) -> None:
        refused = json.dumps({"status": 413, "code": "BODY_TOO_LARGE", "detail": "Too large."})
        with socket.create_server(("127.0.0.1", 0)) as server:

            def answer() -> None:
                asking, _ = server.accept()
                with asking:
                    asking.recv(1000)
                    head = f"HTTP/1.1 413 No\r\nConnection: close\r\nContent-Length: {len(refused)}\r\n\r\n"
                    asking.sendall((head + refused).encode())

            thread = threading.Thread(target=answer)
            thread.start()
            with self.assertRaises(PayloadTooLargeError):
                DelayQueue(f"http://127.0.0.1:{server.getsockname()[1]}", retry_for=0).publish("t", "x" * 50_000_000)
            thread.join()

    def test_names_are_encoded(self) -> None:
        told = {"result": "moved"}
        with StubGateway(Answers(Answer(200, told))) as gateway:
            gateway.client(path="/queue/").reschedule("t", "a/b c?é", delay="1m", key="k&k")
            asked = gateway.asked[0]
        self.assertEqual(asked.path, "/queue/v1/topics/t/messages/a%2Fb%20c%3F%C3%A9?key=k%26k")
        self.assertEqual((asked.method, asked.body), ("PATCH", {"delay": 60_000}))

    def test_the_token_may_change(self) -> None:
        tokens: List[str] = ["first", "second"]
        with StubGateway(Answers(Answer(201, published()))) as gateway:
            queue = gateway.client(lambda: tokens.pop(0), headers={"X-Tenant": "7"})
            queue.publish("t", 1)
            queue.publish("t", 1)
            self.assertEqual([one.headers["Authorization"] for one in gateway.asked], ["Bearer first", "Bearer second"])
            self.assertEqual(gateway.asked[0].headers["X-Tenant"], "7")

    def test_a_token_that_is_refused_is_asked_for_once_more(self) -> None:
        for refused, expected in ((1, "Bearer new"), (2, "Bearer new")):
            tokens = ["new", "old"]
            answers = Answers(*[problem(401, "UNAUTHORIZED")] * refused, Answer(201, published()))
            with StubGateway(answers) as gateway:
                queue = gateway.client(lambda: tokens.pop())
                if refused == 1:
                    queue.publish("t", 1)
                else:
                    with self.assertRaises(UnauthorizedError):
                        queue.publish("t", 1)
                self.assertEqual([one.headers["Authorization"] for one in gateway.asked], ["Bearer old", expected])

    def test_a_function_of_tokens_that_fails_is_asked_again(self) -> None:
        tokens: List[str] = []

        def token() -> str:
            tokens.append("t")
            if len(tokens) < 3:
                raise ConnectionError("The server of tokens is away.")
            return "good"

        with StubGateway(Answers(Answer(201, published()))) as gateway:
            gateway.client(token).publish("t", 1)
            self.assertEqual((len(tokens), len(gateway.asked)), (3, 1))
            tokens.clear()
            with self.assertRaises(UnavailableError) as raised:
                gateway.client(token, retry_for=0).publish("t", 1)
        self.assertEqual(raised.exception.code, "NO_TOKEN")

    def test_a_request_is_written_in_one_piece(self) -> None:
        pieces: List[int] = []
        send = socket.socket.sendall

        def sendall(sock: socket.socket, data: bytes, *more: int) -> None:
            if b"Idempotency-Key" in data:
                pieces.append(len(data))
            send(sock, data, *more)

        with StubGateway(Answers(Answer(201, published()))) as gateway, mock.patch("socket.socket.sendall", sendall):
            gateway.client().publish("t", "x" * 10_000)
        self.assertEqual([size > 10_000 for size in pieces], [True])

    def test_what_cannot_be_sent_is_an_error_of_this_package(self) -> None:
        with StubGateway(Answers(Answer(200, {"results": []}))) as gateway:
            queue = gateway.client()
            wrong: Dict[str, Callable[[], Any]] = {
                "topic": lambda: queue.get("t", "\ud800"),
                "host": lambda: DelayQueue(f"http://{'a' * 64}.example"),
                "header": lambda: gateway.client(headers={"X": "a\r\nb"}),
                "duration": lambda: queue.publish("t", 1, delay=f"{'9' * 400}d"),
                "time": lambda: queue.publish("t", 1, deliver_at=datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))),
                "results": lambda: queue.settle("r", "ack"),
            }
            for name, call in wrong.items():
                with self.subTest(name), self.assertRaises(DelayQueueError):
                    call()

    def test_numbers_that_would_arrive_as_others_are_refused_with_their_place(self) -> None:
        for number in (2**53 + 1, -(2**53) - 1, 2**60, 10**400, -0.0, float("nan"), float("inf")):
            with self.subTest(number=number), self.assertRaises(InvalidArgumentError) as raised:
                json_of("The message", {"payload": {"lines": [{"id": 1}, {"id": number}]}})
            self.assertIn("'payload.lines[1].id'", raised.exception.detail)
        good: List[Any] = [2**53, 2**53 + 2, 10**17, 10**20, 0.1, 1e300, 0.12345678901234567, 0, True, "9007199254740993 NaN -0.0"]
        self.assertEqual(json.loads(json_of("The message", good)), good)

    def test_a_payload_that_is_nested_too_deep_stops_only_itself(self) -> None:
        texts = ", ".join(json.dumps({**received(one), "headers": {'a]"': "}["}}) for one in ("a", "deep", "b"))
        messages = texts.replace('{"id": "deep"}', "[" * 3000 + "]" * 3000)
        results = {"results": [{"receipt": "receipt-of-deep", "status": "settled"}]}
        with StubGateway(Answers(Answer(200, f'{{"messages":[{messages}]}}'.encode()), Answer(200, results))) as gateway:
            given = gateway.client().receive("t", max=3)
            self.assertEqual([(one.id, one.payload) for one in given], [("a", {"id": "a"}), ("b", {"id": "b"})])
            [settled] = gateway.asked[1].body["settlements"]
        self.assertEqual((settled["receipt"], settled["outcome"]), ("receipt-of-deep", "dead"))

    def test_several_topics_go_to_the_route_for_several(self) -> None:
        with StubGateway(Answers(Answer(200, {"messages": [received("a")]}))) as gateway:
            message = gateway.client().receive(["x", "y"], max=3, lease="1m", consumer="shop")[0]
            asked = gateway.asked[0]
        self.assertEqual(asked.path, "/v1/receive")
        self.assertEqual(asked.body, {"topics": ["x", "y"], "max": 3, "wait": 0, "lease": 60_000, "consumer": "shop"})
        self.assertEqual((message.id, message.payload, message.max_attempts), ("a", {"id": "a"}, 5))

    def test_settlements_are_told_as_they_are(self) -> None:
        results = [{"receipt": "r", "status": "settled"}, {"receipt": "s", "status": "stale"}]
        with StubGateway(Answers(Answer(200, {"results": results}))) as gateway:
            settled = gateway.client().settle_many(
                [Settlement("r", "retry", delay="2s", reason="busy"), Settlement("s", "ack")]
            )
            expected = [
                {"receipt": "r", "outcome": "retry", "delay": 2000, "reason": "busy"},
                {"receipt": "s", "outcome": "ack"},
            ]
            self.assertEqual(gateway.asked[0].body, {"settlements": expected})
        self.assertEqual([one.status for one in settled], ["settled", "stale"])

    def test_what_a_message_is_settled_with_is_its_receipt(self) -> None:
        def answer(asked: Asked) -> Answer:
            if asked.path.endswith("/receive"):
                return Answer(200, {"messages": [received("a")]})
            return Answer(200, {"results": [{"receipt": "receipt-of-a", "status": "stale"}]})

        with StubGateway(answer) as gateway:
            message = gateway.client().receive("t")[0]
            self.assertEqual((message.dead(), message.is_settled), ("stale", True))
            self.assertEqual((message.extend("1m"), message.lost.is_set(), message.is_cancelled), ("stale", True, False))
            bodies = [asked.body for asked in gateway.asked[1:]]
        self.assertEqual(bodies[0], {"settlements": [{"receipt": "receipt-of-a", "outcome": "dead"}]})
        self.assertEqual(bodies[1], {"extensions": [{"receipt": "receipt-of-a", "lease": 60_000}]})
        with self.assertRaises(RuntimeError):
            ReceivedMessage.from_json(received("b")).ack()

    def test_all_that_is_stored_is_told(self) -> None:
        attempt = {"at": "2026-11-24T12:00:00.000Z", "attempt": 1, "name": "Error", "message": "no", "duration": 1.5}
        failure = {"reason": "attempts", "name": "Error", "message": "no", "cause": {"name": "Inner"}}
        more = {"state": "dead", "history": [attempt], "failure": failure, "maxAttempts": 3, "new": "of a later gateway"}
        with StubGateway(Answers(Answer(200, {**STORED, **more}))) as gateway:
            stored = gateway.client().get("t", "a")
        self.assertEqual(stored.history, [FailedAttempt(datetime(2026, 11, 24, 12, tzinfo=timezone.utc), 1, "Error", "no", 1.5)])
        self.assertEqual((stored.failure, stored.max_attempts), (Failure("attempts", "Error", "no", cause={"name": "Inner"}), 3))

    def test_a_schedule_is_told_with_the_options_of_its_messages(self) -> None:
        with StubGateway(Answers(Answer(200, SCHEDULE))) as gateway:
            gateway.client().schedules.put(
                "s", "t", 1, every=timedelta(hours=1), catch_up="all", expire_after="1m", tags=("x",)
            )
            asked = gateway.asked[0]
        rule = {"topic": "t", "payload": 1, "every": 3_600_000, "catchUp": "all"}
        self.assertEqual(asked.body, {**rule, "options": {"expireAfter": 60_000, "tags": ["x"]}})

    def test_schedules_that_cannot_be_told_are_an_error_that_has_the_others(self) -> None:
        failed = {"topic": "away", "ids": ["a"], "error": problem(503, "BROKER_UNAVAILABLE").body}
        with StubGateway(Answers(Answer(200, {"schedules": [SCHEDULE], "failed": [failed]}))) as gateway:
            with self.assertRaises(ListSchedulesError) as raised:
                gateway.client().schedules.list()
        error = pickle.loads(pickle.dumps(raised.exception))
        self.assertEqual([one.id for one in error.schedules], ["nightly"])
        self.assertEqual([(one.topic, one.ids, type(one.error)) for one in error.failed], [("away", ["a"], UnavailableError)])
        self.assertEqual(str(error), "Schedules of away cannot be told now: Not now. (LIST_SCHEDULES)")


if __name__ == "__main__":
    unittest.main()
