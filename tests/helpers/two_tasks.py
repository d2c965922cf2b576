"""JCQ and SAT through the real command, against one server that answers and judges."""

import os
import sys
from pathlib import Path

import warm
from model_server import KEY, completion
from sozo.tasks.jcq.questions import trial_questions
from sozo.tasks.sat.stories import load_stories

ROOT = Path(__file__).parents[2]


RUN = Path("m") / "jcq"  # within the output folder


VERDICT = "流暢性: 4\n柔軟性: 3\n独創性: 2\n精緻性: 5"


def both(body):
    """An answer that names its question; a verdict where one is asked for; a refusal for one question."""
    asked = body["messages"][-1]["content"]
    if "# 出力形式" in asked:
        return completion(
            "採点できません" if trial_questions()[0].question in asked else VERDICT
        )
    return completion(f"「{asked[:12]}」への答えです。")


def story_teller(body):
    """The story itself, but for the first, which is left out."""
    asked = body["messages"][-1]["content"].rpartition("# 物語\n")[2]
    return completion("" if asked == load_stories()[0].text else asked)


def command(url, judge, *words, models=("m",), tasks=("jcq",), output="out"):
    """The words of `sozo run` on the trial's questions; the judge j is at the address `judge`."""
    return [
        *("run", "--tasks", *tasks, "--model", *models, "--base-url", url, "--trial"),
        *("--judge-model", "j", "--judge-base-url", judge, "--output", output, *words),
    ]


def evaluate(folder, *words):
    command = [sys.executable, "-m", "sozo", *words]
    variables = os.environ | {"OPENAI_API_KEY": KEY, "PYTHONPATH": str(ROOT / "src")}
    return warm.run(command, cwd=folder, env=variables)
