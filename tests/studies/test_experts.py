"""How well a judge predicts experts: alphas by hand, the votes that count, and `sozo agreement --experts`."""

import json

import numpy as np
import pandas as pd
import pytest

from command_line import sozo
from sentences import refused
from sozo.studies.experts.run import alphas, judge_experts, predict
from sozo.studies.rater_agreement import krippendorff_alpha

HIGH, LOW = {"score": 4, "confidence": 80}, {"score": 2, "confidence": 79}


@pytest.mark.parametrize(
    ("votes", "score"),
    [
        ([], None),
        ([None, None], None),
        ([None, LOW], None),
        ([HIGH, HIGH | {"score": 3}, None], None),
        ([HIGH, LOW, None], 4),
        # The majority. Three scores have none: the paper takes it of three seeds, and does not say what then.
        ([HIGH, *[HIGH | {"score": 2}] * 2], 2),
        ([HIGH, HIGH | {"score": 5}, HIGH | {"score": 1}], None),
    ],
)
def test_votes(votes, score):
    assert predict(votes) == score


def test_who_knows_only_how_strict_each_expert_is_agrees_pooled_and_not_within():
    random = np.random.default_rng(3)
    rows = []
    for expert in range(6):
        usual = 1 + expert % 3 * 2
        for score in np.clip(usual + random.integers(-1, 2, 20), 1, 5):
            guess = int(np.clip(usual + random.integers(-1, 2), 1, 5))
            rows.append({"rater": expert, "score": int(score), "prediction": guess})
    known = pd.DataFrame(rows)
    found = alphas(known, "ordinal", 10)
    each = [
        krippendorff_alpha(own[["score", "prediction"]].to_numpy().T).alpha
        for _, own in known.groupby("rater")
    ]
    assert found["within"]["alpha"] == pytest.approx(np.mean(each))
    assert abs(found["within"]["alpha"]) < 0.2 < 0.5 < found["pooled"]["alpha"]
    assert found["pooled"]["low"] < found["pooled"]["alpha"] < found["pooled"]["high"]
    few = alphas(known[known.rater < 4], "ordinal", 10)
    assert (few["within"]["low"], few["pooled"]["low"]) == (None, None)
    assert alphas(known, "ordinal", 21)["within"]["alpha"] is None


def test_the_command(tmp_path):
    lines = []
    for k in range(60):
        score = 1 + k % 4
        for condition in ("zero", "diff 1", "same 1", "same 5"):
            votes = [{"score": score if "same" in condition else 2, "confidence": 90}]
            row = {"condition": condition, "criterion": "worth", "item": f"i{k}"}
            row |= {"rater": f"r{k % 5}", "score": score, "votes": votes}
            lines.append(json.dumps(row) + "\n")
    (tmp_path / "p.jsonl").write_text("".join(lines), "utf-8")
    words = ("agreement", "p.jsonl", "--experts", "--output", "out")
    done = sozo(tmp_path, *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert "| worth     | same 5     | 1.00" in done.stdout
    assert b"<svg" in (tmp_path / "out" / "alpha-by-shots.svg").read_bytes()
    (tmp_path / "p.jsonl").write_text(lines[0].replace('"confidence"', '"sure"'))
    with refused("experts: votes without a confidence"):
        judge_experts([tmp_path / "p.jsonl"], tmp_path / "o")
