"""JSON, in such a way that nothing is another thing when it arrives."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any, Dict, List, Tuple

from ._errors import UNEXPECTED_ANSWER, DelayQueueError, invalid

#: In place of a payload that cannot be read.
UNREADABLE = object()

#: What may be a number that JavaScript has no equal of. Texts have it too, so the value itself has to be looked at then.
_SUSPECT = re.compile(r"\d{16}|-0\.0|NaN|Infinity")

#: Whole numbers have their digits up to here; of greater ones only some do.
_LARGEST_EXACT = 2**53


def json_of(name: str, value: Any) -> bytes:
    """:raises InvalidArgumentError: also for what would arrive as something else, such as NaN, -0.0 or 2 ** 53 + 1"""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        content = text.encode("utf-8")
    except (TypeError, ValueError, RecursionError) as cause:
        raise invalid(f"{name} cannot be written as JSON: {cause}.") from cause
    if _SUSPECT.search(text):
        _check_numbers(name, value)
    return content


def parse(content: bytes) -> Any:
    """None: it is not JSON, so not of the gateway, but of a proxy before it. Received messages whose payload cannot be read have
    :data:`UNREADABLE` in its place.

    :raises DelayQueueError: if it is nested deeper than Python can read
    """
    try:
        return json.loads(content)
    except ValueError:
        return None
    except RecursionError as cause:
        if not content.startswith(b'{"messages":['):
            detail = "The payload is nested deeper than Python can read."
            raise DelayQueueError(detail, UNEXPECTED_ANSWER) from cause
        return {"messages": [_message_of(*one) for one in _split(content)]}


def _check_numbers(name: str, value: Any) -> None:
    waiting = [("", value)]
    while waiting:
        place, one = waiting.pop()
        if isinstance(one, dict):
            waiting += [(f"{place}.{key}", inner) for key, inner in one.items()]
        elif isinstance(one, (list, tuple)):
            waiting += [(f"{place}[{i}]", inner) for i, inner in enumerate(one)]
        elif isinstance(one, (int, float)) and not _arrives(one):
            raise invalid(
                f"{name} has a number at '{place.lstrip('.')}' that would arrive as another one, since JavaScript has none "
                f"like it: give it as text. Given: {one!r}."
            )


def _arrives(number: Any) -> bool:
    """Whether its digits are the same after JavaScript has read and written it."""
    if isinstance(number, float):
        return math.isfinite(number) and not (number == 0 and math.copysign(1, number) < 0)
    if abs(number) <= _LARGEST_EXACT:
        return True
    try:
        # As many digits as it takes to tell it from other doubles, and then zeros, as JavaScript has it.
        return int(Decimal(repr(float(number)))) == int(number)
    except OverflowError:
        return False


#: Strings, in which brackets mean nothing, and brackets.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)

#: How deep the object of a message is in the answer to a receive.
_DEPTH_OF_MESSAGE = 3


def _split(content: bytes) -> List[Tuple[bytes, bytes]]:
    """Each message of the answer to a receive, as it is, and without its deepest value, which is its payload."""
    messages: List[Tuple[bytes, bytes]] = []
    depth = start = inner = deepest = 0
    #: How deep it is, and where it stands.
    longest = (0, 0, 0)
    for token in _TOKEN.finditer(content):
        kind = token.group()
        if kind in (b"[", b"{"):
            depth += 1
            deepest = max(deepest, depth)
            if depth == _DEPTH_OF_MESSAGE:
                start, longest = token.start(), (0, 0, 0)
            elif depth == _DEPTH_OF_MESSAGE + 1:
                inner, deepest = token.start(), depth
        elif kind in (b"]", b"}"):
            depth -= 1
            if depth == _DEPTH_OF_MESSAGE:
                longest = max(longest, (deepest, inner, token.end()))
            elif depth == _DEPTH_OF_MESSAGE - 1:
                _, begin, end = longest
                messages.append((content[start : token.end()], content[start:begin] + b"null" + content[end : token.end()]))
    return messages


def _message_of(text: bytes, without_payload: bytes) -> Dict[str, Any]:
    try:
        return dict(json.loads(text))
    except RecursionError:
        return {**json.loads(without_payload), "payload": UNREADABLE}
