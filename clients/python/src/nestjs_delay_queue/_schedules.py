"""Rules that publish again and again."""

from __future__ import annotations

from typing import List, Optional, Tuple

from ._errors import NotFoundError
from ._fields import Json
from ._json import json_of
from ._options import PutMethod
from ._partly import ListSchedulesError
from ._paths import path
from ._transport import Request, Transport
from ._wire import FailedSchedules, NewSchedule, PublishedMessage, Schedule


class Schedules(PutMethod):
    """The schedules of a gateway; see ``DelayQueue.schedules``."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, topic: Optional[str] = None) -> List[Schedule]:
        """Those of a topic, or of all topics that this token may read, in the order of their ids.

        :raises ListSchedulesError: if those of some topics cannot be told now; it has the others
        """
        schedules, failed = self._transport.send(Request("GET", path("schedules", topic=topic)), _listed)
        if failed:
            raise ListSchedulesError(schedules, failed)
        return schedules

    def get(self, id: str) -> Schedule:
        """:raises NotFoundError: if there is none"""
        return self._send(Request("GET", path("schedules", id)))

    def _put(self, id: str, schedule: NewSchedule) -> Schedule:
        body = json_of("The schedule", schedule.to_json())
        return self._send(Request("PUT", path("schedules", id), body))

    def pause(self, id: str) -> Schedule:
        """It publishes nothing until it is resumed.

        :raises NotFoundError: if there is none
        """
        return self._send(Request("POST", path("schedules", id, "pause"), is_keyed=True))

    def resume(self, id: str) -> Schedule:
        """It goes on with its next occurrence.

        :raises NotFoundError: if there is none
        """
        return self._send(Request("POST", path("schedules", id, "resume"), is_keyed=True))

    def run(self, id: str) -> PublishedMessage:
        """Publishes its message now, beside its occurrences.

        :raises NotFoundError: if there is none
        """
        request = Request("POST", path("schedules", id, "run"), is_keyed=True)
        return self._transport.send(request, PublishedMessage.from_json)

    def remove(self, id: str) -> bool:
        """What it has published stays.

        :returns: whether there was one; False also if it was removed and only the answer was lost
        """
        try:
            return self._transport.send(Request("DELETE", path("schedules", id)), lambda told: bool(told["removed"]))
        except NotFoundError as error:
            if error.code != "SCHEDULE_NOT_FOUND":
                raise
            return False

    def _send(self, request: Request) -> Schedule:
        return self._transport.send(request, Schedule.from_json)


def _listed(told: Json) -> Tuple[List[Schedule], List[FailedSchedules]]:
    # A gateway of version 0.1 refuses all if it cannot tell some.
    failed = [FailedSchedules.from_json(one) for one in told.get("failed", ())]
    return [Schedule.from_json(one) for one in told["schedules"]], failed
