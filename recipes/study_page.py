"""What came out of a study of arms: the plane, the claims and the table over its seeds, as Markdown, JSON and a page.

    python recipes/study_page.py --config recipes/tiny/beyond.yaml

The last step of `recipes/reproduce.py` where a YAML has arms or several seeds. Written into `<output_dir>/table` are
plane.svg, result.md, report.html and, last, metrics.json.
"""

import argparse
from pathlib import Path

from sozo.data.errors import one_line_errors


def write_study_page(config: Path, output_dir: str | None) -> Path:
    """Read the rows of a finished study, write all forms of its result; returns their folder."""
    from sozo.data.record import write_json, write_whole
    from sozo.eval.report.svg import standalone
    from sozo.scoring.guard import Guard
    from sozo.tasks.dat.table11 import table11, with_gains
    from study.arms_page import plane, to_markdown, write_page
    from study.config import load_study
    from study.curves import evaluation_charts
    from study.frontiers import frontiers
    from study.guards import judge_rows
    from study.result import result
    from study.steps import study_guards, study_rows

    study = load_study(config, output_dir)
    guard = Guard(study.guard) if study.guard else None  # what is wrong with it shows before the tables are read
    folders = {name: row.responses for name, row in study_rows(study).items()}
    table = with_gains(table11(folders), folders, guard, study.bases())
    guarded = judge_rows(study_guards(study), study.bases())
    found = result(study, table, frontiers(study, table.equal_size), guarded)
    folder = Path(study.step_folder("table"))
    chart, title = plane(found), f"The study {study.name}: {study.model}"
    picture = "![Mean DAT score against unique words](plane.svg)\n\n" if chart else ""
    if chart:
        write_whole(folder / "plane.svg", standalone(chart))
    write_whole(folder / "result.md", f"# {title}\n\n{picture}{to_markdown(found)}".encode())
    write_page(folder / "report.html", found, title, chart, evaluation_charts(study_rows(study)))
    write_json(folder / "metrics.json", found.to_json())
    return folder


def main() -> None:
    """Read, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, required=True, help="a study's YAML")
    parser.add_argument("--output_dir", help="the study's folder, over the YAML's")
    args = parser.parse_args()
    with one_line_errors("study_page"):
        folder = write_study_page(args.config, args.output_dir)
    print((folder / "result.md").read_text("utf-8"))
    print(f"The page: {folder / 'report.html'}")


if __name__ == "__main__":
    main()
