"""The client: recognises from the text what is asked, and answers it."""

from __future__ import annotations

import asyncio
import json
import random

from backbones.scripted.alfworld.player import AlfworldPlayer
from backbones.scripted.dialogue import read_dialogue
from backbones.scripted.manner import written
from backbones.scripted.otherwise import answer
from backbones.scripted.plancraft.player import PlancraftPlayer
from backbones.scripted.player import Player
from backbones.scripted.report import read_report
from backbones.scripted.scienceworld.player import ScienceworldPlayer
from backbones.scripted.updating import update
from ocm.identity import derive_seed, sha256
from ocm.spec import ScriptedBackbone
from ocm.types import Reply, Request, Usage

MODEL = "scripted-rules-1"
CHARS_PER_TOKEN = 4
PLAYERS: tuple[Player, ...] = (PlancraftPlayer(), AlfworldPlayer(), ScienceworldPlayer())
"""The environments that it plays; the first that knows goal and o0 of a prompt answers it."""


class ScriptedBackboneClient:
    """A rule-based stand-in for a chat model (:class:`backbones.protocol.Backbone`). Stateless.

    The same request always gets the same reply. It never fails and costs nothing; token counts are
    estimated as characters / 4.
    """

    def __init__(self, spec: ScriptedBackbone) -> None:
        self.label = spec.name
        self.model = MODEL
        self._spec = spec

    async def complete(self, request: Request) -> Reply:
        """Answer one request after ``spec.latency`` seconds."""
        if self._spec.latency > 0:
            await asyncio.sleep(self._spec.latency)
        text = reply_to(request, self._spec.error_rate)
        prompt = sum(len(message.content) for message in request.messages)
        usage = Usage(prompt=prompt // CHARS_PER_TOKEN, completion=max(1, len(text) // CHARS_PER_TOKEN))
        return Reply(text, "stop", usage, 0.0, self._spec.latency, MODEL, fingerprint=MODEL)

    async def close(self) -> None:
        """Nothing to close."""


def reply_to(request: Request, error_rate: float) -> str:
    """The text of the reply: a pure function of the request."""
    messages = request.messages
    opening = messages[0].content.lstrip() if messages else ""
    if len(messages) > 1:
        if opening.startswith("You act in a text environment"):
            return _act(request) or answer(request)
        if opening.startswith("You reflect on one episode"):
            return _reflect(request) or answer(request)
        if opening.startswith("You update an executable model"):
            return _update(request, error_rate) or answer(request)
    return answer(request)


def _act(request: Request) -> str:
    player = _player(request.messages[1].content)
    if player is None:
        return ""
    return written(
        player.decide(read_dialogue(request.messages), _episode_seed(request)), _generator(request)
    )


def _reflect(request: Request) -> str:
    report = read_report(request.messages)
    player = _player(report.opening)
    return json.dumps(player.plan(report), indent=2) if player else ""


def _update(request: Request, error_rate: float) -> str:
    report = read_report(request.messages)
    player = _player(report.opening)
    if player is None:
        return ""
    chance = random.Random(_update_seed(request))
    return update(player, report, request.messages[2:], error_rate, chance).text()


def _player(opening: str) -> Player | None:
    return next((player for player in PLAYERS if player.plays(opening)), None)


def _episode_seed(request: Request) -> int:
    """The same for all acting calls of an episode; over HTTP its first texts stand for the episode."""
    if request.chain:
        return derive_seed(request.chain, request.episode)
    return derive_seed(*(sha256(message.content) for message in request.messages[:2]))


def _update_seed(request: Request) -> int:
    """The same for an update and its repairs, so that a repair knows what was wrong."""
    return derive_seed("update", _episode_seed(request))


def _generator(request: Request) -> random.Random:
    if request.chain:
        return random.Random(derive_seed(request.chain, request.episode, request.call, request.purpose))
    return random.Random(derive_seed(*(sha256(message.content) for message in request.messages)))
