"""GRPO paid by a judge as a user runs it: its budget ends the run, a larger one resumes it, nothing is paid twice."""

import json
import zlib
from collections import Counter

import pytest

from grpo_runs import history, logged, recipe, recorded, run
from judge_server import completion, serving
from sozo.scoring.judges.ledger import read_judgements
from sozo.tasks.jcq.rubric import JCQ_V1

PATH = "sozo.rewards.make_judge_reward"


@pytest.fixture
def judging():
    """A judge on loopback that scores by the answer, and the prompts it was asked."""
    asked = []

    def reply(request, headers):
        asked.append(request["messages"][0]["content"])
        digest = zlib.crc32(asked[-1].encode())
        names = ("流暢性", "柔軟性", "独創性", "精緻性")
        return (
            200,
            {},
            completion(
                "\n".join(
                    f"{name}: {1 + (digest >> 4 * k) % 5}"
                    for k, name in enumerate(names)
                )
            ),
        )

    with serving(reply) as url:
        yield url, asked


@pytest.mark.slow
def test_a_run_that_its_budget_ended_resumes_with_a_larger_one(tmp_path, judging, mini):
    url, asked = judging
    (tmp_path / "mine.jsonl").write_text(
        '{"prompt": "傘の使い方を挙げよ。"}\n{"prompt": "箱の使い方を挙げよ。"}\n',
        "utf-8",
    )

    def trained(output, ledger, max_cost):
        # A reply costs at most 1 (50 tokens), and here 0.4 (20 tokens).
        judge = {
            "judge_model": "j",
            "judge_max_tokens": 50,
            "judge_price_in": 0,
            "judge_price_out": 20000,
        }
        judge["judge_base_url"] = url.replace("//", "//me:pass-word@")
        command = recipe(
            *(
                "--output_dir",
                output,
                "--save_steps",
                "1",
                "--max_steps",
                "3",
                "--model_name_or_path",
                str(mini),
            ),
            tasks=[
                {
                    "prompts": "mine.jsonl",
                    "reward_funcs": [PATH],
                    "reward_args": {
                        PATH: {**judge, "ledger": ledger, "max_cost": max_cost}
                    },
                }
            ],
        )
        return run(command, tmp_path, OPENAI_API_KEY="none", NO_PROXY="127.0.0.1")

    done = trained("unbroken", "unbroken.jsonl", 100.0)
    assert done.returncode == 0, done.stderr
    ended = trained("out", "out.jsonl", 4.2)
    assert ended.returncode == 2
    (message,) = [line for line in ended.stderr.splitlines() if "judging ended" in line]
    assert (
        "could bring the cost above 4.2; allow more (max_cost) and resume the run"
        in message
    )
    paid = len(read_judgements(tmp_path / "out.jsonl", (JCQ_V1,)))
    assert 0 < paid <= 10
    before = len(asked)
    done = trained("out", "out.jsonl", 100.0)
    assert done.returncode == 0, done.stderr
    # All steps; the last entry is the summary, whose loss is a mean over what was trained since the run was resumed.
    assert history(tmp_path / "out")[:-1] == history(tmp_path / "unbroken")[:-1]
    entries = logged(tmp_path / "out", "judge/mean")
    assert [entry["judge/failed_share"] for entry in entries] == [0.0] * 3
    assert len({entry["judge/mean"] for entry in entries}) > 1
    lines = read_judgements(tmp_path / "out.jsonl", (JCQ_V1,))
    assert len(lines) - paid == len(asked) - before
    assert set(Counter(line.key for line in lines).values()) == {1}
    assert {line.key for line in lines} == {
        line.key for line in read_judgements(tmp_path / "unbroken.jsonl", (JCQ_V1,))
    }
    record = recorded(tmp_path / "out")["settings"]
    assert record["rewards"][0]["judge"] == {
        "model": "j",
        "temperature": 0.0,
        "max_tokens": 50,
    }
    assert "max_cost" not in json.dumps(record)
    # The command line, which W&B keeps, holds the address with its password.
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(
        path.suffix == ".wandb" and b"judge_base_url" in path.read_bytes()
        for path in files
    )
    assert not [path for path in files if b"pass-word" in path.read_bytes()]
