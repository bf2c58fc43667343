"""Code replies as chat models really write them."""

from __future__ import annotations

import time
from contextlib import suppress
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.parsing import CUT_OFF, CodeReply, UnreadableReply, fenced_blocks, parse_code

A = "class A:\n    pass"
P = '"""Teach."""\nfrom objects import A\nassert A()'
X = "procedures/x.py"
COMMENTED = f"# procedures/x.py\n{P}"
INDENTED = A.replace("\n", "\n  ")
DOOMED = f"# DELETE y.py\n{P}"
FEED = "A = 'a\x0cb\u2028c'"


def block(code: str, info: str = "python", ticks: str = "```") -> str:
    return f"{ticks}{info}\n{code}\n{ticks}"


def reply(
    objects: str = "", *, names: tuple[str, ...] = (), files: tuple[str, ...] = (), **more: str
) -> CodeReply:
    return CodeReply(
        objects, {f"procedures/{name}.py": text + "\n" for name, text in more.items()}, names, files
    )


PLACED = {
    "heading": (f"### objects.py\n{block(A)}", reply(A)),
    "heading with back-ticks": (f"### `objects.py`\n\n{block(A)}", reply(A)),
    "bold": (f"**procedures/x.py**\n{block(P)}", reply(x=P)),
    "bold with colon": (f"**`procedures/x.py`:**\n{block(P)}", reply(x=P)),
    "bold with remark": (f"**procedures/x.py** (new):\n{block(P)}", reply(x=P)),
    "numbered": (f"1. `procedures/x.py`\n{block(P)}", reply(x=P)),
    "file label": (f"File: procedures/x.py\n{block(P)}", reply(x=P)),
    "bold file label": (f"**File 2:** `procedures/x.py`\n{block(P)}", reply(x=P)),
    "bare name": (f"### x.py\n{block(P)}", reply(x=P)),
    "dot slash": (f"### ./procedures/x.py\n{block(P)}", reply(x=P)),
    "name with underscore": (f"### procedures/_x.py\n{block(P)}", reply(_x=P)),
    "fence info": (block(P, "procedures/x.py"), reply(x=P)),
    "fence info with language": (block(P, "python procedures/x.py"), reply(x=P)),
    "fence info with colon": (block(P, "python:procedures/x.py"), reply(x=P)),
    "fence info with title": (block(P, 'python title="procedures/x.py"'), reply(x=P)),
    "comment": (block(f"# procedures/x.py\n{P}"), reply(x=f"# procedures/x.py\n{P}")),
    "comment with label": (block(f"# File: procedures/x.py\n{P}"), reply(x=f"# File: procedures/x.py\n{P}")),
    "comment with remark": (
        block(f"# procedures/x.py: teach\n{P}"),
        reply(x=f"# procedures/x.py: teach\n{P}"),
    ),
    "comment against a mention": (
        f"It uses objects.py:\n{block(COMMENTED)}",
        reply(x=COMMENTED),
    ),
    "explanation in between": (f"### objects.py\nI add the class:\n\n{block(A)}", reply(A)),
    "mention": (f"Now the update of `objects.py`:\n{block(A)}", reply(A)),
    "no language": (f"### objects.py\n{block(A, '')}", reply(A)),
    "tildes": (f"### objects.py\n{block(A, 'py', '~~~')}", reply(A)),
    "four ticks": (f"### objects.py\n{block(A, 'python', '````')}", reply(A)),
    "ticks inside four ticks": (
        f"### x.py\n{block(block('x'), 'python', '````')}",
        reply(x=block("x")),
    ),
    "fence around all": (f"````markdown\n### objects.py\n{block(A)}\n````", reply(A)),
    "same fence around all": (
        f"```markdown\n### objects.py\n{block(A)}\nDELETE {X}\n```\n",
        reply(A, files=(X,)),
    ),
    "indented in a list": (f"- objects.py\n  ```python\n  {INDENTED}\n  ```", reply(A)),
    "Windows line ends": (f"### x.py\n{block(P)}\n".replace("\n", "\r\n"), reply(x=P)),
    "form feed in a string": (f"### x.py\n{block(FEED)}", reply(x=FEED)),
    "thinking before": (f"<think>### x.py\n```\nno</think>\n### x.py\n{block(P)}", reply(x=P)),
    "two blocks of objects": (
        f"### objects.py\n{block(A)}\nand\n### objects.py\n{block('B = 1')}",
        reply(f"{A}\n\nB = 1"),
    ),
    "objects and procedure": (f"### objects.py\n{block(A)}\n\n### {X}\n{block(P)}", reply(A, x=P)),
    "a file twice": (f"### x.py\n{block('1')}\nBetter:\n### x.py\n{block(P)}", reply(x=P)),
    "explaining blocks": (
        f"{block('KeyError', 'text')}\n### x.py\n{block(P)}\n{block('{}', 'json')}",
        reply(x=P),
    ),
    "empty block": (f"{block('')}\n### x.py\n{block(P)}", reply(x=P)),
    "no changes": ("NO CHANGES", reply()),
    "no changes, in words": ("All is known already.\n\n**No changes** are needed.", reply()),
    "no changes in a fence": (block("NO CHANGES", ""), reply()),
}

