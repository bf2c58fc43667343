"""The texts of a memory that are most like a query: BM25 over words, deterministic and offline.

BM25 with Lucene's weights (Robertson and Zaragoza 2009) by the library ``bm25s``. ExpeL and Voyager
embed texts with a neural encoder and compare by cosine; BM25 needs neither a model nor a network. A
score is divided by the query's score with itself, so that 1 means "as near as the query's own text" and
a threshold in [0, 1] makes sense, as it does for a cosine. The scale is another one all the same: what
is shared counts by how rare it is among the texts, so sentences that all follow one pattern are near
each other for an encoder and far from each other here.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

WORD = r"[^\W_]+"
"""A run of letters and digits: names such as ``oak_planks`` are two words."""


@dataclass(frozen=True, slots=True)
class Similar:
    """A text that is like the query."""

    index: int
    """Place in the texts."""
    score: float
    """In [0, 1]: 0 where no word is shared, 1 for the query's own text."""


def most_similar(query: str, texts: Sequence[str], k: int) -> list[Similar]:
    """The ``k`` texts most like the query, best first; of equals the later one comes first.

    Args:
        query: what is looked for.
        texts: oldest first.
        k: how many at most; all texts if there are fewer.
    """
    ranked = [Similar(index, score) for index, score in enumerate(_scores(query, texts))]
    return sorted(ranked, key=lambda one: (one.score, one.index), reverse=True)[: max(0, k)]


def _scores(query: str, texts: Sequence[str]) -> list[float]:
    """One score per text. The query is indexed with the texts, so that it has a score with itself."""
    import bm25s  # costs a third of a second, which a command that plays nothing should not wait for

    logging.getLogger("bm25s").setLevel(logging.WARNING)
    words = bm25s.tokenize([*texts, query], token_pattern=WORD, stopwords="english", show_progress=False)
    if not words.ids[-1]:
        return [0.0] * len(texts)
    index = bm25s.BM25(method="lucene", dtype="float64")
    index.index(words, show_progress=False)
    *scores, itself = map(float, index.get_scores(words.ids[-1]))
    return [min(1.0, score / itself) for score in scores]
