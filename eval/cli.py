"""The command line of evaluation. Whatever a user can get wrong ends with exit code 2 and one line on stderr."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

import sozo
from sozo.data.errors import UserError, one_line_errors
from sozo.data.joined import COMMANDS, added
from sozo.data.sheet import KINDS
from sozo.data.study_folder import StudyFolder
from sozo.eval.answered import by_judges, judged_by
from sozo.eval.bills import billed
from sozo.eval.deliver import ResultOptions, check_delivery, deliver
from sozo.eval.draw import SamplingOptions
from sozo.eval.flags import add_command, expand_flags, list_flags, with_flags
from sozo.eval.isolated_failures import IsolatedFailures
from sozo.eval.models_to_run import Target, find_targets, write_studies
from sozo.eval.plan import plan
from sozo.eval.run import TaskRun, run_tasks, score_answers
from sozo.eval.terminal import (
    print_answer,
    print_lines,
    print_plan,
    print_run,
    print_tables,
    printing,
    show_all,
)
from sozo.models.generators import Loaded, Writer
from sozo.models.judges import make_judge
from sozo.models.sampling import Sampling
from sozo.models.settings import GeneratorSettings, decide
from sozo.rewards.task import reward_options
from sozo.scoring.judges.protocol import JudgeSettings
from sozo.tasks import Dat, task_type, task_types
from sozo.tasks.task import Task

_FROM_FILES = (
    "judgements",
)  # settings that only mean something where answers exist already

Output = Annotated[
    Path,
    typer.Option(
        help="Folder of this run; the same command again continues where it stopped."
    ),
]
Runs = Annotated[
    list[str],
    typer.Argument(
        metavar="DIR", help="Folders of finished runs, however deep: DIR, or NAME=DIR."
    ),
]
Base = Annotated[
    str | None,
    typer.Option(
        help="The model to compare the others with (default: a study's base, before, or the first)."
    ),
]
Second = Annotated[
    str | None,
    typer.Option(
        "--second-encoder", help="A second encoder that nobody trained on, such as e5."
    ),
]
Judges = Annotated[
    list[str] | None,
    typer.Option(
        help="The judge, by its name on the endpoint, or a local model; of several each scores the same answers "
        f"(default: the paper's, {JudgeSettings().judge_model}).",
        rich_help_panel=JudgeSettings.panel,
    ),
]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sozo {sozo.__version__}")
        raise typer.Exit


def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            is_eager=True,
            callback=_print_version,
            help="Print the version.",
        ),
    ] = False,
) -> None:
    """Measure the creativity of language models in Japanese, by DAT in English too.

    Every command writes into a folder and can be repeated.
    """


def run(
    output: Annotated[
        Path,
        typer.Option(
            help="OUTPUT/MODEL/TASK is a run's folder; finished ones are skipped."
        ),
    ],
    model: Annotated[
        list[str],
        typer.Option(
            help="Folders (a training output means its end, a study its rows), hub ids, tiny."
        ),
    ],
    generator: GeneratorSettings,
    options: SamplingOptions,
    results: ResultOptions,
    tasks: Annotated[
        list[str] | None,
        typer.Option(
            help="What is asked (default: every task that need not be named)."
        ),
    ] = None,
    checkpoints: Annotated[
        bool,
        typer.Option(
            "--checkpoints",
            help="Of a training output its checkpoints too, equal ones once, and first the model that it began with.",
        ),
    ] = False,
    flat: Annotated[
        bool,
        typer.Option(
            "--flat", help="OUTPUT itself is the folder: of one model and one task."
        ),
    ] = False,
    sampling: list[str] | None = None,
    judge_model: Judges = None,
    **settings: Any,
) -> None:
    """Models through tasks: sozo run --model A B --tasks dat sat."""
    targets, studies = find_targets(model, sampling or (), checkpoints=checkpoints)
    names = tasks or [
        name for name, kind in task_types().items() if not kind.only_if_named
    ]
    folders = {name: name for name in names}
    if flat:
        if len(targets) * len(names) > 1:
            raise UserError("--flat is for one model and one task; leave it out")
        targets = [replace(targets[0], folder="")]
        folders = dict.fromkeys(names, "")
    given = generator, options, results, settings
    _run(output, targets, folders, *given, studies, judge_model)


def dat(
    output: Output,
    generator: GeneratorSettings,
    sampling: SamplingOptions,
    results: ResultOptions,
    **settings: Any,
) -> None:
    """DAT by one model: sozo run --tasks dat, into OUTPUT itself."""
    model = generator.model
    source = generator.source or Sampling.parse(generator.sampling).named(model)
    targets = [Target("", model, source)] if model else []
    _run(output, targets, {Dat.name: ""}, generator, sampling, results, settings)


def _run(
    output: Path,
    targets: Sequence[Target],
    folders: Mapping[str, str],
    generator: GeneratorSettings,
    sampling: SamplingOptions,
    results: ResultOptions,
    settings: Mapping[str, Any],
    studies: dict[str, StudyFolder] | None = None,
    judges: Sequence[str] | None = None,
) -> None:
    """Each model through each task; `folders` are the tasks, with their folders within a model's."""
    with Loaded() as loaded:
        # Once: a budget is for all models together.
        asked = [judged_by(judges, task_type(name), settings[name]) for name in folders]
        check_delivery(results)
        if not targets:
            files = "answers that exist already: sozo score TASK FILE"
            raise UserError(f"give a --model; {files}")
        # What is wrong with a name shows before the first model is loaded.
        runs = dict[Target, list[tuple[Task, Writer, Path]]]()
        for target in targets:
            named = replace(
                generator,
                model=target.model,
                source=target.source,
                model_revision=target.revision or generator.model_revision,
                sampling=target.sampling or generator.sampling,
            )
            runs[target] = [
                (task, decide(named, task), output / target.folder / folders[task.name])
                for task in asked
            ]
        counted = sampling.num_answers or sampling.num_usable
        if counted and min(len(task.items()) for task in asked) > 1:
            raise UserError(
                "--num-answers and --num-usable count answers to one prompt, as of dat; give --answers-per-item"
            )
        if results.dry_run:
            planned = [
                (f"{target.folder or target.source}/{task.name}", task, writer, place)
                for target, made in runs.items()
                for task, writer, place in made
            ]
            expected = results.expected_tokens
            told = plan(planned, sampling, generator.price(), expected)
            print_plan(output, *told)
        for task in asked:  # and what cannot be asked of any of them
            _add_judge(task, loaded)
            task.items()
        write_studies(output, studies or {})
        judged = [
            pair
            for made in runs.values()
            for task, _, place in made
            for pair in by_judges(task, place)
        ]
        finished = list[TaskRun | None]()
        failures = IsolatedFailures(len(targets) * len(asked), loaded)
        by_judge, places = zip(*judged, strict=True)
        with billed(by_judge, places, generator):
            for target, made in runs.items():

                def show(run: TaskRun | None, target: Target = target) -> None:
                    finished.append(run)
                    first = run is not None and run.task in asked
                    model = target.model if first else ""
                    _show(run, model, results, output, output / target.folder)

                run_tasks(made, sampling, loaded, failures, show)
    show_all(finished, failures)


