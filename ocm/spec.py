"""The sweep spec: what a researcher writes in TOML, as pydantic models with their defaults.

The text under each field is its documentation. What a method or an environment takes as *settings*
is checked by its own model in its registry; here they are plain tables.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from ocm.redaction import VARIABLE, is_no_variable, password_in

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
Name = Annotated[str, StringConstraints(pattern=NAME)]
"""Letters, digits, ``.``, ``_`` and ``-``: it becomes a folder's name."""


class Model(BaseModel):
    """Base of all spec models: frozen, no unknown fields, explanations under the fields."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        use_attribute_docstrings=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,  # it may be a key that stands in the wrong place
    )


class MethodSpec(Model):
    """One method of the sweep: a name from ``ocm methods``."""

    name: str
    """The method, such as ``ocm``, ``ocm-no-verification`` or ``react``."""
    label: Name | None = None
    """How it is called in tables; the name by default."""
    settings: dict[str, Any] = {}
    """Settings of the method; ``ocm methods NAME`` lists them."""

    @model_validator(mode="before")
    @classmethod
    def _accept_bare_name(cls, value: Any) -> Any:
        return _named(value)


class EnvironmentSpec(Model):
    """One environment of the sweep, with its tasks."""

    name: str
    """The environment, such as ``plancraft``."""
    task_set: str | None = None
    """The benchmark's task set; by default the one of the paper. ``ocm tasks`` lists them."""
    limit: int | None = Field(default=None, ge=1)
    """Play only the first so many tasks of the order. Not part of a chain's identity: raise it and
    the same command goes on."""
    order: Literal["benchmark", "shuffled"] = "benchmark"
    """The benchmark's order, or one shuffled by the chain's seed (over the whole task set)."""
    settings: dict[str, Any] = {}
    """Settings of the environment; ``ocm tasks NAME --settings`` lists them."""

    @model_validator(mode="before")
    @classmethod
    def _accept_bare_name(cls, value: Any) -> Any:
        return _named(value)


class Prices(Model):
    """US dollars per million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)
    """Price of input tokens that the server had cached; ``input`` by default."""


class OpenAIBackbone(Model):
    """A chat model behind an OpenAI-compatible server (chat completions)."""

    kind: Literal["openai"] = "openai"
    name: Name | None = None
    """How it is called in tables; the model's name by default."""
    model: str = Field(min_length=1)
    """The model's id, as the server knows it, such as ``gpt-4.1-mini``."""
    base_url: str = "https://api.openai.com/v1"
    """The server's address, with ``/v1`` where it has one."""
    api_key_env: str | None = "OPENAI_API_KEY"
    """*Name* of the environment variable that holds the key; an empty string for servers without keys."""
    temperature: float = Field(default=0.0, ge=0, le=2)
    """Sampling temperature."""
    send_temperature: bool = True
    """Off for reasoning models, which refuse the parameter."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=4096, ge=1)
    """Upper bound of a reply's tokens, reasoning included."""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_completion_tokens"
    """What the server calls that bound; older servers know only ``max_tokens``."""
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    """How much a reasoning model thinks; which words a model knows, its provider says."""
    send_seed: bool = True
    """Send a seed with each request, derived from chain, episode and call."""
    structured_output: Literal["auto", "json_schema", "json_object", "none"] = "auto"
    """How JSON replies are asked for. ``auto`` tries ``json_schema`` and steps down where the server
    refuses it."""
    prices: Prices | None = None
    """By default the built-in price of a known model, by its name, whatever server offers it; unknown
    models have an unknown cost."""
    requests_per_minute: int | None = Field(default=None, ge=1)
    tokens_per_minute: int | None = Field(default=None, ge=1)
    max_connections: int = Field(default=128, ge=1)
    timeout: float = Field(default=120.0, gt=0)
    """Seconds until a request without an answer is tried again."""
    patience_minutes: float = Field(default=10.0, ge=0)
    """When the server is down, its chains wait together, one request at a time tries whether it is back,
    and after so many minutes they pause; the same command goes on. 0 pauses them at once."""
    max_attempts: int = Field(default=8, ge=1)
    """Requests sent at most for one reply, the first included. One that is sent again in a plainer form,
    because the server refused ``structured_output``, does not count."""

    @field_validator("api_key_env")
    @classmethod
    def _is_a_name(cls, value: str | None) -> str | None:
        if value and (is_no_variable(value) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value)):
            raise ValueError("the name of an environment variable is needed, not the key itself")
        return value

    @field_validator("model")
    @classmethod
    def _is_not_the_stand_in(cls, value: str) -> str:
        if value == "scripted":
            raise ValueError('this is the embedded stand-in: write backbones = ["scripted"]')
        return value

    @field_validator("base_url")
    @classmethod
    def _is_http(cls, value: str) -> str:
        parts = urlsplit(value)
        blank = any(sign.isspace() or not sign.isprintable() for sign in value)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0 or blank:
            raise ValueError("an address such as http://127.0.0.1:8000/v1 is needed")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("an address without user, password, ? and # is needed; keys go to api_key_env")
        return value.rstrip("/")


class ScriptedBackbone(Model):
    """The embedded, rule-based stand-in for a model. Not a language model; named so everywhere."""

    kind: Literal["scripted"] = "scripted"
    name: Name = "scripted"
    error_rate: float = Field(default=0.15, ge=0, le=1)
    """Share of updates in which it writes broken code on purpose, so that verification has work."""
    latency: float = Field(default=0.0, ge=0)
    """Seconds that each reply takes: to try scheduling without a server."""


Backbone = Annotated[OpenAIBackbone | ScriptedBackbone, Field(discriminator="kind")]

