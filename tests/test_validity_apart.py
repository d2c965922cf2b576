"""Validity and distance as two rewards: what each pays, and what TRL makes of both."""

import math

import numpy as np
import pytest

import sozo.rewards.dat_apart as apart
from fakes import AXES, FakeEncoder, FakeNouns, list_text
from scripted_grpo import generated, scripted
from sozo.rewards import make_dat_distance, make_dat_validity
from sozo.tasks.dat.scorer import DatScorer
from sozo.training.grpo_trainer import MixTrainer

# On one axis each, but 木 and 花 between two: lists with them score a little less.
VECTORS = dict(zip(AXES, np.eye(12), strict=True))
VECTORS |= {word: VECTORS["犬"] + VECTORS[word] for word in "木花"}
FAR, NEAR, NEARER = (list_text(words) for words in (AXES[:10], (*AXES[:9], "木"), (*AXES[:8], "木", "花")))


@pytest.fixture
def halves(monkeypatch):
    """Both rewards, and how often a scorer was made."""
    made = []

    def of(settings):
        made.append(settings)
        return DatScorer(FakeNouns(AXES), FakeEncoder(VECTORS))

    monkeypatch.setattr(DatScorer, "of", of)
    apart.shared_scorer.cache_clear()
    yield make_dat_validity(), make_dat_distance(), made
    apart.shared_scorer.cache_clear()


def test_an_invalid_list_has_no_distance_and_one_seen_before_is_paid_0(halves):
    validity, distance, made = halves
    texts = [FAR, "x", NEAR, FAR]
    assert validity(completions=texts) == [1.0, 0.0, 1.0, 1.0]
    # One cosine of 1/sqrt(2) among 45.
    assert distance(completions=texts) == [1.0, None, pytest.approx(1 - math.sqrt(0.5) / 45), 0.0]
    assert len(made) == 1


def test_metrics_are_logged_once(halves):
    validity, distance, _ = halves
    metrics = {}
    validity(completions=[FAR, FAR, "x"], log_metric=metrics.__setitem__)
    assert set(metrics) == {"dat_validity/seconds"}
    distance(completions=[FAR, FAR, "x"], log_metric=metrics.__setitem__)
    assert metrics["dat/valid_rate"] == pytest.approx(2 / 3)
    assert metrics["dat/duplicate_share"] == pytest.approx(1 / 3)


def advantages(halves, folder, texts, **settings):
    settings = {"multi_objective_aggregation": "normalize_then_sum", **settings}
    return generated(scripted(folder, texts, list(halves[:2]), MixTrainer, **settings))["advantages"].tolist()


def normalised(values):
    values = np.array(values, float)
    return (values - np.nanmean(values)) / (np.nanstd(values, ddof=1) + 1e-4)


def test_each_is_normalised_alone(halves, tmp_path):
    texts = [FAR, NEAR, NEARER, "x"]
    scores = halves[1](completions=texts)
    halves[1].seen._keys.clear()
    both = normalised([1, 1, 1, 0]) + np.nan_to_num(normalised([math.nan if s is None else s for s in scores]))
    assert advantages(halves, tmp_path, texts) == pytest.approx(normalised(both), abs=1e-4)


@pytest.mark.parametrize("texts", [["x", "y", "x", "y"], [FAR, "x", "x", "y"]])
def test_a_group_without_two_valid_lists_survives(halves, tmp_path, texts):
    # One valid list has no distance to compare; without any, nothing is learned.
    valid = [float(text == FAR) for text in texts]
    expected = normalised(normalised(valid)) if any(valid) else [0.0] * 4
    assert advantages(halves, tmp_path, texts) == pytest.approx(expected, abs=1e-3)