def report(
    runs: Runs,
    output: Annotated[Path, typer.Option(help="The page, an HTML file.")] = Path(
        "report.html"
    ),
    base: Base = None,
    title: Annotated[str, typer.Option(help="The page's heading.")] = "sozo",
    second_encoder: Second = None,
    paper: Annotated[
        Path | None,
        typer.Option(
            help="Also a folder for a paper: tables in LaTeX and CSV, every two models, methods.txt."
        ),
    ] = None,
) -> None:
    """One page of runs: what differs, tables, answers to read."""
    from sozo.eval.evaluated import find_evaluated
    from sozo.eval.report.evaluation_page import write_evaluation
    from sozo.eval.report.paper import write_paper
    from sozo.scoring.second_encoder import SecondEncoder

    second = SecondEncoder.if_named(second_encoder)
    pages = write_evaluation(
        output,
        find_evaluated(runs),
        base=base,
        title=title,
        second_encoder=second,
    )
    print_lines(f"{page} ({page.stat().st_size / 1e6:.1f} MB)" for page in pages)
    print_lines(map(str, write_paper(paper, runs) if paper else ()))


def answers(
    runs: Runs,
    output: Annotated[
        Path, typer.Option(help="The table: a .csv or .jsonl file.")
    ] = Path("answers.csv"),
    for_raters: Annotated[
        int, typer.Option(help="Instead a blind sheet of so many, for raters.")
    ] = 0,
) -> None:
    """All answers of runs, with their scores or why they have none."""
    from sozo.eval.answers import table_of

    print_lines(table_of(output, runs, for_raters))


