"""Durations and times, as Python has them and as the gateway takes them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Dict, Optional, Union

from ._errors import invalid

#: A length of time: a ``timedelta``, whole milliseconds, or text such as ``'30m'`` or ``'1h30m'``.
Duration = Union[timedelta, int, str]


@dataclass(frozen=True)
class LocalTime:
    """When the clocks of a time zone show a time: ``LocalTime('2026-12-24T18:00', 'Europe/Berlin')``."""

    local: str
    time_zone: str


#: A time: a ``datetime`` that has a time zone, epoch milliseconds, or a :class:`LocalTime`.
Time = Union[datetime, int, LocalTime]

#: Of what is waited for, in milliseconds.
SHORTEST_TIMEOUT = 100

_PART = re.compile(r"(\d*\.?\d+)\s*([A-Za-z]+)\s*")

_UNITS = {
    1.0: ("ms", "msec", "msecs", "millisecond", "milliseconds"),
    1e3: ("s", "sec", "secs", "second", "seconds"),
    60e3: ("m", "min", "mins", "minute", "minutes"),
    3600e3: ("h", "hr", "hrs", "hour", "hours"),
    86400e3: ("d", "day", "days"),
    7 * 86400e3: ("w", "week", "weeks"),
    365.25 * 86400e3: ("y", "yr", "yrs", "year", "years"),
}

_MILLISECONDS = {name: length for length, names in _UNITS.items() for name in names}


def to_milliseconds(name: str, value: Duration) -> int:
    """Whole milliseconds, rounded up. A float is refused, since it could be meant as seconds.

    :raises InvalidArgumentError: if it is no duration
    """
    if isinstance(value, timedelta):
        return math.ceil(value / timedelta(milliseconds=1))
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    milliseconds = _milliseconds_of_text(value) if isinstance(value, str) else None
    if milliseconds is None:
        raise invalid(
            f"{name} must be a timedelta, whole milliseconds, or text such as '30m' or '1h30m' "
            f"(units: ms, s, m for minutes, h, d, w, y). Given: {value!r}."
        )
    return milliseconds


def milliseconds_within(name: str, value: Duration, shortest: int, longest: float = math.inf, *, or_zero: bool = False) -> int:
    """As :func:`to_milliseconds`, between two bounds in milliseconds. A number that was meant as seconds is most often refused.

    :raises InvalidArgumentError:
    """
    milliseconds = to_milliseconds(name, value)
    if shortest <= milliseconds <= longest or (or_zero and milliseconds == 0):
        return milliseconds
    bounds = f"at least {shortest} ms" if longest == math.inf else f"{shortest} to {longest} ms"
    raise invalid(f"{name} must be {'0, or ' if or_zero else ''}{bounds}. Given: {value!r}.")


def _milliseconds_of_text(text: str) -> Optional[int]:
    total, end = 0.0, 0
    for part in _PART.finditer(text):
        number, unit = part.groups()
        # A capital M could mean minutes or months.
        length = None if unit == "M" else _MILLISECONDS.get(unit.lower())
        if part.start() != end or length is None:
            return None
        total += float(number) * length
        end = part.end()
    return math.ceil(total) if end == len(text) and end > 0 and math.isfinite(total) else None


def to_time(name: str, value: Time) -> Union[str, int, Dict[str, str]]:
    """A time as the gateway takes it.

    :raises InvalidArgumentError: if it is no time, or has no time zone
    """
    if isinstance(value, LocalTime):
        return {"local": value.local, "timeZone": value.time_zone}
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, datetime):
        raise invalid(f"{name} must be a datetime, epoch milliseconds or a LocalTime. Given: {value!r}.")
    if value.utcoffset() is None:
        raise invalid(f"{name} must be a datetime with a time zone, such as datetime.now(timezone.utc). Given: {value!r}.")
    try:
        # Rounded up, so that no message is early.
        milliseconds = math.ceil(value.astimezone(timezone.utc).microsecond / 1000)
        rounded = value.astimezone(timezone.utc).replace(microsecond=0) + timedelta(milliseconds=milliseconds)
    except OverflowError as cause:
        raise invalid(f"{name} is too far away to be told in UTC. Given: {value!r}.") from cause
    return rounded.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_time(text: str) -> datetime:
    """A time as the gateway tells it, in UTC."""
    # Before Python 3.11, fromisoformat() knows no Z.
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
