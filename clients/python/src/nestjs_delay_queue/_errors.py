"""The errors: one class for each thing that a caller may want to do something about."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Sequence, Type


class DelayQueueError(Exception):
    """What every error of this package is.

    ``code`` is stable and made for programs, ``detail`` is a sentence for people. ``status`` is the HTTP status, or None
    if nothing was answered.
    """

    def __init__(self, detail: str, code: str, status: Optional[int] = None) -> None:
        # All of them, so that another process can unpickle it.
        super().__init__(detail, code, status)
        self.detail = detail
        self.code = code
        self.status = status

    def __str__(self) -> str:
        return f"{self.detail} ({self.code})"


class InvalidArgumentError(DelayQueueError, ValueError):
    """Something that was given is not allowed; the detail says what, and what is."""


class InvalidPayloadError(InvalidArgumentError):
    """The payload does not fit the schema of its topic; ``issues`` has each ``message`` and, if it has one, its ``path``."""

    issues: Sequence[Mapping[str, Any]] = ()


class UnauthorizedError(DelayQueueError):
    """The gateway, or a guard before it, does not know the token."""


class ForbiddenError(DelayQueueError):
    """The token may not do this with this topic, or a guard before the gateway says so."""


class NotFoundError(DelayQueueError):
    """There is no such message, schedule, served topic or route; ``code`` says which."""


class DuplicateMessageError(DelayQueueError):
    """A message with this id exists."""


class ConfigurationError(DelayQueueError):
    """The topic is set up in another way than the gateway was told."""


class PayloadTooLargeError(DelayQueueError):
    """The payload, or the whole request, is larger than the gateway takes."""


class NotReplicatedError(DelayQueueError):
    """The message is stored, but fewer replicas have confirmed it in time than were asked for: a failover may lose it."""


class UnavailableError(DelayQueueError):
    """The gateway or its Redis could not be reached, and the time for repeating was over.

    What was asked for may have been done.
    """

    #: After how many seconds it is worth while to ask again, if the gateway said so.
    retry_after: Optional[float] = None


class UntrustedCertificateError(DelayQueueError):
    """The certificate of what answers is not trusted, so nothing was sent. Trying again would not mend that."""


class TooManyWaitingError(UnavailableError):
    """The gateway has as many waiting receivers as it takes."""


#: The code if something else than the gateway has answered, such as a proxy.
UNEXPECTED_ANSWER = "UNEXPECTED_ANSWER"

#: What is meant by these, whoever says so: what has refused may be a guard of the application that the gateway is in.
_CODE_OF_STATUS = {401: "UNAUTHORIZED", 403: "FORBIDDEN"}

_BY_CODE: Dict[str, Type[DelayQueueError]] = {
    "INVALID_PAYLOAD": InvalidPayloadError,
    "DUPLICATE_MESSAGE": DuplicateMessageError,
    "CONFIGURATION": ConfigurationError,
    "NOT_REPLICATED": NotReplicatedError,
    "TOO_MANY_WAITING": TooManyWaitingError,
}

#: 408, 502 and 504 come from a proxy before the gateway, and 429 with another code does.
_BY_STATUS: Dict[int, Type[DelayQueueError]] = {
    400: InvalidArgumentError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    408: UnavailableError,
    413: PayloadTooLargeError,
    429: UnavailableError,
    502: UnavailableError,
    503: UnavailableError,
    504: UnavailableError,
}


def error_of(status: int, problem: Any, retry_after: Optional[str] = None) -> DelayQueueError:
    """Makes the error that a problem document tells. A proxy may have answered anything else, or nothing.

    :param retry_after: the header; one that is a date counts as none
    """
    told: Mapping[str, Any] = problem if isinstance(problem, dict) else {}
    code = str(told.get("code") or _CODE_OF_STATUS.get(status, UNEXPECTED_ANSWER))
    detail = str(told.get("detail") or f"The answer has the HTTP status {status} and no details. Is this the address of a gateway?")
    kind = _BY_CODE.get(code, _BY_STATUS.get(status, DelayQueueError))
    if kind is InvalidArgumentError and code == UNEXPECTED_ANSWER:
        kind = DelayQueueError  # What is wrong for a proxy need not be what was given.
    error = kind(detail, code, status)
    if isinstance(error, UnavailableError) and retry_after is not None and retry_after.isdecimal():
        error.retry_after = float(retry_after)
    if isinstance(error, InvalidPayloadError):
        error.issues = told.get("issues") or ()
    return error


def invalid(detail: str) -> InvalidArgumentError:
    return InvalidArgumentError(detail, "INVALID_ARGUMENT")


def is_refusal(error: BaseException) -> bool:
    """Whether asking again would be answered in the same way. A proxy without its gateway may well answer 400 or 404."""
    if not isinstance(error, DelayQueueError) or isinstance(error, UnavailableError):
        return False
    if isinstance(error, (InvalidArgumentError, UntrustedCertificateError)):
        return True
    return error.status is not None and 400 <= error.status < 500 and error.code != UNEXPECTED_ANSWER


def may_be_due_to_one(error: BaseException) -> bool:
    """Whether a request about several messages may have been refused because of one, such as of a topic that is not served
    any more. Then the others are asked for without it.
    """
    return is_refusal(error) and not isinstance(error, UnauthorizedError)
