"""Hypothesis strategies for Python modules made of awkward pieces."""

from __future__ import annotations

from hypothesis import strategies as st

SECRET = "hidden_body"

NAMES = ("Oak", "Plank", "craft", "smelt", "RECIPES", "x", "Ünï", "_")

SHAPES = (
    "class {n}:\n    size: int = 1\n\n    def go(self):\n        hidden_body = 1\n        hidden_body()\n",
    "@data(frozen=True)\n@other\nclass {n}(Base, k=M):\n    '''Doc.\n\nclass No: pass\n    '''\n    y = 2\n",
    "def {n}(a, b=1):\n    # inside\n    hidden_body = 2\n    # trailing in body\n",
    "async def {n}(*, q: int = 3) -> str:\n\thidden_body = 'é'\n\treturn hidden_body\n",
    "@overload\ndef {n}(a: int) -> int: ...\n# the last\ndef {n}(a):\n    return hidden_body\n",
    "{n} = 1\n",
    "{n}: dict[str, int] = {{\n'a': 1,  # one\n}}\n",
    "{n} = '''first\ndef not_a_def(): pass\n# not a comment\n'''  # tail\n",
    "{n} = 3;\n",
    "{n} = lambda: hidden_body\n",
    "{n} = (\n1 +\n2\n)\n",
    "{n} = 1 + \\\n2\n",
)

OTHERS = (
    "if True:\n    {n} = 1\nelse:\n    {n} = 2\n",
    "try:\n    import json as {n}\nexcept ImportError:\n    {n} = None\n",
    "{n}, pair = 1, 2\n",
    "{n} = 1; second = 2  # joined\n",
    "print(1); {n} = 2\n",
    "for {n} in (): pass\n",
    "assert True\n",
    "import os.path\n",
    "from math import (\nsqrt as {n},\n    pi,\n)\n",
    "\\\n{n} = 7\n",
    "\x0cdef {n}(): return hidden_body\n",
)

TRIVIA = (
    "",
    "",
    "\n",
    "\n\n",
    "\n\n\n",
    "# attached\n",
    "\n# loose\n\n",
    "# é ☃ comment\n# two\n",
    "\x0c\n",
    " \t\n",
)


@st.composite
def statements(draw: st.DrawFn, shapes: tuple[str, ...] = SHAPES + OTHERS) -> str:
    return draw(st.sampled_from(shapes)).format(n=draw(st.sampled_from(NAMES)))


@st.composite
def modules(draw: st.DrawFn, shapes: tuple[str, ...] = SHAPES + OTHERS, most: int = 6) -> str:
    """A module that parses, with odd line ends and endings."""
    head = draw(
        st.sampled_from(
            ["", "", '"""Doc."""\n', "#!/usr/bin/env python\n", "from __future__ import annotations\n"]
        )
    )
    body = draw(st.lists(st.tuples(st.sampled_from(TRIVIA), statements(shapes)), max_size=most))
    text = head + "".join(trivia + statement for trivia, statement in body) + draw(st.sampled_from(TRIVIA))
    if draw(st.booleans()):
        text = text.rstrip("\n")
    return text.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n", "\r"])))


def updates() -> st.SearchStrategy[str]:
    """What a model may send: whole definitions, now and then something that is none."""
    return modules(SHAPES + OTHERS, most=4)
