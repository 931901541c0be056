from __future__ import annotations

from typing import Optional
from urllib.parse import quote, urlencode


def path(*parts: str, **query: Optional[str]) -> str:
    """A path of the API. Whatever is in the names of messages and topics is encoded, slashes too."""
    given = {name: value for name, value in query.items() if value is not None}
    encoded = "/".join(quote(part, safe="") for part in parts)
    return f"/v1/{encoded}" + (f"?{urlencode(given, quote_via=quote)}" if given else "")
