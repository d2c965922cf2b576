"""Any reward times the diversity of its group, by numbers worked out by hand and a slow oracle."""

import asyncio
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import own_qualities
from documents import ROOT
from fakes import AXES, FakeNouns, axis_encoder, list_text
from sentences import refused
from sozo.rewards import make_diverse_reward, make_placebo
from sozo.rewards.dat import DatReward
from sozo.scoring.embeddings import ALIKE_FROM
from sozo.tasks.dat.scorer import DatScorer
from sozo.tasks.task import Answer, Item
from sozo.training.entries import Entry
from sozo.training.mix import reward_functions

HOW = ("times", "divide")
# Each row two pairs: an answer beside one that people would call the same, and beside another answer to its prompt.
PAIRS = ROOT / "tests/files/alike_pairs.jsonl"


def given_quality(completions, quality, **columns):
    """What the dataset's column says."""
    return quality


def pay(texts, quality=None, prompts=None, **options):
    reward = make_diverse_reward(given_quality, **options)
    quality = [1.0] * len(texts) if quality is None else quality
    return reward(
        prompts=prompts or ["?"] * len(texts), completions=texts, quality=quality
    )


def test_times_and_divide_by_hand():
    texts = ["犬", "犬", "猫", "鳥"]
    assert pay(texts, [3, 6, 9, 12]) == [2, 4, 9, 12]  # of three others 2, 2, 3, 3
    assert pay(texts, [3, 6, 9, 12], how="divide") == [1.5, 3, 9, 12]


@pytest.mark.parametrize("how", HOW)
def test_without_a_number_it_is_no_answer_of_the_group(how):
    paid = pay(["犬", "犬", "猫"], [None, 4.0, math.nan], how=how)
    assert paid == [None, 4.0, None]


def test_an_infinite_quality_is_an_error():
    with refused("diverse: an infinite quality"):
        pay(["犬", "猫"], [1.0, math.inf])


def test_the_same_text_in_other_clothes():
    same = ["Ａ brick", "a  BRICK", "a\u200b b\u034frick", "<think>x y</think>a brick"]
    assert pay([*same[:2], "two bricks"]) == [0.5, 0.5, 1]
    assert pay([same[1], same[3], "two bricks"]) == [0.5, 0.5, 1]
    assert pay(["ガ", "ｶﾞ", "カ\u3099", "カ"]) == [1 / 3, 1 / 3, 1 / 3, 1]
    assert pay(["é", "e\u0301", "e\u2060\u0301", "e"]) == [1 / 3, 1 / 3, 1 / 3, 1]
    # Tags: ASCII that nobody sees.
    assert pay(["犬", "犬\U000e0041", "犬\U000e0042\ufe0f"]) == [0, 0, 0]


@pytest.mark.parametrize("alike", ["text", "ngram"])
def test_marks_that_a_reader_sees_tell_texts_apart(alike):
    # Thai: to have, pig; Hebrew with points: a book, a barber; Hindi: a day, poor; Arabic: he wrote, books.
    words = ["มี", "มู", "סֵפֶר", "סַפָּר", "दिन", "दीन", "كَتَبَ", "كُتُب"]
    assert pay(words, alike=alike) == [1] * 8


def test_ngrams_are_of_the_shorter_text_and_join_over_others():
    # Runs of four: abcd bcde cdef; cdef defg efgh; efgh fghi ghij. One of three is shared by neighbours.
    chain = ["abcdef", "cdefgh", "efghij"]
    assert pay(chain, alike="ngram", threshold=1 / 3) == [0, 0, 0]
    assert pay(chain, alike="ngram") == [1, 1, 1]
    # All of a short text is in a long one; a text of fewer than four characters is one run.
    assert pay(["abcd", "xxabcdxx", "abc"], alike="ngram") == [0.5, 0.5, 1]


class Plane:
    """Texts are angles in degrees; what is no number has no vector."""

    name, revision = "plane", "1"

    def encode(self, texts):
        angles = [float(text) if text.isdigit() else math.nan for text in texts]
        vectors = [
            [math.cos(math.radians(a)), math.sin(math.radians(a))] for a in angles
        ]
        return np.nan_to_num(np.array(vectors, np.float32))


