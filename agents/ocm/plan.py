"""The learning plan: what reflection hands to the update (paper, section 3.2)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from agents.parsing import UnreadableReply
from knowledge_store.memory import OBJECTS
from knowledge_store.memory import procedures as kept_procedures
from ocm.types import Files


class PlanItem(BaseModel):
    """One intended change of a definition or a procedure."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    action: Literal["create", "modify", "delete"]
    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    change: str = ""
    why: str = ""


class LearningPlan(BaseModel):
    """What to create, modify or delete among objects and procedures, and what to read first."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    summary: str = ""
    objects: tuple[PlanItem, ...] = ()
    procedures: tuple[PlanItem, ...] = ()
    inspect: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing is to be learned: then there is no update."""
        return not (self.objects or self.procedures)

    def names_to_read(self) -> tuple[str, ...]:
        """Names whose source the update needs: those asked for, and all that are to be changed."""
        changed = [item.name for item in (*self.objects, *self.procedures) if item.action != "create"]
        return tuple(dict.fromkeys([*self.inspect, *changed]))

    def created(self) -> tuple[str, ...]:
        """Names that are to be new."""
        return tuple(item.name for item in (*self.objects, *self.procedures) if item.action == "create")

    def without(self, *, objects: bool = False, procedures: bool = False) -> LearningPlan:
        """The plan less the part that an ablation does not keep."""
        left_out = {name: () for name, leave in (("objects", objects), ("procedures", procedures)) if leave}
        return self.model_copy(update=left_out)

    def to_json(self) -> str:
        return json.dumps(self.model_dump(mode="json"), indent=2, ensure_ascii=False)


PLAN_SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": "learning_plan",
    "properties": {
        "summary": {"type": "string"},
        **{
            part: {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "action": {"type": "string", "enum": ["create", "modify", "delete"]},
                        "name": {"type": "string"},
                        "change": {"type": "string"},
                        "why": {"type": "string"},
                    },
                    "required": ["action", "name", "change", "why"],
                    "additionalProperties": False,
                },
            }
            for part in ("objects", "procedures")
        },
        "inspect": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["summary", "objects", "procedures", "inspect"],
    "additionalProperties": False,
}
"""What servers with structured output are asked for; strict form."""


def read_plan(value: Mapping[str, Any]) -> LearningPlan:
    """A plan from a model's JSON, forgiving in form: any case of actions, one item for a list.

    Raises:
        UnreadableReply: it is not a plan; the message names the first wrong field.
    """
    shaped = {key: entry for key, entry in _opened(value).items() if entry is not None}
    if not LearningPlan.model_fields.keys() & shaped.keys():
        raise UnreadableReply(f"the plan has none of the fields {', '.join(LearningPlan.model_fields)}")
    for part in ("objects", "procedures"):
        shaped[part] = [_item(entry) for entry in _listed(shaped.get(part))]
    shaped["inspect"] = _names(shaped.get("inspect"))
    try:
        return LearningPlan.model_validate(shaped)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise UnreadableReply(f"field `{field}` of the plan: {first['msg']}") from error


def _opened(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """What lies in an envelope such as ``{"learning_plan": {…}}``."""
    entries = list(value.values())
    return entries[0] if len(entries) == 1 and isinstance(entries[0], Mapping) else value


def _names(entry: Any) -> list[str]:
    listed = entry.split(",") if isinstance(entry, str) else _listed(entry)
    return [name for each in listed if (name := str(each).strip())]


def _listed(entry: Any) -> list[Any]:
    if entry is None or entry == "":
        return []
    return list(entry) if isinstance(entry, list | tuple) else [entry]


_ACTIONS = {"add": "create", "new": "create", "update": "modify", "edit": "modify", "remove": "delete"}


def _item(entry: Any) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    action = str(entry.get("action", "create")).strip().lower()
    return {**entry, "action": _ACTIONS.get(action, action)}


def known_files(files: Files, *, objects: bool, procedures: bool) -> dict[str, str]:
    """The part of a memory that is OCM's and that the settings keep."""
    own = {OBJECTS: files[OBJECTS]} if objects and OBJECTS in files else {}
    return {**own, **(kept_procedures(files) if procedures else {})}
