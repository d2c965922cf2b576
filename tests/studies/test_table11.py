"""Table 11 of hand-made tables: counts, different words at equal size, the paper beside it, the paper's patterns."""

import pytest

from sentences import refused
from sozo.scoring.statistics.hill import hill_number
from sozo.studies.study.page import StudyResult, patterns, to_markdown
from sozo.studies.study.table11 import table11
from written_tables import write


def result(folders, paper_model=None):
    return StudyResult("Table 11", table11(folders, paper_model))


@pytest.fixture
def folders(tmp_path):
    return {
        # Three of four usable; 犬 in all three, 猫 and 水 in one each.
        "base": write(
            tmp_path / "base", [("犬", 0.4), ("犬猫", 0.5), ("犬水", 0.6)], unusable=1
        ),
        # Two of two usable, four words.
        "SFT": write(tmp_path / "sft", [("犬猫", 0.5), ("水山", 0.7)]),
    }


def test_rows_by_hand(folders):
    table = table11(folders, "Swallow-8B")
    base, sft = table.rows
    assert table.equal_size == 2
    assert (
        base.summary.usable,
        base.summary.num_answers,
        base.summary.all_different_words,
    ) == (3, 4, 3)
    assert base.summary.score == pytest.approx(0.5, abs=1e-6)
    assert base.summary.std == pytest.approx(0.1, abs=1e-6)
    # Of two drawn from three, 犬 is always there, 猫 and 水 in two of the three draws each.
    assert base.different_words == pytest.approx(1 + 2 / 3 + 2 / 3)
    assert sft.different_words == sft.summary.all_different_words == 4
    assert base.rarefaction[-1] == (3, pytest.approx(3))
    assert (base.paper["usable"], base.paper["score"]) == (105_401, 0.524)
    assert sft.paper["all_different_words"] == 17_614


def cells_of(line):
    return [cell.strip() for cell in line.split("|")[1:-1]]


def test_a_row_with_nothing_usable_does_not_empty_the_others(folders, tmp_path):
    shown = result(
        {**folders, "GRPO": write(tmp_path / "grpo", [], unusable=3, parts=1)},
        "Qwen2.5-7B",
    )
    assert shown.table.equal_size == 2
    assert shown.table.rows[2].different_words is None
    assert shown.table.rows[2].rarefaction == ()
    line, *_ = [
        line for line in to_markdown(shown).splitlines() if line.startswith("| GRPO")
    ]
    assert cells_of(line)[:3] == ["GRPO", "3", "0.0%, 0 of 3"]
    assert cells_of(line)[3] == "–"
    assert cells_of(line)[-1] == "–"


def test_a_row_drawn_hotter_leaves_the_words_of_the_others_as_they_are(
    folders, tmp_path
):
    few = write(tmp_path / "hot", [("犬猫", 0.5)], parts=1)
    rows = {**folders, "base temperature=1.6": few}
    assert table11(rows).equal_size == 1
    table = table11(rows, beside={"base temperature=1.6"})
    assert table.equal_size == 2
    assert table.rows[-1].different_words is None
    assert table.rows[-1].rarefaction[-1] == (1, 2)
    assert table11({"hot": few}, beside={"hot"}).equal_size == 1


def test_patterns_say_yes_and_no(tmp_path):
    table = table11(
        {
            "base": write(tmp_path / "b", [("犬猫", 0.5), ("水山", 0.5)], unusable=2),
            "SFT": write(tmp_path / "s", [("犬猫", 0.9), ("犬猫", 0.9)], unusable=2),
            "DPO 2": write(tmp_path / "d", [("犬", 0.6), ("犬", 0.8)], unusable=2),
            "GRPO": write(tmp_path / "g", [("犬", 0.6)]),  # of fewer answers
        }
    )
    assert patterns(table) == {
        "SFT: ratio of different words to usable answers up": "NO (2.000 to 1.000)",
        "DPO 2: ratio of different words to usable answers down": "yes (2.000 to 0.500)",
        "DPO 2: highest mean": "NO (SFT 0.9000)",
    }


def test_a_word_counts_once_for_each_answer(tmp_path):
    lists = [("犬犬猫", 0.5), ("犬", 0.5), ("水水水", 0.5)]
    (row,) = table11({"base": write(tmp_path / "b", lists, unusable=2)}).rows
    assert row.usable_by_repeated_words == {"refuse": 1, "keep": 3}
    table = table11({"base": write(tmp_path / "c", lists[:2], parts=1)})
    assert table.rows[0].rarefaction[0] == (1, pytest.approx(hill_number([2, 1], 2, 1)))


def test_what_is_not_there(folders, tmp_path):
    with refused("table11: model that the paper has not"):
        table11(folders, "tiny")
    with refused("table11: no answers"):
        table11({"base": tmp_path / "nothing"})
