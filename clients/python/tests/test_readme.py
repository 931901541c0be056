"""Runs the Python of the README as it is printed."""

from __future__ import annotations

import logging
import os
import re
import signal
import threading
import unittest
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, Dict, List
from unittest import mock

from support import PACKAGE  # noqa: F401
from stub_gateway import SCHEDULE, STATS, STORED, Answer, Asked, StubGateway, published, received
import nestjs_delay_queue

README = Path(__file__).resolve().parent.parent / "README.md"


class Shop:
    """Answers what the README asks for; to its worker it gives an order that is known, one that is not, and a busy one."""

    def __init__(self) -> None:
        self.received = 0
        self.settled: List[Dict[str, Any]] = []

    def __call__(self, asked: Asked) -> Answer:
        path = asked.path
        if path == "/v1/settle":
            return self._settle(asked.body["settlements"])
        if path.endswith("/receive"):
            return self._receive(asked.body["lease"])
        if path.endswith("/stats"):
            return Answer(200, STATS)
        if path.endswith("/explain"):
            return Answer(200, {"cause": "not-due", "also": [], "facts": {}, "advice": "It is due later."})
        if path.startswith("/v1/schedules/"):
            return Answer(200, SCHEDULE)
        if "?tag=" in path:
            return Answer(200, {"cancelled": 2, "inFlight": 0})
        if asked.method == "POST":
            many = asked.body.get("messages")
            return Answer(201, {"messages": [published() for _ in many]} if many else published())
        return Answer(200, {"GET": STORED, "DELETE": {"result": "cancelled"}, "PATCH": {"result": "moved"}}[asked.method])

    def _receive(self, lease: int) -> Answer:
        self.received += 1
        if lease == 60_000:
            orders = ["43"]
        else:
            orders = ["42", "unknown", "busy"] if self.received == 1 else []
            threading.Event().wait(0.05)
        return Answer(200, {"messages": [{**received(n), "payload": {"orderId": n}} for n in orders]})

    def _settle(self, settlements: List[Dict[str, Any]]) -> Answer:
        before = len(self.settled)
        self.settled += settlements
        if before < 3 <= len(self.settled):
            os.kill(os.getpid(), signal.SIGTERM)
        return Answer(200, {"results": [{"receipt": one["receipt"], "status": "settled"} for one in settlements]})


class Readme(unittest.TestCase):
    def test_its_code_runs(self) -> None:
        blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf8"), re.DOTALL)
        self.assertEqual(len(blocks), 6)
        logging.getLogger("nestjs_delay_queue").setLevel(logging.CRITICAL)
        self.addCleanup(logging.getLogger("nestjs_delay_queue").setLevel, logging.NOTSET)
        shop, names, printed = Shop(), {}, StringIO()  # type: Shop, Dict[str, Any], StringIO
        with StubGateway(shop) as gateway, mock.patch.dict(os.environ, GATEWAY_TOKEN="t"), redirect_stdout(printed):
            for block in blocks:
                exec(compile(block.replace("http://127.0.0.1:8080", gateway.url), str(README), "exec"), names)
            names["queue"].close()
        self.assertEqual(sorted(one["outcome"] for one in shop.settled), ["ack", "ack", "dead", "release"])
        self.assertIn("Attempt 1 of 5 for the order unknown", printed.getvalue())
        self.assertIn("It is due later.", printed.getvalue())

    def test_its_table_has_all_errors(self) -> None:
        told = set(re.findall(r"^\| `(\w+Error)`", README.read_text(encoding="utf8"), re.MULTILINE))
        exported = {name for name in nestjs_delay_queue.__all__ if name.endswith("Error")}
        self.assertEqual(told, exported - {"DelayQueueError", "RetryLaterError", "UnrecoverableError"})


if __name__ == "__main__":
    unittest.main()
