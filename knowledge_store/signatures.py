"""Level 0: what a module offers, by parsing; never bodies.

Classes with fields, members and methods, functions, constants and aliases, each with the first line of
its docstring. Dunder methods other than ``__init__`` are left out unless documented. Each statement's
signature is cached, so after an edit only what changed is worked out again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from knowledge_store.errors import ParseError
from knowledge_store.outline import OBJECTS, Outline, outline
from knowledge_store.scopes import FUNCTIONS, KEPT, Function, flatten, targets

__all__ = ["Signature", "first_line", "of_body", "of_outline", "render", "signatures", "structure"]

MAX_DEFAULT = 40
"""Characters of a default or a value that are shown."""
MAX_ANNOTATION = 100
MAX_NOTE = 120
INDENT = "    "


@dataclass(frozen=True, slots=True)
class Signature:
    """One definition without its body."""

    name: str
    kind: str
    """``class``, ``function`` or ``constant``."""
    line: str
    """Its first line, such as ``def smelt(self) -> str:``."""
    decorators: tuple[str, ...] = ()
    note: str = ""
    """The first line of its docstring."""
    members: tuple[Signature, ...] = ()
    text: str = field(init=False)
    """All of it as lines of Python without bodies, the note as a comment; rendered once."""

    def __post_init__(self) -> None:
        lines = [f"@{decorator}" for decorator in self.decorators]
        lines.append(f"{self.line}  # {self.note}" if self.note else self.line)
        if self.members:
            lines.append(render(self.members, INDENT))
        object.__setattr__(self, "text", "\n".join(lines))


def signatures(objects: str) -> str:
    """The module's signatures as text, one line each; one line of explanation if it does not parse."""
    try:
        found = structure(objects)
    except ParseError as error:
        return f"# {OBJECTS} does not parse (line {error.line}: {error.reason})"
    return render(found)


def structure(objects: str) -> tuple[Signature, ...]:
    """The module's signatures as data.

    Raises:
        ParseError: it does not parse.
    """
    return of_outline(outline(objects))


def of_outline(module: Outline) -> tuple[Signature, ...]:
    """The signatures of a parsed module."""
    return of_body(part.node for unit in module.units for part in unit.parts)


def of_body(body: Iterable[ast.stmt]) -> tuple[Signature, ...]:
    """The signatures of one scope; what blocks define is listed where the block stands, equals once."""
    found = (signature for node in flatten(body) for signature in _of_statement(node))
    return tuple({(signature.name, signature.text): signature for signature in found}.values())


def render(found: Iterable[Signature], indent: str = "") -> str:
    """Signatures as lines of Python without bodies."""
    text = "\n".join(signature.text for signature in found)
    return indent + text.replace("\n", f"\n{indent}") if indent else text


# --- one statement -------------------------------------------------------------------------------


@lru_cache(maxsize=KEPT)
def _of_statement(node: ast.stmt) -> tuple[Signature, ...]:
    """Nodes are equal by identity, and :mod:`outline` gives one node for one text: a sound cache key."""
    if isinstance(node, ast.ClassDef):
        return (_class(node),)
    if isinstance(node, FUNCTIONS):
        return (_function(node),)
    if isinstance(node, ast.Assign):
        names = [name for target in node.targets for name in targets(target)]
        plain = len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        value = f" = {_value(node.value)}" if plain else ""
        return tuple(Signature(name, "constant", f"{name}{value or ' = …'}") for name in names)
    if isinstance(node, ast.AnnAssign):
        return tuple(_annotated(node, name) for name in targets(node.target))
    alias = getattr(node, "name", None)  # ``type X = …``, since Python 3.12
    if isinstance(alias, ast.Name):
        return (Signature(alias.id, "constant", _text(node, MAX_ANNOTATION)),)
    return ()


