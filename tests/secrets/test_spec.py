"""A key that was pasted where it does not belong: refused before anything is recorded, and never shown."""

from __future__ import annotations

import pickle
import secrets
from collections.abc import Mapping
from pathlib import Path

import pytest

from flows.cli import main
from flows.spec_file import load_spec
from ocm.errors import OrchestrationError, SpecError
from ocm.redaction import filled_in, secrets_in, without_secrets
from tasks.mlflow_store import RunStore
from tests.secrets.canary import canary, leaking_files, leaks

SPEC: Mapping[str, str] = {
    "name": '"pasted"',
    "methods": '["react"]',
    "environments": '[{ name = "plancraft", limit = 1 }]',
    "backbones": '[{ model = "m", base_url = "http://127.0.0.1:9/v1" }]',
}

PLACES: Mapping[str, Mapping[str, str]] = {
    "api_key_env": {"backbones": '[{{ model = "m", api_key_env = "{key}" }}]'},
    "a field of its own": {"backbones": '[{{ model = "m", api_key = "{key}" }}]'},
    "a wrong type": {"backbones": '[{{ model = "m", api_key_env = ["{key}"] }}]'},
    "base_url's user": {"backbones": '[{{ model = "m", base_url = "https://ann:{key}@host/v1" }}]'},
    "base_url's query": {"backbones": '[{{ model = "m", base_url = "https://host/v1?key={key}" }}]'},
    "base_url": {"backbones": '[{{ model = "m", base_url = "{key}" }}]'},
    "the backbone's name": {"backbones": '[{{ model = "m", name = "{key}" }}]'},
    "the model": {"backbones": '["{key}"]'},
    "the sweep's name": {"name": '"{key}"'},
    "a method": {"methods": '["{key}"]'},
    "a method's setting": {"methods": '[{{ name = "react", settings = {{ token = "{key}" }} }}]'},
    "a method's label": {"methods": '[{{ name = "react", label = "{key}" }}]'},
    "an environment's setting": {
        "environments": '[{{ name = "plancraft", settings = {{ x = ["{key}"] }} }}]'
    },
    "a task set": {"environments": '[{{ name = "plancraft", task_set = "{key}" }}]'},
    "a field's name": {"seeds": "[0]\n'{key}' = 1"},
    "the experiment": {"tracking": '{{ experiment = "{key}" }}'},
    "tracking.uri": {"tracking": '{{ uri = "https://ann:{key}@mlflow/" }}'},
    "the root": {"storage": '{{ root = "{key}" }}'},
    "bad TOML": {"seeds": "[0] {key}"},
    "bad TOML of two": {"seeds": "[0]\nseeds = '{key}'"},
}


def text(changes: Mapping[str, str], key: str) -> str:
    changed = {name: value.format(key=key) for name, value in changes.items()}
    return "\n".join(f"{name} = {value}" for name, value in {**SPEC, **changed}.items())


