"""What came out of a study: its rows, and of arms and seeds the plane and the claims, as Markdown, JSON and a page.

    python recipes/study_page.py --config recipes/tiny/beyond.yaml

The last step of `recipes/reproduce.py`. Written into `<output_dir>/table` are result.md, report.html, plane.svg of a
study with arms or several seeds and, last, metrics.json. With --guard_encoder the same is written into `table-guard`,
with gains by that encoder: no model is trained or sampled again.
"""

import argparse
from pathlib import Path

from sozo.data.errors import one_line_errors


def main() -> None:
    """Read, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, required=True, help="a study's YAML")
    parser.add_argument("--output_dir", help="the study's folder, over the YAML's")
    parser.add_argument(
        "--guard_encoder", metavar="ENCODER", help="instead of the YAML's; its claims are exploratory then"
    )
    args = parser.parse_args()
    with one_line_errors("study_page"):
        from study.config import load_study
        from study.page import write_result
        from study.result import study_result

        study = load_study(args.config, args.output_dir, args.guard_encoder)
        folder = Path(study.step_folder("table-guard" if args.guard_encoder else "table"))
        print(write_result(folder, study_result(study), "result"))
    print(f"The page: {folder / 'report.html'}")


if __name__ == "__main__":
    main()
