"""Putting an update's units into a module's text, as replacements of stretches of it."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from knowledge_store.outline import NEWLINE, Outline, Unit
from knowledge_store.placement import Plan, plan
from knowledge_store.removal import stretch, without

__all__ = ["Edit", "begin"]


@dataclass
class Edit:
    """Collects replacements of stretches of ``base``, then writes the new text once."""

    base: Outline
    update: Outline
    last: Mapping[str, Unit]
    """For each name of the update the unit whose binding of it counts."""
    added: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.effective = self.base.effective()
        self.newline = _newline(self.base.source, self.update.source)
        self.edits: list[tuple[int, int, str]] = []
        self.gone: set[Unit] = set()
        self.plan = Plan({}, {}, ())

    def put(self, units: Sequence[Unit]) -> None:
        """Put all units of an update; once per edit."""
        definitions = [unit for unit in units if unit.kind != "import"]
        self.plan = plan(self.base, definitions, self._holder)
        for unit in units:
            self.replaced += [name for name in unit.names if name in self.effective and unit.kind != "import"]
            if unit.kind == "import":
                self._put_import(unit)
            elif self._holder(unit) is not None:
                self._replace(unit)
        new = [name for unit in definitions for name in unit.names if name not in self.effective]
        self.added += new

    def _holder(self, unit: Unit) -> Unit | None:
        """The last unit that binds one of the names."""
        holders = [self.effective[name] for name in unit.names if name in self.effective]
        return max(holders, key=lambda holder: holder.start, default=None)

    def _replace(self, unit: Unit) -> None:
        holder, text = self._holder(unit), self._own(self.update.text(unit))
        assert holder is not None
        gap = self.newline * 3
        early = "".join(self._own(self.update.text(other)) + gap for other in self.plan.before[unit])
        takes_place = holder.names == unit.names and (holder.kind != "block" or unit.kind == "block")
        start = holder.start if unit.start < unit.core else holder.core
        if takes_place:
            self.gone.add(holder)
        if below := self.plan.moved.get(unit):
            comment = self.base.source[holder.start : start] if takes_place else ""
            self.edits.append((below.end, below.end, gap + early + comment + text))
            if takes_place:
                self.edits.append((*stretch(self.base.source, holder), ""))
        elif takes_place:
            self.edits += [(holder.start, holder.start, early), (start, holder.end, text)]
        else:
            self.edits.append((holder.end, holder.end, self.newline + early + text))

    def _put_import(self, unit: Unit) -> None:
        missing = [
            alias
            for alias in _import_node(unit).names
            if self.last[alias.asname or alias.name] is unit and not self._has_import(unit, alias)
        ]
        new = [alias for alias in missing if (alias.asname or alias.name) not in self.effective]
        if new:
            self.added += [alias.asname or alias.name for alias in new]
            self._add_import(unit, self._own(self._import_text(unit, new)))
        for alias in missing:
            if alias not in new:
                self._rebind_import(unit, alias)

    def _has_import(self, unit: Unit, alias: ast.alias) -> bool:
        holder = self.effective.get(alias.asname or alias.name)
        wanted = _import_key(_import_node(unit), alias)
        return holder is not None and any(
            _import_key(node, other) == wanted
            for part in holder.parts
            for node in ast.walk(part.node)
            if holder.kind in ("import", "block") and isinstance(node, ast.Import | ast.ImportFrom)
            for other in node.names
        )

    def _import_text(self, unit: Unit, aliases: list[ast.alias]) -> str:
        node = _import_node(unit)
        if len(aliases) == len(node.names):
            return self.update.source[unit.core : unit.end]
        if isinstance(node, ast.Import):
            return ast.unparse(ast.Import(aliases))
        return ast.unparse(ast.ImportFrom(node.module, aliases, node.level))

    def _add_import(self, unit: Unit, text: str) -> None:
        node = _import_node(unit)
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        above = _header(self.base, future)
        if above is None:
            place = self.base.units[0].start
            gap = self.newline if self.base.units[0].kind == "import" else self.newline * 3
            self.edits.append((place, place, text + gap))
        else:
            gap = self.newline if above.kind == "import" else self.newline * 2
            self.edits.append((above.end, above.end, gap + text))

    def _rebind_import(self, unit: Unit, alias: ast.alias) -> None:
        name = alias.asname or alias.name
        holder = self.effective[name]
        text = self._import_text(unit, [alias])
        self.replaced.append(name)
        if holder.names == (name,) and holder.kind != "block":
            self.gone.add(holder)
            self.edits.append((holder.core, holder.end, text))
        else:
            self.edits.append((holder.end, holder.end, self.newline + text))

    def _own(self, text: str) -> str:
        return NEWLINE.sub(self.newline, text)

    def text(self) -> str:
        pieces, position = [], 0
        for start, end, text in sorted(self.edits, key=lambda edit: edit[:2]):
            pieces += [self.base.source[position:start], text]
            position = end
        pieces.append(self.base.source[position:])
        return "".join(pieces) + self._tail()

    def _tail(self) -> str:
        """The new definitions at the end, as close to each other as the update has them."""
        pieces = [] if self.base.source.endswith(("\n", "\r")) or not self.plan.end else [self.newline]
        previous: Unit | None = None
        for unit in self.plan.end:
            pieces += [
                self.newline * self._blank_lines(previous, unit),
                self._own(self.update.text(unit)),
                self.newline,
            ]
            previous = unit
        return "".join(pieces)

    def _blank_lines(self, previous: Unit | None, unit: Unit) -> int:
        if previous is None or unit.start < previous.end:
            return 2
        gap = self.update.source[previous.end : unit.start]
        return 2 if gap.strip() else min(2, len(NEWLINE.findall(gap)) - 1)


def _import_node(unit: Unit) -> ast.Import | ast.ImportFrom:
    node = unit.parts[0].node
    assert isinstance(node, ast.Import | ast.ImportFrom)
    return node


def _import_key(
    node: ast.Import | ast.ImportFrom, alias: ast.alias
) -> tuple[str | None, int, str, str | None]:
    if isinstance(node, ast.ImportFrom):
        return node.module or "", node.level, alias.name, alias.asname
    return None, 0, alias.name, alias.asname


def _header(base: Outline, future: bool) -> Unit | None:
    """The unit after which a new import goes: the last of the first imports, or the docstring."""
    above: Unit | None = None
    for unit in base.units:
        node = unit.parts[0].node
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if unit.kind != "docstring" and not (unit.kind == "import" and (is_future or not future)):
            break
        above = unit
    return above


def _newline(*texts: str) -> str:
    """The first line end in the first text that has one."""
    found = [match.group() for text in texts if (match := NEWLINE.search(text))]
    return found[0] if found else "\n"


def begin(base: Outline, update: Outline, wanted: list[Unit]) -> str:
    """The text when ``objects.py`` has no statement yet: the update without what is ignored."""
    if not wanted:
        return base.source
    taken = set(wanted)
    dropped = [unit for unit in update.units if unit not in taken and unit.kind != "docstring"]
    newline = _newline(base.source, update.source)
    body = NEWLINE.sub(newline, without(update, dropped)).strip("\r\n")
    if not base.source:
        return body + newline
    ended = "" if base.source.endswith(("\n", "\r")) else newline
    return base.source + ended + newline * 2 + body + newline
