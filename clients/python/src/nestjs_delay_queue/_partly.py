"""The errors of what was done or told in part."""

from __future__ import annotations

from typing import Sequence, Union

from ._errors import DelayQueueError
from ._wire import FailedSchedules, PublishedMessage, Schedule


class PublishManyError(DelayQueueError):
    """Some of the messages were not published, and the others are.

    ``results`` has, in the order of the messages, what became of each: a ``PublishedMessage`` or a ``DelayQueueError``.
    """

    def __init__(self, results: Sequence[Union[PublishedMessage, DelayQueueError]]) -> None:
        refused = [result for result in results if isinstance(result, DelayQueueError)]
        super().__init__(
            f"{len(refused)} of {len(results)} messages were not published. The first of them: {refused[0].detail}",
            "PUBLISH_MANY",
            207,
        )
        self.args = (results,)
        self.results = list(results)


class ListSchedulesError(DelayQueueError):
    """The schedules of some topics cannot be told now. ``failed`` says which, and why; ``schedules`` has the others."""

    def __init__(self, schedules: Sequence[Schedule], failed: Sequence[FailedSchedules]) -> None:
        topics = ", ".join(one.topic for one in failed)
        super().__init__(f"Schedules of {topics} cannot be told now: {failed[0].error.detail}", "LIST_SCHEDULES", 200)
        self.args = (schedules, failed)
        self.schedules = list(schedules)
        self.failed = list(failed)
