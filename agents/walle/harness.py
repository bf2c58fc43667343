"""Rules at work, inside the sandbox only: plain Python that travels there as text.

A rule is ``rule(state, action) -> (feedback, success, suggestion)``, asked about actions of its own verb
only. Every rule has a namespace of its own and gets values of its own, so that none changes what another
sees.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

RECENT = 5
TOLD = 3
"""Rules whose words are handed out."""
WORDS = 600
"""Length of a feedback or a suggestion as JSON."""
PROBLEM = 48


def main(program: Mapping[str, Any], data: Any) -> Any:
    """To ``ask: veto`` the objections to one action, to ``ask: test`` one word for each rule."""
    rules = [(name, verb, _loaded(name, code)) for name, verb, code in data["rules"]]
    if data["ask"] == "veto":
        (episode,) = data["episodes"]
        given = (episode, len(episode["steps"]), data["action"])
        answers = [(name, _answer(rule, verb, *given)) for name, verb, rule in rules]
        objections = [[name, *answer[1:]] for name, answer in answers if answer[0] == "veto"]
        return [[name, _short(feedback), _short(advice)] for name, feedback, advice in objections[:TOLD]]
    return [_tested(rule, verb, data["episodes"]) for _, verb, rule in rules]


def _loaded(name: str, code: str) -> Any:
    """The rule's function, or why there is none."""
    space: dict[str, Any] = {"__name__": name, "print": lambda *values, **options: None}
    try:
        exec(compile(code, name, "exec"), space)  # noqa: S102 -- this module runs in the sandbox only
    except Exception as error:  # noqa: BLE001 -- the code may raise anything
        return _problem(error)
    return space.get("rule", "no function rule")


def _tested(rule: Any, verb: str, episodes: Any) -> str:
    """One bit per transition in hexadecimal, set where the rule objects; or ``!`` and what it raised."""
    bits = "1"
    for episode in episodes:
        for index, (action, _, asked) in enumerate(episode["steps"]):
            if asked:
                word, *rest = _answer(rule, verb, episode, index, action)
                if word == "problem":
                    return f"!{rest[0]}"
                bits += "1" if word == "veto" else "0"
    return f"{int(bits, 2):x}"


def _answer(rule: Callable[..., Any] | str, verb: str, episode: Any, step: int, raw: str) -> tuple[str, ...]:
    """``("pass",)``, ``("veto", feedback, suggestion)`` or ``("problem", what)``."""
    if isinstance(rule, str):
        return ("problem", rule)
    action = _action(raw)
    if action["verb"] != verb:
        return ("pass",)
    try:
        feedback, success, suggestion = _parts(rule(_state(episode, step), action))
        return ("pass",) if success else ("veto", str(feedback or ""), str(suggestion or ""))
    except Exception as error:  # noqa: BLE001 -- the code may raise anything
        return ("problem", _problem(error))


def _parts(said: Any) -> tuple[Any, bool, Any]:
    parts = [said.get(key) for key in ("feedback", "success", "suggestion")] if type(said) is dict else said
    feedback, success, suggestion = parts
    if type(success) is not bool:
        raise TypeError("success is no bool")
    return feedback, success, suggestion


def _state(episode: Any, step: int) -> dict[str, Any]:
    before = [(action, observation) for action, observation, *_ in episode["steps"][:step]]
    return {
        "goal": episode["goal"],
        "obs": before[-1][1] if before else episode["first"],
        "recent": before[-RECENT:],
        "history_actions": [action for action, _ in before],
    }


def _action(raw: str) -> dict[str, Any]:
    words = raw.split()
    verb = words[0].strip(":,.[]()").lower() if words else ""
    return {"raw": raw, "verb": verb, "args": words[1:]}


def _problem(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".encode("ascii", "replace").decode()[:PROBLEM]


def _short(text: str) -> str:
    """On one line, and short as JSON, where a character may take six."""
    line = " ".join(text.split())[:WORDS]
    while len(json.dumps(line)) > WORDS:
        line = line[: len(line) * 3 // 4]
    return line
