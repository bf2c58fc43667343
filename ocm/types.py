"""The words of the project as frozen data: what every room hands to the next.

A *trajectory* is H = (o0, a1, o1, …, aT, oT) (OCM, arXiv 2607.02846, section 3) with validity and
reward per step. A *turn* is one model reply while acting; several turns may lead to one step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal


class Validity(StrEnum):
    """Whether the environment carried an action out. All but ``VALID`` are invalid actions."""

    VALID = "valid"
    MALFORMED = "malformed"
    """Not in the action language."""
    REFUSED = "refused"
    """Understood, but not possible."""
    NO_EFFECT = "no_effect"
    """Accepted, and nothing changed."""


INVALID_CATEGORIES = (Validity.MALFORMED, Validity.REFUSED, Validity.NO_EFFECT)


@dataclass(frozen=True, slots=True)
class TaskRef:
    """One environment instance by content: ``id`` is the benchmark's own, never a position."""

    environment: str
    task_set: str
    id: str
    stratum: str
    """The benchmark's group of this task, such as PlanCraft's ``easy``; for stratified statistics."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What an agent sees at reset: the goal in the environment's words, and o0."""

    goal: str
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """One environment action and its outcome."""

    action: str
    observation: str
    reward: float
    """Cumulative, in [0, 1]: the episode's reward so far, not this step's gain."""
    done: bool
    success: bool
    validity: Validity


@dataclass(frozen=True, slots=True)
class Exchange:
    """One environment action and what was observed: a step without its outcome."""

    action: str
    observation: str


class TurnKind(StrEnum):
    """What one model reply while acting turned out to be."""

    ACTION = "action"
    INSPECT = "inspect"
    MALFORMED = "malformed"
    PROGRAM = "program"
    """Code that acts by itself for one step or more, such as a call of a skill."""
    VETOED = "vetoed"
    """An action that the method itself held back: nothing was sent, and the agent is asked again."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One model reply while acting."""

    step: int
    """1-based index of the step that this turn leads to."""
    kind: TurnKind
    thought: str
    content: str
    """The action, the inspected names joined by ``", "``, the program, or why the reply is malformed."""
    reply: str
    """The model's reply as it came."""
    call: int
    """Index of the model call in the episode."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """One answered ``Inspect[...]`` request (Level 1 of progressive disclosure)."""

    step: int
    names: tuple[str, ...]
    found: tuple[str, ...]
    missing: tuple[str, ...]
    text: str
    """What the agent was shown."""


class EndReason(StrEnum):
    """Why an episode's acting ended."""

    SUCCESS = "success"
    FAILURE = "failure"
    """The environment ended the episode without success."""
    STEP_LIMIT = "step_limit"


@dataclass(frozen=True, slots=True)
class Trajectory:
    """H = (o0, a1, o1, …, aT, oT) with everything the agent did on the way."""

    task: TaskRef
    goal: str
    first_observation: str
    steps: tuple[Step, ...]
    turns: tuple[Turn, ...]
    inspections: tuple[Inspection, ...]
    end: EndReason

    @property
    def success(self) -> bool:
        return bool(self.steps) and self.steps[-1].success

    @property
    def reward(self) -> float:
        """The episode's final reward in [0, 1]."""
        return self.steps[-1].reward if self.steps else 0.0

    def count(self, validity: Validity) -> int:
        """Number of steps of this validity."""
        return sum(step.validity is validity for step in self.steps)

    def turns_of(self, kind: TurnKind) -> int:
        """Number of turns of this kind."""
        return sum(turn.kind is kind for turn in self.turns)

    @property
    def invalid_actions(self) -> int:
        """Malformed, refused and no-effect steps together."""
        return sum(step.validity is not Validity.VALID for step in self.steps)


# --- model calls -------------------------------------------------------------------------------

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a backbone, and where it belongs."""

    purpose: str
    """``act``, ``reflect``, ``update``, ``repair``, …: decides nothing, is recorded and counted."""
    messages: tuple[Message, ...]
    schema: Mapping[str, Any] | None = None
    """JSON schema of the wanted reply, or None for free text."""
    chain: str = ""
    episode: int = 0
    call: int = 0
    """0-based index of the call within its episode."""
    temperature: float | None = None
    """Sampling temperature of this call, or None for the backbone's own."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call. ``cached`` is a part of ``prompt``, ``reasoning`` a part of ``completion``."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.cached + other.cached,
            self.reasoning + other.reasoning,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """A backbone's answer."""

    text: str
    finish_reason: str
    usage: Usage
    cost: float | None
    """US dollars, or None where no price is known. A price is never guessed."""
    latency: float
    """Seconds from the request to the whole reply, retries included."""
    model: str
    """The model's own id, as the server reports it."""
    fingerprint: str = ""
    attempts: int = 1
    """Number of requests sent, the successful one included."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request with its reply, as recorded on the episode."""

    request: Request
    reply: Reply


