"""The key by which a server knows a repeated request."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ocm.types import Request


def idempotency_key(request: Request, body: Mapping[str, Any], unusable: int) -> str:
    """A key, 64 hex digits, for all tries of one call, also those of a process that was killed before its
    reply was recorded: a server or gateway that honours it answers again without a second charge.

    ``unusable``: replies that came whole and could not be read. Asked for again, they would only be repeated.
    """
    place = [request.chain, request.episode, request.call, unusable]
    return hashlib.sha256(json.dumps([place, body], sort_keys=True).encode()).hexdigest()