@pytest.mark.parametrize("changes", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("command", ["plan", "run"])
def test_no_place_in_a_spec_takes_or_shows_a_key(
    command: str, changes: Mapping[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    key = canary()
    spec = tmp_path / "spec.toml"
    spec.write_text(text(changes, key), "utf-8")
    with pytest.raises(SpecError) as caught:
        load_spec(spec)
    assert not leaks([key], f"{caught.value}{caught.value.details}{caught.value.__cause__}")
    assert not leaks([key], pickle.dumps(caught.value))
    with pytest.raises(SystemExit) as ended:
        main([command, str(spec), *(["--root", str(tmp_path / "runs")] if command == "run" else [])])
    assert ended.value.code == 2
    told = capfd.readouterr()
    assert "error: " in told.err and not leaks([key], told.out + told.err)
    spec.unlink()
    assert leaking_files([key], tmp_path) == []


@pytest.mark.parametrize(
    "changes",
    [PLACES["api_key_env"], PLACES["a field of its own"], PLACES["a wrong type"], PLACES["base_url's user"]],
)
def test_nor_a_key_in_no_known_form(changes: Mapping[str, str], tmp_path: Path) -> None:
    key = f"a{secrets.token_hex(16)}"
    spec = tmp_path / "spec.toml"
    spec.write_text(text(changes, key), "utf-8")
    with pytest.raises(SpecError) as caught:
        load_spec(spec)
    assert not leaks([key], f"{caught.value}{caught.value.problems}{caught.value.__cause__}")


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "MY_LAB_KEY_2", "azure_key", "_K3Y", ""])
def test_names_of_variables_are_taken(name: str, tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(text(PLACES["api_key_env"], name), "utf-8")
    assert load_spec(spec).backbones[0].api_key_env == name  # type: ignore[union-attr]


def test_a_database_password_comes_from_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uri = "postgresql://ann:${OCM_DB}@127.0.0.1:9/db"
    spec = tmp_path / "spec.toml"
    spec.write_text(
        text({"tracking": '{{ uri = "' + uri.replace("{", "{{").replace("}", "}}") + '" }}'}, ""), "utf-8"
    )
    assert load_spec(spec).tracking.uri == uri
    assert filled_in(uri, {"OCM_DB": "a/b@c"}) == "postgresql://ann:a%2Fb%40c@127.0.0.1:9/db"
    monkeypatch.delenv("OCM_DB", raising=False)
    with pytest.raises(OrchestrationError, match="OCM_DB is not set"):
        RunStore(uri, "ocm", tmp_path).open()


@pytest.mark.parametrize("scheme", ["postgresql", "mysql+nothing", "http"])
def test_mlflow_errors_show_no_password(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    key = canary()
    for name in ("OCM_DB_PASSWORD", "MLFLOW_TRACKING_TOKEN"):
        monkeypatch.setenv(name, key)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    store = RunStore(f"{scheme}://ann:${{OCM_DB_PASSWORD}}@127.0.0.1:9/db", "ocm", tmp_path)
    try:
        store.open()
    except Exception as error:  # noqa: BLE001  a database driver raises its own kinds
        assert not leaks([key], store.first_line(error))
        if isinstance(error, OrchestrationError):
            assert error.__cause__ is None and not leaks([key], str(error))
    else:
        pytest.fail("nothing listens there")
    assert not leaks([key], caplog.text)


SECRETS = {
    "OPENAI_API_KEY": "x1",
    "MLFLOW_TRACKING_PASSWORD": "x2",
    "MLFLOW_TRACKING_TOKEN": "x3",
    "PREFECT_API_KEY": "x4",
    "PREFECT_API_AUTH_STRING": "ann:x5",
    "AWS_SECRET_ACCESS_KEY": "x6",
    "AWS_SESSION_TOKEN": "x7",
    "HF_TOKEN": "x8",
    "WANDB_API_KEY": "x9",
    "PGPASSWORD": "x10",
    "HTTPS_PROXY": "http://ann:x11@proxy:3128",
    "PREFECT_API_URL": "http://ann:x12@host/api",
    "OPENAI_CUSTOM_HEADERS": "X-Team: x13",
    "SOMETHING": "sk-proj-0123456789abcdefghij",
}
PLAIN = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/root",
    "RAY_AUTH_TOKEN_PATH": "/x",
    "OCM_RAY_SESSION": "f00",
    "JAVA_HOME": "/java",
    "SSL_CERT_FILE": "/x.pem",
    "HTTP_PROXY": "http://proxy:3128",
    "KEYBOARD": "us",
    "MONKEY": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "XDG_SESSION_ID": "2",
}


def test_which_variables_hold_secrets() -> None:
    assert without_secrets({**SECRETS, **PLAIN, "LAB": "x"}, ["LAB"]) == PLAIN
    assert {"x1", "x11", "x12"} <= secrets_in({**SECRETS, **PLAIN})
