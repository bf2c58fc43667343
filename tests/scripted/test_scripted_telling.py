"""What an episode showed is told in sentences, on every environment."""

from __future__ import annotations

from backbones.scripted.plancraft.facts import Facts, Made
from backbones.scripted.plancraft.sentences import stated_in
from backbones.scripted.players import player_of
from backbones.scripted.report import read_report
from ocm.types import Request
from tests.scripted import alfworld_texts, scienceworld_texts
from tests.scripted.test_scripted_alfworld_learning import FIRST, HEAT
from tests.scripted.test_scripted_learning import reflecting
from tests.scripted.test_scripted_scienceworld_learning import EPISODE


def told(asked: Request) -> tuple[str, ...]:
    report = read_report(asked.messages)
    player = player_of(report.opening)
    assert player
    return player.tell(report)


def test_plancraft_tells_what_is_read_back_and_the_target_first() -> None:
    sentences = told(reflecting({}))
    assert sentences[0] == "The grid 'elm_log' gives 4 elm_board."
    seen = Facts({"elm_log": Made("elm_board", 4)}, {"wet_clay": "brick"}, frozenset({"rag"}))
    assert stated_in("\n- ".join(sentences)) == seen


def test_alfworld_tells_where_things_were_and_what_worked() -> None:
    sentences = told(alfworld_texts.reflecting(HEAT, FIRST, {}))
    assert "To heat a thing works with a stove." in sentences
    assert "A mug was at a rug." in sentences and len(set(sentences)) == len(sentences)


def test_scienceworld_tells_what_worked_and_where_doors_lead() -> None:
    sentences = told(scienceworld_texts.reflecting(EPISODE, {}))
    assert "To open lamp does not work." in sentences
    assert any(sentence.startswith("The attic has doors to") for sentence in sentences)
