"""Run all benchmarks, one after the other, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import time

ALL = {
    "plancraft": "PlanCraft against the package's own wrapper",
    "environments": "each environment through a host on Ray against its simulator's bare call",
    "verification": "verification against one fresh interpreter per procedure",
    "orchestration": "an episode beside the model: bare, with the stack, under Prefect",
    "knowledge": "signatures, merge, index, rules: cold against warm",
    "commits": "commits around a chain's 10th, 100th and 1,000th episode, and a resume",
    "lake": "commits, and queries before and after compaction against bare DuckDB",
    "backbone": "the model client at 8, 32 and 128 chains against the ideal",
}


def main() -> int:
    """Run the named ones, or all; the exit code is that of the first that fails."""
    for name in sys.argv[1:] or ALL:
        print(f"\n## {name}: {ALL[name]}", flush=True)
        started = time.monotonic()
        code = subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode
        if code:
            return code
        print(f"({time.monotonic() - started:.0f} s)", flush=True)
    return 0


sys.exit(main())
