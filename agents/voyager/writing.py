"""A reply's program, taken apart. Nothing is executed here."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from agents.parsing import UnreadableReply, fenced_blocks, strip_thinking
from agents.skills.program import Call
from agents.skills.source import call_in, hygiene
from knowledge_store.errors import ParseError
from knowledge_store.outline import parse

_DEFINITIONS = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)


@dataclass(frozen=True, slots=True)
class Written:
    """A program."""

    code: str
    """All of it."""
    definitions: str
    """All but the call at its end."""
    call: Call

    @property
    def defines_main(self) -> bool:
        """Whether the called function is its own, not a stored one."""
        return any(
            isinstance(node, ast.FunctionDef) and node.name == self.call.name
            for node in parse(self.definitions).body
        )


def read_program(reply: str, finish_reason: str = "stop") -> tuple[str, Written]:
    """The thought of a reply and its first program; what comes after that is dropped.

    Blocks before the one that ends with a call belong to the program, as all blocks do in the original.

    Raises:
        UnreadableReply: there is none that could be executed.
    """
    thought = strip_thinking(reply).partition("```")[0].strip()
    return thought, take_apart(_joined(fenced_blocks(reply, finish_reason)))


def _joined(blocks: Sequence[str]) -> str:
    """The blocks up to the first that ends with a call; the first alone where none does."""
    for number, block in enumerate(blocks, start=1):
        try:
            body = parse(block).body
        except ParseError:
            break
        if _call(body[-1:]):
            return "\n".join(blocks[:number])
    return blocks[0]


def take_apart(code: str) -> Written:
    """Definitions and the call at the end.

    Raises:
        UnreadableReply: it is no Python, breaks the rules for all model-written code, or has no call that
            can be told.
    """
    try:
        body = parse(code).body
    except ParseError as error:
        raise UnreadableReply(f"the program is no Python: {error.reason} (line {error.line})") from error
    at_end = _call(body[-1:])
    call = at_end or _without_values(body)
    if call is None:
        raise UnreadableReply("the program's last line must call its main function with literal values")
    kept = body[:-1] if at_end else body
    if at_end and kept and kept[-1].end_lineno == body[-1].lineno:
        raise UnreadableReply("the call of the main function must stand on a line of its own")
    odd = next((node for node in kept if not isinstance(node, _DEFINITIONS) and not _is_text(node)), None)
    if odd:
        raise UnreadableReply(
            f"line {odd.lineno} stands outside of a function; put it into the main function"
        )
    lines = code.split("\n")
    end = body[-1].lineno - 1 if len(kept) < len(body) else len(lines)
    definitions = "\n".join(lines[:end]).rstrip() + "\n"
    if problem := hygiene(definitions):
        raise UnreadableReply(problem)
    return Written(code, definitions, call)


def _call(statements: Sequence[ast.stmt]) -> Call | None:
    """The call that the last statement makes, also where its value is printed or kept, or in a main guard."""
    match list(statements):
        case [ast.If(test=ast.Compare(left=ast.Name(id="__name__")), body=inner, orelse=[])]:
            return _call(inner)
        case [ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=[ast.Call() as call], keywords=[]))]:
            return call_in([ast.Expr(call)])
        case [ast.Assign(value=ast.Call() as call)]:
            return call_in([ast.Expr(call)])
        case other:
            return call_in(other)


def _without_values(body: list[ast.stmt]) -> Call | None:
    """The call of a last function that needs no values, where the program forgets it."""
    last = body[-1] if body else None
    if not isinstance(last, ast.FunctionDef):
        return None
    needed = len(last.args.posonlyargs) + len(last.args.args) - len(last.args.defaults)
    return None if needed or None in last.args.kw_defaults else Call(last.name)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
