"""The full replay of PlanCraft against the package's own wrapper; see ``tests/envs/plancraft_replay.py``.

Run: ``python -m benchmarks.plancraft_equivalence`` (some minutes; exit code 1 on any difference).
"""

from __future__ import annotations

import sys

from tests.envs.plancraft_replay import main

if __name__ == "__main__":
    sys.exit(main())
