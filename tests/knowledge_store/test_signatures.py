"""Signatures: everything that is offered, nothing of the bodies."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from knowledge_store.inspection import names, resolve
from knowledge_store.signatures import Signature, signatures, structure
from tests.knowledge_store.sources import SECRET, modules

SOURCE = '''
"""Doc."""
import math
from enum import Enum

class Color(Enum):
    """Colors.

    More.
    """
    RED = 1

@dataclass(frozen=True)
class OakLog(Item, metaclass=M):
    count: int = 1
    names: list[str] = field(default_factory=lambda: [hidden_body])
    class Inner:
        z: int
    def __init__(self): hidden_body()
    def __repr__(self): return hidden_body
    def __len__(self):
        """How many."""
    @property
    def big(self) -> bool:
        """If big."""
        return hidden_body
    def smelt(self, a, /, b: int = 2, *args, c="x", **kw) -> str: ...
    @staticmethod
    async def go(*, q): ...
@overload
def f(a: int) -> int: ...
@overload
def f(a: str) -> str: ...
def f(a): return hidden_body
RECIPES: dict[str, int] = {"aaaaaaaaaaaaaaaaaaaaa": 1, "bbbbbbbbbbbbbbbbbbbbbbbbb": 2}
TABLE = ["aaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]
Alias = list[int]
key = lambda x: hidden_body
if math:
    def late(x): ...
else:
    late = None
a, b = 1, 2
'''

EXPECTED = """\
class Color(Enum):  # Colors.
    RED = 1
@dataclass(frozen=True)
class OakLog(Item, metaclass=M):
    count: int = 1
    names: list[str] = field(…)
    class Inner:
        z: int
    def __init__(self):
    def __len__(self):  # How many.
    @property
    def big(self) -> bool:  # If big.
    def smelt(self, a, /, b: int = 2, *args, c='x', **kw) -> str:
    @staticmethod
    async def go(*, q):
@overload
def f(a: int) -> int:
@overload
def f(a: str) -> str:
def f(a):
RECIPES: dict[str, int] = {… 2 entries}
TABLE = [… 2 items]
Alias = list[int]
key = lambda …
def late(x):
late = None
a = …
b = …"""


def test_rendered() -> None:
    assert signatures(SOURCE) == EXPECTED


@given(modules())
def test_bodies_never_show(source: str) -> None:
    assert SECRET not in signatures(source)


@given(modules())
def test_each_listed_name_can_be_inspected(source: str) -> None:
    listed = _listed(structure(source))
    files = {"objects.py": source}
    resolved = resolve(files, listed, max_chars=10**6)
    assert resolved.missing == ()
    assert set(resolved.found) == set(listed)
    assert set(listed) <= set(names(files))


def _listed(found: tuple[Signature, ...], prefix: str = "") -> list[str]:
    return [
        name
        for signature in found
        for name in (prefix + signature.name, *_listed(signature.members, f"{prefix}{signature.name}."))
    ]


def test_the_example_lists_what_can_be_inspected() -> None:
    resolved = resolve({"objects.py": SOURCE}, _listed(structure(SOURCE)), max_chars=10**6)
    assert resolved.missing == () and "OakLog.Inner.z" in resolved.found


@given(st.text())
def test_arbitrary_text_never_raises(source: str) -> None:
    assert isinstance(signatures(source), str)


def test_source_that_does_not_parse_is_one_line() -> None:
    assert signatures("x = 1\ny = (") == "# objects.py does not parse (line 2: '(' was never closed)"


def test_one_line_each_whatever_is_in_a_string() -> None:
    source = 'def f(a="x\\ny", b=f"{x!r}\\n\\u2028"):\n    """One.\u2028Two."""\n'
    assert len(signatures(source).splitlines()) == 1


def test_deep_expressions_do_not_raise() -> None:
    assert "x = …" in signatures("x = " + "+".join("a" for _ in range(900)))
