"""What a verdict says: order, reports for repair, determinism, the touch probe, the cache."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_store.sandbox import PRELOADED, Policy, Sandbox
from knowledge_store.sandbox.verdicts import clean, judge
from ocm.types import Verdict
from tests.sandbox.hostile import OBJECTS
from tests.sandbox.hostile.forging import ATTACKS

POLICY = Policy(wall_seconds=10.0, cpu_seconds=1, memory_mb=64)
USE = "from objects import Box\nBox(1)\n"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(POLICY) as sandbox:
        yield sandbox


def one(sandbox: Sandbox, source: str, objects: str = OBJECTS) -> Verdict:
    (verdict,) = sandbox.verify(objects, {"procedures/one.py": source})
    return verdict


def test_one_verdict_each_in_order_of_path(sandbox: Sandbox) -> None:
    files = {f"procedures/{name}.py": USE for name in "cab"}
    verdicts = sandbox.verify(OBJECTS, files)
    assert [verdict.path for verdict in verdicts] == ["procedures/a.py", "procedures/b.py", "procedures/c.py"]
    assert all(verdict.ok and verdict.kind == "ok" and verdict.report == "" for verdict in verdicts)


def test_objects_alone(sandbox: Sandbox) -> None:
    assert sandbox.verify("", {}) == ()
    (verdict,) = sandbox.verify(OBJECTS, {})
    assert (verdict.path, verdict.ok) == ("objects.py", True)


def test_report_shows_the_models_own_frames(sandbox: Sandbox) -> None:
    verdict = one(
        sandbox, "from objects import Box\nimport functools\nfunctools.reduce(Box(1).add.__func__, [])\n"
    )
    assert "functools" in verdict.report
    verdict = one(sandbox, "from objects import Box\nlist(map(Box(1).add, [-5]))\n")
    assert verdict.report == (
        "procedures/one.py, line 2, in <module>\n    list(map(Box(1).add, [-5]))\n"
        'objects.py, line 10, in add\n    raise ValueError(f"negative: {other}")\n'
        "ValueError: negative: -5"
    )


def test_printed_output_comes_along(sandbox: Sandbox) -> None:
    assert one(sandbox, USE + "print('seen', 3)\n1/0").output == "seen 3\n"


def test_a_missing_name_is_told_with_what_there_is(sandbox: Sandbox) -> None:
    assert "objects.py defines no 'Bix'; it defines: Box" in one(sandbox, "from objects import Bix").report


def test_reports_hold_no_address_and_no_path_of_the_machine(sandbox: Sandbox) -> None:
    report = one(sandbox, USE + "from collections import missing").report
    assert "/" not in report.replace("procedures/one.py", "")
    assert "0x..." in one(sandbox, USE + "raise ValueError(object())").report


def test_long_reports_keep_the_message(sandbox: Sandbox) -> None:
    source = "def f(n):\n    return f(n - 1) if n else 1 / 0  # " + "x" * 300 + "\nf(50)\n"
    report = one(sandbox, source).report
    assert len(report) <= POLICY.report_chars
    assert report.endswith("ZeroDivisionError: division by zero")
    assert "more frames" in report


def test_equal_inputs_give_equal_verdicts_in_every_zygote(sandbox: Sandbox) -> None:
    files = {name: attack.source for name, attack in ATTACKS.items()}
    files |= {
        "order.py": USE + "print({c for c in 'some letters'}, {'a': 1}.keys())",
        "random.py": USE + "import random\nprint(random.random(), random.Random().random())\nrandom.seed()\n"
        "print(random.random(), random.sample(range(99), 9))",
    }
    with Sandbox(POLICY) as other:
        runs = [box.verify(OBJECTS, files) for box in (sandbox, sandbox, other)]
    plain = [[replace(verdict, seconds=0.0) for verdict in run] for run in runs]
    assert plain[0] == plain[1] == plain[2]


def test_every_allowed_module_can_be_imported(sandbox: Sandbox) -> None:
    verdict = one(sandbox, USE + "\n".join(f"import {name}" for name in PRELOADED if name[0] != "_"))
    assert verdict.ok, verdict


def test_usual_code_runs(sandbox: Sandbox) -> None:
    objects = """
from __future__ import annotations
import dataclasses, enum, typing, functools, collections
class Kind(enum.Enum):
    LOG = "log"
class Pair(typing.NamedTuple):
    left: int
    right: int = 2
@dataclasses.dataclass(frozen=True, order=True)
class Item:
    kind: Kind
    parts: tuple[Pair, ...] = ()
@functools.lru_cache
def total(item: Item) -> int:
    return sum(pair.left for pair in item.parts)
Point = collections.namedtuple("Point", "x y")
RECIPES = {"planks": Item(Kind.LOG, (Pair(4),))}
"""
    procedure = """
from __future__ import annotations
import dataclasses, copy, json, statistics
from objects import Item, Kind, Pair, Point, RECIPES, total
@dataclasses.dataclass
class Step:
    item: Item
    def run(self) -> int:
        return total(copy.deepcopy(self.item))
def main() -> None:
    assert Step(RECIPES["planks"]).run() == 4
    assert statistics.mean(Point(1, 3)) == 2
    print(json.dumps({"kind": Kind.LOG.value}))
