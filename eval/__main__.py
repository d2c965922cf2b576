"""The command line of the benchmarks: `python -m eval dat --model M --output DIR`.

Whatever a user can get wrong ends with exit code 2 and one line on stderr.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from eval.options import (
    AnsweringOptions,
    JcqOptions,
    ResultOptions,
    SamplingOptions,
    SatOptions,
    ScoringOptions,
)
from generate.load import GeneratorSettings
from rewards.judges.options import JudgeOptions

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help keeps long flags whole in a narrow terminal
    context_settings={"max_content_width": 110},
)
Output = Annotated[Path, typer.Option(help="Folder of this run; the same command again goes on where it stopped.")]


@app.callback()
def main() -> None:
    """Measure the creativity of language models in Japanese. Every command writes into a folder and can be repeated."""


def with_flags(command: Callable[..., None], without: Collection[str] = ()) -> Callable[..., None]:
    """Let typer see every field of a command's dataclass parameters, but those in `without`, as a flag of its own."""
    hints: dict[str, Any] = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += (flag for flag in _flags_of(groups[name]) if flag.name not in without)
        else:
            parameters.append(parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hints[name]))

    def run(**values: Any) -> None:
        made = {
            n: group(**{f.name: values.pop(f.name) for f in fields(group) if f.name not in without})
            for n, group in groups.items()
        }
        with _one_line_errors():
            command(**values, **made)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _flags_of(group: Any) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group)
    for field in fields(group):
        # A flag that is off by default needs no --no-... beside it.
        names = [f"--{field.name.replace('_', '-')}"] if field.default is False else []
        annotation: Any = Annotated[hints[field.name], typer.Option(*names, help=field.metadata["help"])]
        kind = inspect.Parameter.KEYWORD_ONLY
        yield inspect.Parameter(field.name, kind, default=field.default, annotation=annotation)


@app.command()
@with_flags
def dat(
    output: Output,
    generator: GeneratorSettings,
    sampling: SamplingOptions,
    scoring: ScoringOptions,
    results: ResultOptions,
    responses: Annotated[
        Path | None, typer.Option(help="Instead of a model: JSONL, one object per line, column text, optional id.")
    ] = None,
) -> None:
    """Divergent Association Task: sample a model (or take its responses), score, and print the row of Table 11."""
    from eval.commands import sample_dat, score_responses

    if bool(generator.model) == (responses is not None):
        raise ValueError("give either --model (to sample it) or --responses (to score a file)")
    show = _delivering(generator.model, results, output)
    if responses is None:
        show(sample_dat(generator, sampling, output, scoring.scorer()))
        return
    for given, plain in ((replace(generator, source=None), GeneratorSettings()), (sampling, SamplingOptions())):
        for field in fields(given):
            if getattr(given, field.name) != getattr(plain, field.name):
                raise ValueError(f"--{field.name.replace('_', '-')} goes with --model, not with --responses")
    show(score_responses(responses, output, scoring.scorer(), source=generator.source or responses.name))


@app.command()
@with_flags
def rescore(
    table: Annotated[Path, typer.Argument(help="A run's folder, a folder of parquet parts, or one part.")],
    output: Output,
    scoring: ScoringOptions,
) -> None:
    """Score the responses of an earlier run again, with another encoder or checker and no model."""
    from eval.commands import rescore as score_again

    _show(score_again(table, output, scoring.scorer()))


@app.command()
@with_flags
def correlate(
    output: Output,
    runs: Annotated[list[str], typer.Argument(metavar="DIR", help="Folders of finished runs, DIR or NAME=DIR.")],
    ratings: Annotated[
        Path | None,
        typer.Option(help="JSONL or CSV of people's ratings (model, item, criterion, rater, score): adds Table 8."),
    ] = None,
) -> None:
    """Correlate the benchmarks over the models of finished runs (Tables 9, 10), and the judge with people (Table 8)."""
    from eval.correlate.run import correlate_runs
    from eval.show import print_page

    print_page(correlate_runs(runs, output, ratings=ratings))