DELETIONS = {
    "file": (f"DELETE {X}", reply(files=(X,))),
    "bare file": ("DELETE x.py", reply(files=(X,))),
    "bullet and back-ticks": (f"- DELETE `{X}`", reply(files=(X,))),
    "bold": (f"**DELETE** {X}", reply(files=(X,))),
    "bold whole": (f"**DELETE {X}**", reply(files=(X,))),
    "colon": (f"DELETE: {X}", reply(files=(X,))),
    "lower case": (f"delete {X}.", reply(files=(X,))),
    "remark": (f"DELETE {X} (superseded)", reply(files=(X,))),
    "comment": (f"Delete {X}  # superseded", reply(files=(X,))),
    "command with prose": (f"DELETE {X} because it is superseded", reply(files=(X,))),
    "several": (
        f"DELETE {X}, `y.py` and procedures/z.py",
        reply(files=(X, "procedures/y.py", "procedures/z.py")),
    ),
    "names": ("DELETE objects.py: A, _b", reply(names=("A", "_b"))),
    "names with back-ticks": ("DELETE `objects.py`: `A`, `B`.", reply(names=("A", "B"))),
    "names with remark": ("DELETE objects.py: A (obsolete)", reply(names=("A",))),
    "in a fence": (block(f"DELETE {X}\nDELETE objects.py: A", ""), reply(names=("A",), files=(X,))),
    "twice": (f"DELETE {X}\nDELETE {X}", reply(files=(X,))),
    "written as well": (f"DELETE {X}\n### {X}\n{block(P)}", reply(x=P)),
    "prose is no command": (f"Delete {X} because it is old?\nNO CHANGES", reply()),
    "prose in mid-line": (f"I would not delete {X}.\nNO CHANGES", reply()),
    "in code": (f"### x.py\n{block(DOOMED)}", reply(x=DOOMED)),
}

UNREADABLE = {
    "empty": ("", "no code block"),
    "refusal": ("I'm sorry, I can't.", "no code block"),
    "code without fences": (f"### objects.py\n{A}", "no code block"),
    "only thinking": (f"<think>### objects.py\n{block(A)}", "no code block"),
    "no path": (block(A), "1 code block.s. have no path"),
    "one of two without path": (f"### x.py\n{block(P)}\n{block(A)}", "1 code block.s. have no path"),
    "two paths mentioned": (f"Update objects.py so that {X} works:\n{block(A)}", "no path"),
    "a patch": (block("- a\n+ b", "diff"), "no path"),
    "unclosed": (f"### x.py\n```python\n{P}\n", "no closing fence"),
    "delete all objects": ("DELETE objects.py", "names nothing"),
    "delete vaguely": ("DELETE objects.py: the old class", "names nothing"),
}


@pytest.mark.parametrize(("text", "code"), (PLACED | DELETIONS).values(), ids=PLACED | DELETIONS)
def test_readable(text: str, code: CodeReply) -> None:
    assert parse_code(text) == code