@dataclass(frozen=True, slots=True)
class Replay:
    """What an episode took from its journal because it had been interrupted before."""

    resumes: int = 0
    """Times that the episode was taken up again, by another attempt or by another process."""
    calls: int = 0
    """Model calls of the episode that the journal answered."""
    ended: str = ""
    """Why recorded replies could not be used: ``torn`` (the last line is not whole), ``damaged`` (another
    one), ``prompt`` (the call's first message is not the recorded one), ``transcript`` (a later one is
    not). Empty when all were used."""
    dropped: int = 0
    """Recorded replies that could not be used."""
    dropped_tokens: int = 0
    dropped_cost: float | None = 0.0
    """US dollars; None where a price is unknown."""


# --- memory and verification -------------------------------------------------------------------

Files = Mapping[str, str]
"""A memory: path -> content. Paths are relative, with ``/``."""


@dataclass(frozen=True, slots=True)
class Change:
    """One file's change: its new content, or None when it is deleted."""

    path: str
    content: str | None


Delta = tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of executing one procedure (or K_o itself) against a candidate K_o.

    A pass says "verified to execute", never "correct".
    """

    path: str
    """The procedure's path, or ``objects.py`` when K_o itself could not be executed."""
    ok: bool
    kind: str
    """``ok``, ``syntax``, ``static``, ``exception``, ``timeout``, ``memory``, ``output``,
    ``unused_objects``, ``killed``, ``protocol``, ``replay``: what was learned did not lead to success
    again when it was carried out on the same task, or ``false_alarm``: a rule spoke against an action
    that had succeeded."""
    report: str = ""
    """For repair: file, line, exception, message and the model's own frames; bounded."""
    output: str = ""
    """What the code printed; bounded."""
    seconds: float = 0.0
    cached: bool = False


@dataclass(frozen=True, slots=True)
class VerificationRound:
    """One attempt to verify a candidate: round 0 is the update, later ones are repairs."""

    round: int
    verdicts: tuple[Verdict, ...]

    @property
    def ok(self) -> bool:
        return all(verdict.ok for verdict in self.verdicts)


class UpdateOutcome(StrEnum):
    """What became of an episode's learning."""

    COMMITTED = "committed"
    REJECTED = "rejected"
    """The delta failed verification after all repairs; the memory stays."""
    UNCHANGED = "unchanged"
    """Nothing was to be learned, or the method has no memory."""


@dataclass(frozen=True, slots=True)
class MemoryUpdate:
    """What a method learned from one episode. ``delta`` is empty unless ``COMMITTED``."""

    outcome: UpdateOutcome
    delta: Delta = ()
    plan: str = ""
    """The learning plan as text (JSON for OCM); empty where the method has none."""
    reason: str = ""
    """Why nothing was committed, or what was left out of what was; empty when all went well."""
    rounds: tuple[VerificationRound, ...] = ()


@dataclass(frozen=True, slots=True)
class ChainKey:
    """Exactly what decides a chain's result; its hash is the chain's id (:mod:`ocm.identity`)."""

    method: str
    """The method's label in the spec, such as ``ocm-no-verification``."""
    agent: str
    """The registered agent that plays it, such as ``ocm``."""
    method_settings: Mapping[str, Any]
    environment: str
    environment_settings: Mapping[str, Any]
    task_set: str
    order: str
    backbone: str
    """The backbone's label in the spec."""
    backbone_settings: Mapping[str, Any]
    """Model and sampling settings, without addresses, keys, prices and limits."""
    seed: int
    prompts: str
    """SHA-256 over the method's prompt files."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One finished episode: the unit that is committed to the lake."""

    sweep: str
    chain: str
    index: int
    key: ChainKey
    trajectory: Trajectory
    update: MemoryUpdate
    calls: tuple[Call, ...]
    memory_before: str
    """SHA-256 of the memory that the agent acted with (:func:`ocm.identity.memory_hash`)."""
    memory_after: str
    started_at: float
    """Seconds since the epoch, UTC."""
    finished_at: float
    stages: Mapping[str, float] = field(default_factory=dict)
    """Seconds per stage: ``act``, ``reflect``, ``update``, ``verify``, …"""
    attempt: int = 1
    """1 unless an infrastructure error made the episode start again."""
    acting_calls: int = 0
    """The first calls of the episode: those made before learning began, whatever their purpose is called."""
    rehearsal_steps: int = 0
    """Environment steps taken outside the episode, to verify what was learned on the same task."""
    memory_bytes: int = 0
    """Size of the memory after the update, in UTF-8."""
    replay: Replay = Replay()
    provenance: Mapping[str, str] = field(default_factory=dict)
    """Versions: code, environment package, python, sandbox tier, backbone model and fingerprint."""

    @property
    def cost(self) -> float | None:
        """US dollars of all calls; None where the price of one is unknown."""
        costs = [call.reply.cost for call in self.calls]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    @property
    def used(self) -> tuple[str, ...]:
        """Knowledge that was inspected or written."""
        found = [name for inspection in self.trajectory.inspections for name in inspection.found]
        return (*found, *(change.path for change in self.update.delta if change.content is not None))

    @property
    def acting_prompt_tokens(self) -> float | None:
        """Mean tokens sent per acting call: the acting prompt's size; None without such a call."""
        sent = [call.reply.usage.prompt for call in self.calls[: self.acting_calls]]
        return sum(sent) / len(sent) if sent else None
