"""The fault server's draws: the same for the same request, and apart where they must be."""

from __future__ import annotations

from collections import Counter

from tests.backbones.loopback import USAGE, Text
from tests.faults.answers import ODD_ANSWERS, TROUBLED_TRIES, Chances, content_of, oddity, spoiled

CONTENTS = [content_of({"messages": [], "seed": seed}) for seed in range(2000)]


def test_answers_are_a_function_of_the_content_alone() -> None:
    odd = Counter(map(oddity, CONTENTS))
    assert odd == Counter(map(oddity, CONTENTS))
    assert all(abs(odd[name] / len(CONTENTS) - share) < 0.01 for name, share in ODD_ANSWERS.items())


def test_faults_depend_on_seed_content_and_try_and_end() -> None:
    chances = Chances(1, 0.2)
    first = [chances.disturbs(content, 0) for content in CONTENTS]
    assert 0.15 < sum(first) / len(first) < 0.25
    assert first == [chances.disturbs(content, 0) for content in CONTENTS]
    assert first != [Chances(2, 0.2).disturbs(content, 0) for content in CONTENTS]
    assert first != [chances.disturbs(content, 1) for content in CONTENTS]
    assert not any(chances.disturbs(content, TROUBLED_TRIES) for content in CONTENTS)
    assert not any(Chances().disturbs(content, tries) for content in CONTENTS for tries in range(3))


def test_what_is_odd_about_an_answer() -> None:
    answer = Text("abcdef")
    assert spoiled(answer, "") == answer
    assert spoiled(answer, "length") == Text("abc", "length")
    assert spoiled(answer, "content_filter") == Text("", "content_filter")
    assert spoiled(answer, "no usage").usage is None and answer.usage == USAGE
