"""From a spec's backbone to a live one. Live ones are imported only when made: imports cost time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from backbones.keys import key_problem
from backbones.protocol import Backbone
from ocm.errors import Problem
from ocm.spec import OpenAIBackbone, ScriptedBackbone

LIMITS_FOLDER = ".limits"
"""In the storage root: the files in which processes count their requests together."""


@runtime_checkable
class Preflighted(Protocol):
    """A backbone that can tell early, at no cost, that it will not work."""

    async def preflight(self) -> None: ...


def create(
    spec: OpenAIBackbone | ScriptedBackbone,
    environ: Mapping[str, str],
    shared: Path | None = None,
    tell: Callable[[str], None] | None = None,
) -> Backbone:
    """A live backbone; close it at the end.

    ``shared``: the storage root, in whose ``.limits`` folder all processes count their requests together;
    None: this process counts alone. ``tell``: is given lines for the person at the terminal, such as that a
    server is down; they are logged by default.

    Raises:
        SpecError: the key's environment variable is not set.
    """
    if isinstance(spec, ScriptedBackbone):
        from backbones.scripted import ScriptedBackboneClient

        return ScriptedBackboneClient(spec)
    from backbones.openai_client import OpenAIClient

    return OpenAIClient(spec, environ, limits=shared and shared / LIMITS_FOLDER, tell=tell)


def check(spec: OpenAIBackbone | ScriptedBackbone, environ: Mapping[str, str]) -> list[Problem]:
    """What can be found wrong without the network."""
    if isinstance(spec, ScriptedBackbone):
        return []
    problem = key_problem(spec, environ)
    return [] if problem is None else [problem]


async def preflight(backbone: Backbone) -> None:
    """Learn of a wrong address or key before a sweep starts; costs nothing.

    Raises:
        BackboneTransient: no server answers.
        BackboneTerminal: the key is refused.
    """
    if isinstance(backbone, Preflighted):
        await backbone.preflight()


def identity_settings(spec: OpenAIBackbone | ScriptedBackbone) -> dict[str, Any]:
    """What of a backbone decides results, for ``ChainKey.backbone_settings``.

    Not the address, the key's name, prices, limits and time-outs: a sweep goes on at another server.
    """
    if isinstance(spec, ScriptedBackbone):
        return {"kind": spec.kind, "error_rate": spec.error_rate}
    return {
        "kind": spec.kind,
        "model": spec.model,
        "temperature": spec.temperature if spec.send_temperature else None,
        "top_p": spec.top_p,
        "max_tokens": spec.max_tokens,
        "reasoning_effort": spec.reasoning_effort,
        "send_seed": spec.send_seed,
        "structured_output": spec.structured_output,
    }