def test_embeddings_by_a_threshold_on_the_cosine():
    options = {"alike": "embedding", "embedding_model": Plane(), "threshold": 0.5}
    assert pay(["0", "59", "118", "180"], **options) == [1 / 3, 1 / 3, 1 / 3, 1]
    assert pay(["0", "61", "122", "183"], **options) == [1, 1, 1, 1]


def wrong(cosines, threshold):
    """How many alike pairs are told apart, and how many different ones are not, of rows (alike, different)."""
    alike, different = cosines.T
    return np.array([(alike < threshold).sum(), (different >= threshold).sum()])


@pytest.mark.parametrize(
    ("encoder", "languages", "missed", "joined"),
    [
        pytest.param("e5", "en ja", 1, 3, marks=pytest.mark.slow),
        pytest.param("minilm", "en", 3, 3, marks=pytest.mark.slow),
        ("ja-ginza", "ja", 3, 4),
    ],
)
def test_an_encoder_s_threshold_is_chosen_on_half_of_the_pairs(
    encoder, languages, missed, joined
):
    """The other half tells how often it is wrong: of 50 pairs of a kind, 24 English or 25 Japanese (benchmarks/README.md)."""
    rows = [
        row
        for row in map(json.loads, PAIRS.read_text("utf-8").splitlines())
        if row["language"] in languages
    ]
    reward = make_diverse_reward(
        own_qualities.length, alike="embedding", embedding_model=encoder
    )
    texts = [row[name] for row in rows for name in ("answer", "alike", "different")]
    vectors = np.stack(reward._marks(texts)).reshape(len(rows), 3, -1)
    cosines = np.einsum("rk,rjk->rj", vectors[:, 0], vectors[:, 1:])
    chosen, others = cosines[::2], cosines[1::2]
    grid = np.arange(30, 100) / 100
    errors = [wrong(chosen, threshold).sum() for threshold in grid]
    assert reward.threshold == ALIKE_FROM[encoder] == grid[np.argmin(errors)]
    assert wrong(others, reward.threshold).tolist() == [missed, joined]


def test_without_a_vector_it_is_not_known_to_differ():
    options = {"alike": "embedding", "embedding_model": Plane(), "threshold": 0.9}
    assert pay(["0", "90", "noise", "other noise"], **options) == [1, 1, 0, 0]
    assert pay(["0", "90", "noise"], **options, how="divide") == [1, 1, 1 / 3]


def test_groups_are_prompts_and_not_the_last_turn_alone():
    def conversation(first):
        return [
            {"role": "user", "content": first},
            {"role": "assistant", "content": "はい"},
            {"role": "user", "content": "続けて"},
        ]

    prompts = [
        conversation("海"),
        conversation("海"),
        conversation("山"),
        conversation("山"),
    ]
    assert pay(["犬", "猫", "犬", "犬"], prompts=prompts) == [1, 1, 0, 0]


@pytest.mark.parametrize(
    ("sizes", "said"),
    [((4, 1), "diverse: a group of one"), ((4, 8, 6), "diverse: a group is cut")],
)
def test_a_group_that_is_cut_is_an_error_that_says_how_to_set_the_batch(sizes, said):
    prompts = [str(k) for k, size in enumerate(sizes) for _ in range(size)]
    with refused(said):
        pay(["犬"] * len(prompts), prompts=prompts)


def slow(texts, quality, how, alike):
    """What a group is paid by one's fingers: clusters grow until no answer joins."""
    known = [k for k, worth in enumerate(quality) if worth is not None]

    def runs(text):
        return {text[i : i + 4] for i in range(max(1, len(text) - 3))}

    def same(a, b):
        if alike == "text":
            return a == b
        short, long = sorted((runs(a), runs(b)), key=len)
        return sum(run in long for run in short) >= len(short) / 2

    paid = [None] * len(texts)
    for k in known:
        cluster = {k}
        while more := {
            j
            for j in known
            if j not in cluster and any(same(texts[j], texts[i]) for i in cluster)
        }:
            cluster |= more
        c, n = len(cluster), len(known)
        factor = 1 / c if how == "divide" else (n - c) / (n - 1) if n > 1 else 1
        paid[k] = quality[k] * factor if quality[k] > 0 else quality[k]
    return paid


ANSWERS = st.lists(
    st.tuples(
        st.text("abc", max_size=7),
        st.sampled_from([None, -2.0, -0.5, 0.0, 0.25, 1.0, 3.0]),
    ),
    min_size=6,
    max_size=6,
)


