"""From text to DAT score: the scorer against two baselines, interleaved in one run.

    python benchmarks/scoring.py [--answers 131072] [--rounds 3]

1. naive: a regex per line, the analyser asked for every word, 45 scipy cosines per answer.
2. tidy:  one loop over the answers, verdicts and vectors cached by word, the norm identity in numpy.

All three parse, check nouns, look vectors up, score and find duplicates. Word caches are warm, vectors are the packaged
ja-ginza ones. The naive way is timed on a share of the answers and scaled. Scores are compared to 1e-6 on all texts,
malformed ones included.
"""

import argparse
import itertools
import random
import re
import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np
from scipy.spatial.distance import cosine

from sozo.data.jumandic import load_nouns
from sozo.models.nouns import RandomNouns
from sozo.rewards.duplicates import SeenAnswers
from sozo.scoring.nouns.rules import NounRules, apply_rules
from sozo.scoring.parse import script_reason
from sozo.tasks.dat.scorer import DatScorer, DatSettings

LINE = re.compile(r"(\d+)\.[ \u3000](\S+)")
NAIVE_SHARE = 32


def sozo(scorer: DatScorer, texts: Sequence[str]) -> tuple[np.ndarray, list[bool]]:
    results = scorer.score(texts)
    return results.scores, SeenAnswers().check(results.keys)


def naive(scorer: DatScorer, texts: Sequence[str]) -> tuple[np.ndarray, list[bool]]:
    """What one writes first. Vectors are looked up, not encoded again: a call per word would only be slower."""
    scores, seen = [], []
    earlier: set[tuple[str, ...]] = set()
    vectors = scorer.vectors
    for text in texts:
        words = []
        lines = text.strip().split("\n")
        for k, line in enumerate(lines, 1):
            match = re.fullmatch(r"(\d+)\.[ \u3000](\S+)", line)
            if (
                match
                and match[1] == str(k)
                and len(lines) == 10
                and script_reason(match[2]) is None
            ):
                analysis = (
                    scorer.checker.analyse(match[2]) if len(match[2]) <= 40 else []
                )
                if (
                    apply_rules(match[2], analysis, NounRules()).is_noun
                    and vectors.rows([match[2]])[0] >= 0
                ):
                    words.append(match[2])
        if len(words) < 10 or len(set(words)) < 10:
            scores.append(np.nan)
            seen.append(False)
            continue
        rows = [vectors.matrix[vectors.rows([word])[0]] for word in words]
        scores.append(
            sum(cosine(a, b) for a, b in itertools.combinations(rows, 2)) / 45
        )
        seen.append(tuple(words) in earlier)
        earlier.add(tuple(words))
    return np.array(scores), seen


def make_tidy(
    scorer: DatScorer,
) -> Callable[[Sequence[str]], tuple[np.ndarray, list[bool]]]:
    """One loop, nothing asked twice."""
    verdicts: dict[str, bool] = {}
    rows: dict[str, int] = {}

    def usable(word: str) -> bool:
        verdict = verdicts.get(word)
        if verdict is None:
            verdict = (
                script_reason(word) is None and scorer.checker.check([word])[0].is_noun
            )
            if verdict:
                rows[word] = scorer.vectors.rows([word])[0]
                verdict = rows[word] >= 0
            verdicts[word] = verdict
        return verdict

    def tidy(texts: Sequence[str]) -> tuple[np.ndarray, list[bool]]:
        scores = np.full(len(texts), np.nan)
        duplicates = [False] * len(texts)
        seen: set[tuple[str, ...]] = set()
        matrix = scorer.vectors.matrix
        for i, text in enumerate(texts):
            lines = text.strip().split("\n")
            if len(lines) != 10:
                continue
            matches = [LINE.fullmatch(line) for line in lines]
            if not all(m and m[1] == str(k) for k, m in enumerate(matches, 1)):
                continue
            words = tuple(m[2] for m in matches if m)
            if len(set(words)) < 10 or not all(usable(word) for word in words):
                continue
            total = matrix[[rows[word] for word in words]].sum(axis=0)
            scores[i] = 1 - (float(total @ total) - 10) / 90
            duplicates[i] = words in seen
            seen.add(words)
        return scores, duplicates

    return tidy


