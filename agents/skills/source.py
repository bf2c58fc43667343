"""Model-written functions as text: taken apart, looked at and rendered, never executed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agents.skills.program import Call
from knowledge_store.errors import ParseError
from knowledge_store.lint import Limits
from knowledge_store.lint import procedure as lint
from knowledge_store.outline import parse

RESERVED = frozenset({"act", "last_observation", "inspect", "main"})
"""Names that a function to be kept may not have."""
INTEGER_BITS = 1_024
"""Of an argument. Python refuses to write a number of thousands of digits, as hexadecimal can name one."""
_CALL = re.compile(r"[A-Za-z_]\w*[ \t]*\(.*\)", re.DOTALL)
_LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class NoCall(ValueError):
    """Looks like a call, and is none that can be carried out; the message says why."""


@dataclass(frozen=True, slots=True)
class Function:
    """A top-level function, as it stands alone."""

    name: str
    source: str
    """With the imports of the code it stood in."""
    node: ast.FunctionDef

    @property
    def signature(self) -> str:
        """``name(a, b=1)``."""
        return f"{self.name}({ast.unparse(self.node.args)})"

    @property
    def docstring(self) -> str:
        return ast.get_docstring(self.node) or ""

    @property
    def body(self) -> list[ast.stmt]:
        """The statements behind the docstring."""
        return self.node.body[1:] if self.docstring else self.node.body

    @property
    def lines(self) -> int:
        """Lines of the body, the docstring apart."""
        if not self.body:
            return 0
        return (self.body[-1].end_lineno or 0) - self.body[0].lineno + 1

    @property
    def acts(self) -> int:
        """How often it acts at least, going by its text: a loop counts twice."""
        return sum(map(_acts, self.body))


def functions(code: str) -> list[Function]:
    """The top-level functions of a block of code, each with the block's imports.

    Raises:
        ParseError: it is no Python.
    """
    tree = parse(code)
    imports = [ast.unparse(one) for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
    head = "".join(f"{line}\n" for line in imports) + ("\n\n" if imports else "")
    return [
        Function(one.name, f"{head}{_segment(code, one)}\n", one)
        for one in tree.body
        if isinstance(one, ast.FunctionDef)
    ]


def one_function(source: str, name: str) -> Function:
    """The function of this name in a kept file; the file was looked at before it was kept."""
    return next(one for one in functions(source) if one.name == name)


def has_function(code: str) -> bool:
    """Whether a block looks like Python with a function, readable or not."""
    return re.search(r"^(?:async )?def ", code, re.MULTILINE) is not None


def hygiene(source: str) -> str:
    """The first thing that code breaks of the rules for all model-written code; empty where none."""
    for finding in lint(source, Limits()).findings:
        return f"line {finding.line}: {finding.found}; {finding.mend}"
    taken = sorted({"act", "last_observation"} & _bound(parse(source)))
    return f"it defines {taken[0]} itself" if taken else ""


def read_call(text: str) -> Call | None:
    """The call that a text is; None where it does not look like one.

    Raises:
        NoCall: it looks like one, but is not a name with literal arguments.
    """
    if not _CALL.fullmatch(text.strip()):
        return None
    try:
        tree = parse(text.strip())
    except ParseError:
        raise NoCall("it looks like a call, but is no Python") from None
    call = call_in(tree.body)
    if call is None:
        raise NoCall("a call is a name with literal values, such as name('text', 2)")
    return call


def call_in(statements: Sequence[ast.stmt]) -> Call | None:
    """The call that is all of these statements: of a plain name, with literal arguments."""
    if len(statements) != 1 or not isinstance(statements[0], ast.Expr):
        return None
    node = statements[0].value
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    if any(keyword.arg is None for keyword in node.keywords):
        return None
    try:
        arguments = tuple(_json(argument) for argument in node.args)
        named = {str(keyword.arg): _json(keyword.value) for keyword in node.keywords}
    except (ValueError, TypeError, RecursionError):
        return None
    return Call(node.func.id, arguments, named)


def called_names(source: str) -> set[str]:
    """All names that the code calls."""
    return {
        node.func.id
        for node in ast.walk(parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }


def _json(node: ast.expr) -> object:
    """A literal that JSON can carry to the sandbox.

    Raises:
        ValueError: it is none.
    """
    value = ast.literal_eval(node)
    if not _is_json(value):
        raise ValueError("not a JSON value")
    return value


def _is_json(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(entry) for key, entry in value.items())
    if isinstance(value, int):
        return value.bit_length() <= INTEGER_BITS
    return value is None or isinstance(value, str | float)


def _segment(code: str, node: ast.FunctionDef) -> str:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return "\n".join(code.split("\n")[first - 1 : node.end_lineno])


def _acts(node: ast.AST) -> int:
    own = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "act"
    inner = sum(map(_acts, ast.iter_child_nodes(node))) + own
    return 2 * inner if isinstance(node, _LOOPS) else inner


def _bound(tree: ast.AST) -> set[str]:
    return set(_binding(tree))


def _binding(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield node.asname or node.name
