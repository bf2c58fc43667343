"""How long the knowledge store takes, cold and after one change: ``python -m benchmarks.knowledge``.

Cold: nothing cached. Warm: one definition of the same module was changed. Milliseconds of
processor time, the median of several tries, since the machine may be shared.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from knowledge_store.index import level0
from knowledge_store.inspection import resolve
from knowledge_store.merge import merge
from knowledge_store.rules import Limits, check
from knowledge_store.signatures import signatures

TRIES = 5
SIZES = (10, 100, 1000)
ROOM = Limits(objects_chars=10**7, definitions=10**5, memory_chars=10**8)

DEFINITION = '''
# What is known of item {i}.
@dataclass(frozen=True)
class Item{i}(Base):
    """Item {i} smelts{mark}.

    More text.
    """

    count: int = {i}
    names: list[str] = field(default_factory=list)

    def smelt(self, fuel: int = 3) -> str:
        """What smelting gives."""
        if fuel > {i}:
            return "a" * fuel
        return [x for x in range(fuel)][0]
'''


def module(definitions: int, mark: str) -> str:
    """``objects.py`` with so many classes; ``mark`` changes the middle one."""
    parts = [DEFINITION.format(i=i, mark=mark if i == definitions // 2 else "") for i in range(definitions)]
    return "from dataclasses import dataclass, field\n\n" + "\n".join(parts)


def measure(work: Callable[[str], object], definitions: int) -> tuple[float, float]:
    """Milliseconds (cold, warm). A cold text shares no definition with any text before."""
    cold, warm = [], []
    for attempt in range(TRIES):
        fresh = module(definitions, "").replace("Item", f"{work.__name__}{attempt}_")
        cold.append(_milliseconds(work, fresh))
        changed = fresh.replace("smelts", f"smelts as of try {attempt}", 1)
        warm.append(_milliseconds(work, changed))
    return statistics.median(cold), statistics.median(warm)


def _milliseconds(work: Callable[[str], object], text: str) -> float:
    start = time.process_time()
    work(text)
    return 1000 * (time.process_time() - start)


def merge_one(text: str) -> object:
    """Replace one definition and add one."""
    return merge(text, "class Base:\n    pass\n")


def level_0(text: str) -> object:
    """The prompt section, within the default budget."""
    return level0({"objects.py": text})


def inspect(text: str) -> object:
    """An unknown name: the closest of all names are sought."""
    return resolve({"objects.py": text}, ["Itm5.smelt"])


def rules(text: str) -> object:
    """All static rules on K_o."""
    return check(text, {}, ROOM)


def main() -> None:
    """Print the table."""
    print(f"{'work':<12}{'definitions':>12}{'cold ms':>10}{'warm ms':>10}")
    for work in (signatures, merge_one, level_0, inspect, rules):
        for size in SIZES:
            cold, warm = measure(work, size)
            print(f"{work.__name__:<12}{size:>12}{cold:>10.2f}{warm:>10.2f}")


if __name__ == "__main__":
    main()
