"""PoE-World: proposals, an extractor, and experts on what an action did.

Elsewhere than in PlanCraft every line is an object, and an expert tells of the very action only.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

from backbones.scripted.dialogue import read_dialogue
from backbones.scripted.methods.answer import Answer, opens
from backbones.scripted.plancraft import playing
from backbones.scripted.plancraft.foreseeing import EXTRACTOR, experts
from backbones.scripted.plancraft.reading import Event, state_in, target_in
from backbones.scripted.players import player_of
from backbones.scripted.seeds import call_generator, episode_seed
from ocm.types import Request

_MOST = re.compile(r"propose up to (\d+) different actions")
_SECTION = re.compile(r"^# (\w[\w ]*)\n", re.MULTILINE)
_LINES = '''def extract(observation):
    """Every line is an object, and its first word is the type."""
    lines = [line.strip() for line in observation.splitlines() if line.strip()]
    return {line: {"type": line.split()[0]} for line in lines}
'''


def _is_proposing(request: Request) -> bool:
    return _MOST.search(request.messages[0].content) is not None


def _propose(request: Request, error_rate: float) -> str:
    """What it would do, and what it would do instead if that were refused."""
    most = _MOST.search(request.messages[0].content)
    dialogue, seed = read_dialogue(request.messages), episode_seed(request)
    scene, player = playing.read_scene(dialogue), player_of(request.messages[1].content)
    if most is None or player is None:
        return ""
    if scene is None:
        move = player.decide(dialogue, seed)
        return json.dumps({"thought": move.thought, "actions": [move.text]})
    first = move = playing.decide(scene, seed)
    actions = [first.text]
    while len(actions) < int(most[1]):
        scene = replace(scene, refused=scene.refused | {move.text})
        move = playing.decide(scene, seed)
        if move.text in actions or move.text.startswith("impossible"):
            break
        actions.append(move.text)
    return json.dumps({"thought": first.thought, "actions": actions})


def _extract(request: Request, error_rate: float) -> str:
    observations = request.messages[1].content
    is_plancraft = bool(target_in(observations)) and state_in(observations) is not None
    return _block(EXTRACTOR if is_plancraft else _LINES)


def _explain(request: Request, error_rate: float) -> str:
    """Experts, the narrowest first."""
    parts = _SECTION.split(request.messages[1].content)
    section = {name: text.strip("\n") for name, text in zip(parts[1::2], parts[2::2], strict=True)}
    before = state_in(section["Before"])
    after = before if section["After"] == "(as before)" else state_in(section["After"])
    is_careless = call_generator(request).random() < error_rate
    found = experts(Event(section["Action"], before, after), target_in(section["Task"]), is_careless)
    blocks = found or [_of_this_action(section["Action"], section["What came of it"])]
    return "\n\n".join(["This is what the action did.", *map(_block, blocks)])


def _of_this_action(action: str, outcome: str) -> str:
    claims = []
    if "did not carry it out" in outcome:
        claims.append(("goal", "success", [False]))
    if "the reward rose" in outcome:
        claims.append(("goal", "reward", [True]))
    return f"def expert(objs, action):\n    return {claims} if action == {action!r} else None\n"


def _block(code: str) -> str:
    return f"```python\n{code}```"


ANSWERS = (
    Answer(_is_proposing, _propose),
    Answer(opens("You write the eyes of a world model"), _extract),
    Answer(opens("You write small experts for a world model"), _explain),
)
