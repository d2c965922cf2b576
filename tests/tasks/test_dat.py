"""DatScorer: hand-worked scores, every rule against every later one, and the slow obvious way beside it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from fakes import AXES, FakeEncoder, FakeNouns, axis_encoder, list_text
from sentences import refused
from sozo.data.schema import Reason
from sozo.tasks.dat.scorer import DatResult, DatRules, DatScorer, DatSettings
from sozo.tasks.dat.words import REPEATED_WORDS

TEN = AXES[:10]
# What breaks each rule in one word; 無 is a noun without a vector, 走 no noun.
BREAKS = {
    Reason.NOT_JAPANESE: "dog",
    Reason.SYMBOL: "犬!",
    Reason.NOT_NOUN: "走",
    Reason.NO_VECTOR: "無",
}


def make_scorer(rules=None, nouns=(), **kwargs):
    return DatScorer(FakeNouns([*AXES, "無", *nouns]), axis_encoder(), rules, **kwargs)


def one(text, scorer=None):
    return (scorer or make_scorer()).score([text])[0]


def replaced(words, changes):
    return [changes.get(k, word) for k, word in enumerate(words)]


def test_hand_worked_scores():
    # Five words at +x and five at -x: 25 pairs of distance 2 and 20 of 0.
    plus, minus = TEN[:5], TEN[5:]
    encoder = FakeEncoder(
        {w: [2, 0] for w in plus} | {w: [-1, 0] for w in minus} | {"木": [0, 5]}
    )
    scorer = DatScorer(FakeNouns([*TEN, "木"]), encoder)
    result = scorer.score([list_text(TEN), list_text([*plus, *minus[:4], "木"])])
    # The second: 5 x 4 pairs of 2, nine pairs with 木 of 1: 49 / 45.
    np.testing.assert_allclose(result.scores, [50 / 45, 49 / 45], atol=1e-6)


def test_results_of_a_batch_are_in_order():
    texts = [list_text(TEN), "x", list_text(AXES[1:11]), list_text([*TEN[:9], "走"])]
    scores = make_scorer().score(texts)
    assert [r.reason for r in scores] == [None, Reason.FORMAT, None, Reason.NOT_NOUN]
    assert [r.words for r in scores] == [TEN, None, AXES[1:11], (*TEN[:9], "走")]
    np.testing.assert_array_equal(np.isnan(scores.scores), [False, True, False, True])
    assert [key is None for key in scores.keys] == [False, True, False, True]
    assert (scores[1:], scores[::-2]) == (list(scores)[1:], [scores[3], scores[1]])
    with pytest.raises(IndexError):
        scores[4]


@pytest.mark.parametrize("reason", BREAKS)
@pytest.mark.parametrize("position", [0, 9])
def test_one_bad_word(reason, position):
    words = replaced(TEN, {position: BREAKS[reason]})
    assert one(list_text(words)) == DatResult(tuple(words), None, reason)


# Rules 2 to 5, each with what breaks it when it stands at a place of a list; both script reasons are one rule.
STEPS = (
    (Reason.NOT_JAPANESE, Reason.SYMBOL),
    (Reason.NOT_NOUN,),
    (Reason.REPEATED_WORD,),
    (Reason.NO_VECTOR,),
)
PAIRS = [
    (a, b)
    for k, rule in enumerate(STEPS)
    for a in rule
    for later in STEPS[k + 1 :]
    for b in later
]


def broken(reason, at):
    return (
        {at: "猫", at + 1: "猫"}
        if reason is Reason.REPEATED_WORD
        else {at: BREAKS[reason]}
    )


@pytest.mark.parametrize(("first", "later"), PAIRS)
@pytest.mark.parametrize("places", [(0, 7), (7, 0)])
def test_the_earlier_rule_gives_the_reason_wherever_the_words_stand(
    first, later, places
):
    words = replaced(AXES[2:12], broken(first, places[0]) | broken(later, places[1]))
    assert one(list_text(words)).reason is first


def test_which_reason_comes_first():
    for bad in BREAKS.values():
        assert one(list_text([*TEN, bad])).reason is Reason.FORMAT
    assert one(list_text(["dog", "犬!", *TEN[2:]])).reason is Reason.NOT_JAPANESE
    assert one(list_text(["犬!", "dog", *TEN[2:]])).reason is Reason.SYMBOL


def test_a_list_with_a_word_twice_is_kept_where_that_is_asked():
    words = replaced(TEN, {3: TEN[0], 9: TEN[0]})
    kept = one(list_text(words), make_scorer(DatRules(repeated_words="keep")))
    # All words at right angles but the three that are one: 42 of 45 pairs are 1 apart.
    assert kept.reason is None
    assert kept.score == pytest.approx(42 / 45)
    broken_too = list_text(replaced(words, {5: "走"}))
    keeps = make_scorer(DatRules(repeated_words="keep"))
    assert one(broken_too, keeps).reason is Reason.NOT_NOUN
    assert one(list_text(TEN), keeps) == one(list_text(TEN))


def test_repeated_words_has_three_values():
    with refused("dat: repeated_words is unknown"):
        DatSettings(repeated_words="twice")


def test_repeated_words_by_representative():
    words = [*TEN[:8], "りんご", "林檎"]
    nouns = FakeNouns(
        words, representatives={"りんご": "林檎/りんご", "林檎": "林檎/りんご"}
    )
    encoder = axis_encoder(words)
    assert one(list_text(words), DatScorer(nouns, encoder)).score == 1.0
    strict = DatScorer(nouns, encoder, DatRules(repeated_words="representative"))
    assert one(list_text(words), strict).reason is Reason.REPEATED_WORD
    assert (
        one(list_text([*TEN[:8], "りんご", "木"]), strict).reason is Reason.NOT_NOUN
    )  # 木 is no noun here


def test_no_vector_is_a_reason_and_never_a_number():
    encoder = axis_encoder()
    encoder.vectors |= {
        "無": np.full(len(AXES), np.nan, np.float32),
        "限": np.full(len(AXES), np.inf, np.float32),
    }
    scorer = DatScorer(FakeNouns([*AXES, "無", "限"]), encoder)
    for word in "無限":
        result = one(list_text([*TEN[:9], word]), scorer)
        assert (result.score, result.reason) == (None, Reason.NO_VECTOR)


def test_reasoning_is_cut_off_unless_the_rules_say_no():
    text = f"<think>犬と猫…</think>\n{list_text(TEN)}"
    assert one(text) == DatResult(TEN, 1.0, None)
    assert one(text, make_scorer(DatRules(reasoning=False))) == DatResult(
        None, None, Reason.FORMAT
    )


# Olson's English protocol

ENGLISH = ["dog", "law", "sea", "math", "shoe", "music", "ill", "desk", "rain", "feast"]


def olson(words, nouns=ENGLISH, encoder=None):
    return one(
        list_text(words),
        DatScorer(
            FakeNouns(nouns),
            encoder or axis_encoder(ENGLISH),
            DatRules(language="en", olson=True),
        ),
    )


@pytest.mark.parametrize(
    ("words", "axes", "score"),
    [
        (ENGLISH, range(10), 100),
        # Of the first seven three are on one axis: 3 of 21 pairs have distance 0. The last three do not count.
        (ENGLISH, [0, 0, 0, 1, 2, 3, 4, 0, 0, 0], 100 * 18 / 21),
        # dog law sea math shoe music ill: dog and law share an axis, one pair of 21.
        (
            ["run", "dog", "dog", "d0g", *ENGLISH[1:7]],
            [0, 0, 1, 2, 3, 4, 5, 6, 7, 8],
            100 * 20 / 21,
        ),
    ],
)
def test_olson_takes_the_first_seven_usable_words_times_100(words, axes, score):
    vectors = dict(zip(ENGLISH, np.eye(10)[list(axes)], strict=True))
    assert olson(words, encoder=FakeEncoder(vectors)).score == pytest.approx(score)


def test_the_case_of_english_words_does_not_matter():
    assert olson([word.title() for word in ENGLISH]) == DatResult(
        tuple(ENGLISH), 100.0, None
    )
    # Dog and dog are one word: seven are left.
    assert olson(["Dog", "dog", "DOG", "dOG", *ENGLISH[1:7]]).score == 100.0
    assert (
        olson(["Dog", "dog", "DOG", "dOG", "doG", *ENGLISH[1:6]]).reason
        is Reason.REPEATED_WORD
    )


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (["d0g", "run", "none", "dog!"], Reason.NOT_ENGLISH),
        (["none", "d0g", "run", "dog!"], Reason.NO_VECTOR),
    ],
)
def test_olson_with_six_usable_words_gives_the_first_bad_words_reason(bad, reason):
    words = [ENGLISH[0], *bad, *ENGLISH[1:6]]
    result = olson(words, nouns=[*ENGLISH, "none"])
    assert (result.score, result.reason) == (None, reason)
    assert (
        olson([ENGLISH[0], *bad[1:], *ENGLISH[1:7]], nouns=[*ENGLISH, "none"]).score
        == 100.0
    )


# The real parts


@pytest.fixture(scope="module")
def real(jumandic_checker, ginza):
    return DatScorer(jumandic_checker, ginza)


def test_equals_the_slow_obvious_way_on_random_answers(real, nouns, ginza):
    rng = np.random.default_rng(0)
    verdicts = dict(zip(nouns, real.checker.check(nouns), strict=True))
    vectors = dict(zip(nouns, ginza.encode(nouns).astype(np.float64), strict=True))
    answers = [
        [nouns[i] for i in rng.choice(len(nouns), 10, replace=False)]
        for _ in range(500)
    ]
    results = real.score([list_text(words) for words in answers])
    usable = 0
    for words, result in zip(answers, results, strict=True):
        assert result.words == tuple(words)
        if any("Ａ" <= c <= "ｚ" for c in "".join(words)):
            assert result.reason is Reason.NOT_JAPANESE
        elif not all(verdicts[w].is_noun for w in words):
            assert result.reason is Reason.NOT_NOUN
        elif not all(vectors[w].any() for w in words):
            assert result.reason in (Reason.NO_VECTOR, Reason.AMBIGUOUS)
        else:
            slow = pdist([vectors[w] for w in words], "cosine").mean()
            assert result.score == pytest.approx(slow, abs=1e-5)
            usable += 1
    assert usable > 250


def test_a_batch_scores_as_its_parts_do(real, nouns):
    # More texts than a chunk of look-ups holds.
    rng = np.random.default_rng(1)
    texts = [
        list_text([nouns[i] for i in rng.choice(len(nouns), 10)]) for _ in range(2500)
    ]
    texts[::7] = ["x"] * len(texts[::7])
    together = real.score(texts)
    parts = [real.score(texts[i : i + 333]) for i in range(0, 2500, 333)]
    np.testing.assert_array_equal(
        together.scores, np.concatenate([part.scores for part in parts])
    )
    np.testing.assert_array_equal(
        together.codes, np.concatenate([part.codes for part in parts])
    )
    assert together.keys == [key for part in parts for key in part.keys]


scrap = st.sampled_from(
    [
        "</think>",
        "1. ",
        "１. ",
        "EOS",
        "@ ",
        "が\u3099",
        "葛\U000e0100",
        "𪚲",
        "走る",
        "苹果",
        "東京",
    ]
)
word = st.one_of(
    st.sampled_from([*AXES, "無", "走", "dog", "犬!"]),
    scrap,
    st.text(st.characters(exclude_categories=()), max_size=3),
)
any_text = st.one_of(
    st.lists(word, min_size=9, max_size=11).map(list_text),
    st.lists(st.sampled_from(AXES), min_size=10, max_size=10, unique=True).map(
        list_text
    ),
    st.text(st.characters(exclude_categories=()), max_size=40),
)


@given(
    st.lists(any_text, max_size=6),
    st.booleans(),
    st.sampled_from(REPEATED_WORDS),
    st.booleans(),
)
def test_any_texts_give_a_score_or_a_reason(real, texts, reasoning, repeated, english):
    language = "en" if english else "ja"
    rules = DatRules(
        reasoning=reasoning,
        language=language,
        repeated_words=repeated,
        olson=english,
    )
    for scorer in (
        make_scorer(rules),
        DatScorer(real.checker, real.vectors.encoder, rules),
    ):
        scores = scorer.score(texts)
        assert len(list(scores)) == len(texts)
        for result, key in zip(scores, scores.keys, strict=True):
            assert (
                (result.score is None) == (result.reason is not None) == (key is None)
            )
            assert (result.words is None) == (result.reason is Reason.FORMAT)
            if result.score is not None:
                assert 0 <= result.score <= 2 * (100 if rules.olson else 1)  # never NaN


def test_the_memory_of_bad_words_is_bounded(monkeypatch):
    monkeypatch.setattr("sozo.tasks.dat.words._MAX_CACHED", 20)
    scorer = make_scorer()
    assert one(list_text(TEN), scorer).score == 1.0
    for k in range(
        10
    ):  # a model that babbles: nine new bad words a time beside a known noun
        babble = [f"走{'々' * (10 * k + i)}" for i in range(9)]
        assert one(list_text(["犬", *babble]), scorer).reason is Reason.NOT_NOUN
        assert len(scorer.words._codes) <= 40
    assert one(list_text(TEN), scorer) == DatResult(TEN, 1.0, None)
    assert scorer.vectors.encoder.calls == 1  # the nouns were kept


def test_a_word_is_asked_once_and_a_disk_cache_knows_it(tmp_path):
    texts = [list_text(TEN), list_text(["無", *TEN[:9]]), list_text(["走", *TEN[:9]])]
    scorer, again = (make_scorer(cache_dir=tmp_path) for _ in range(2))
    for _ in range(3):
        first = list(scorer.score(texts))
    assert sorted(scorer.checker.asked) == sorted([*TEN, "走", "無"])
    assert scorer.vectors.encoder.calls == 1
    assert list(again.score(texts)) == first
    assert again.vectors.encoder.calls == 0