def compare(
    runs: Runs,
    base: Base = None,
    second_encoder: Second = None,
) -> None:
    """What differs between models, and by how much."""
    from sozo.eval.evaluated import find_evaluated
    from sozo.eval.findings import findings
    from sozo.eval.report.contents import printed_tables
    from sozo.eval.seeds import fold
    from sozo.scoring.second_encoder import SecondEncoder

    models = find_evaluated(runs)
    if len(fold(models)) < 2:
        raise UserError(
            f"{' '.join(runs)}: there is one model only; give the runs of two or more"
        )
    second = SecondEncoder.if_named(second_encoder)
    found = findings(models, base, second)
    print_answer(found)
    print_tables(printed_tables(found, first=False))


def _score_command(kind: type[Task]) -> Callable[..., None]:
    """`sozo score TASK FILE`: answers that exist already."""

    def command(
        file: Annotated[
            Path,
            typer.Argument(help="A file of answers, or the folder of an earlier run."),
        ],
        output: Output,
        results: ResultOptions,
        source: Annotated[
            str | None,
            typer.Option(help="Who wrote them (default: as they say, or the file)."),
        ] = None,
        model: Annotated[
            str,
            typer.Option(help="Folder of the model that wrote them, for --wandb."),
        ] = "",
        **settings: Any,
    ) -> None:
        check_delivery(results)
        if file.suffix.lower() in KINDS[1:]:
            raise UserError(
                f"{file}: is a spreadsheet; give a model's answers as CSV or JSON lines with a column text "
                "(docs/answer-files.md); what people wrote: docs/people.md"
            )
        with Loaded() as loaded:
            task = kind(settings[kind.name])
            if results.dry_run:
                planned = [(str(file), task, file, output)]
                print_plan(output, *plan(planned, SamplingOptions(), None))
            _add_judge(task, loaded)
            with billed([task], [output]):
                run = score_answers(task, file, output, source=source)
        _show(run, model, results, output)
        show_all([run])

    command.__doc__ = (
        f"{kind.title}.\n\nScore answers that exist already, and print the row."
    )
    return with_flags(command, {kind.name: kind.Settings})


