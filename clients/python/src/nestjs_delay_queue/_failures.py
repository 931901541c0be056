"""What handlers raise, as it is kept with their messages."""

from __future__ import annotations

import traceback
from typing import Dict

#: Longest texts that are sent, in characters; the gateway keeps no more.
_LONGEST_NAME = 200
_LONGEST_TEXT = 4096


def error_to_json(error: BaseException) -> Dict[str, str]:
    # The last lines say where it was raised, and what it says.
    stack = "".join(traceback.format_exception(type(error), error, error.__traceback__))[-_LONGEST_TEXT:]
    return {
        "name": type(error).__name__[:_LONGEST_NAME],
        "message": _clean(_message_of(error)),
        "stack": _clean(stack),
    }


def _clean(text: str) -> str:
    # Names of files may have what is no UTF-8.
    return text[:_LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8")


def _message_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "Its text cannot be made."
