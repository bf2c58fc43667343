"""Reading a sweep spec from a TOML file, and saying what is wrong with it: one line per problem."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from ocm.errors import Problem, SpecError
from ocm.redaction import looks_like_key
from ocm.spec import SweepSpec

_SECRET = re.compile(r"key|token|secret|passw|auth|credential", re.IGNORECASE)
"""Fields whose content is not shown, whatever it looks like."""


def load_spec(path: Path) -> SweepSpec:
    """The spec in a TOML file.

    Raises:
        SpecError: the file cannot be read, is not TOML, or has wrong fields; one problem each.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")  # some editors begin a file with a byte order mark
    except OSError as error:
        raise SpecError(f"{path}: {error.strerror or error}; give the path of a sweep spec") from error
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8") from error
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{path}: not valid TOML: {error}") from error
    except RecursionError as error:
        raise SpecError(f"{path}: brackets nested too deep; a spec needs four levels") from error
    return parse_spec(raw, str(path))


def parse_spec(raw: dict[str, Any], source: str) -> SweepSpec:
    """The spec in a parsed table; ``source`` names it in messages.

    Raises:
        SpecError: one problem per wrong field.
    """
    if keys := [*_keys_in(raw)]:
        raise SpecError(f"{source}: {len(keys)} problem(s)", keys)
    try:
        return SweepSpec.model_validate(raw)
    except ValidationError as error:
        problems = [_problem(dict(entry)) for entry in error.errors(include_url=False)]
        raise SpecError(f"{source}: {len(problems)} problem(s)", problems) from error


def _keys_in(value: Any, loc: tuple[str | int, ...] = ()) -> Iterator[Problem]:
    """A spec is recorded in the lake, in MLflow and in Prefect, so no key may stand in it."""
    inner: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    elif isinstance(value, str) and looks_like_key(value):
        mend = "take it out; put it into an environment variable and name that in api_key_env"
        yield Problem(_field(loc), "what stands here looks like a key", mend)
    for place, one in inner:
        if isinstance(place, str) and looks_like_key(place):
            yield Problem(_field(loc), "a name in here looks like a key", "take it out")
        else:
            yield from _keys_in(one, (*loc, place))


def _problem(entry: dict[str, Any]) -> Problem:
    loc = tuple(part for part in entry["loc"] if part not in ("openai", "scripted"))
    return Problem(_field(loc), _found(entry), _mend(entry, loc))


def _field(loc: Sequence[str | int]) -> str:
    text = ""
    for part in loc:
        name = part if isinstance(part, int) or part.isprintable() else repr(part)
        text += f"[{part}]" if isinstance(part, int) else f".{name}" if text else str(name)
    return text or "spec"


def _found(entry: dict[str, Any]) -> str:
    name = str(entry["loc"][-1]) if entry["loc"] else ""
    counted = "tokens" in name and isinstance(entry["input"], int | float)  # a number of tokens is no secret
    if entry["type"] in ("missing", "value_error") or (_SECRET.search(name) and not counted):
        return ""
    found = repr(entry["input"])
    return found if len(found) <= 60 else f"{found[:57]}…"


def _mend(entry: dict[str, Any], loc: Sequence[str | int]) -> str:
    if entry["type"] == "missing":
        return "this field is needed"
    if entry["type"] == "extra_forbidden":
        known = _fields_at(loc[:-1])
        if loc[-1] in known:
            return "a field of another kind; set kind accordingly, or take it out"
        close = get_close_matches(str(loc[-1]), known, n=1)
        return (
            f"unknown field; did you mean {close[0]}?"
            if close
            else f"unknown field; known: {', '.join(known)}"
        )
    if entry["type"] == "model_type":
        return f"a table is needed, of: {', '.join(_fields_at(loc))}"
    message = str(entry["msg"]).removeprefix("Value error, ")
    return message[0].lower() + message[1:]


def _fields_at(loc: Sequence[str | int]) -> list[str]:
    """Names of the fields that the model at this place has."""
    models: list[type[BaseModel]] = [SweepSpec]
    for part in loc:
        if isinstance(part, str):
            models = [
                nested
                for model in models
                if part in model.model_fields
                for nested in _models_in(model.model_fields[part].annotation)
            ]
    return list(dict.fromkeys(name for model in models for name in model.model_fields))


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in getattr(annotation, "__args__", ()) for model in _models_in(part)]
