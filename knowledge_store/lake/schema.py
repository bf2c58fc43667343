"""The columns of the lake, described once as data.

Every table is a tuple of :class:`Column`. From it come the Arrow schema of an episode file (one row
with nested lists), the SQL of the views, the flat tables of compaction and the table in the docs.

A column with ``text=True`` holds the SHA-256 of a text; the text itself stands once per episode in
``texts``, so that queries over numbers never read prompts.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

SCHEMA_VERSION = 3


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, Arrow type and meaning."""

    name: str
    type: pa.DataType
    meaning: str
    required: bool = True
    text: bool = False

    @property
    def field(self) -> pa.Field:
        return pa.field(self.name, self.type, nullable=not self.required)


Columns = tuple[Column, ...]

_STRING, _INT, _FLOAT, _BOOL = pa.string(), pa.int32(), pa.float64(), pa.bool_()
_NAMES = pa.list_(_STRING)
_MESSAGES = pa.list_(
    pa.struct([pa.field("role", _STRING, nullable=False), pa.field("sha256", _STRING, nullable=False)])
)


def _text(name: str, meaning: str, required: bool = True) -> Column:
    return Column(f"{name}_sha256", _STRING, meaning, required, text=True)


IDENTITY: Columns = (
    Column("sweep", _STRING, "name of the sweep"),
    Column("chain", _STRING, "id of the chain"),
    Column("episode", _INT, "0-based index of the episode in its chain"),
    Column("method", _STRING, "the method's label in the spec"),
    Column("environment", _STRING, "the environment"),
    Column("task_set", _STRING, "the benchmark's task set"),
    Column("backbone", _STRING, "the backbone's label in the spec"),
    Column("seed", pa.int64(), "the chain's seed"),
    Column("task", _STRING, "the benchmark's own id of the task"),
    Column("stratum", _STRING, "the benchmark's group of the task, such as `easy`"),
)
"""Stands on every row of every table, so that most questions need no join."""

EPISODES: Columns = (
    Column("agent", _STRING, "the registered agent that plays the method"),
    Column("success", _BOOL, "whether the task was solved"),
    Column("reward", _FLOAT, "final reward in [0, 1]"),
    Column("end_reason", _STRING, "`success`, `failure` or `step_limit`"),
    Column("n_steps", _INT, "environment actions"),
    Column("n_turns", _INT, "model replies while acting"),
    Column("n_inspections", _INT, "answered `Inspect[...]` requests"),
    Column("n_calls", _INT, "model calls of all purposes"),
    Column("acting_calls", _INT, "the first calls of the episode: those made before learning began"),
    Column("rehearsal_steps", _INT, "environment actions outside the episode, to check what was learned"),
    Column("invalid_actions", _INT, "malformed, refused and no-effect steps together"),
    Column("malformed", _INT, "steps not in the action language"),
    Column("refused", _INT, "steps understood, but not possible"),
    Column("no_effect", _INT, "steps accepted that changed nothing"),
    Column("prompt_tokens", pa.int64(), "tokens sent, all calls"),
    Column("completion_tokens", pa.int64(), "tokens received, all calls"),
    Column("cached_tokens", pa.int64(), "the part of prompt_tokens that the server had cached"),
    Column("reasoning_tokens", pa.int64(), "the part of completion_tokens spent on reasoning"),
    Column("acting_prompt_tokens", _FLOAT, "mean tokens sent per acting call; NULL without one", False),
    Column("cost", _FLOAT, "US dollars, all calls; NULL when one call's price is unknown", required=False),
    Column("latency", _FLOAT, "seconds spent waiting for the backbone, all calls"),
    Column("requests", _INT, "requests sent to the backbone, repeated ones included"),
    Column("update_outcome", _STRING, "`committed`, `rejected` or `unchanged`"),
    Column("rounds", pa.list_(_INT), "numbers of the verification rounds"),
    Column("memory_before", _STRING, "hash of the memory that the agent acted with"),
    Column("memory_after", _STRING, "hash of the memory after the update"),
    Column("memory_bytes", pa.int64(), "size of the memory after the update, in UTF-8"),
    Column("started_at", _FLOAT, "seconds since the epoch, UTC"),
    Column("finished_at", _FLOAT, "seconds since the epoch, UTC"),
    Column("attempt", _INT, "1 unless an infrastructure error made the episode start again"),
    Column("resumes", _INT, "times that the episode was taken up again after an interruption"),
    Column("replayed_calls", _INT, "model calls that the journal answered, since they had been paid before"),
    Column(
        "replay_ended",
        _STRING,
        "why replies were dropped: `torn`, `damaged`, `prompt`, `transcript`, or empty",
    ),
    Column("dropped_replies", _INT, "recorded replies that could not be used; not among the calls"),
    Column("dropped_tokens", pa.int64(), "tokens of those, as far as known; not in the columns above"),
    Column("dropped_cost", _FLOAT, "US dollars for those; NULL when the price is unknown", required=False),
    Column("provenance", pa.map_(_STRING, _STRING), "versions of code, packages, sandbox tier and model"),
    Column("escaped", _BOOL, "whether texts hold `\\ud800`-like escapes, as UTF-8 cannot hold them"),
    _text("key", "the chain's whole key, as JSON"),
    _text("goal", "the task in the environment's words"),
    _text("first_observation", "o0"),
    _text("plan", "the learning plan"),
    _text("reason", "why nothing was committed, or what was left out of what was"),
)

