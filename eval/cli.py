"""The command line of evaluation. Whatever a user can get wrong ends with exit code 2 and one line on stderr."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

import sozo
from sozo.data.errors import UserError, one_line_errors
from sozo.data.joined import COMMANDS, FOR_PAPERS, added
from sozo.data.settings import setting
from sozo.data.study_folder import StudyFolder
from sozo.eval.bills import billed
from sozo.eval.draw import Evaluation, SamplingOptions
from sozo.eval.flags import add_command, expand_flags, with_flags
from sozo.eval.models_to_run import find_models, write_studies
from sozo.eval.plan import plan, plan_scoring
from sozo.eval.run import (
    IsolatedFailures,
    TaskRun,
    by_judges,
    judged_by,
    run_tasks,
    score_answers,
)
from sozo.eval.terminal import (
    print_answer,
    print_lines,
    print_plan,
    print_run,
    print_tables,
    printing,
    show_all,
)
from sozo.models.generators import Loaded
from sozo.models.judges import make_judge
from sozo.models.settings import GeneratorSettings, resolve
from sozo.tasks import Dat, task_type, task_types
from sozo.tasks.task import Task

_ABOUT = """Measure the creativity of language models in Japanese, by DAT in English too.

Every command writes into a folder and can be repeated. The version: sozo --version.
"""
_SCORE = "Score answers that exist already: sozo score TASK FILE."
_SERVE = "Rewards for answers over HTTP: sozo serve TASK."

Output = Annotated[
    Path, "Folder of this run; the same command again continues where it stopped."
]
Runs = Annotated[
    list[str],
    typer.Argument(
        metavar="DIR", help="Folders of finished runs, however deep: DIR, or NAME=DIR."
    ),
]
Base = Annotated[
    str | None,
    "The model to compare the others with (default: a study's base, before, or the first).",
]
Second = Annotated[str | None, "A second encoder that nobody trained on, such as e5."]


@dataclass(frozen=True)
class ResultOptions:
    """Where results go beside their folder, and what is said of them."""

    panel = "Output"
    dry_run: bool = setting(
        False, "Say what it would cost. Nobody is asked, and nothing is written."
    )
    expected_tokens: int | None = setting(
        None, "Of --dry-run: tokens of an answer as you expect it, beside the bound."
    )
    wandb: bool | None = setting(
        None,
        "Log results into the W&B run that trained the model (default: if there is one; --wandb: else a new run).",
    )


def run(
    output: Annotated[
        Path, "OUTPUT/MODEL/TASK is a run's folder; finished ones are skipped."
    ],
    model: Annotated[
        list[str],
        "Folders (a training output means its end, a study its rows), hub ids, tiny.",
    ],
    generator: GeneratorSettings,
    options: SamplingOptions,
    results: ResultOptions,
    tasks: Annotated[
        list[str] | None,
        "What is asked (default: every task that need not be named); --tasks jcq --help shows jcq's flags.",
    ] = None,
    checkpoints: Annotated[bool, "Of a training output its checkpoints too."] = False,
    flat: Annotated[
        bool, "OUTPUT itself is the folder: of one model and one task."
    ] = False,
    sampling: list[str] | None = None,
    judge_model: list[str] | None = None,
    **settings: Any,
) -> None:
    """Models through tasks: sozo run --model A B --tasks dat sat."""
    ways = sampling or ()
    models, studies = find_models(model, generator, ways, checkpoints=checkpoints)
    names = tasks or [
        name for name, kind in task_types().items() if not kind.only_if_named
    ]
    asked = {
        name: judged_by(judge_model, task_type(name), settings[name]) for name in names
    }
    if flat:
        if len(models) * len(asked) > 1:
            raise UserError("--flat is for one model and one task; leave it out")
        models = dict.fromkeys([""], *models.values())
        asked = dict.fromkeys([""], *asked.values())
    _run(output, models, asked, options, results, studies)


def dat(
    output: Output,
    generator: GeneratorSettings,
    options: SamplingOptions,
    results: ResultOptions,
    **settings: Any,
) -> None:
    """DAT by one model: sozo run --tasks dat, into OUTPUT itself."""
    if not generator.model:
        raise UserError(
            "give a --model; answers that exist already: sozo score TASK FILE"
        )
    task = Dat(settings[Dat.name])
    _run(output, {"": generator}, {"": task}, options, results, {})


def _run(
    output: Path,
    models: Mapping[str, GeneratorSettings],
    tasks: Mapping[str, Task],
    options: SamplingOptions,
    results: ResultOptions,
    studies: dict[str, StudyFolder],
) -> None:
    """Each model through each task, both by their folders: a task's lies in a model's, and that below `output`."""
    # What is wrong with a name shows before the first model is loaded.
    by_model = {
        output / home: [
            Evaluation(task, resolve(asked, task), options, output / home / folder)
            for folder, task in tasks.items()
        ]
        for home, asked in models.items()
    }
    runs = [*chain(*by_model.values())]
    counted = options.num_answers or options.num_usable
    if counted and min(len(task.items()) for task in tasks.values()) > 1:
        raise UserError(
            "--num-answers and --num-usable count answers to one prompt, as of dat; give --answers-per-item"
        )
    generator = next(iter(models.values()))
    if results.dry_run:
        price, expected = generator.price(), results.expected_tokens
        print_plan(output, plan(runs, price, expected))
    with Loaded() as loaded:
        for task in tasks.values():  # and what cannot be asked of any of them
            _add_judge(task, loaded)
            task.items()
        write_studies(output, studies)
        finished = list[TaskRun]()
        failures = IsolatedFailures(len(runs), loaded)
        judged = chain(*(by_judges(run.task, run.folder) for run in runs))
        by_judge, places = zip(*judged, strict=True)
        with billed(by_judge, places, generator):  # a budget is for all of them
            for home, own in by_model.items():
                show = partial(_show, results, output, home)
                finished += run_tasks(own, loaded, failures, show)
    show_all(finished, failures)


def report(
    runs: Runs,
    output: Annotated[Path, "The page, an HTML file."] = Path("report.html"),
    base: Base = None,
    title: Annotated[str, "The page's heading."] = "sozo",
    second_encoder: Second = None,
    paper: Annotated[
        Path | None,
        "Also a folder for a paper: tables in LaTeX and CSV, every two models, methods.txt.",
    ] = None,
) -> None:
    """One page of runs: what differs, tables, answers to read."""
    from sozo.eval.evaluated import find_evaluated
    from sozo.eval.report.evaluation_page import write_evaluation
    from sozo.eval.report.paper import write_paper
    from sozo.scoring.second_encoder import SecondEncoder

    write_evaluation(
        output,
        find_evaluated(runs),
        base=base,
        title=title,
        second_encoder=SecondEncoder.if_named(second_encoder),
    )
    files = [output, *(write_paper(paper, runs) if paper else ())]
    print_lines(map(str, files))


def answers(
    runs: Runs,
    output: Annotated[Path, "The table, a new CSV file."] = Path("answers.csv"),
    for_raters: Annotated[int, "Instead a blind sheet of so many, for raters."] = 0,
) -> None:
    """All answers of runs, with their scores or why they have none."""
    from sozo.eval.answers import write_answers, write_for_raters
    from sozo.eval.evaluated import find_evaluated

    models = find_evaluated(runs)
    if not for_raters:
        print_lines([f"{output} ({write_answers(output, models):,} answers)"])
        return
    drawn, key = write_for_raters(output, models, for_raters)
    of = "every model's to the questions that all of them have"
    print_lines(
        [
            f"{output} ({drawn} of {for_raters} answers: {of}; give each rater a copy called after the rater)",
            f"{key} (whose they are: do not send it; --key of sozo agreement)",
        ]
    )


def compare(runs: Runs, base: Base = None, second_encoder: Second = None) -> None:
    """What differs between models, and by how much."""
    from sozo.eval.evaluated import find_evaluated
    from sozo.eval.findings import findings
    from sozo.eval.report.contents import printed_tables
    from sozo.scoring.second_encoder import SecondEncoder

    second = SecondEncoder.if_named(second_encoder)
    found = findings(find_evaluated(runs), base, second)
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
            str | None, "Who wrote them (default: as they say, or the file)."
        ] = None,
        **settings: Any,
    ) -> None:
        with Loaded() as loaded:
            task = kind(settings[kind.name])
            if results.dry_run:
                print_plan(output, plan_scoring(task, file, output))
            _add_judge(task, loaded)
            with billed([task], [output]):
                run = score_answers(task, file, output, source=source)
        _show(results, output, output, run, "")
        show_all([run])

    command.__doc__ = (
        f"{kind.title}.\n\nScore answers that exist already, and print the row."
    )
    return with_flags(command, {kind.name: kind.Settings})


def _serve_command(kind: type[Task]) -> Callable[..., None]:
    """`sozo serve TASK`: the task's reward over HTTP."""

    def command(
        host: Annotated[
            str, "Address to listen at; there is no password."
        ] = "127.0.0.1",
        port: Annotated[int, "Port to listen at."] = 8765,
        reward: Annotated[
            str, 'Options of the reward (JSON), such as {"scale": 1}.'
        ] = "{}",
        journal: Annotated[
            Path | None, "Folder in which a restart finds what was replied and seen."
        ] = None,
        allow_host: Annotated[
            list[str] | None, "Another name by which clients call it."
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
        serve(integration, host, port, allow_host or (), journal)

    command.__doc__ = f"{kind.title}.\n\nPay the answers that clients send."
    return with_flags(command, {kind.name: kind.Settings})


def _pays_alone(kind: type[Task]) -> bool:
    from sozo.rewards.task import reward_options

    return reward_options(kind) is not None and not kind.measures[0].together


def _add_judge(task: Task, loaded: Loaded) -> None:
    for each in (task, *task.others):
        if (judge_settings := each.judge_settings) is not None:
            each.judge = make_judge(judge_settings, loaded)


def _show(
    results: ResultOptions, output: Path, home: Path, run: TaskRun, model: str
) -> None:
    """Print a run's row and send its results where they are wanted."""
    from sozo.eval.wandb_results import log_results

    print_run(run)
    if line := log_results(run, model, results.wandb, output, home):
        print_lines([line])


def make_app(words: Sequence[str] | None = None) -> typer.Typer:
    """All commands, those for a paper behind the others.

    With the `words` of a command line that command alone has its flags, and shows those of the tasks that are named.
    """
    app, score, serve = (
        typer.Typer(
            help=_ABOUT,
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
    app.add_typer(score, name="score", help=_SCORE)
    app.add_typer(serve, name="serve", help=_SERVE)
    tasks, first = task_types(), words[0] if words else ""
    settings = {name: task.Settings for name, task in tasks.items()}
    hidden = settings.keys() - {word.rpartition("=")[2] for word in words or ()}
    # Judgements only mean something where answers exist.
    without = "model", "source", "judgements"
    flags: dict[str, Any] = {
        "run": {"groups": settings, "without": without, "hidden": hidden},
        Dat.name: {"groups": {Dat.name: Dat.Settings}, "without": without[2:]},
    }
    commands: dict[str, Callable[..., Any]] = {
        command.__name__: command for command in (run, dat, report, answers, compare)
    }
    taken = ["score", "serve", *commands]
    owned = {
        own.__name__.replace("_", "-"): printing(own)
        for task in tasks.values()
        for own in task.commands
    }
    if first not in taken:  # else nothing that joins need be imported
        joined = added(COMMANDS, [*taken, *owned])
        commands |= owned | {name: joined[name].value for name in joined}

    def asked(name: str) -> bool:
        return words is None or name == first

    def of_paper(name: str) -> bool:
        return name in owned or commands[name].__module__.startswith(FOR_PAPERS)

    for name in sorted(commands, key=of_paper):
        if asked(name):
            add_command(app, name, with_flags(commands[name], **flags.get(name, {})))
        else:  # to be listed: flags of all commands take a quarter of a second
            line = (commands[name].__doc__ or "").partition("\n")[0]
            app.command(name, short_help=line)(lambda: None)
    for name, task in tasks.items():
        if asked("score"):
            add_command(score, name, _score_command(task))
        if asked("serve") and _pays_alone(task):
            add_command(serve, name, _serve_command(task))
    return app


def run_cli() -> None:
    """The command `sozo`, of which `python -m sozo` is another spelling."""
    words = sys.argv[1:]
    if words == ["--version"]:
        print_lines([f"sozo {sozo.__version__}"])
        return
    with one_line_errors("error"):
        commands = typer.main.get_command(make_app(words))
        commands(expand_flags(words, commands), prog_name="sozo")


if __name__ == "__main__":
    run_cli()
