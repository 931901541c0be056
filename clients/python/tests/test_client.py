from __future__ import annotations

import threading
import time
import unittest
from typing import Dict, List, Type, Union

from support import PACKAGE  # noqa: F401
from stub_gateway import LOST, Answer, Asked, StubGateway, problem, published, received
from nestjs_delay_queue import (
    ConfigurationError,
    DelayQueue,
    DelayQueueError,
    DuplicateMessageError,
    ForbiddenError,
    InvalidArgumentError,
    Message,
    NotFoundError,
    PayloadTooLargeError,
    PublishedMessage,
    PublishManyError,
    Settlement,
    TooManyWaitingError,
    UnauthorizedError,
    UnavailableError,
)


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
            "401 UNAUTHORIZED": UnauthorizedError,
            "403 FORBIDDEN": ForbiddenError,
            "404 TOPIC_NOT_SERVED": NotFoundError,
            "409 DUPLICATE_MESSAGE": DuplicateMessageError,
            "409 CONFIGURATION": ConfigurationError,
            "413 BODY_TOO_LARGE": PayloadTooLargeError,
            "415 UNSUPPORTED_MEDIA_TYPE": DelayQueueError,
            "429 TOO_MANY_WAITING": TooManyWaitingError,
            "500 INTERNAL": DelayQueueError,
            "503 BROKER_UNAVAILABLE": UnavailableError,
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
        self.assertEqual((raised.exception.code, raised.exception.status), ("HTTP_502", 502))

    def test_no_gateway_is_unavailable_and_no_secret_is_shown(self) -> None:
        with StubGateway(Answers(LOST)) as gateway:
            url = gateway.url
        queue = DelayQueue(url.replace("//", "//user:geheim@"), "token-geheim", retry_for=0)
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

    def test_what_is_no_json_is_refused_before_anything_is_sent(self) -> None:
        with StubGateway(Answers(Answer(201, published()))) as gateway:
            for payload in (float("nan"), object(), {1, 2}):
                with self.subTest(payload=payload), self.assertRaises((TypeError, ValueError)):
                    gateway.client().publish("t", payload)
            self.assertEqual(gateway.asked, [])


class Repeating(unittest.TestCase):
    def test_lost_and_unavailable_answers_are_repeated_under_one_key(self) -> None:
        answers = Answers(LOST, problem(503, "SHUTTING_DOWN"), Answer(201, published()))
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
                gateway.client(retry_for=0.5).publish("t", 1)
            self.assertGreater(len(gateway.asked), 1)
            # Without an end it would be tried until the test run is killed.
            self.assertLess(time.monotonic() - begin, 5)

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
        self.assertGreater(first, 9900)
        self.assertLessEqual(second, 9800)

    def test_a_gateway_that_hangs_is_left_after_the_timeout(self) -> None:
        ended = threading.Event()

        def answer(asked: Asked) -> Union[Answer, str]:
            ended.wait(10)
            return LOST

        with StubGateway(answer) as gateway:
            with self.assertRaises(UnavailableError):
                gateway.client(timeout=0.2, retry_for=0).publish("t", 1)
            ended.set()


class Requests(unittest.TestCase):
    def test_connections_are_kept_and_shared(self) -> None:
        with StubGateway(Answers(Answer(201, published()))) as gateway:
            queue = gateway.client()
            for _ in range(5):
                queue.publish("t", 1)
            self.assertEqual(gateway.connections, 1)
            threads = [threading.Thread(target=queue.publish, args=("t", 1)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(len(gateway.asked), 13)

    def test_names_are_encoded(self) -> None:
        told = {"rescheduled": True}
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

    def test_several_topics_go_to_the_route_for_several(self) -> None:
        with StubGateway(Answers(Answer(200, {"messages": [received("a")]}))) as gateway:
            message = gateway.client().receive(["x", "y"], max=3, lease="1m")[0]
            asked = gateway.asked[0]
        self.assertEqual(asked.path, "/v1/receive")
        self.assertEqual(asked.body, {"topics": ["x", "y"], "max": 3, "wait": 0, "lease": 60_000})
        self.assertEqual((message.id, message.payload, message.max_attempts), ("a", {"id": "a"}, 5))

    def test_settlements_are_told_as_they_are(self) -> None:
        results = [{"receipt": "r", "status": "settled"}, {"receipt": "s", "status": "stale"}]
        with StubGateway(Answers(Answer(200, {"results": results}))) as gateway:
            settled = gateway.client().settle(
                [Settlement("r", "retry", delay="2s", reason="busy"), Settlement("s", "ack")]
            )
            expected = [
                {"receipt": "r", "outcome": "retry", "delay": 2000, "reason": "busy"},
                {"receipt": "s", "outcome": "ack"},
            ]
            self.assertEqual(gateway.asked[0].body, {"settlements": expected})
        self.assertEqual([one.status for one in settled], ["settled", "stale"])


if __name__ == "__main__":
    unittest.main()