STEPS: Columns = (
    Column("step", _INT, "1-based index of the step"),
    Column("action", _STRING, "the environment action"),
    Column("reward", _FLOAT, "reward so far, in [0, 1]"),
    Column("done", _BOOL, "whether the environment ended the episode here"),
    Column("success", _BOOL, "whether the task was solved here"),
    Column("validity", _STRING, "`valid`, `malformed`, `refused` or `no_effect`"),
    _text("observation", "what the environment answered"),
)

TURNS: Columns = (
    Column("turn", _INT, "0-based index of the turn"),
    Column("step", _INT, "1-based index of the step that the turn leads to"),
    Column("kind", _STRING, "`action`, `program`, `inspect`, `vetoed` or `malformed`"),
    Column("content", _STRING, "the action, the program, the inspected names, or why it is malformed"),
    Column("call", _INT, "index of the model call in the episode"),
    _text("thought", "the thought before the decision"),
    _text("reply", "the model's reply as it came"),
)

INSPECTIONS: Columns = (
    Column("inspection", _INT, "0-based index of the inspection"),
    Column("step", _INT, "1-based index of the step that it came before"),
    Column("names", _NAMES, "names asked for"),
    Column("found", _NAMES, "names answered with source"),
    Column("missing", _NAMES, "names that the memory does not have"),
    _text("shown", "what the agent was shown"),
)

CALLS: Columns = (
    Column("position", _INT, "0-based position in the episode's record"),
    Column("call", _INT, "index of the call in the episode"),
    Column("purpose", _STRING, "`act`, `reflect`, `update`, `repair`, …"),
    Column("acting", _BOOL, "whether it was made while acting; the others were made to learn"),
    Column("temperature", _FLOAT, "sampling temperature; NULL for the backbone's own", required=False),
    Column("messages", _MESSAGES, "role and text hash of every message sent"),
    Column("finish_reason", _STRING, "why the model stopped"),
    Column("prompt_tokens", _INT, "tokens sent"),
    Column("completion_tokens", _INT, "tokens received"),
    Column("cached_tokens", _INT, "the part of prompt_tokens that the server had cached"),
    Column("reasoning_tokens", _INT, "the part of completion_tokens spent on reasoning"),
    Column("cost", _FLOAT, "US dollars; NULL when the price is unknown", required=False),
    Column("latency", _FLOAT, "seconds from the request to the whole reply, retries included"),
    Column("model", _STRING, "the model's own id, as the server reports it"),
    Column("fingerprint", _STRING, "the server's fingerprint of the model"),
    Column("attempts", _INT, "requests sent for this reply"),
    _text("reply", "the reply"),
    _text("schema", "JSON schema of the wanted reply; NULL for free text", required=False),
)

VERDICTS: Columns = (
    Column("position", _INT, "0-based position in the episode's record"),
    Column("round", _INT, "0 for the update, later ones for repairs"),
    Column("path", _STRING, "the procedure, or `objects.py`"),
    Column("ok", _BOOL, "verified to execute; says nothing about being correct"),
    Column("kind", _STRING, "`ok`, or the kind of failure"),
    Column("seconds", _FLOAT, "wall time of the execution"),
    Column("cached", _BOOL, "whether the verdict was remembered instead of executed"),
    _text("report", "error report for repair"),
    _text("output", "what the code printed"),
)

MEMORY: Columns = (
    Column("position", _INT, "0-based position in the delta"),
    Column("path", _STRING, "the changed file"),
    Column("sha256", _STRING, "hash of the new content; NULL when the file is deleted", required=False),
    Column("content", _STRING, "the new content; NULL when the file is deleted", required=False),
)

STAGES: Columns = (
    Column("stage", _STRING, "`act`, `reflect`, `update`, `verify`, …"),
    Column("seconds", _FLOAT, "time spent in the stage"),
)

TEXTS: Columns = (
    Column("sha256", _STRING, "hash of the content"),
    Column("content", _STRING, "the text, once per episode"),
)

NESTED: dict[str, Columns] = {
    "steps": STEPS,
    "turns": TURNS,
    "inspections": INSPECTIONS,
    "calls": CALLS,
    "verdicts": VERDICTS,
    "memory": MEMORY,
    "stages": STAGES,
    "texts": TEXTS,
}
"""Tables that are nested lists in an episode file."""

TABLES: dict[str, Columns] = {"episodes": EPISODES, **NESTED}
"""Every table without its :data:`IDENTITY` columns."""


def flat_schema(table: str) -> pa.Schema:
    """Arrow schema of a flat table: identity, then its own columns."""
    return pa.schema([column.field for column in IDENTITY + TABLES[table]])


def episode_schema() -> pa.Schema:
    """Arrow schema of an episode file: one row, one nested list per table of :data:`NESTED`."""
    nested = [
        pa.field(name, pa.list_(pa.struct([column.field for column in columns])), nullable=False)
        for name, columns in NESTED.items()
    ]
    flat = [column.field for column in IDENTITY + EPISODES]
    return pa.schema(flat + nested)


def text_columns(table: str) -> tuple[str, ...]:
    """Names of a table's columns that hold the hash of a text."""
    return tuple(column.name for column in TABLES[table] if column.text)


def markdown() -> str:
    """The columns of every table, as Markdown for the docs."""
    parts = [_section("every table", IDENTITY), *(_section(f"`{name}`", TABLES[name]) for name in TABLES)]
    return "\n\n".join(parts) + "\n"


def _section(title: str, columns: Columns) -> str:
    rows = [
        f"| `{column.name}` | {column.type if not column.text else 'hash of a text'} | {column.meaning} |"
        for column in columns
    ]
    return "\n".join([f"### {title}", "", "| column | type | meaning |", "|---|---|---|", *rows])