DEGRADED_FLAG = "i_accept_that_model_written_code_runs_without_a_full_sandbox"


class VerificationSpec(Model):
    """How procedures are executed."""

    wall_seconds: float = Field(default=5.0, gt=0, le=3600)
    """Wall time of one procedure."""
    memory_mb: int = Field(default=256, ge=64, le=1_048_576)
    """Address space of one procedure."""
    actors: int | None = Field(default=None, ge=1, le=1024)
    """Verification actors; one per core by default."""
    i_accept_that_model_written_code_runs_without_a_full_sandbox: bool = False
    """Go on where the kernel offers less than seccomp (tier D). Results are stamped as degraded."""


class RunSpec(Model):
    """How the sweep is run. Nothing here changes a result."""

    chains: int | None = Field(default=None, ge=1)
    """Chains that play at once; all by default."""
    environment_hosts: int | None = Field(default=None, ge=1, le=4096)
    """Processes that host environments, one each; by default at most four per core. Chains beyond them
    wait for their turn, episode by episode."""
    environment_memory_mb: int | None = Field(default=None, ge=1)
    """Memory in MB that all of them together may take, by what ``ocm doctor`` lists for each environment;
    by default 80 % of what is available when the run starts (in a cluster: what Ray offers there)."""
    episode_attempts: int = Field(default=3, ge=1)
    """Times an episode is started at most when the infrastructure fails."""
    dispatch: Literal["local", "workpool"] = "local"
    """``local``: chains are Prefect tasks of one process. ``workpool``: one flow run per chain."""
    prefect_detail: Literal["chain", "episode", "stage"] = "chain"
    """What becomes a Prefect task run of its own."""


class Budget(Model):
    """What may be spent. Checked before each episode: those under way are played to their end."""

    usd: float | None = Field(default=None, gt=0)
    """US dollars. Refused where a backbone's price is unknown."""
    tokens: int | None = Field(default=None, ge=1)
    """Tokens sent and received."""
    calls: int | None = Field(default=None, ge=1)
    """Model calls."""
    hours: float | None = Field(default=None, gt=0)
    """Time in which episodes were being played, earlier runs included."""


class BudgetSpec(Model):
    """Budgets. Raise one, and the same command goes on."""

    sweep: Budget = Budget()
    """Of all chains together."""
    chain: Budget = Budget()
    """Of each chain."""


class StorageSpec(Model):
    root: str = Field(default="runs", pattern=r"^[^\x00]+$")
    """Folder of the lake, relative to where the command is called."""


class TrackingSpec(Model):
    uri: str | None = None
    """MLflow tracking URI; by default an SQLite file in the storage root. ``${NAME}`` stands for an
    environment variable, such as one with a database's password, which must not stand here itself."""
    experiment: str = "ocm"

    @field_validator("uri")
    @classmethod
    def _has_no_password(cls, value: str | None) -> str | None:
        password = password_in(value or "")
        if password and not re.fullmatch(VARIABLE, password):
            raise ValueError(
                "a password must not stand here, since the spec is recorded: set MLFLOW_TRACKING_USERNAME "
                "and MLFLOW_TRACKING_PASSWORD, or write ${NAME} in its place and set that variable"
            )
        return value


class SweepSpec(Model):
    """A sweep: methods × environments × backbones × seeds."""

    name: Name
    methods: list[MethodSpec] = Field(min_length=1)
    environments: list[EnvironmentSpec] = Field(min_length=1)
    backbones: list[Backbone] = Field(min_length=1)
    seeds: list[Annotated[int, Field(ge=0, lt=2**63)]] = Field(default=[0, 1, 2], min_length=1)
    run: RunSpec = RunSpec()
    budget: BudgetSpec = BudgetSpec()
    verification: VerificationSpec = VerificationSpec()
    storage: StorageSpec = StorageSpec()
    tracking: TrackingSpec = TrackingSpec()

    @model_validator(mode="before")
    @classmethod
    def _accept_bare_backbones(cls, value: Any) -> Any:
        if isinstance(value, dict) and isinstance(value.get("backbones"), list):
            return {**value, "backbones": [_with_kind(entry) for entry in value["backbones"]]}
        return value

    @model_validator(mode="after")
    def _labels_are_unique(self) -> Self:
        for field, labels in (
            ("methods", [method_label(method) for method in self.methods]),
            ("backbones", [backbone_label(backbone) for backbone in self.backbones]),
            ("seeds", [str(seed) for seed in self.seeds]),
        ):
            twice = sorted({label for label in labels if labels.count(label) > 1})
            if twice:
                raise ValueError(f"{field}: {', '.join(twice)} stands there twice; give each its own label")
        for label in map(backbone_label, self.backbones):
            if not re.fullmatch(NAME, label):
                raise ValueError(f"backbones: {label!r} cannot be a folder's name; give that backbone a name")
        return self


def method_label(method: MethodSpec) -> str:
    """How a method is called in tables."""
    return method.label or method.name


def backbone_label(backbone: OpenAIBackbone | ScriptedBackbone) -> str:
    """How a backbone is called in tables and folder names."""
    if backbone.name:
        return backbone.name
    assert isinstance(backbone, OpenAIBackbone)
    return re.sub(r"[^A-Za-z0-9._-]", "-", backbone.model)


def _named(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


def _with_kind(value: Any) -> Any:
    """A bare ``"scripted"`` names the embedded backbone; any other bare name is an OpenAI model."""
    if value == "scripted":
        return {"kind": "scripted"}
    if isinstance(value, str):
        return {"kind": "openai", "model": value}
    if isinstance(value, dict) and "kind" not in value:
        return {"kind": "openai", **value}
    return value
