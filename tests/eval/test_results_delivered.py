"""Results in the W&B run that trained the model, by the commands a user types; the key in no file."""

import gzip
import json
import os
import sys

import pyarrow.parquet as pq
import pytest

import warm
from grpo_runs import wandb_records
from model_server import KEY, completion, server
from run_files import metrics_of
from sozo.data.schema import iter_tables
from two_tasks import ROOT, both, command, story_teller

TRAINED = "tr41n1ng"
BOTH = {"models": ("grpo",), "tasks": ("jcq", "sat")}


def echo(body):
    """As `both` and `story_teller`, but every text holds the key, as a server that shows requests would."""
    told = (
        story_teller(body) if "物語" in body["messages"][-1]["content"] else both(body)
    )
    message = told[1]["choices"][0]["message"]
    if "流暢性" not in message["content"]:
        message["content"] += f"\nBearer {KEY}"
    return told


def evaluate(folder, *words, **variables):
    """A command; whatever W&B keeps goes under the folder too."""
    command = [sys.executable, "-m", "sozo", *words]
    fixed = {
        "OPENAI_API_KEY": KEY,
        "PYTHONPATH": str(ROOT / "src"),
        "WANDB_MODE": "offline",
    }
    fixed |= {
        f"WANDB_{name}_DIR": str(folder / f"wandb-{name.lower()}")
        for name in ("DATA", "CACHE", "CONFIG")
    }
    return warm.run(command, cwd=folder, env=os.environ | fixed | variables)


def files_with_key(folder):
    """Every file that holds the key, packed or not."""
    found = []
    for path in (path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        elif content.startswith(b"PAR1"):
            content = json.dumps(pq.read_table(path).to_pylist()).encode()
        if KEY.encode() in content:
            found.append(path)
    return found


@pytest.fixture
def grpo(tmp_path):
    """What training leaves, as far as evaluation reads it: one checkpoint, and the end at step 12."""
    folder = tmp_path / "grpo"
    for place, step in ((folder / "checkpoint-9", 9), (folder, 12)):
        place.mkdir(exist_ok=True, parents=True)
        (place / "config.json").write_text("{}")
        log = [
            {"step": 1, "reward": 1.0, "loss": 0.5},
            {"step": step, "reward": 2.0, "train_runtime": 3.0},
        ]
        (place / "trainer_state.json").write_text(
            json.dumps({"global_step": step, "log_history": log})
        )
        state = {
            "version": 1,
            "wandb_run_id": TRAINED,
            "wandb_project": "study",
            "wandb_entity": None,
        }
        (place / "sozo_state.json").write_text(json.dumps(state))
    return folder


def offline(folder):
    """Ids of the W&B runs in a folder of results, and everything logged: one dictionary for each line."""
    # Of two within a second the second one's folder ends in -1.
    folders = sorted(folder.glob("wandb/offline-run-*"))
    ids = [path.name.split("-")[3] for path in folders]
    records = list(wandb_records(folder))
    history = [
        {
            item.key or "/".join(item.nested_key): json.loads(item.value_json)
            for item in record.history.item
        }
        for record in records
        if record.HasField("history")
    ]
    return ids, records, history


def test_results_go_into_the_run_that_trained_the_checkpoint_and_the_key_nowhere(
    grpo, tmp_path
):
    with server(echo) as (url, _):
        words = command(url, url, "--checkpoints", **BOTH)
        done = evaluate(tmp_path, *words)
        assert done.returncode == 0, done.stderr
        ids, records, history = offline(tmp_path / "out")
        assert ids == [TRAINED] * 4
        assert done.stdout.count(f"is in the run {TRAINED} of the project study") == 4
        again = evaluate(tmp_path, *words)
        assert again.returncode == 0, again.stderr
        assert "W&B" not in again.stdout  # nothing is logged twice
        assert offline(tmp_path / "out")[0] == ids
    jcq, sat = (
        [row for row in history if f"eval/{score}" in row]
        for score in ("jcq/mean", "sat/score")
    )
    assert (
        [row["train/global_step"] for row in jcq]
        == [row["train/global_step"] for row in sat]
        == [9, 12]
    )
    metrics = metrics_of(tmp_path / "out" / "grpo" / "final" / "jcq")
    assert jcq[1]["eval/jcq/mean"] == metrics["measures"]["jcq/mean"]["value"] == 3.5
    assert (jcq[1]["eval/jcq/mean_n"], jcq[1]["eval/jcq/num_items"]) == (34, 35)
    assert jcq[1]["eval/jcq/judgements_unparseable"] == 1
    # `wandb sync` takes the last summary for the whole run: training and the other benchmark are in it too.
    summary = {}
    for record in records[
        max(k for k, record in enumerate(records) if record.HasField("run")) :
    ]:
        summary |= {
            item.key or item.nested_key[0]: json.loads(item.value_json)
            for item in record.summary.update
        }
    assert (
        summary["train/reward"],
        summary["train/loss"],
        summary["train_runtime"],
    ) == (2.0, 0.5, 3.0)
    assert (summary["eval/jcq/mean"], summary["eval/jcq/judge"]) == (3.5, "j")
    uses = [summary[f"eval/jcq/unusual uses{part}"] for part in ("", "_n", "_of")]
    assert uses == [3.5, 4, 5]
    # Of the process that evaluates, W&B knows neither its command line nor what it printed.
    kept = {path.name for path in (tmp_path / "out" / "wandb").rglob("*")}
    assert not kept & {"output.log", "wandb-metadata.json", "requirements.txt"}
    assert not [
        record
        for record in records
        if record.HasField("output_raw") or record.HasField("stats")
    ]
    (table,) = iter_tables(tmp_path / "out" / "grpo" / "final" / "jcq")
    assert "Bearer ***" in str(table.to_pylist())
    assert KEY not in str(table.to_pylist())
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) > 50
    assert files_with_key(tmp_path) == []
    assert KEY not in done.stdout + done.stderr