@settings(max_examples=50, deadline=None)
@given(
    ANSWERS,
    ANSWERS,
    st.sampled_from(HOW),
    st.sampled_from(["text", "ngram"]),
    st.randoms(use_true_random=False),
    st.integers(0, 12),
)
def test_any_order_split_and_batch_of_whole_groups(one, other, how, alike, draw, cut):
    expected = {}
    for name, group in (("a", one), ("b", other)):
        texts, quality = zip(*group, strict=True)
        paid = slow(texts, quality, how, alike)
        expected |= {(name, k): worth for k, worth in enumerate(paid)}
    rows = [
        (name, k, *row)
        for name, g in (("a", one), ("b", other))
        for k, row in enumerate(g)
    ]
    draw.shuffle(rows)

    def payments(rows):
        names, places, texts, quality = map(list, zip(*rows, strict=True))
        paid = pay(texts, quality, names, how=how, alike=alike)
        return dict(zip(zip(names, places, strict=True), paid, strict=True))

    together = payments(rows)
    assert together == expected
    # As two processes do: each looks at its own, and all are paid among all.
    reward = make_diverse_reward(
        lambda prompts, completions, **_: [quality_of.pop(0) for _ in completions],
        how=how,
        alike=alike,
    )
    quality_of = [row[3] for row in rows]
    parts = [
        reward.alone(
            [Item("", name) for name, *_ in part],
            [Answer("", "", text) for _, _, text, _ in part],
        )
        for part in (rows[:cut], rows[cut:])
    ]
    split = [completion.reward for completion in reward.among(parts[0] + parts[1])]
    assert dict(zip(together, split, strict=True)) == together


def dat_reward():
    return DatReward(lambda: DatScorer(FakeNouns(AXES), axis_encoder()))


def test_a_reward_of_sozos_is_asked_by_its_hooks_and_keeps_all_it_says():
    first, second = list_text(AXES[:10]), list_text(AXES[1:11])
    texts = [first, second, "x", first]
    reward, alone = make_diverse_reward(dat_reward()), dat_reward()
    metrics, columns, theirs = {}, {}, {}
    paid = reward(
        completions=texts,
        log_metric=metrics.__setitem__,
        log_extra=columns.__setitem__,
    )
    assert alone(completions=texts, log_metric=theirs.__setitem__) == [10, 10, 0, 0]
    assert paid == [pytest.approx(20 / 3), 10, 0, 0]  # the second copy is a duplicate
    del metrics["diverse/seconds"], theirs["dat/seconds"]
    assert theirs.items() <= metrics.items()
    assert [one.reason for one in reward.last] == [None, None, "format", None]
    assert columns["duplicate"] == [False, False, False, True]
    assert columns["quality"] == [10, 10, 0, 0]
    assert columns["diversity"] == pytest.approx([2 / 3, 1, 1, 2 / 3])
    # A run that goes on remembers what it has seen.
    again = make_diverse_reward(dat_reward())
    again.restore(json.loads(json.dumps(reward.state())))
    assert again(completions=[first, second]) == [0, 0]
    told = reward.describe()
    assert {**told, **alone.describe()} == told
    assert (told["quality"], told["diversity"]["how"]) == ("dat_reward", "times")


@pytest.mark.parametrize(
    ("said", "options"),
    {
        "diverse: alike is unknown": {"alike": "meaning"},
        "diverse: how is unknown": {"how": "plus"},
        "diverse: a threshold of texts": {"threshold": 0.5},
        "diverse: a threshold above 1": {"alike": "ngram", "threshold": 1.5},
        "diverse: arguments are missing": {"quality": "sozo.rewards.make_dat_reward"},
        "diverse: there is no such quality": {"quality": "fakes.nothing"},
        "diverse: an encoder without a threshold": {
            "alike": "embedding",
            "embedding_model": "openai:text-embedding-3-small",
        },
        "diverse: a threshold of an encoder of one's own": {
            "alike": "embedding",
            "embedding_model": Plane(),
        },
        "diverse: quality is no reward": {"quality": 3},
        "diverse: a name that is no text": {"name": 3},
        "diverse: arguments of a function": {"quality_args": {}},
    }.items(),
)
def test_a_mistake_is_told_before_anything_is_scored(said, options):
    with refused(said):
        make_diverse_reward(**{"quality": given_quality} | options)


