"""Wrong specs: one clear line per problem, with field, value and mend."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.registry import METHODS, full_settings
from flows.spec_file import load_spec, parse_spec
from ocm.errors import SpecError
from ocm.spec import OpenAIBackbone, ScriptedBackbone

GOOD = {"name": "s", "methods": ["ocm"], "environments": ["plancraft"], "backbones": ["scripted"]}

TEXT = 'name = "s"\nmethods = ["ocm"]\nenvironments = ["plancraft"]\nbackbones = ["scripted"]\n'


def problems(**changes: object) -> list[str]:
    with pytest.raises(SpecError) as caught:
        parse_spec({**GOOD, **changes}, "s.toml")
    assert caught.value.exit_code == 2
    return [str(problem) for problem in caught.value.problems]


def test_bare_names_and_defaults() -> None:
    spec = parse_spec({**GOOD, "backbones": ["scripted", "gpt-4.1-mini", {"model": "m", "name": "x"}]}, "s")
    assert spec.seeds == [0, 1, 2]
    assert isinstance(spec.backbones[0], ScriptedBackbone)
    assert [type(one) for one in spec.backbones[1:]] == [OpenAIBackbone, OpenAIBackbone]
    assert spec.methods[0].name == "ocm"


def test_every_ready_spec_loads() -> None:
    specs = sorted(Path(__file__).parents[2].joinpath("sweeps").glob("*.toml"))
    assert specs
    for path in specs:
        for method in load_spec(path).methods:
            full_settings(method.name, method.settings)


def test_the_specs_of_comparisons_have_all_methods() -> None:
    sweeps = Path(__file__).parents[2] / "sweeps"
    named = {path.stem: {one.name for one in load_spec(path).methods} for path in sweeps.glob("*.toml")}
    family = {name for name in METHODS if METHODS[name].agent == "ocm"}
    assert named["ablation"] == family
    assert named["paper"] == {*METHODS} - family - {"voyager", "poeworld"} | {"ocm"}
    assert named["methods"] >= {*METHODS} - family


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"seeds": ["one"]}, "seeds[0]: 'one' (input should be a valid integer)"),
        ({"seeds": [True]}, "seeds[0]: True (input should be a valid integer)"),
        ({"seeds": [-1]}, "seeds[0]: -1 (input should be greater than or equal to 0)"),
        ({"seeds": []}, "seeds: [] (list should have at least 1 item"),
        ({"seeds": [1, 1]}, "seeds: 1 stands there twice"),
        ({"metods": ["x"]}, "metods: ['x'] (unknown field; did you mean methods?)"),
        ({"run": {"chain": 2}}, "run.chain: 2 (unknown field; did you mean chains?)"),
        ({"backbones": [{"kind": "openai"}]}, "backbones[0].model: this field is needed"),
        ({"backbones": [{"model": "m", "temperature": "hot"}]}, "backbones[0].temperature: 'hot' ("),
        ({"backbones": [{"model": "m", "temprature": 1.0}]}, "did you mean temperature?"),
        ({"backbones": [{"model": "m", "base_url": "localhost:8000"}]}, "http://127.0.0.1:8000/v1 is needed"),
        ({"backbones": [{"kind": "other"}]}, "backbones[0]"),
        ({"backbones": [{"model": "scripted"}]}, 'write backbones = ["scripted"]'),
        ({"environments": [{"name": "plancraft", "limit": 0}]}, "environments[0].limit: 0 ("),
        ({"environments": [{"name": "plancraft", "order": "random"}]}, "environments[0].order: 'random' ("),
        ({"name": "../up"}, "name: '../up' ("),
        ({"methods": []}, "methods: [] ("),
        ({"backbones": [{"model": "m", "latency": 0.1}]}, "latency: 0.1 (a field of another kind;"),
        ({"budget": 5}, "budget: 5 (a table is needed, of: sweep, chain)"),
        ({"budget": {"chain": {"tokens": 0}}}, "budget.chain.tokens: 0 (input should be greater"),
        ({"budget": {"chain": {"tokens": "s3cret"}}}, "budget.chain.tokens: input should be a valid integer"),
        ({"methods": ["ocm", "ocm"]}, "methods: ocm stands there twice"),
    ],
)
def test_each_problem_is_one_clear_line(changes: dict[str, object], expected: str) -> None:
    found = problems(**changes)
    assert len(found) == 1
    assert expected in found[0]
    assert "\n" not in found[0]


def test_several_problems_are_told_at_once() -> None:
    assert len(problems(seeds=["x"], name="", run={"chains": 0})) == 3


@pytest.mark.parametrize(
    ("content", "expected"),
    [(b"name = ", "not valid TOML"), (b"\xff\xfe", "not UTF-8"), (b"just words", "not valid TOML")],
)
def test_files_that_are_not_specs(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "spec.toml"
    path.write_bytes(content)
    with pytest.raises(SpecError, match=expected) as caught:
        load_spec(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"absent\.toml: No such file"):
        load_spec(tmp_path / "absent.toml")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*GOOD, "seeds", "run", "storage", "x"]), json_values))
def test_any_table_gives_a_spec_or_a_spec_error(table: dict[str, object]) -> None:
    try:
        parse_spec(table, "s")
    except SpecError as error:
        assert all("\n" not in problem.where for problem in error.problems)


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    path.write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    assert load_spec(path).name == "s"


def test_endless_nesting(tmp_path: Path) -> None:
    path = tmp_path / "spec.toml"
    path.write_text(f"{TEXT}x = {'[' * 5000}{']' * 5000}\n")
    with pytest.raises(SpecError, match="nested too deep"):
        load_spec(path)


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        ({"seeds": [2**63]}, "seeds[0]"),
        ({"verification": {"wall_seconds": float("inf")}}, "finite"),
        ({"verification": {"memory_mb": 10**12}}, "memory_mb"),
        ({"run": {"environment_hosts": 10**9}}, "environment_hosts"),
        ({"storage": {"root": ""}}, "storage.root"),
        ({"storage": {"root": "a\0b"}}, "storage.root"),
        ({"backbones": [""]}, "model"),
        ({"backbones": ["модель"]}, "give that backbone a name"),
        ({"backbones": ["m" * 300]}, "give that backbone a name"),
        ({"backbones": [{"model": "m", "base_url": "http://h:99999/v1"}]}, "out of range"),
        ({"backbones": [{"model": "m", "base_url": "http://h ost/v1"}]}, "an address such as"),
    ],
)
def test_values_that_would_fail_much_later(wrong: dict[str, object], expected: str) -> None:
    assert expected in " ".join(problems(**wrong))
