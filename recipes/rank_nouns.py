"""Rank a language's nouns by how well a model knows them: DAT trained on the first ones need not teach spelling.

    python recipes/rank_nouns.py org/model --first 4000 --output_dir runs/nouns

`nouns.txt` holds the first nouns, one per line, best known first. They are ranked by the model's own log-probability
of their spelling, line break included, as the next word of a list behind the DAT prompt; `nouns.jsonl` has it of
all nouns that pass DAT's rules and have at most `--most_tokens`. Run again after a kill, the command goes on; with
another `--first` it takes so many.
"""

import argparse
import json
from pathlib import Path

from sozo.data.errors import UserError, one_line_errors
from sozo.data.jsonl import read_objects
from sozo.data.progress import answers_bar
from sozo.data.prompts import prompt
from sozo.data.prompts.form import trained_form
from sozo.data.record import room, write_whole
from sozo.data.run_folder import RunFolder
from sozo.models.model_support import encode_text
from sozo.models.processes import quiet_libraries
from sozo.models.weights import check_model, load_model, pinned
from sozo.scoring.parse import NUM_WORDS
from sozo.tasks.dat.words import PROMPTS
from sozo.training.known_nouns import CHECKERS, checked_nouns, log_probabilities
from sozo.training.word_targets import spell


def rank(
    name: str,
    language: str,
    nouns_of: str | None,
    output: Path,
    dtype: str,
    lists: int,
    most: int,
) -> dict[str, float]:
    """Log-probability of each noun that passes DAT's rules and has at most so many tokens, best known first."""
    check_model(name)
    settings = {
        "model": name,
        "language": language,
        "nouns": nouns_of,
        "dtype": dtype,
        "num_lists": lists,
    }
    settings["most_tokens"] = most
    folder, path = RunFolder(output, settings), output / "nouns.jsonl"
    done = _read(path)
    if folder.metrics() is None:
        nouns = checked_nouns(language, nouns_of)
        source, revision = pinned(name, None)
        model, tokenizer = load_model(source, revision=revision, dtype=dtype)
        nouns = [
            noun
            for noun, tokens in zip(nouns, spell(tokenizer, nouns), strict=True)
            if len(tokens) <= most
        ]
        folder.start({"nouns": len(nouns)}, {})
        asked = encode_text(tokenizer, prompt(PROMPTS[language]), trained_form(name))
        with (
            path.open("ab") as file,
            answers_bar("nouns", len(nouns), len(done)) as advance,
        ):
            for batch in log_probabilities(
                model, tokenizer, nouns, asked, done=done, lists=lists
            ):
                lines = (
                    json.dumps({"noun": noun, "nats": nats}, ensure_ascii=False)
                    for noun, nats in batch.items()
                )
                content = "".join(f"{line}\n" for line in lines).encode()
                with room(output, len(content)):
                    file.write(content)
                    file.flush()
                advance(len(batch), None)
                done |= batch
        folder.finish(
            {"nouns": len(nouns), "mean_nats": sum(done.values()) / len(done)}
        )
    return dict(sorted(done.items(), key=lambda entry: -entry[1]))


def _read(path: Path) -> dict[str, float]:
    """What an earlier run wrote; a kill may have cut its last line, which is taken off."""
    if not path.is_file():
        return {}
    write_whole(path, path.read_bytes().rpartition(b"\n")[0] + b"\n")
    return {row["noun"]: row["nats"] for _, row in read_objects(path)}


def main() -> None:
    """The model that the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "model", help="a model's folder (a LoRA adapter's too), or a hub id"
    )
    parser.add_argument(
        "--first",
        type=int,
        default=4000,
        help="how many nouns nouns.txt holds (default: 4000)",
    )
    parser.add_argument(
        "--language",
        choices=CHECKERS,
        default="ja",
        help="of the nouns and of the prompt",
    )
    parser.add_argument(
        "--nouns",
        help="a file, one noun per line, or tiny (default: the language's dictionary)",
    )
    parser.add_argument(
        "--num_lists",
        type=int,
        default=3,
        help="in how many lists a noun is looked at (default: 3)",
    )
    parser.add_argument(
        "--most_tokens",
        type=int,
        default=99,
        help="leave out nouns of more tokens (default: 99)",
    )
    parser.add_argument(
        "--output_dir", type=Path, required=True, help="folder of the nouns, and to be"
    )
    parser.add_argument(
        "--dtype",
        default="auto",
        help="weights' type: auto, bfloat16, float16 or float32",
    )
    options = parser.parse_args()
    quiet_libraries(use_cpu=True)
    limits = options.num_lists, options.most_tokens
    ranked = rank(
        options.model,
        options.language,
        options.nouns,
        options.output_dir,
        options.dtype,
        *limits,
    )
    if not NUM_WORDS <= options.first <= len(ranked):
        raise UserError(
            f"--first {options.first}: give {NUM_WORDS} to {len(ranked):,}, which is how many nouns there are"
        )
    first = list(ranked)[: options.first]
    write_whole(options.output_dir / "nouns.txt", ("\n".join(first) + "\n").encode())
    ends = " to ".join(
        f"{ranked[noun]:.1f} nats ({noun})" for noun in (first[0], first[-1])
    )
    print(
        f"{options.output_dir / 'nouns.txt'}: {len(first):,} of {len(ranked):,} nouns, {ends}"
    )


if __name__ == "__main__":
    with one_line_errors("rank_nouns"):
        main()
