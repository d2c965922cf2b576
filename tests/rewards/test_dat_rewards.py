"""DAT's rewards of their own: usable and distance apart, what TRL makes of both, and the pairing alone."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from fakes import AXES, FakeEncoder, FakeNouns, axis_encoder, list_text
from scripted_grpo import generated, scripted
from second_encoders import finished
from sentences import refused
from sozo.rewards import (
    make_dat_distance,
    make_dat_pairing,
    make_dat_usable,
)
from sozo.rewards.dat import DatRarity, combined, shared_scorer
from sozo.tasks.dat.scorer import DatScorer
from sozo.training.grpo_trainer import MixTrainer
from sozo.training.tracking import RunRecorder

# On one axis each, but 木 and 花 between two: lists with them score a little less.
VECTORS = dict(zip(AXES, np.eye(12), strict=True))
LEANING = VECTORS | {word: VECTORS["犬"] + VECTORS[word] for word in "木花"}
FAR, NEAR, NEARER = (
    list_text(words)
    for words in (AXES[:10], (*AXES[:9], "木"), (*AXES[:8], "木", "花"))
)


@pytest.fixture
def scorers(monkeypatch):
    """Every scorer on these axes; how often one was made."""
    made = []

    def from_settings(settings):
        made.append(settings)
        return DatScorer(
            FakeNouns(AXES), FakeEncoder(LEANING if settings.reasoning else VECTORS)
        )

    monkeypatch.setattr(DatScorer, "from_settings", from_settings)
    shared_scorer.cache_clear()
    yield made
    shared_scorer.cache_clear()


@pytest.fixture
def halves(scorers):
    return make_dat_usable(), make_dat_distance()


def test_an_unusable_list_has_no_distance_and_one_seen_before_is_paid_0(
    halves, scorers
):
    usable, distance = halves
    texts = [FAR, "x", NEAR, FAR]
    assert usable(completions=texts) == [1.0, 0.0, 1.0, 1.0]
    # One cosine of 1/sqrt(2) among 45.
    assert distance(completions=texts) == [
        1.0,
        None,
        pytest.approx(1 - math.sqrt(0.5) / 45),
        0.0,
    ]
    assert [part.worth for part in distance.last[3].parts] == [0.0] * 10
    assert len(scorers) == 1


def advantages(halves, folder, texts, **settings):
    settings = {"multi_objective_aggregation": "normalize_then_sum", **settings}
    return generated(scripted(folder, texts, list(halves), MixTrainer, **settings))[
        "advantages"
    ].tolist()


def normalised(values):
    values = np.array(values, float)
    return (values - np.nanmean(values)) / (np.nanstd(values, ddof=1) + 1e-4)


def test_each_is_normalised_alone(halves, tmp_path):
    texts = [FAR, NEAR, NEARER, "x"]
    scores = halves[1](completions=texts)
    halves[1].seen._keys.clear()
    both = normalised([1, 1, 1, 0]) + np.nan_to_num(
        normalised([math.nan if s is None else s for s in scores])
    )
    assert advantages(halves, tmp_path, texts) == pytest.approx(
        normalised(both), abs=1e-4
    )


@pytest.mark.parametrize("texts", [["x", "y", "x", "y"], [FAR, "x", "x", "y"]])
def test_a_group_without_two_usable_lists_survives(halves, tmp_path, texts):
    # One usable list has no distance to compare; without any, nothing is learned.
    usable = [float(text == FAR) for text in texts]
    expected = normalised(normalised(usable)) if any(usable) else [0.0] * 4
    assert advantages(halves, tmp_path, texts) == pytest.approx(expected, abs=1e-3)


def test_pairing_by_hand():
    unit = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])  # east, north, west
    # From (0, 0.5): east (1, -0.5), west (-1, -0.5), north (0, 0.5).
    worths = combined(unit, np.array([[0, 2, 1]]), np.array([0.0, 0.5]))
    assert worths[0] == pytest.approx(
        [(0.75 + 0.25) / 2, (0.75 + 0.25) / 2, (0.25 + 0.25) / 2]
    )


def test_pairing_of_usable_lists(scorers, tmp_path):
    reference = finished(
        tmp_path / "base", [list(AXES[:10]), list(AXES[2:])], [1.0, 1.0]
    )
    reward = make_dat_pairing(reference=str(reference), reasoning=False)
    first = list_text(AXES[:10])
    paid = reward(completions=[first, "x", first])
    # Of twenty words eight come twice and four once.
    counts = np.array([1, 1, *[2] * 8, 1, 1]) / 20
    moved = np.eye(12)[:10] - counts
    expected = -np.mean(
        [moved[i] @ moved[j] for i in range(10) for j in range(10) if i != j]
    )
    assert paid == [pytest.approx(expected), None, 0.0]
    scored = reward.last[0]
    assert [scored.text[part.start : part.end] for part in scored.parts] == list(
        AXES[:10]
    )
    assert np.mean([part.worth for part in scored.parts]) == pytest.approx(expected)
    # A run that resumes asks what the reference holds, not where it lies.
    known = reward.describe()["reference"]
    assert reward.free == {"reference"}
    moved_to = reference.rename(tmp_path / "elsewhere")
    assert (
        make_dat_pairing(reference=str(moved_to), reasoning=False).describe()[
            "reference"
        ]
        == known
    )
    other = finished(tmp_path / "base", [list(AXES[:10]), list(AXES[1:11])], [1.0, 1.0])
    assert (
        make_dat_pairing(reference=str(other), reasoning=False).describe()["reference"]
        != known
    )


def test_what_is_wrong_is_said_at_once(scorers, tmp_path):
    with refused("pairing: no reference"):
        make_dat_pairing(reference=str(tmp_path / "nowhere"))
    with refused("pairing: Olson's rule"):
        make_dat_pairing(reference=str(tmp_path), language="en", olson=True)
    with refused("distance: Olson's rule"):
        make_dat_distance(language="en", olson=True)
    empty = finished(tmp_path / "empty", [list(AXES[:10])], [None])
    with refused("pairing: a reference without lists"):
        make_dat_pairing(reference=str(empty))(completions=[list_text(AXES[:10])])


# Rarity


def build():
    return DatScorer(FakeNouns(AXES), axis_encoder())


def test_rare_words_are_worth_more():
    reward = DatRarity(build, decay=0.5)
    texts = [list_text(AXES[:10]), "x", list_text(AXES[2:])]
    assert reward(completions=texts) == [0.0, None, 0.0]  # nothing has been counted yet
    # Twenty words, 犬 and 猫 once, eight twice, 木 and 花 once.
    paid = reward(completions=[list_text(AXES[:10])])
    worths = [np.log(21 / 2)] * 2 + [np.log(21 / 3)] * 8
    assert paid == [pytest.approx(np.mean(worths))]
    assert [part.worth for part in reward.last[0].parts] == pytest.approx(worths)
    # Halved and ten more.
    state = reward.state()
    assert dict(zip(state["words"], state["counts"], strict=True)) == {
        **dict.fromkeys(AXES[:2], 1.5),
        **dict.fromkeys(AXES[2:10], 2.0),
        **dict.fromkeys(AXES[10:], 0.5),
    }


def test_a_checkpoint_keeps_the_counts(tmp_path):
    choose = np.random.default_rng(0).choice
    texts = [[list_text(choose(AXES, 10, replace=False))] for _ in range(6)]
    unbroken, first, second = (DatRarity(build) for _ in range(3))
    expected = [unbroken(completions=step) for step in texts]
    assert [first(completions=step) for step in texts[:3]] == expected[:3]
    folder = tmp_path / "checkpoint-3"
    folder.mkdir()
    place = SimpleNamespace(is_world_process_zero=True, global_step=3)
    args = SimpleNamespace(output_dir=tmp_path)
    RunRecorder([first]).on_save(args, place, None)
    RunRecorder([second]).restore(folder)
    assert [second(completions=step) for step in texts[3:]] == expected[3:]
    assert second.state() == unbroken.state()
