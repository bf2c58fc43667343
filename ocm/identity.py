"""Identity: content hashes, chain ids and derived seeds. Pure functions.

Every random draw of the project comes from a generator seeded by :func:`derive_seed`, so the same
spec, seed and model replies give byte-identical trajectories and memories.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import asdict
from typing import Any

from ocm.types import ChainKey, Files, Request

CHAIN_HASH_LENGTH = 10


def sha256(text: str) -> str:
    """Hex SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spare blanks: equal values give equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def memory_hash(files: Files) -> str:
    """SHA-256 over the sorted (path, content hash) pairs of a set of texts; order does not matter."""
    return sha256(canonical_json(sorted((path, sha256(text)) for path, text in files.items())))


def request_hash(request: Request) -> str:
    """SHA-256 of everything that a backbone is asked; its chain is left out, as in the lake."""
    messages = [[message.role, message.content] for message in request.messages]
    place = [request.purpose, request.episode, request.call, request.temperature]
    return sha256(canonical_json([place, request.schema, messages]))


def chain_id(key: ChainKey) -> str:
    """A readable id whose last part is a hash of the whole key.

    Example: ``ocm-plancraft-scripted-s0-3fa94c01be``.
    """
    digest = sha256(canonical_json(asdict(key)))[:CHAIN_HASH_LENGTH]
    return f"{key.method}-{key.environment}-{key.backbone}-s{key.seed}-{digest}"


def derive_seed(*parts: str | int) -> int:
    """A 63-bit seed that depends on every part, such as chain id, episode and purpose."""
    return int(sha256(canonical_json(list(parts)))[:16], 16) >> 1


def generator(*parts: str | int) -> random.Random:
    """A generator of its own for one purpose; see :func:`derive_seed`."""
    return random.Random(derive_seed(*parts))
