"""Where the stand-in's random draws come from: the chain, the episode and the call."""

from __future__ import annotations

import random

from ocm.identity import derive_seed, sha256
from ocm.types import Request


def episode_seed(request: Request) -> int:
    """The same for all acting calls of an episode; over HTTP its first texts stand for the episode."""
    if request.chain:
        return derive_seed(request.chain, request.episode)
    return derive_seed(*(sha256(message.content) for message in request.messages[:2]))


def question_seed(name: str, request: Request) -> int:
    """The same for a learning question and all that follows it, so that a repair knows what was wrong."""
    return derive_seed(name, episode_seed(request))


def call_generator(request: Request) -> random.Random:
    """One for each call."""
    if request.chain:
        return random.Random(derive_seed(request.chain, request.episode, request.call, request.purpose))
    return random.Random(derive_seed(*(sha256(message.content) for message in request.messages)))
