"""Dataclasses as objects of JSON. Each field has its name as Python writes it, and what may be left out has a default."""

from __future__ import annotations

import collections.abc
from dataclasses import MISSING, fields
from datetime import datetime, timedelta
from functools import lru_cache
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from ._errors import DelayQueueError, error_of
from ._failures import error_to_json
from ._times import Duration, Time, from_time, to_milliseconds, to_time

Json = Mapping[str, Any]

#: Why a message is not acknowledged: a text, or what was raised, which is kept with its traceback.
Reason = Union[str, BaseException]

A = TypeVar("A", bound="Answer")


class Answer:
    """What the gateway tells."""

    @classmethod
    def from_json(cls: Type[A], told: Json) -> A:
        """:raises KeyError, TypeError, ValueError: if it is not what the gateway tells"""
        properties = _properties_of(_hashable(cls), _reader_of)
        return cls(**{name: read(told[key]) for name, key, _, read in properties if key in told})


class Given:
    """What the gateway is asked for. What is None is left to it."""

    def to_json(self) -> Dict[str, Any]:
        told: Dict[str, Any] = {}
        for name, key, is_required, write in _properties_of(_hashable(type(self)), _writer_of):
            value = getattr(self, name)
            if isinstance(value, BaseException):
                told["error"] = error_to_json(value)
            elif value is not None or is_required:
                told[key] = write(name, value)
        return told


def _hashable(kind: Any) -> Any:
    """mypy takes a class for one of its instances, which may not be hashable."""
    return kind


@lru_cache(maxsize=None)
def _properties_of(
    kind: Type[Any], converter_of: Callable[[Any], Callable[..., Any]]
) -> List[Tuple[str, str, bool, Callable[..., Any]]]:
    """Name, name in JSON, whether it has to be there, and what converts the value."""
    types = get_type_hints(kind)
    return [
        (one.name, _camel_case(one.name), one.default is MISSING, converter_of(_without_none(types[one.name])))
        for one in fields(kind)
        if one.init
    ]


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


def _without_none(kind: Any) -> Any:
    if get_origin(kind) is not Union:
        return kind
    return Union[tuple(one for one in get_args(kind) if one is not type(None))]


def _reader_of(kind: Any) -> Callable[[Any], Any]:
    if kind is datetime:
        return from_time
    if kind is DelayQueueError:
        return lambda told: error_of(told["status"], told)
    if isinstance(kind, type) and issubclass(kind, Answer):
        return kind.from_json
    if get_origin(kind) is collections.abc.Sequence:
        read = _reader_of(get_args(kind)[0])
        return lambda told: [read(one) for one in told]
    return lambda told: told


def _writer_of(kind: Any) -> Callable[[str, Any], Any]:
    if kind == Duration:
        return to_milliseconds
    if kind == Time:
        return to_time
    if kind == Sequence[str]:
        # A text would be taken for a list of its letters. The gateway says what is wrong with other things.
        return lambda _, given: list(given) if isinstance(given, Iterable) and not isinstance(given, str) else given
    if kind == Mapping[str, Any]:
        return lambda _, given: _with_milliseconds(given)
    if isinstance(kind, type) and issubclass(kind, Given):
        return lambda _, given: given.to_json()
    return lambda _, given: given


def _with_milliseconds(options: Any) -> Any:
    """The same, but each ``timedelta`` in it is milliseconds. What is no mapping the gateway refuses."""

    def plain(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [plain(one) for one in value]
        return to_milliseconds("delay", value) if isinstance(value, timedelta) else value

    return {name: plain(value) for name, value in options.items()} if isinstance(options, Mapping) else options


def optional_duration(name: str, value: Optional[Duration]) -> Optional[int]:
    return None if value is None else to_milliseconds(name, value)


def optional_time(name: str, value: Optional[Time]) -> Any:
    return None if value is None else to_time(name, value)


def without_none(options: Mapping[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