def _class(node: ast.ClassDef) -> Signature:
    bases = [_text(base, MAX_ANNOTATION) for base in node.bases]
    bases += [
        f"{key.arg}={_value(key.value)}" if key.arg else f"**{_value(key.value)}" for key in node.keywords
    ]
    members = tuple(member for member in of_body(node.body) if _is_shown(member))
    return Signature(
        name=node.name,
        kind="class",
        line=f"class {node.name}({', '.join(bases)}):" if bases else f"class {node.name}:",
        decorators=_decorators(node),
        note=_note(node),
        members=members,
    )


def _is_shown(member: Signature) -> bool:
    dunder = member.kind == "function" and member.name.startswith("__") and member.name.endswith("__")
    return not dunder or member.name == "__init__" or bool(member.note)


def _function(node: Function) -> Signature:
    keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {_text(node.returns, MAX_ANNOTATION)}" if node.returns else ""
    return Signature(
        name=node.name,
        kind="function",
        line=f"{keyword} {node.name}({_arguments(node.args)}){returns}:",
        decorators=_decorators(node),
        note=_note(node),
    )


def _annotated(node: ast.AnnAssign, name: str) -> Signature:
    value = f" = {_value(node.value)}" if node.value else ""
    return Signature(name, "constant", f"{name}: {_text(node.annotation, MAX_ANNOTATION)}{value}")


def _arguments(args: ast.arguments) -> str:
    positional = [*args.posonlyargs, *args.args]
    free = len(positional) - len(args.defaults)
    shown = [
        _argument(arg, args.defaults[index - free] if index >= free else None)
        for index, arg in enumerate(positional)
    ]
    if args.posonlyargs:
        shown.insert(len(args.posonlyargs), "/")
    if args.vararg:
        shown.append("*" + _argument(args.vararg, None))
    elif args.kwonlyargs:
        shown.append("*")
    shown += [_argument(arg, default) for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    if args.kwarg:
        shown.append("**" + _argument(args.kwarg, None))
    return ", ".join(shown)


def _argument(arg: ast.arg, default: ast.expr | None) -> str:
    name = f"{arg.arg}: {_text(arg.annotation, MAX_ANNOTATION)}" if arg.annotation else arg.arg
    if default is None:
        return name
    return f"{name} = {_value(default)}" if arg.annotation else f"{name}={_value(default)}"


def _decorators(node: ast.ClassDef | Function) -> tuple[str, ...]:
    return tuple(_text(decorator, MAX_ANNOTATION) for decorator in node.decorator_list)


def _value(node: ast.expr) -> str:
    """A value if it is short, else its shape. A lambda's body is a body, and never shown."""
    if any(isinstance(inner, ast.Lambda) for inner in ast.walk(node)):
        return _shape(node)
    text = _text(node, MAX_DEFAULT)
    return (_shape(node) if isinstance(node, _SHAPED) else text) if text.endswith("…") else text


def _shape(node: ast.expr) -> str:
    """What kind of value it is, and how large."""
    if isinstance(node, ast.Dict):
        return f"{{… {len(node.keys)} entries}}"
    if isinstance(node, ast.List | ast.Tuple):
        items = f"… {len(node.elts)} items"
        return f"[{items}]" if isinstance(node, ast.List) else f"({items})"
    if isinstance(node, ast.Call):
        named = isinstance(node.func, ast.Name | ast.Attribute)
        return f"{_text(node.func, MAX_DEFAULT)}(…)" if named else "…"
    return "lambda …" if isinstance(node, ast.Lambda) else "…"


_SHAPED = (ast.Dict, ast.List, ast.Tuple, ast.Call)


def _text(node: ast.AST, limit: int) -> str:
    """The node's source on one line, cut at ``limit`` characters."""
    try:
        return _short(ast.unparse(node), limit)
    except RecursionError:  # nested as deep as the parser allows, deeper than the printer can go
        return "…"


def _short(text: str, limit: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _note(node: ast.ClassDef | Function | ast.Module) -> str:
    return first_line(ast.get_docstring(node, clean=False) or "")


def first_line(text: str) -> str:
    """The first line that is not blank, on at most ``MAX_NOTE`` characters."""
    return _short(next((line for line in text.splitlines() if line.strip()), ""), MAX_NOTE)
