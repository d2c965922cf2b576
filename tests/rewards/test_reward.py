"""The reward function: what it pays, what it logs, and what it survives."""

import pickle

import pytest

from fakes import AXES, FakeNouns, axis_encoder, list_text
from reward_calls import CALLS
from sentences import refused
from sozo.rewards import (
    Reward,
    dat_reward,
    make_dat_reward,
    make_task_reward,
)
from sozo.rewards.dat import DatReward
from sozo.rewards.task import reward_of, reward_options
from sozo.scoring.measure import Measure
from sozo.tasks.dat.scorer import DatScorer, DatSettings
from sozo.tasks.dat.task import Dat
from sozo.tasks.task import Row, Task

TEN, SHIFTED = AXES[:10], AXES[1:11]


def build():
    """A scorer that gives any ten different words of AXES the score 1. 犬 is a name, 木 from Wikipedia."""
    return DatScorer(FakeNouns(AXES, proper=["犬"], wikipedia=["木"]), axis_encoder())


def test_pays_ten_times_the_score_and_nothing_for_unusable_and_seen_answers():
    reward = DatReward(build)
    texts = [
        list_text(TEN),
        "x",
        list_text(SHIFTED),
        list_text(TEN),
        list_text(TEN[::-1]),
        "x",
    ]
    assert reward(completions=texts) == [10.0, 0.0, 10.0, 0.0, 10.0, 0.0]
    paid = reward(completions=[list_text(SHIFTED), list_text(AXES[2:])])
    assert (paid, {type(value) for value in paid}) == ([0.0, 10.0], {float})


def test_logged_columns():
    columns = {}
    completions = [list_text(TEN), "x", list_text([*TEN[:9], "走"]), list_text(TEN)]
    DatReward(build)(completions=completions, log_extra=columns.__setitem__)
    assert columns == {
        "words": [" ".join(TEN), "", " ".join([*TEN[:9], "走"]), " ".join(TEN)],
        "score": [1.0, None, None, 1.0],
        "reason": [None, "format", "not_noun", None],
        "duplicate": [False, False, False, True],
    }


def test_the_scorer_is_built_once_at_the_first_call_and_its_errors_come_through():
    built = []

    def counted():
        built.append(1)
        if len(built) == 1:
            raise FileNotFoundError("no jumanpp")
        return build()

    reward = DatReward(counted)
    assert built == []
    with pytest.raises(FileNotFoundError, match="no jumanpp"):
        reward(completions=["x"])
    assert len(reward.seen) == 0
    reward(completions=["x"])
    reward(completions=["x"])
    assert built == [1, 1]


def test_pickles_with_its_history_but_without_its_scorer():
    reward = DatReward(build, scale=5.0)
    assert reward(completions=[list_text(TEN)]) == [5.0]
    copy = pickle.loads(pickle.dumps(reward))
    assert copy.__name__ == "dat_reward"
    assert "scorer" not in vars(copy)
    assert copy(completions=[list_text(TEN), list_text(SHIFTED)]) == [0.0, 5.0]
    assert (
        pickle.loads(
            pickle.dumps(make_dat_reward(noun_checker="jumandic", scale=2.0))
        ).scale
        == 2.0
    )
    # The name is W&B's key, whatever the settings.
    assert (
        make_dat_reward(language="en", olson=True).__name__
        == pickle.loads(pickle.dumps(dat_reward)).__name__
        == "dat_reward"
    )


def test_the_ready_made_reward_has_the_default_settings():
    description = dat_reward.describe()
    assert description == DatReward().describe()
    assert description["noun_checker"] in ("jumanpp", "jumandic")
    assert description["embedding_model"] == "ja-ginza"


# Any task's measure


def test_a_tasks_measure_is_a_reward(tmp_path):
    reward = make_task_reward("dat", "dat/usable", scale=2.0, noun_checker="jumandic")
    metrics, columns = {}, {}
    usable = list_text(
        ["犬", "法律", "海", "数学", "靴", "音楽", "病気", "机", "天気", "祝日"]
    )
    paid = reward(
        prompts=["?", "?"],
        completions=[usable, "x"],
        log_metric=metrics.__setitem__,
        log_extra=columns.__setitem__,
        item=["", ""],
    )
    assert paid == [2.0, 0.0]
    assert columns == {
        "score": [1.0, 0.0],
        "reason": [None, "format"],
        "duplicate": [False, False],
    }
    assert (metrics["dat/score"], metrics["dat/reason/format"]) == (0.5, 0.5)
    assert reward.describe()["measure"] == "dat/usable"
    with refused("task reward: no such measure"):
        make_task_reward("dat", "usable")
    with refused("task reward: no such setting"):
        make_task_reward("dat", noun_check="jumandic")


def test_an_offset_is_paid_to_usable_answers_and_a_missing_column_told(monkeypatch):
    monkeypatch.setenv("SOZO_TASKS", "examples.task.Acrostic")
    reward = make_task_reward("acrostic", offset=2.0)
    text, unusable = "さむい朝だった\n空を見あげた", "さ\nく"
    paid = reward(prompts=["?"] * 2, completions=[text, unusable], word=["さく"] * 2)
    assert paid == [2.5, 0.0]
    with refused("task reward: no such column"):
        reward(prompts=["?"], completions=[text], letters=["さく"])


def test_a_tasks_reward_is_its_own_or_sozos_or_its_first_measure():
    class Silent(Task):
        """Says of no answer alone what it is worth."""

        name, measures = "silent", (Measure("silent"),)

    class Measured(Silent):
        def score(self, items, answers):
            return [Row({"silent": 0.5}) for _ in answers]

    class Generous(Measured):
        def reward(self, *, bonus=1.0):
            return lambda **columns: [bonus] * len(columns["completions"])

    class Mine(Dat):
        name = "mine"

    assert reward_options(Silent) is None
    with refused("task reward: worth nothing alone"):
        reward_of(Silent())
    assert reward_of(Measured(), scale=4.0)(prompts=["?"], completions=["x"]) == [2.0]
    assert reward_options(Generous) == {"bonus"}
    assert reward_of(Generous(), bonus=3.0)(completions=["x"]) == [3.0]
    assert reward_options(Mine) == {"scale", "penalise_duplicates", "seen_as"}
    reward = reward_of(
        Mine(DatSettings(noun_checker="jumandic", reject_glued=True)), scale=2.0
    )
    assert (type(reward), reward.scale, reward.scorer.rules.reject_glued) == (
        DatReward,
        2.0,
        True,
    )


class Length(Reward):
    """What a completion's length is worth."""

    def alone(self, items, answers):
        return [
            self.scored(item, answer.text, len(answer.text) or None, None)
            for item, answer in zip(items, answers, strict=True)
        ]


def test_duplicates_answer_the_same_prompt_with_the_same_text():
    reward = Length("length_reward", "length", penalise_duplicates=True)
    paid = reward(prompts=["a", "b", "a"], completions=["x", "x", "x"])
    assert paid == [1.0, 1.0, 0.0]
    assert reward(prompts=["b", "b"], completions=["x", ""]) == [0.0, 0.0]
    assert len(reward.seen) == 2


@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_cannot_be_meant_says_how_it_is_called(call):
    words, named = CALLS[call]
    with refused(f"a reward is called with {call}"):
        DatReward(build)(*words, **named)


def test_no_completions_of_this_process_are_no_mistake():
    assert DatReward(build)(prompts=[], completions=[]) == []
