"""The combination alone: by hand on two axes, nothing for the choice of words, and the mistakes of a user."""

import numpy as np
import pytest

import sozo.rewards.dat_apart as apart
from fakes import AXES, FakeEncoder, FakeNouns, list_text
from sozo.data.errors import UserError
from sozo.rewards import make_dat_combination
from sozo.rewards.dat_combination import combined
from sozo.scoring.embeddings import WordVectors
from sozo.tasks.dat.scorer import DatScorer
from test_guard import finished


@pytest.fixture
def scorer(monkeypatch):
    monkeypatch.setattr(
        DatScorer,
        "of",
        lambda settings: DatScorer(FakeNouns(AXES), FakeEncoder(dict(zip(AXES, np.eye(12), strict=True)))),
    )
    apart.shared_scorer.cache_clear()
    yield
    apart.shared_scorer.cache_clear()


def test_by_hand():
    east, north, west = (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)
    vectors = WordVectors(FakeEncoder({"東": east, "北": north, "西": west}))
    # From (0, 0.5): 東 (1, -0.5), 西 (-1, -0.5), 北 (0, 0.5).
    worths = combined(vectors, [["東", "西", "北"]], np.array([0.0, 0.5]))
    assert worths[0] == pytest.approx([(0.75 + 0.25) / 2, (0.75 + 0.25) / 2, (0.25 + 0.25) / 2])
    assert combined(vectors, [], np.zeros(2)) == []


def test_the_choice_of_words_earns_nothing_at_best_and_company_does():
    random = np.random.default_rng(0)
    unit = random.normal(size=(60, 8))
    names = [f"語{k}" for k in range(60)]
    vectors = WordVectors(FakeEncoder(dict(zip(names, unit, strict=True))))
    unit = vectors.unit(names)
    use = random.dirichlet(np.ones(60))
    mean = use @ unit

    def paid(shares):
        lists = random.choice(60, size=(20_000, 3), p=shares)
        worths = combined(vectors, [[names[k] for k in row] for row in lists], mean)
        return np.mean(worths), np.std(np.mean(worths, axis=1)) / np.sqrt(len(worths))

    at_reference, error = paid(use)
    assert abs(at_reference) < 4 * error
    leaning = np.exp(-8 * unit @ mean)  # what the paper's reward teaches: away from the common direction
    leaned, error = paid(leaning / leaning.sum())
    assert leaned < -4 * error
    # The nearest and the farthest third word for the same first two: company alone decides.
    pair = unit[0] + unit[1] - 2 * mean
    order = np.argsort((unit - mean) @ pair)
    near, far = (np.mean(combined(vectors, [[names[0], names[1], names[k]]], mean)) for k in (order[-1], order[0]))
    assert far > near


def test_a_reward_of_valid_lists(scorer, tmp_path):
    reference = finished(tmp_path / "base", [list(AXES[:10]), list(AXES[2:])], [1.0, 1.0])
    reward = make_dat_combination(reference=str(reference))
    first = list_text(AXES[:10])
    paid = reward(completions=[first, "x", first])
    # Of twenty words eight come twice and four once.
    counts = np.array([1, 1, *[2] * 8, 1, 1]) / 20
    moved = np.eye(12)[:10] - counts
    expected = -np.mean([moved[i] @ moved[j] for i in range(10) for j in range(10) if i != j])
    assert paid == [pytest.approx(expected), None, 0.0]
    scored = reward.last[0]
    assert [scored.text[part.start : part.end] for part in scored.parts] == list(AXES[:10])
    assert np.mean([part.worth for part in scored.parts]) == pytest.approx(expected)
    assert reward.describe()["reference"] == str(reference)


def test_what_is_wrong_is_said_at_once(scorer, tmp_path):
    with pytest.raises(UserError, match="nowhere is not there"):
        make_dat_combination(reference=str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match="olson"):
        make_dat_combination(reference=str(tmp_path), olson=True)
    empty = finished(tmp_path / "empty", [list(AXES[:10])], [None])
    with pytest.raises(UserError, match="no valid list"):
        make_dat_combination(reference=str(empty))(completions=[list_text(AXES[:10])])
