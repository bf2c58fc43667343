"""The program at work, inside the sandbox only: plain Python that travels there as text.

A belief is a dict in which ``goal`` is always the task's text. The program gets copies, so that nothing
it does to one prediction reaches another.
"""

import copy
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

TEXT = 500
"""Characters of a prediction or a problem that are handed out."""
EXPLAINED, PARTLY, WRONG, RAISED = "1", "h", "0", "x"


def main(program: Mapping[str, Any], data: Any) -> Any:
    """Answer what ``data["ask"]`` asks: score, explain, roll or search. ``data["seed"]`` is code of ours."""
    seed: dict[str, Any] = {}
    exec(compile(data["seed"], "seed.py", "exec"), seed)  # noqa: S102 -- this runs in the sandbox only
    model = {**seed, **program}
    return _ASKED[data["ask"]](model, data)


# --- the program's words, checked --------------------------------------------------------------


def _start(model: Mapping[str, Any], goal: str, first: str) -> dict[str, Any]:
    return _believe(model, {"goal": goal}, "", first)


def _believe(model: Mapping[str, Any], belief: dict[str, Any], action: str, obs: str) -> dict[str, Any]:
    after = model["update_belief"](copy.deepcopy(belief), action, obs)
    if not isinstance(after, dict):
        raise TypeError("update_belief returned no dict")
    after["goal"] = belief["goal"]
    return after


def _predict(model: Mapping[str, Any], belief: dict[str, Any], action: str) -> dict[str, Any] | None:
    """What the program says; None where it says that it does not know."""
    said = model["predict"](copy.deepcopy(belief), action)
    if said is None:
        return None
    valid, obs = said["valid"], said.get("obs")
    reward, done = said.get("reward", 0.0), said.get("done", False)
    if valid and "goal_reward" in model:
        reward, done = model["goal_reward"](belief["goal"], copy.deepcopy(belief), action, obs)
    if obs is not None and not isinstance(obs, str):
        raise TypeError("obs is neither a text nor None")
    return {"valid": bool(valid), "reward": float(reward), "done": bool(done), "obs": obs}


def _problem(error: Exception) -> str:
    trace, where = error.__traceback__, ""
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_code.co_filename != "harness.py":
            where = f" (line {trace.tb_lineno}, in {frame.f_code.co_name})"
        trace = trace.tb_next
    return f"{type(error).__name__}: {error}{where}"[:TEXT]


# --- agreement with what was seen --------------------------------------------------------------


def _score(model: Mapping[str, Any], data: Any) -> str:
    """One letter for each transition that is asked about, in order."""
    return "".join(letter for letter, _ in _compared(model, data))


def _explain(model: Mapping[str, Any], data: Any) -> str:
    """What the program says about the last transition that is asked about."""
    return _compared(model, data)[-1][1][:TEXT]


def _compared(model: Mapping[str, Any], data: Any) -> list[tuple[str, str]]:
    found = []
    for episode in data["episodes"]:
        belief, broken = None, ""
        try:
            belief = _start(model, episode["goal"], episode["first"])
        except Exception as error:  # noqa: BLE001 -- the code may raise anything
            broken = _problem(error)
        for step in episode["steps"]:
            if step["asked"]:
                found.append((RAISED, broken) if belief is None else _judged(model, belief, step, data["f1"]))
            try:
                belief = belief and _believe(model, belief, step["action"], step["observation"])
            except Exception as error:  # noqa: BLE001 -- the code may raise anything
                belief, broken = None, _problem(error)
    return found


def _judged(model: Mapping[str, Any], belief: dict[str, Any], step: Any, least: float) -> tuple[str, str]:
    try:
        said = _predict(model, belief, step["action"])
    except Exception as error:  # noqa: BLE001 -- the code may raise anything
        return RAISED, _problem(error)
    if said is None:
        return PARTLY, "None"
    agrees = (
        said["valid"] == step["valid"]
        and _sign(said["reward"]) == _sign(step["reward"])
        and step["done"] in (None, said["done"])
        and (said["obs"] is None or _f1(said["obs"], step["observation"]) >= least)
    )
    return EXPLAINED if agrees else WRONG, _told(said)


def _told(said: dict[str, Any]) -> str:
    return "\n".join([*(f"{key}: {said[key]}" for key in ("valid", "reward", "done")), f"obs: {said['obs']}"])


def _sign(reward: float) -> int:
    return (reward > 1e-6) - (reward < -1e-6)


def _f1(one: str, other: str) -> float:
    """Words in common: the harmonic mean of precision and recall."""
    a, b = Counter(re.findall(r"\w+", one)), Counter(re.findall(r"\w+", other))
    if not a or not b:
        return float(a == b)
    return 2 * sum((a & b).values()) / (sum(a.values()) + sum(b.values()))


# --- looking ahead -----------------------------------------------------------------------------


def _roll(model: Mapping[str, Any], data: Any) -> list[list[Any]]:
    """``[return, valid actions, how it ends]`` for each plan, from where the episode stands."""
    belief = _start(model, data["goal"], data["first"])
    for action, obs in data["taken"]:
        belief = _believe(model, belief, action, obs)
    return [_rolled(model, belief, plan) for plan in data["plans"]]


def _rolled(model: Mapping[str, Any], belief: dict[str, Any], plan: list[str]) -> list[Any]:
    total, valid = 0.0, 0
    try:
        for action in plan:
            said = _predict(model, belief, action)
            if said is None:
                return [total, valid, "unknown"]
            if not said["valid"]:
                return [total, valid, "invalid"]
            total, valid = total + said["reward"], valid + 1
            if said["done"]:
                return [total, valid, "done"]
            if said["obs"] is None:
                return [total, valid, "unknown"]
            belief = _believe(model, belief, action, said["obs"])
    except Exception:  # noqa: BLE001 -- the code may raise anything
        return [total, valid, "problem"]
    return [total, valid, "open"]


def _search(model: Mapping[str, Any], data: Any) -> list[str] | None:
    """A plan of seen actions that the program believes to earn a reward; None without one.

    The episode's own actions come first, then a search, breadth first, that does not follow actions to
    an observation that was reached before.
    """
    start = _start(model, data["goal"], data["first"])
    if _rolled(model, start, data["own"])[0] > 1e-6:
        return list(data["own"])
    waiting: list[tuple[list[str], dict[str, Any]]] = [([], start)]
    reached, effort = {data["first"]}, 0
    for plan, belief in waiting:
        for action in data["actions"]:
            effort += 1
            if effort > data["effort"]:
                return None
            try:
                said = _predict(model, belief, action)
                if said is None or not said["valid"]:
                    continue
                if said["reward"] > 1e-6:
                    return [*plan, action]
                obs = said["obs"]
                if said["done"] or obs is None or obs in reached or len(plan) + 1 >= data["depth"]:
                    continue
                reached.add(obs)
                waiting.append(([*plan, action], _believe(model, belief, action, obs)))
            except Exception:  # noqa: BLE001 -- the code may raise anything
                continue
    return None


_ASKED = {"score": _score, "explain": _explain, "roll": _roll, "search": _search}