@app.command()
@with_flags
def jcq(
    output: Output,
    generator: GeneratorSettings,
    answering: AnsweringOptions,
    questions: JcqOptions,
    judge: JudgeOptions,
    results: ResultOptions,
    answers: Annotated[
        Path | None, typer.Option(help="Instead of a model: answers in the form of nlp-waseda/JCQ-judge, JSONL.")
    ] = None,
    judgements: Annotated[
        Path | None,
        typer.Option(help="Instead of a judge: what JCQ-judge had --judge-model say about --answers, JSONL."),
    ] = None,
) -> None:
    """Japanese Creativity Questions: let a model answer (or take its answers), have a judge judge, print the row."""
    from rewards.tasks.jcq.run import run_jcq

    if bool(generator.model) == (answers is not None):
        raise ValueError("give either --model (to ask it) or --answers (to judge a file)")
    show = _delivering(generator.model, results, output)
    show(run_jcq(generator, answering, questions, judge, output, answers=answers, judgements=judgements))


@app.command()
@with_flags
def sat(
    output: Output,
    generator: GeneratorSettings,
    answering: AnsweringOptions,
    scoring: SatOptions,
    results: ResultOptions,
    rewrites: Annotated[Path | None, typer.Option(help="Instead of a model: JSONL, columns story_id and text.")] = None,
) -> None:
    """Story Alteration Task: let a model rewrite the stories (or take its rewrites), score, print Table 7's row."""
    from rewards.tasks.sat.run import SatSettings, sample_sat, score_file

    if bool(generator.model) == (rewrites is not None):
        raise ValueError("give either --model (to ask it) or --rewrites (to score a file)")
    settings = SatSettings.of(scoring)
    show = _delivering(generator.model, results, output)
    if rewrites is not None:
        show(score_file(rewrites, output, settings, source=generator.source))
    else:
        show(sample_sat(generator, answering, output, settings))


@app.command("sat-agreement")
@partial(with_flags, without=("judge_prompt",))
def sat_agreement_(
    output: Output,
    runs: Annotated[
        list[str], typer.Argument(metavar="DIR", help="Finished runs, DIR or NAME=DIR; their SAT runs count.")
    ],
    judging: JudgeOptions,
    sat_embedding_models: Annotated[
        list[str], typer.Option(help="One or more encoders to score with (default: the scores that the runs hold).")
    ] = [],  # noqa: B006
    sat_embedding_cache: Annotated[Path | None, typer.Option(help="Folder of a disk cache of their vectors.")] = None,
    rankings: Annotated[
        Path | None, typer.Option(help='JSONL of people\'s rankings: {"story_id": ..., "ranking": [best, ...]}.')
    ] = None,
    judge: Annotated[bool, typer.Option("--judge", help="Have a judge grade the rewrites too (Table 22).")] = False,
) -> None:
    """Appendix C: rank models by encoders, people and a judge (Table 23), and see how these agree (24, Figure 1)."""
    from eval.agreement.run import sat_agreement
    from eval.show import print_page

    for field in fields(judging):
        if not judge and getattr(judging, field.name) != field.default:
            raise ValueError(f"--{field.name.replace('_', '-')} goes with --judge")
    options = judging if judge else None
    compared = sat_agreement(
        runs, output, encoders=sat_embedding_models, cache=sat_embedding_cache, rankings=rankings, judging=options
    )
    print_page(compared)
    _exit_unfinished([compared])