def malformed(texts: Sequence[str]) -> list[str]:
    """A broken variant of each text."""
    draw = random.Random(0)
    breaks: list[Callable[[str], str]] = [
        lambda t: t.replace("3. ", "3.", 1),
        lambda t: t + "\n11. 犬",
        lambda t: t.rpartition("\n")[0],
        lambda t: t.replace("\n", "\r\n"),
        lambda t: t.replace("2. ", "2. 走る", 1),
        lambda t: t.replace("4. ", "4. Ａ", 1),
        lambda t: t.replace("5. ", "5. !", 1),
        lambda t: "\n".join([*t.split("\n")[:9], "10. " + t.split("\n")[0][3:]]),
        lambda t: t.replace("1", "１", 1),
        lambda t: "以下の通りです。\n" + t,
        lambda t: t.replace("\n", "\n\n", 1),
        lambda t: t.replace("6. ", "6.\u3000", 1),
        lambda t: "",
    ]
    return [draw.choice(breaks)(text) for text in texts]


def compare(
    scorer: DatScorer, tidy: Callable, texts: Sequence[str], broken: Sequence[str]
) -> float:
    """Largest difference of the three, which must give the same texts no score."""
    worst = 0.0
    for sample, baselines in (
        (texts, [tidy]),
        ([*broken, *texts[:2000]], [tidy, lambda t: naive(scorer, t)]),
    ):
        ours = sozo(scorer, sample)
        for baseline in baselines:
            theirs = baseline(sample)
            assert (np.isnan(ours[0]) == np.isnan(theirs[0])).all(), (
                "they disagree on what is usable"
            )
            worst = max(worst, float(np.nanmax(np.abs(ours[0] - theirs[0]))))
            assert ours[1] == theirs[1], "they disagree on duplicates"
    assert worst < 1e-6, f"scores differ by {worst}"
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--answers", type=int, default=131072)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    scorer = DatScorer.from_settings(
        DatSettings(noun_checker="jumandic", embedding_model="ja-ginza")
    )
    nouns = load_nouns()
    texts = [
        completion.text
        for completion in RandomNouns(nouns).answer(
            [""] * args.answers, seed=0, batch=0
        )
    ]
    share = texts[: args.answers // NAIVE_SHARE]
    tidy = make_tidy(scorer)
    scorer.score(texts)
    tidy(texts)  # warm
    worst = compare(scorer, tidy, texts, malformed(texts[:2000]))
    print(
        f"{args.answers:,} answers; largest difference of scores {worst:.1e}; all malformed texts agree"
    )

    seconds: dict[str, list[float]] = {"naive": [], "tidy": [], "sozo": []}
    for _ in range(args.rounds):
        for name, run, scale in (
            ("naive", lambda: naive(scorer, share), NAIVE_SHARE),
            ("tidy", lambda: tidy(texts), 1),
            ("sozo", lambda: sozo(scorer, texts), 1),
        ):
            start = time.perf_counter()
            run()
            seconds[name].append((time.perf_counter() - start) * scale)
    for name, runs in seconds.items():
        ratios = [base / ours for base, ours in zip(runs, seconds["sozo"], strict=True)]
        print(
            f"{name:6} median {statistics.median(runs):7.2f} s  "
            f"{args.answers / statistics.median(runs):9,.0f} answers/s  "
            f"{statistics.median(ratios):6.1f} times sozo's time ({min(ratios):.1f}-{max(ratios):.1f})"
        )
    cold = DatScorer.from_settings(
        DatSettings(noun_checker="jumandic", embedding_model="ja-ginza")
    )
    words = len(nouns)
    start = time.perf_counter()
    cold.checker.check(nouns)
    per_answer = (time.perf_counter() - start) / words * 10
    print(
        f"new to the noun cache: {1000 * per_answer:.3f} ms per answer of ten new words"
    )


if __name__ == "__main__":
    main()
