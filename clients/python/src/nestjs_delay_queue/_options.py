"""The methods that have an argument for each option of a message or a schedule."""

# Code generated from the gateway's openapi.json by scripts/setup/client-types.mjs (`npm run build`). DO NOT EDIT.

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Mapping, Optional, Sequence

from ._times import Duration, Time
from ._wire import CatchUp, Message, NewSchedule, OnDuplicate, Overlap, PublishedMessage, Schedule, ScheduledMessage


class PublishMethod(ABC):
    def publish(
        self,
        topic: str,
        payload: Any,
        *,
        id: Optional[str] = None,
        key: Optional[str] = None,
        delay: Optional[Duration] = None,
        deliver_at: Optional[Time] = None,
        attempts: Optional[int] = None,
        backoff: Optional[Mapping[str, Any]] = None,
        timeout: Optional[Duration] = None,
        expire_after: Optional[Duration] = None,
        headers: Optional[Mapping[str, str]] = None,
        tags: Optional[Sequence[str]] = None,
        on_duplicate: Optional[OnDuplicate] = None,
        max_wait: Optional[Duration] = None,
        replicas: Optional[Mapping[str, Any]] = None,
    ) -> PublishedMessage:
        """Publishes one message. :class:`Message` says what the options mean.

        :raises DuplicateMessageError: if the id exists, unless ``on_duplicate`` says otherwise
        :raises PayloadTooLargeError, InvalidArgumentError, ForbiddenError, NotFoundError, UnavailableError:
        """
        message = Message(
            payload,
            id=id,
            key=key,
            delay=delay,
            deliver_at=deliver_at,
            attempts=attempts,
            backoff=backoff,
            timeout=timeout,
            expire_after=expire_after,
            headers=headers,
            tags=tags,
            on_duplicate=on_duplicate,
            max_wait=max_wait,
            replicas=replicas,
        )
        return self._publish(topic, message)

    @abstractmethod
    def _publish(self, topic: str, message: Message) -> PublishedMessage: ...


class PutMethod(ABC):
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
        attempts: Optional[int] = None,
        backoff: Optional[Mapping[str, Any]] = None,
        timeout: Optional[Duration] = None,
        expire_after: Optional[Duration] = None,
        headers: Optional[Mapping[str, str]] = None,
        tags: Optional[Sequence[str]] = None,
    ) -> Schedule:
        """Stores it, in place of an earlier one of this id. :class:`Message` says what the options of its messages mean.

        :param every: Interval between two occurrences, at least 100 ms; or else there is a cron expression.
        :param cron: A cron expression of five fields, or of six, the first of which are the seconds.
        :param time_zone: The time zone of the expression, such as 'Europe/Berlin'; UTC if it is left out.
        :param start_at: No occurrence comes before this time; with an interval, it is the first one.
        :param end_at: No occurrence comes after this time.
        :param catch_up: Which occurrences are published after an outage; 'latest' if it is left out.
        :param overlap: Whether an occurrence is published while an earlier one waits, runs or retries ('allow'), or
            counts as missed ('skip'); 'allow' if it is left out.
        """
        options = ScheduledMessage(
            key=key,
            attempts=attempts,
            backoff=backoff,
            timeout=timeout,
            expire_after=expire_after,
            headers=headers,
            tags=tags,
        )
        schedule = NewSchedule(
            topic,
            payload,
            every=every,
            cron=cron,
            time_zone=time_zone,
            start_at=start_at,
            end_at=end_at,
            catch_up=catch_up,
            overlap=overlap,
            options=options,
        )
        return self._put(id, schedule)

    @abstractmethod
    def _put(self, id: str, schedule: NewSchedule) -> Schedule: ...
