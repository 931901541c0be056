"""Rules that publish again and again."""

from __future__ import annotations

from typing import Any, List, Mapping, Optional, Sequence, Tuple

from ._errors import ListSchedulesError, NotFoundError
from ._json import json_of
from ._messages import (
    CatchUp,
    FailedSchedules,
    Json,
    Overlap,
    PublishedMessage,
    Schedule,
    optional_duration,
    optional_time,
    options_to_json,
    without_none,
)
from ._paths import path
from ._times import Duration, Time
from ._transport import Request, Transport


class Schedules:
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
        catch_up: Optional[CatchUp] = None,
        overlap: Optional[Overlap] = None,
        key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
        tags: Optional[Sequence[str]] = None,
        attempts: Optional[int] = None,
        backoff: Optional[Mapping[str, Any]] = None,
        timeout: Optional[Duration] = None,
        expire_after: Optional[Duration] = None,
    ) -> Schedule:
        """Stores it, in place of an earlier one of this id. :class:`Message` says what the options of its messages mean.

        :param every: from one occurrence to the next; or else ``cron``, with ``time_zone``
        :param catch_up: which occurrences of an outage are published: ``'none'``, ``'latest'`` or ``'all'``
        :param overlap: ``'allow'`` or ``'skip'``: not while an earlier one waits, runs or retries
        """
        rule = {
            "every": optional_duration("every", every),
            "cron": cron,
            "timeZone": time_zone,
            "startAt": optional_time("start_at", start_at),
            "endAt": optional_time("end_at", end_at),
            "catchUp": catch_up,
            "overlap": overlap,
        }
        options = options_to_json(
            key=key,
            headers=headers,
            tags=tags,
            attempts=attempts,
            backoff=backoff,
            timeout=timeout,
            expire_after=expire_after,
        )
        body = json_of("The schedule", {"topic": topic, "payload": payload, **without_none(rule), "options": options})
        return self._transport.send(Request("PUT", path("schedules", id), body), Schedule.from_json)

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
