"""The paths of the gateway."""

from __future__ import annotations

from typing import Optional
from urllib.parse import quote, urlencode

from ._errors import invalid


def path(*parts: str, **query: Optional[str]) -> str:
    """A path of the API. Whatever is in the names of messages and topics is encoded, slashes too."""
    for part in parts:
        if not isinstance(part, str) or part == "":
            raise invalid(f"Topics and ids must be text that is not empty. Given: {part!r}.")
    given = {name: value for name, value in query.items() if value is not None}
    try:
        encoded = "/".join(quote(part, safe="") for part in parts)
        return f"/v1/{encoded}" + (f"?{urlencode(given, quote_via=quote)}" if given else "")
    except UnicodeEncodeError as cause:
        raise invalid(f"Topics, ids, keys and tags must be text that UTF-8 can write. {cause.object!r} is not.") from cause
