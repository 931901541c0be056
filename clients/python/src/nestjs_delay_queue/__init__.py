"""Delayed messages over the HTTP gateway of nestjs-delay-queue."""

from ._client import DelayQueue
from ._errors import (
    ConfigurationError,
    DelayQueueError,
    DuplicateMessageError,
    ForbiddenError,
    InvalidArgumentError,
    NotFoundError,
    PayloadTooLargeError,
    PublishManyError,
    TooManyWaitingError,
    UnauthorizedError,
    UnavailableError,
)
from ._messages import (
    CancelledTagged,
    Explanation,
    Extension,
    FailedAttempt,
    Failure,
    Message,
    PublishedMessage,
    Schedule,
    Settlement,
    SettleResult,
    StoredMessage,
    TopicStats,
)
from ._received import ReceivedMessage
from ._schedules import Schedules
from ._times import Duration, LocalTime, Time
from ._version import __version__
from ._worker import GiveUp, RetryLater, Worker

__all__ = [
    "CancelledTagged",
    "ConfigurationError",
    "DelayQueue",
    "DelayQueueError",
    "DuplicateMessageError",
    "Duration",
    "Explanation",
    "Extension",
    "FailedAttempt",
    "Failure",
    "ForbiddenError",
    "GiveUp",
    "InvalidArgumentError",
    "LocalTime",
    "Message",
    "NotFoundError",
    "PayloadTooLargeError",
    "PublishManyError",
    "PublishedMessage",
    "ReceivedMessage",
    "RetryLater",
    "Schedule",
    "Schedules",
    "SettleResult",
    "Settlement",
    "StoredMessage",
    "Time",
    "TooManyWaitingError",
    "TopicStats",
    "UnauthorizedError",
    "UnavailableError",
    "Worker",
    "__version__",
]
