"""Table 11 of any tables of responses, with the paper's rows below: on the terminal, as Markdown, JSON and a page.

    python recipes/table11.py --output_dir runs/table --rows base=runs/base SFT=runs/sft-sample
    python recipes/table11.py --output_dir runs/table --paper_model Swallow-8B --rows base=runs/base 'DPO 1=runs/dpo1'

    python recipes/table11.py --output_dir runs/table --guard_encoder e5 --rows base=runs/base GRPO=runs/grpo-sample

With `--paper_model`, a row named as in the paper (random, base, SFT, DPO 1, DPO 2, GRPO) has the paper's figures beside
it in metrics.json too. With `--guard_encoder`, each row's gain over the row `base` (or the first one) stands beside its
gain by a second encoder, both in standard deviations of the base's scores. Written are table11.md, table11.json,
report.html and metrics.json.
"""

import argparse
from pathlib import Path

from sozo.data.errors import one_line_errors


def main() -> None:
    """Read, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", required=True, metavar="NAME=DIR")
    parser.add_argument("--output_dir", type=Path, required=True)
    parser.add_argument("--paper_model")
    parser.add_argument("--guard_encoder", metavar="ENCODER", help="one that nobody trained on, such as e5")
    parser.add_argument("--nouns", help="whose mean is taken out of the guard's vectors: tiny, or a file (JumanDIC's)")
    control_tasks = "finished runs of a task with a control measure (recipes/measure.py), that of base too"
    parser.add_argument("--control_tasks", nargs="+", default=(), metavar="NAME=DIR", help=control_tasks)
    parser.add_argument("--title", default="Table 11")
    args = parser.parse_args()

    def folders(words: list[str]) -> list[tuple[str, Path]]:
        pairs = []
        for word in words:
            name, equals, path = word.partition("=")
            if not (name and equals and path):
                parser.error(f"{word}: give NAME=DIR, such as base=runs/base")
            pairs.append((name, Path(path)))
        return pairs

    rows, controls = dict(folders(args.rows)), folders(args.control_tasks)
    with one_line_errors("table11"):
        from sozo.data.record import write_json
        from sozo.data.study_folder import StudyRow, read_study
        from sozo.studies.study.page import write_result
        from sozo.studies.study.result import tables_result

        study = read_study(args.output_dir.parent)
        models = {name: row.model for name, row in study.rows.items()} if study else {}
        result = tables_result(
            args.title,
            {name: StudyRow(models.get(name), path) for name, path in rows.items()},
            paper_model=args.paper_model,
            guard_encoder=args.guard_encoder,
            controls=controls,
            nouns=args.nouns,
        )
        print(write_result(args.output_dir, result, "table11"))
        write_json(args.output_dir / "table11.json", result.to_json())
    print(f"The page: {args.output_dir / 'report.html'}")


if __name__ == "__main__":
    main()
