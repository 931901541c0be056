"""Rules that publish again and again."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional

from ._errors import NotFoundError
from ._messages import PublishedMessage, Schedule, optional_duration, optional_time, without_none
from ._paths import path
from ._times import Duration, Time
from ._transport import Request, Transport


class Schedules:
    """The schedules of a gateway; see ``DelayQueue.schedules``."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, topic: Optional[str] = None) -> List[Schedule]:
        told = self._transport.send(Request("GET", path("schedules", topic=topic)))
        return [Schedule.from_json(one) for one in told["schedules"]]

    def get(self, id: str) -> Schedule:
        """:raises NotFoundError: if there is none"""
        return Schedule.from_json(self._transport.send(Request("GET", _path(id))))

    def put(
        self,
        id: str,
        topic: str,
        payload: Any,
        *,
        every: Optional[Duration] = None,
        cron: Optional[str] = None,
        time_zone: Optional[str] = None,
        start_at: Optional[Time] = None,
        end_at: Optional[Time] = None,
        catch_up: Optional[str] = None,
        overlap: Optional[str] = None,
        options: Optional[Mapping[str, Any]] = None,
    ) -> Schedule:
        """Stores it, in place of an earlier one of this id.

        :param every: from one occurrence to the next; or else ``cron``, with ``time_zone``
        :param catch_up: which occurrences of an outage are published: ``'none'``, ``'latest'`` or ``'all'``
        :param overlap: ``'allow'`` or ``'skip'``: not while an earlier one waits, runs or retries
        :param options: of its messages, such as ``{'attempts': 3}``
        """
        rule = {
            "every": optional_duration("every", every),
            "cron": cron,
            "timeZone": time_zone,
            "startAt": optional_time("start_at", start_at),
            "endAt": optional_time("end_at", end_at),
            "catchUp": catch_up,
            "overlap": overlap,
            "options": options,
        }
        body = {"topic": topic, "payload": payload, **without_none(rule)}
        return Schedule.from_json(self._transport.send(Request("PUT", _path(id), lambda: body)))

    def pause(self, id: str) -> Schedule:
        """It publishes nothing until it is resumed.

        :raises NotFoundError: if there is none
        """
        return Schedule.from_json(self._transport.send(Request("POST", _path(id, "pause"))))

    def resume(self, id: str) -> Schedule:
        """It goes on with its next occurrence.

        :raises NotFoundError: if there is none
        """
        return Schedule.from_json(self._transport.send(Request("POST", _path(id, "resume"))))

    def run(self, id: str) -> PublishedMessage:
        """Publishes a message now, beside its times.

        :raises NotFoundError: if there is none
        """
        return PublishedMessage.from_json(self._transport.send(Request("POST", _path(id, "run"), keyed=True)))

    def remove(self, id: str) -> bool:
        """What it has published stays.

        :returns: whether there was one; False also if the first answer was lost
        """
        try:
            return bool(self._transport.send(Request("DELETE", _path(id)))["removed"])
        except NotFoundError as error:
            if error.code != "SCHEDULE_NOT_FOUND":
                raise
            return False


def _path(*parts: str) -> str:
    return path("schedules", *parts)