def _serve_command(kind: type[Task]) -> Callable[..., None]:
    """`sozo serve TASK`: the task's reward over HTTP."""

    def command(
        host: Annotated[
            str, typer.Option(help="Address to listen at; there is no password.")
        ] = "127.0.0.1",
        port: Annotated[int, typer.Option(help="Port to listen at.")] = 8765,
        most_megabytes: Annotated[
            int, typer.Option(help="A larger request is refused.", min=1)
        ] = 64,
        reward: Annotated[
            str,
            typer.Option(help='Options of the reward (JSON), such as {"scale": 1}.'),
        ] = "{}",
        journal: Annotated[
            Path | None,
            typer.Option(
                help="Folder in which a restart finds what was replied and seen."
            ),
        ] = None,
        allow_host: Annotated[
            list[str] | None,
            typer.Option(help="Another name by which clients call it."),
        ] = None,
        **settings: Any,
    ) -> None:
        from sozo.rewards.integrations.core import OBJECT, Integration, checked
        from sozo.rewards.integrations.serve import serve

        integration = Integration(
            kind.name,
            **asdict(settings[kind.name]),
            **checked(OBJECT.validate_json, reward, "--reward"),
        )
        serve(integration, host, port, most_megabytes << 20, allow_host or (), journal)

    command.__doc__ = f"{kind.title}.\n\nPay the answers that clients send."
    return with_flags(command, {kind.name: kind.Settings})


def _add_judge(task: Task, loaded: Loaded) -> None:
    for each in (task, *task.others):
        if (judge_settings := each.judge_settings) is not None:
            each.judge = make_judge(judge_settings, loaded)


def _show(
    run: TaskRun | None,
    model: str,
    results: ResultOptions,
    folder: Path,
    home: Path | None = None,
) -> None:
    """Print a run's row and send its results where they are wanted."""
    if run is not None:  # of several processes the first one shows it
        print_run(run)
        print_lines(deliver(run, model, results, folder, home))


_ELSEWHERE = {name: f"sozo train {name}" for name in ("grpo", "sft", "dpo")} | {
    "quickstart": "make quickstart, in the repository",
}


def make_app() -> typer.Typer:
    """All commands: those that ask models, those that score or pay answers of a task, and those that compare runs."""
    app, score, serve = (
        typer.Typer(
            add_completion=False,
            no_args_is_help=True,
            pretty_exceptions_enable=False,
            rich_markup_mode=None,  # plain help keeps long flags whole in a narrow terminal
            context_settings={
                "max_content_width": 110,
                "help_option_names": ["-h", "--help"],
            },
        )
        for _ in range(3)
    )
    app.callback()(main)
    settings = {name: task.Settings for name, task in task_types().items()}
    add_command(
        app, "run", with_flags(run, settings, without=("model", "source", *_FROM_FILES))
    )
    dat_settings = {Dat.name: Dat.Settings}
    add_command(app, Dat.name, with_flags(dat, dat_settings, without=_FROM_FILES))
    for name, task in task_types().items():
        add_command(score, name, _score_command(task))
        if reward_options(task) is not None and not task.measures[0].together:
            add_command(serve, name, _serve_command(task))
        for own in task.commands:
            add_command(app, own.__name__.replace("_", "-"), with_flags(printing(own)))
    app.add_typer(
        score,
        name="score",
        help="Score answers that exist already: sozo score TASK FILE.",
    )
    app.add_typer(
        serve, name="serve", help="Rewards for answers over HTTP: sozo serve TASK."
    )
    for command in (report, answers, compare):
        add_command(app, command.__name__, with_flags(command))
    taken = ["score", "serve", *(str(each.name) for each in app.registered_commands)]
    for name, (_, command) in added(COMMANDS, taken).items():
        add_command(app, name, with_flags(command))
    return app


def run_cli() -> None:
    """The command `sozo`, of which `python -m sozo` is another spelling."""
    with one_line_errors("error"):
        commands = typer.main.get_command(make_app())
        known = list_flags(commands)
        for name in {*sys.argv[1:2]} & task_types().keys() - known.keys():
            raise UserError(
                f"sozo has no command {name}; the task is asked by: sozo run --tasks {name}"
            )
        for name in {*sys.argv[1:2]} & _ELSEWHERE.keys() - known.keys():
            raise UserError(f"sozo has no command {name}; there is: {_ELSEWHERE[name]}")
        commands(expand_flags(sys.argv[1:], known), prog_name="sozo")


if __name__ == "__main__":
    run_cli()
