from __future__ import annotations

import unittest
from datetime import datetime, timedelta, timezone
from typing import Any, Dict

from support import PACKAGE  # noqa: F401  puts the package on the path
from nestjs_delay_queue import InvalidArgumentError, LocalTime, Message
from nestjs_delay_queue._times import from_time, to_milliseconds, to_time


class Durations(unittest.TestCase):
    def test_all_forms_become_milliseconds(self) -> None:
        cases: Dict[Any, Any] = {
            timedelta(seconds=1, microseconds=1): 1001,
            timedelta(0): 0,
            250: 250,
            "250": None,
            "30s": 30_000,
            "1h30m": 5_400_000,
            "1.5h": 5_400_000,
            "2 days": 172_800_000,
            "1 h 1 m": 3_660_000,
            "1y": 31_557_600_000,
            "1M": None,
            "m": None,
            "": None,
            "30s later": None,
        }
        for given, expected in cases.items():
            with self.subTest(given=given):
                if expected is not None:
                    self.assertEqual(to_milliseconds("delay", given), expected)
                    continue
                with self.assertRaises(InvalidArgumentError) as raised:
                    to_milliseconds("delay", given)
                self.assertIn(f"Given: {given!r}", raised.exception.detail)

    def test_a_float_and_a_bool_are_refused(self) -> None:
        given: Any
        for given in (1.5, True, None):
            with self.subTest(given=given), self.assertRaises(InvalidArgumentError):
                to_milliseconds("delay", given)

    def test_those_of_a_backoff_are_converted_too(self) -> None:
        message = Message({}, backoff={"type": "steps", "delays": [timedelta(seconds=1), "1m"]})
        self.assertEqual(message.to_json()["backoff"], {"type": "steps", "delays": [1000, "1m"]})


class Times(unittest.TestCase):
    def test_a_datetime_is_told_in_utc_and_never_earlier(self) -> None:
        berlin = timezone(timedelta(hours=1))
        self.assertEqual(to_time("t", datetime(2026, 12, 24, 18, tzinfo=berlin)), "2026-12-24T17:00:00.000Z")
        late = datetime(2026, 12, 31, 23, 59, 59, 999_001, tzinfo=timezone.utc)
        self.assertEqual(to_time("t", late), "2027-01-01T00:00:00.000Z")

    def test_one_without_a_time_zone_is_refused(self) -> None:
        with self.assertRaises(InvalidArgumentError):
            to_time("t", datetime(2026, 12, 24))

    def test_the_others_are_told_as_they_are(self) -> None:
        self.assertEqual(to_time("t", 1_800_000_000_000), 1_800_000_000_000)
        local = LocalTime("2026-12-24T18:00", "Europe/Berlin")
        self.assertEqual(to_time("t", local), {"local": "2026-12-24T18:00", "timeZone": "Europe/Berlin"})

    def test_what_the_gateway_tells_is_read_with_its_zone(self) -> None:
        expected = datetime(2026, 11, 24, 12, 0, 0, 250_000, tzinfo=timezone.utc)
        self.assertEqual(from_time("2026-11-24T12:00:00.250Z"), expected)


if __name__ == "__main__":
    unittest.main()
