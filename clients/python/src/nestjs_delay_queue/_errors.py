"""The errors: one class for each thing that a caller may want to do something about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Sequence, Type, Union

if TYPE_CHECKING:
    from ._messages import PublishedMessage


class DelayQueueError(Exception):
    """What every error of this package is.

    ``code`` is stable and made for programs, ``detail`` is a sentence for people. ``status`` is the HTTP status, or None
    if nothing was answered.
    """

    def __init__(self, detail: str, *, code: str, status: Optional[int] = None) -> None:
        super().__init__(f"{detail} ({code})")
        self.code = code
        self.status = status
        self.detail = detail


class InvalidArgumentError(DelayQueueError):
    """Something that was given is not allowed; the detail says what, and what is."""


class UnauthorizedError(DelayQueueError):
    """The gateway does not know the token."""


class ForbiddenError(DelayQueueError):
    """The token may not do this with this topic."""


class NotFoundError(DelayQueueError):
    """There is no such message, schedule, served topic or route; ``code`` says which."""


class DuplicateMessageError(DelayQueueError):
    """A message with this id exists."""


class ConfigurationError(DelayQueueError):
    """The topic is set up in another way than the gateway was told."""


class PayloadTooLargeError(DelayQueueError):
    """The payload, or the whole request, is larger than the gateway takes."""


class UnavailableError(DelayQueueError):
    """The gateway or its Redis could not be reached, and the time for repeating was over.

    What was asked for may have been done.
    """


class TooManyWaitingError(UnavailableError):
    """The gateway has as many waiting receivers as it takes."""


class PublishManyError(DelayQueueError):
    """Some of the messages were refused, and the others are published.

    ``results`` has, in the order of the messages, what became of each: a ``PublishedMessage`` or a ``DelayQueueError``.
    """

    def __init__(self, results: Sequence[Union[PublishedMessage, DelayQueueError]]) -> None:
        self.results = list(results)
        refused = [result for result in self.results if isinstance(result, DelayQueueError)]
        super().__init__(
            f"{len(refused)} of {len(self.results)} messages were refused. The first of them: {refused[0].detail}",
            code="PUBLISH_MANY",
            status=207,
        )


_BY_CODE: Dict[str, Type[DelayQueueError]] = {
    "DUPLICATE_MESSAGE": DuplicateMessageError,
    "CONFIGURATION": ConfigurationError,
    "TOO_MANY_WAITING": TooManyWaitingError,
}

_BY_STATUS: Dict[int, Type[DelayQueueError]] = {
    400: InvalidArgumentError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    413: PayloadTooLargeError,
    429: TooManyWaitingError,
    502: UnavailableError,
    503: UnavailableError,
    504: UnavailableError,
}


def error_of(status: int, problem: Any) -> DelayQueueError:
    """Makes the error that a problem document tells. A proxy may have answered anything else, or nothing."""
    told: Mapping[str, Any] = problem if isinstance(problem, dict) else {}
    code = str(told.get("code") or f"HTTP_{status}")
    detail = str(told.get("detail") or told.get("title") or f"The gateway answered with the HTTP status {status}.")
    kind = _BY_CODE.get(code, _BY_STATUS.get(status, DelayQueueError))
    return kind(detail, code=code, status=status)


def unreachable(address: str, cause: BaseException) -> UnavailableError:
    reason = str(cause) or type(cause).__name__
    return UnavailableError(f"The gateway at {address} cannot be reached: {reason}.", code="GATEWAY_UNREACHABLE")
