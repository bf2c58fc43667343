"""The world model as files: ``experts/NAME.py``, their weights in ``weights.json``, and ``extractor.py``."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from knowledge_store.errors import ParseError
from knowledge_store.outline import parse
from ocm.types import Files

EXPERTS, WEIGHTS, EXTRACTOR = "experts/", "weights.json", "extractor.py"
CODE_CHARS = 4_000
EXTRACTOR_CHARS = 8_000
VERB_CHARS = 24


class Unfit(ValueError):
    """Code that is not even tried; the message says why."""


@dataclass(frozen=True, slots=True)
class WorldModel:
    """Everything that is known, the transitions apart."""

    experts: Mapping[str, str] = field(default_factory=dict)
    """Name -> code. Model-written."""
    weights: Mapping[str, float] = field(default_factory=dict)
    extractor: str = ""
    """Model-written; empty where there is none."""
    last: int = 0
    """The number of the newest expert ever written."""

    def ranked(self) -> list[str]:
        """Names of the experts, those with most weight first."""
        return sorted(self.experts, key=lambda name: (-self.weights[name], name))


def read(memory: Files) -> WorldModel:
    """The model in a memory."""
    extractor = memory.get(EXTRACTOR, "")
    if WEIGHTS not in memory:
        return WorldModel(extractor=extractor)
    value = json.loads(memory[WEIGHTS])
    experts = {name: memory[f"{EXPERTS}{name}.py"] for name in value["weights"]}
    return WorldModel(experts, value["weights"], extractor, value["last"])


def written(model: WorldModel) -> dict[str, str]:
    """The files of a model; none before anything was learned."""
    files = {f"{EXPERTS}{name}.py": code for name, code in model.experts.items()}
    if model.last:
        weights = {name: model.weights[name] for name in sorted(model.experts)}
        files[WEIGHTS] = json.dumps({"last": model.last, "weights": weights}, indent=1) + "\n"
    return files | ({EXTRACTOR: model.extractor} if model.extractor else {})


def name_of(verb: str, number: int) -> str:
    """An expert's name: no name is the beginning of another."""
    plain = re.sub(r"[^a-z0-9]+", "_", verb.lower())[:VERB_CHARS].strip("_")
    return f"{plain or 'action'}_{number:05}"


def checked(code: str, function: str, arguments: int, most: int) -> str:
    """The code as it is kept.

    Raises:
        Unfit: it does not parse, is too long, or has no such function at its top level.
    """
    if len(code) > most:
        raise Unfit(f"it has {len(code)} characters, and {most} are the most")
    try:
        tree = parse(code, function)
        code.encode()
    except (ParseError, UnicodeEncodeError) as error:
        raise Unfit(str(error)) from error
    if not any(_is_function(node, function, arguments) for node in tree.body):
        raise Unfit(f"there is no function `{function}` with {arguments} argument(s)")
    return code.strip("\n") + "\n"


def _is_function(node: ast.stmt, name: str, arguments: int) -> bool:
    if not isinstance(node, ast.FunctionDef) or node.name != name:
        return False
    return len(node.args.posonlyargs) + len(node.args.args) == arguments


def same(code: str, other: str) -> bool:
    """Whether two codes are equal but for spaces and line ends."""
    return code.split() == other.split()