@pytest.mark.parametrize(("text", "why"), UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable(text: str, why: str) -> None:
    with pytest.raises(UnreadableReply, match=why):
        parse_code(text)


def test_a_cut_off_reply_is_not_used_in_part() -> None:
    with pytest.raises(UnreadableReply, match="cut off"):
        parse_code(f"### objects.py\n{block(A)}\n### x.py\n", CUT_OFF)


@pytest.mark.parametrize(
    "path", ["lib/utils.py", "../x.py", "/etc/x.py", "procedures/../../x.py", "memory/objects.py"]
)
def test_paths_elsewhere_are_kept_for_the_memory_to_refuse(path: str) -> None:
    assert list(parse_code(f"### {path}\n{block(P)}").procedures) == [path]


def test_the_form_that_the_prompt_asks_for() -> None:
    text = dedent("""\
        ### objects.py
        ```python
        A = 1
        ```

        ### procedures/craft.py
        ```python
        from objects import A
        ```

        DELETE procedures/old.py
        DELETE objects.py: B, C
        """)
    assert parse_code(text) == CodeReply(
        "A = 1", {"procedures/craft.py": "from objects import A\n"}, ("B", "C"), ("procedures/old.py",)
    )


CODE = st.text(st.characters(codec="utf-8", exclude_characters="\r`~<")).filter(str.strip)


@given(CODE, CODE)
def test_any_code_comes_back_as_it_was(first: str, second: str) -> None:
    text = f"### procedures/a.py\n{block(first)}\n\n### procedures/b.py\n{block(second)}"
    try:
        code = parse_code(text)
    except UnreadableReply:
        return
    if not any(part.lstrip(" #*->_").lower().startswith(("delete", "no change")) for part in (first, second)):
        assert code.procedures == {"procedures/a.py": first + "\n", "procedures/b.py": second + "\n"}


PIECES = [
    "```",
    "~~~",
    "\n",
    "\r\n",
    "python",
    "objects.py",
    "procedures/a.py",
    "DELETE ",
    ": A",
    "# ",
    "x",
    " ",
]


@given(
    st.text(max_size=60)
    | st.lists(st.sampled_from([*PIECES, "NO CHANGES", "<think>"]), max_size=14).map("".join)
)
def test_any_text_is_read_or_unreadable(text: str) -> None:
    try:
        code = parse_code(text)
    except UnreadableReply as problem:
        assert str(problem)
    else:
        assert "objects.py" not in {*code.procedures, *code.deleted_files}


N = 100_000
HOSTILE = {
    "paths": "### " + "a.py" * (N // 4) + "x\n```\n1\n```",
    "path parts": "### " + "a/" * (N // 2) + "\n```\n1\n```",
    "file labels": "file " * (N // 5) + "\n```\n1\n```",
    "marks": "*" * N + "x.py!\n```\n1\n```",
    "round brackets": "x.py " + "(" * N + "\n```\n1\n```",
    "deletes": "DELETE " * (N // 7),
    "deleted paths": "DELETE " + "a.py, " * (N // 6) + "b",
    "deleted names": "DELETE objects.py: " + "A " * (N // 2),
    "fences": "```a\n" * (N // 5),
    "empty fences": "```\n```\n" * (N // 8),
    "thinking": "<think></think>" * (N // 15),
    "tildes": "~" * N,
    "open fences": "```\nx\n~~~\n" * (N // 10),
    "blank lines": "```\n" + "\n" * N,
    "lines above": ("x\n" * 50 + "```\n1\n```\n") * (N // 110),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_replies_are_read_in_linear_time(text: str) -> None:
    started = time.process_time()
    with suppress(UnreadableReply):
        parse_code(text)
    assert time.process_time() - started < 0.5


def test_fenced_blocks_need_no_path() -> None:
    text = "Here:\n```python\na = 1\n```\nthen\n```text\nlook\n\nwin\n```\n```\n\n```\n"
    assert fenced_blocks(text) == ("a = 1\n", "look\n\nwin\n")


@pytest.mark.parametrize("text", ["", "prose", "```python\na = 1\n", "<think>```\na\n```"])
def test_blocks_that_are_missing_or_open_are_unreadable(text: str) -> None:
    with pytest.raises(UnreadableReply):
        fenced_blocks(text)
    with pytest.raises(UnreadableReply, match="cut off"):
        fenced_blocks("```\na\n```", "length")
