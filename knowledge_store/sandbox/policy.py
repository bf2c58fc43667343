"""The limits that model-written code runs under, and what it may import."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from knowledge_store.allowed import ALLOWED_MODULES
from ocm.identity import canonical_json, sha256

PRELOADED = (*sorted(ALLOWED_MODULES), "collections.abc")
"""What a zygote imports before it gives up its files."""

LAYERS = (
    "seccomp",
    "landlock",
    "namespaces",
    "empty_root",
    "unprivileged",
    "no_new_privs",
    "not_dumpable",
    "rlimits",
)
"""The layers that a test may switch off; :mod:`knowledge_store.sandbox.jail.layers` explains them."""


HIGHEST = {
    "wall_seconds": 3600,
    "cpu_seconds": 3600,
    "memory_mb": 1 << 20,
    "output_bytes": 20_000,
    "report_chars": 5_000,
    "source_chars": 10_000_000,
    "concurrency": 1024,
}
"""A report is one message of a Unix socket: that bounds the texts in it."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Limits per process (one process per procedure), and which protections are asked for."""

    wall_seconds: float = 5.0
    cpu_seconds: int = 2
    memory_mb: int = 256
    """Address space that the code may add to the interpreter's own, in MiB."""
    output_bytes: int = 4096
    """Characters that the code may print; printing more ends it (kind ``output``)."""
    report_chars: int = 1500
    source_chars: int = 200_000
    """A larger file is not executed (kind ``static``)."""
    concurrency: int = 4
    """Processes at once: bounds the memory of all together to about ``concurrency * memory_mb``."""
    require_objects: bool = True
    """Whether a procedure must use K_o (kind ``unused_objects``); never asked when K_o is blank."""
    allow_degraded: bool = False
    """Run even where the kernel offers no seccomp (tier D). The code is then *not* contained."""
    disabled_layers: tuple[str, ...] = ()
    """For tests that show what each layer stops: members of :data:`LAYERS`."""

    def __post_init__(self) -> None:
        for name, highest in HIGHEST.items():
            value = getattr(self, name)
            if not 0 < value <= highest:
                raise ValueError(f"sandbox policy: {name} = {value}; give more than 0, at most {highest}")
        if unknown := set(self.disabled_layers) - set(LAYERS):
            raise ValueError(
                f"sandbox policy: no layer {sorted(unknown)}; the layers are {', '.join(LAYERS)}"
            )

    def digest(self) -> str:
        """SHA-256 over every field and the import list: all of them can change a verdict."""
        return sha256(canonical_json([asdict(self), PRELOADED]))

    def wire(self) -> dict[str, Any]:
        """What the zygote is told, as JSON values."""
        return {**asdict(self), "disabled_layers": list(self.disabled_layers), "allowed": PRELOADED}
