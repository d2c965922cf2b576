r"""Cut a model's vocabulary to what DAT lists of given nouns need, or put a model that was cut back into the whole one.

    python recipes/cut_vocabulary.py runs/base --nouns runs/base/nouns.txt --output_dir runs/cut
    python recipes/cut_vocabulary.py runs/trained --restore runs/base --output_dir runs/full

What is written is a model's folder that every recipe takes. That of a cut model also holds `nouns.txt` and `cut.json`,
which says what it was cut from. Files of `--texts` hold further prompts, each a whole one, whose tokens stay too.
"""

import argparse
from pathlib import Path

from sozo.data.errors import UserError, one_line_errors


def main() -> None:
    """Cut or restore, and say how much is left."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "model", help="a model's folder (a LoRA adapter's too), or a hub id"
    )
    parser.add_argument("--output_dir", type=Path, required=True, help="a new folder")
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--nouns", help="cut: a file of nouns, one per line; or jumandic")
    way.add_argument(
        "--restore",
        metavar="MODEL",
        help="restore: the model that the first one was cut from",
    )
    parser.add_argument(
        "--texts",
        type=Path,
        nargs="+",
        default=(),
        metavar="FILE",
        help="prompts beside the DAT's",
    )
    parser.add_argument(
        "--dtype",
        default="auto",
        help="weights' type: auto, bfloat16, float16 or float32",
    )
    args = parser.parse_args()
    with one_line_errors("cut_vocabulary"):
        from sozo.data.contents import text_of
        from sozo.data.prompts import prompt
        from sozo.models.vocabulary import cut_vocabulary, restore_vocabulary
        from sozo.scoring.languages import read_nouns

        if args.restore:
            done = restore_vocabulary(
                args.model, args.restore, args.output_dir, args.dtype
            )
            print(
                f"{done['tokens']:,} rows put back; {done['tokens_untrained']:,} tokens keep their old ones"
            )
        else:
            nouns = read_nouns(None if args.nouns == "jumandic" else args.nouns)
            try:
                texts = [text_of(path) for path in args.texts]
            except (OSError, UnicodeDecodeError) as error:
                raise UserError(
                    f"texts: cannot be read ({error}); give files of UTF-8 text"
                ) from error
            done = cut_vocabulary(
                args.model, args.output_dir, nouns, [prompt("dat"), *texts], args.dtype
            )
            counts = [
                f"{done[f'{kind}_before']:,} -> {done[kind]:,} {kind}"
                for kind in ("tokens", "parameters")
            ]
            print(f"{done['nouns']:,} nouns: {', '.join(counts)}")
    print(
        f"The model is in {args.output_dir}; its logits of these tokens are as they were, to the bit"
    )


if __name__ == "__main__":
    main()
