"""From facts to Python source: what K_o states of each kind, and the same as files where there is no K_o."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from backbones.scripted.alfworld.core import CORE, class_name
from backbones.scripted.alfworld.facts import Kind

FIND, AT = "procedures/find_{kind}.py", "procedures/at_{kind}.py"
_NAMED = 2


def kind_class(name: str, kind: Kind) -> str:
    """The class of a kind with what was seen of it."""
    base = "Place" if kind.is_place else "Item"
    return (
        f"class {class_name(name)}({base}):\n"
        f'    """{name.capitalize()}: {_about(kind)}."""\n\n{_tables(kind, "    ")}'
    )


def kind_procedure(name: str, kind: Kind) -> str:
    """A procedure that stands alone: what was seen of a kind, where there is no K_o."""
    checks = [f"assert times({place!r}) > 0" for place in kind.seen]
    checks += [f"assert can({verb!r}) == {verb in kind.treats}" for verb in sorted(kind.treats | kind.fails)]
    return (
        f'"""{name.capitalize()}: {_about(kind)}."""\n\nkind = "{name}"\n{_tables(kind)}\n\n'
        'def times(place):\n    """In how many episodes it was seen at a kind of place."""\n'
        f"    return {'seen.get(place, 0)' if kind.seen else '0'}\n\n\n"
        'def can(verb):\n    """Whether a change worked on a thing carried here."""\n'
        f"    return {'verb in treats' if kind.treats else 'False'}\n\n\n" + "\n".join(checks) + "\n"
    )


def no_effect(in_vain: Collection[str]) -> str:
    """The table of what has no effect."""
    return "NO_EFFECT = (\n" + "".join(f'    "{what}",\n' for what in sorted(in_vain)) + ")\n"


def no_effect_procedure(in_vain: Collection[str]) -> str:
    """The same where there is no K_o."""
    checks = "".join(f'assert in_vain("{what}") == True\n' for what in sorted(in_vain))
    return f'"""What has no effect."""\n\n{no_effect(in_vain)}\n\n{CORE["in_vain"]}\n\n{checks}'


def _tables(kind: Kind, indent: str = "") -> str:
    lines = []
    if kind.seen:
        lines.append(f"seen = {json.dumps(dict(_ranked(kind)))}")
    if kind.can_close:
        lines.append("can_close = True")
    lines += [
        f"{name} = {_tuple(verbs)}"
        for name, verbs in (("treats", kind.treats), ("fails", kind.fails))
        if verbs
    ]
    return "".join(f"{indent}{line}\n" for line in lines)


def _tuple(verbs: Collection[str]) -> str:
    listed = ", ".join(json.dumps(verb) for verb in sorted(verbs))
    return f"({listed},)" if len(verbs) == 1 else f"({listed})"


def _ranked(kind: Kind) -> list[tuple[str, int]]:
    return sorted(kind.seen.items(), key=lambda item: (-item[1], item[0]))


def _about(kind: Kind) -> str:
    parts = [f"seen at {_some(place for place, _ in _ranked(kind))}"] if kind.seen else []
    parts += [f"can {', '.join(sorted(kind.treats))}"] if kind.treats else []
    parts += [f"cannot {', '.join(sorted(kind.fails))}"] if kind.fails else []
    parts += ["can be closed"] if kind.can_close else []
    return "; ".join(parts) or "nothing is known"


def _some(names: Iterable[str]) -> str:
    """A few names, and how many more there are."""
    all_ = list(names)
    more = f" and {len(all_) - _NAMED} more" if len(all_) > _NAMED else ""
    return f"{', '.join(all_[:_NAMED])}{more}"