if __name__ == "__main__":
    main()
"""
    verdict = one(sandbox, procedure, objects)
    assert verdict.ok, verdict
    assert verdict.output == '{"kind": "log"}\n'


USES = {
    "call": "Box(1)",
    "attribute": "Box.add",
    "constant": "LIMIT == 3",
    "format": "f'{LIMIT}'",
    "subclass": "class Big(Box): pass",
    "instance": "isinstance(1, Box)",
    "module": "import objects\nobjects.Box(1)",
    "caught": "try:\n    Box(1)\nexcept BaseException:\n    pass",
}


@pytest.mark.parametrize("name", USES)
def test_use_of_objects_is_seen(sandbox: Sandbox, name: str) -> None:
    assert one(sandbox, "from objects import Box, LIMIT\n" + USES[name], OBJECTS + "LIMIT = 3\n").ok


def test_contact_without_sense_passes_the_touch_probe(sandbox: Sandbox) -> None:
    """A known attack on the probe: it asks for contact, not for sense."""
    assert one(sandbox, "from objects import Box\nprint(Box)\n").ok


def test_without_objects_nothing_has_to_be_used(sandbox: Sandbox) -> None:
    assert one(sandbox, "x = 1\n", objects="\n").ok
    with Sandbox(replace(POLICY, require_objects=False)) as lenient:
        assert one(lenient, "x = 1\n").ok


def test_a_file_that_is_too_large_is_not_executed() -> None:
    with Sandbox(replace(POLICY, source_chars=100)) as sandbox:
        verdicts = sandbox.verify(
            "class Box: x = 1", {"a.py": "x" * 101, "b.py": "from objects import Box; Box.x"}
        )
        assert [(verdict.path, verdict.kind) for verdict in verdicts] == [("a.py", "static"), ("b.py", "ok")]
        for objects in ("class Box: x = 1", ""):
            (verdict,) = sandbox.verify(objects, {"a.py": "x" * 101})
            assert (verdict.path, verdict.ok, verdict.kind) == ("a.py", False, "static"), "also when alone"
        (verdict,) = sandbox.verify("x" * 101, {})
    assert (verdict.path, verdict.kind) == ("objects.py", "static")


@pytest.mark.parametrize("path", ["../../etc/passwd", "<b>markup</b>", "a\nb", "\x1b[2J.py", "objects", ""])
def test_a_hostile_path_is_only_a_name(sandbox: Sandbox, path: str) -> None:
    (verdict,) = sandbox.verify(OBJECTS, {path: "1/0"})
    assert verdict.path == path
    assert verdict.report.endswith("ZeroDivisionError: division by zero")
    assert "\x1b" not in verdict.report


@given(st.binary(max_size=200), st.integers(0, 255))
def test_any_bytes_from_a_child_give_a_bounded_verdict(report: bytes, status: int) -> None:
    outcome = {"status": status << 8, "cause": "", "cpu": 0.1, "report": report.decode("latin-1")}
    verdict = judge("a.py", outcome, POLICY)
    assert not verdict.ok
    assert verdict.report == clean(verdict.report, POLICY.report_chars)


WRONG = st.sampled_from([["ok"], {}, None, 1, "great", "ok", True])


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("kind", "report", "output"), WRONG)))
def test_any_json_from_a_child_gives_a_verdict(body: dict[str, object]) -> None:
    outcome = {"status": 0, "cause": "", "cpu": 0.1, "report": json.dumps(body)}
    honest = body.get("kind") == "ok" and {type(body.get(name)) for name in ("report", "output")} == {str}
    assert judge("a.py", outcome, POLICY).ok == honest


@given(st.text(max_size=300))
def test_clean_text_is_stable_and_printable(text: str) -> None:
    cleaned = clean(text, 100)
    assert clean(cleaned, 100) == cleaned
    assert all(letter in "\n\t" or ord(letter) >= 32 for letter in cleaned)


@pytest.mark.parametrize(
    "letter",
    [chr(code) for code in (0x1B, 0x9B, 0x202E, 0x200B, 0x2066, 0xFE0F, 0x3164, 0xAD, 0xE0041, 0xE0101)],
)
def test_what_steers_or_hides_is_made_visible(letter: str) -> None:
    assert clean(f"a{letter}b", 9) == "a\N{REPLACEMENT CHARACTER}b"


@pytest.mark.parametrize(
    ("field", "value"), [("wall_seconds", 0), ("output_bytes", 10**6), ("disabled_layers", ("walls",))]
)
def test_an_impossible_policy_is_refused(field: str, value: object) -> None:
    with pytest.raises(ValueError, match="sandbox policy"):
        Policy(**{field: value})  # type: ignore[arg-type]  # the test gives what a spec might


def test_the_policy_digest_covers_every_field() -> None:
    digests = {
        replace(POLICY, **{name: value}).digest()
        for name, value in [
            ("wall_seconds", 1.0),
            ("cpu_seconds", 9),
            ("memory_mb", 1),
            ("output_bytes", 1),
            ("report_chars", 1),
            ("source_chars", 1),
            ("concurrency", 1),
            ("require_objects", False),
            ("allow_degraded", True),
            ("disabled_layers", ("landlock",)),
        ]
    }
    assert len(digests | {POLICY.digest()}) == 11