def test_a_model_that_nobody_tracked_is_logged_on_request_only(tmp_path):
    with server(both) as (url, _):
        words = command(url, url, models=("org/m",))
        assert evaluate(tmp_path, *words).returncode == 0
        assert not (tmp_path / "out" / "wandb").exists()
        # Finished before, and logged now.
        done = evaluate(tmp_path, *words, "--wandb", WANDB_PROJECT="mine")
        assert done.returncode == 0, done.stderr
    (run_id,), records, ((row),) = offline(tmp_path / "out")
    (run,) = [record.run for record in records if record.HasField("run")][:1]
    assert (run.run_id, run.project, run.display_name) == (run_id, "mine", "m")
    assert row["eval/jcq/mean"] == 3.5
    assert "train/global_step" not in row
    assert f"in the run {run_id} of the project mine" in done.stdout


def test_what_a_judge_says_about_the_key_is_in_no_file(grpo, tmp_path):
    def refuse(body):
        if body["model"] == "j" and body["max_tokens"] > 1:  # behind its greeting
            return 401, {
                "error": {
                    "message": f"Incorrect API key provided: {KEY}. Find yours elsewhere."
                }
            }
        return completion("答え")

    with server(refuse) as (url, _):
        done = evaluate(
            tmp_path,
            *command(url, url, "--no-wandb", "--checkpoints", models=("grpo",)),
        )
    assert done.returncode == 2
    assert "Incorrect API key provided: ***" in done.stderr
    assert KEY not in done.stdout + done.stderr
    assert (
        tmp_path
        / "out"
        / "grpo"
        / "checkpoint-9"
        / "jcq"
        / "answers"
        / "part-00000.parquet"
    ).is_file()
    assert files_with_key(tmp_path) == []
    assert not (tmp_path / "out" / "wandb").exists()