def test_a_quality_of_ones_own_that_gives_too_few_values():
    reward = make_diverse_reward(lambda completions, **columns: [1.0])
    with refused("diverse: too few values"):
        reward(completions=["犬", "猫"])


async def async_length(completions, **columns):
    return own_qualities.length(completions)


def test_an_async_quality_is_awaited_also_within_an_event_loop():
    async def within():
        return make_placebo(async_length)(completions=["犬", "犬と猫"])

    reward = make_diverse_reward(async_length)
    assert reward(completions=["犬", "犬と猫"]) == [1, 3]
    assert sorted(asyncio.run(within())) == [1, 3]


def entry_of(folder, path="sozo.rewards.make_diverse_reward", **arguments):
    (folder / "prompts.jsonl").write_text('{"prompt": "?"}\n')
    return Entry(
        prompts=str(folder / "prompts.jsonl"),
        reward_funcs=[path],
        reward_args={path: arguments},
    )


def test_two_in_one_training_have_names_of_their_own(tmp_path):
    own = {"quality": "own_qualities.length"}
    first, second = entry_of(tmp_path, **own), entry_of(tmp_path, **own, name="far")
    functions = reward_functions([first, second])
    assert [one.__name__ for one in functions] == ["diverse_reward", "far"]
    metrics = {}
    for one in functions:
        one.reward(
            prompts=["?"] * 2,
            completions=["犬", "犬と猫"],
            log_metric=metrics.__setitem__,
        )
        for _, shown, _ in one.reward.console:
            assert shown in metrics
    assert metrics["diverse/diversity"] == metrics["far/diversity"] == 1


def test_in_a_recipe(tmp_path):
    def reward(**arguments):
        return entry_of(tmp_path, **arguments).rewards[0]

    paid = reward(quality="own_qualities.length", alike="ngram")
    assert paid(completions=["犬", "犬と猫"]) == [1, 3]
    # As of a reward that stands alone, before a model is loaded.
    with refused("diverse: a quality without completions"):
        reward(quality="json.dumps")


def test_by_e5_a_text_is_the_same_in_any_batch():
    reward = make_diverse_reward(own_qualities.length, alike="embedding")
    texts = ["犬が走る。", "A brick can hold a door open.", "海" * 40, "x"]
    together = reward._marks(texts)
    for text, mark in zip(texts, together, strict=True):
        assert (reward._marks([text])[0] == mark).all()
    assert (np.stack(reward._marks(texts[::-1])) == np.stack(together[::-1])).all()


def test_a_placebo_deals_within_the_answers_to_one_prompt():
    def length(completions, **columns):
        return [float(len(text)) for text in completions]

    logged = {}
    talks = [[{"role": "user", "content": name}] for name in ("one", "two", "last")]
    # One prompt pays all alike, one differently, and one has a single usable answer.
    prompts = [talks[k] for k in (0, 1, 0, 1, 0, 1, 2, 2)]
    texts = ["aaaa", "b", "cccc", "dd", "eeee", "fff", "ggggg", ""]
    dealt = set()
    for seed in range(40):
        placebo = make_placebo(length, seed=seed)
        paid = placebo(
            prompts=prompts, completions=texts, log_metric=logged.__setitem__
        )
        assert paid[0:6:2] == [4.0] * 3
        assert sorted(paid[1:6:2]) == [1.0, 2.0, 3.0]
        assert paid[6:] == [5.0, 0.0]
        dealt.add(tuple(paid))
    assert len(dealt) == 6
    assert logged["placebo/alone"] == 1 / 8
    assert placebo.describe()["placebo"] == {"of": "length", "seed": 39}


def test_a_function_of_ones_own_gets_what_the_trainer_hands_over_two_rewards_further_in():
    seen = []

    def watching(completions, trainer_state, **columns):
        seen.append((trainer_state, completions))
        return [1.0] * len(completions)

    talk = [[{"role": "assistant", "content": "a"}]] * 2
    placebo = make_placebo(make_diverse_reward(watching))
    placebo(prompts=["?"] * 2, completions=talk, trainer_state="state")
    assert placebo.asked is watching
    assert seen == [("state", talk)]


@pytest.mark.parametrize("seed", [None, "7", 1.5, True])
def test_a_placebos_seed_is_a_whole_number(seed):
    with refused("placebo: a seed that is no whole number"):
        make_placebo(dat_reward(), seed=seed)