@app.command("run")
@partial(with_flags, without=("model", "source"))
def run_(
    output: Annotated[Path, typer.Option(help="OUTPUT/MODEL/BENCHMARK is a run's folder; finished ones are skipped.")],
    model: Annotated[
        list[str],
        typer.Option(help="Folders (a training output means its checkpoints, a study its rows), hub ids, tiny."),
    ],
    generator: GeneratorSettings,
    sampling: SamplingOptions,
    questions: JcqOptions,
    judge: JudgeOptions,
    stories: SatOptions,
    scoring: ScoringOptions,
    results: ResultOptions,
    benchmarks: Annotated[list[str], typer.Option(help="One or more of dat, jcq, sat.")] = ["dat", "jcq", "sat"],  # noqa: B006
    num_answers: Annotated[int, typer.Option(help="Answers to each question, rewrites of each story.")] = 1,
) -> None:
    """Several models through several benchmarks: python -m eval run --model A B --benchmarks dat jcq sat."""
    from eval.deliver.results import check_delivery, deliver
    from eval.run_all import run_all
    from eval.show import print_finished, print_lines
    from eval.targets import find_targets

    targets = find_targets(model)
    check_delivery([target.model for target in targets.models], results)
    runs = run_all(
        targets,
        benchmarks,
        output,
        generator=generator,
        sampling=sampling,
        answering=AnsweringOptions(num_answers, sampling.seed),
        scorer=scoring.scorer(),
        jcq=questions,
        judging=judge,
        sat=stories,
    )
    shown = []
    for target, finished in runs:
        print_finished(finished)
        print_lines(deliver(finished, target.model, results, output, output / target.folder))
        shown.append(finished)
    _exit_unfinished(shown)


@app.command()
@with_flags
def report(
    runs: Annotated[
        list[str], typer.Argument(help="Folders of finished runs, however deep: DIR, or NAME=DIR to name its model.")
    ],
    output: Annotated[Path, typer.Option(help="The page, an HTML file.")] = Path("report.html"),
    base: Annotated[
        str | None, typer.Option(help="The model to compare the others with (default: a study's base, or the first).")
    ] = None,
    title: Annotated[str, typer.Option(help="The page's heading.")] = "sozo",
) -> None:
    """Turn runs into one page: tables beside the paper's, what changed, pictures, and every answer to read."""
    from eval.finished import find_evaluated
    from eval.report.evaluation_page import write_evaluation
    from eval.show import print_pages

    print_pages(write_evaluation(output, find_evaluated(runs), base=base, title=title))


_VARIADIC = {"run": ("--model", "--benchmarks"), "sat-agreement": ("--sat-embedding-models",)}


def spread(argv: Sequence[str]) -> list[str]:
    """The command line with `--model A B` of `run` written as `--model A --model B`, which is what click takes.

    >>> spread(["run", "--benchmarks", "dat", "sat", "--seed", "1"])
    ['run', '--benchmarks', 'dat', '--benchmarks', 'sat', '--seed', '1']
    """
    variadic = _VARIADIC.get(argv[0], ()) if argv else ()
    words: list[str] = []
    flag = None
    for word in argv:
        if word.startswith("--"):
            flag = word if word in variadic else None
        elif flag and words[-1] != flag:
            words.append(flag)
        words.append(word)
    return words


def _delivering(model: str, results: ResultOptions, output: Path) -> Callable[[Any], None]:
    """What shows a command's run and sends its results where they are wanted; what is in the way is found now."""
    from eval.deliver.results import check_delivery, deliver
    from eval.show import print_finished, print_lines

    def show(run: Any) -> None:
        if run is not None:  # of several processes the first one shows it
            print_finished(run)
            print_lines(deliver(run, model, results, output))
            _exit_unfinished([run])

    check_delivery([model], results)
    return show


def _exit_unfinished(runs: Sequence[Any]) -> None:
    """Exit 3 if a judge stopped before it had been asked everything: a script must not take that for the end."""
    if any(getattr(run, "stopped", None) for run in runs):
        raise typer.Exit(3)


def _show(run: Any) -> None:
    from eval.show import print_finished

    print_finished(run)


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """Exit 2 with one line for what a user can mend, 130 for an interruption; a bug keeps its traceback."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; the same command goes on where it stopped\n")
        raise typer.Exit(130) from None
    except Exception as error:
        from rewards.embeddings import EncoderError
        from rewards.nouns import JumanppError

        if not isinstance(error, OSError | ValueError | ImportError | EncoderError | JumanppError):
            raise
        sys.stderr.write(f"error: {' '.join(str(error).split())}\n")
        raise typer.Exit(2) from None


if __name__ == "__main__":
    app(spread(sys.argv[1:]), prog_name="python -m eval")
