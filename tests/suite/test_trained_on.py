"""What a model was trained on: written down by each training, carried on, and read from runs of before."""

import json
import shutil

import pytest

from fakes import AXES, list_text
from grpo_runs import ROOT, flags
from once import answered, dat, targets, train
from sentences import refused
from sozo.eval.draw import SamplingOptions
from sozo.eval.run import run_task
from sozo.models.settings import GeneratorSettings
from sozo.models.trained_on import (
    NO,
    NOT_KNOWN,
    NOT_RECORDED,
    YES,
    of_answers,
    of_rewards,
    recorded,
    target,
    trained_on,
)
from sozo.suite.sentences.task import Sentences
from sozo.tasks import Dat, read_run, task_types
from sozo.tasks.jcq.task import Jcq
from sozo.training.arguments import SftArguments
from sozo.training.config import parse
from sozo.training.sft_dpo import SftSettings
from toy_task import Lipogram

UNKNOWN = dict.fromkeys(("task", "measure", "encoder", "judge", "by"), NOT_RECORDED)


def one(by, task="dat", measure="dat", encoder="ja-ginza", judge=None):
    return {
        "task": task,
        "measure": measure,
        "encoder": encoder,
        "judge": judge,
        "by": by,
    }


def edited(folder, **loaded):
    """A finished run with other entries in what it says of its model."""
    path = folder / "config.json"
    config = json.loads(path.read_bytes())
    config["loaded"] |= loaded
    path.write_text(json.dumps(config), "utf-8")
    return folder


@pytest.fixture(scope="module")
def frontier(tmp_path_factory):
    """Draws eight lists: the name of the table, and how strongly words and lists are drawn."""
    folder = tmp_path_factory.mktemp("frontier")
    nouns = "犬 猫 山 海 空 石 木 花 鳥 魚 馬 牛 虫 雨 雪 風 火 土 星 月".split()  # noqa: SIM905
    (folder / "nouns.txt").write_text("\n".join(nouns), "utf-8")

    def draw(name, strength, word_strength):
        strengths = {"strength": strength, "word_strength": word_strength}
        generator = GeneratorSettings(
            "frontier", nouns=str(folder / "nouns.txt"), **strengths
        )
        run_task(dat(), generator, SamplingOptions(num_answers=8), folder / name)
        return folder / name

    return draw


def test_what_answers_were_drawn_by_and_what_they_were_chosen_by(frontier, tmp_path):
    lists = read_run(frontier("lists", 300.0, None))
    unchosen = one("sft", measure=None, encoder=None)
    assert of_answers(lists, "sft", chosen=False) == [one("frontier"), unchosen]
    assert of_answers(lists, "sft", chosen=True) == [one("frontier"), one("sft")]
    even = read_run(frontier("even", 0.0, 0.0))
    assert of_answers(even, "sft", chosen=False) == [unchosen]
    assert (targets([unchosen]), targets([one("frontier"), unchosen])) == (
        set(),
        {"dat"},
    )
    assert targets([unchosen], NO) == task_types().keys()
    # A trained model's answers carry on what it was trained on.
    run_task(
        dat(),
        GeneratorSettings("random"),
        SamplingOptions(num_answers=8),
        tmp_path / "drawn",
    )
    edited(tmp_path / "drawn", model_trained=True, trained_on=[one("grpo", task="sat")])
    assert of_answers(read_run(tmp_path / "drawn"), "dpo", chosen=True) == [
        one("grpo", task="sat"),
        one("dpo"),
    ]
    shutil.rmtree(tmp_path / "drawn" / "answers")
    bare = frontier("parts", 300.0, None) / "answers"
    assert of_answers(read_run(bare), "sft", chosen=True) == [
        UNKNOWN | {"task": "dat", "measure": "dat", "by": "sft"}
    ]


def test_which_measures_a_training_goes_for():
    """What it pays for, and usable answers; what a second encoder says of pairing only by the encoder that paid."""
    score, usable, words, dat = Dat.measures[0], *Dat.beside(), [one("grpo")]
    assert [target(dat, Dat, measure) for measure in (score, usable, words)] == [
        YES,
        YES,
        NO,
    ]
    assert [
        target(dat, Dat, Dat.second, encoder) for encoder in ("ja-ginza", "glove")
    ] == [YES, NO]
    by_e5 = [
        [one("grpo", encoder=name)] for name in ("centred:e5", "ja-ginza+e5", "e5-like")
    ]
    assert [target(trainings, Dat, Dat.second, "e5") for trainings in by_e5] == [
        *(YES, YES, NO)
    ]
    fluency, whole = Jcq.measure_named("jcq/fluency"), Jcq.beside()[1]
    by_one = [one("grpo", "jcq", "jcq/fluency", None, "judge-a")]
    assert [target(by_one, Jcq, m) for m in (Jcq.measures[0], fluency, whole)] == [
        YES,
        YES,
        NO,
    ]
    # Whoever is shown usable sentences writes more of them, and so more content words an answer.
    shown = [one("sft", "sentences", None, None)]
    assert [target(shown, Sentences, measure) for measure in Sentences.measures] == [
        *[YES] * 4,
        NO,
    ]
    assert (target(dat, Jcq, Jcq.measures[0]), target([UNKNOWN, *dat], Dat, words)) == (
        NO,
        NOT_KNOWN,
    )


def test_a_training_writes_it_once_each_behind_its_start_s(frontier, mini, tmp_path):
    lists = frontier("lists", 300.0, None)
    first = train("sft", mini, lists, tmp_path / "first", 8)
    chain = [one("frontier"), one("sft", measure=None, encoder=None)]
    assert trained_on(first) == chain
    assert trained_on(train("sft", first, lists, tmp_path / "again", 8)) == chain


def test_runs_of_before_say_what_grpo_paid_for_and_no_more(tmp_path):
    folder = answered(
        dat(),
        tmp_path / "run",
        *(list_text([*AXES[k:], *AXES[:k]][:10]) for k in range(4)),
    )
    for loaded, said, marked in (
        ({}, [], set()),
        ({"model_trained": True, "trained_on": []}, [UNKNOWN], set()),
        (
            {"model_trained": True, "trained_on": ["jcq"]},
            [UNKNOWN, UNKNOWN | {"task": "jcq", "by": "grpo"}],
            {"jcq"},
        ),
    ):
        run = read_run(edited(folder, **loaded))
        assert (recorded(run), targets(recorded(run))) == (said, marked)
        assert targets(recorded(run), NOT_KNOWN) == task_types().keys() - marked


def test_what_chance_paid_is_told_apart():
    paid = of_rewards([{"task": "dat"}, {"task": "dat", "placebo": {"seed": 0}}])
    assert [training["by"] for training in paid] == ["grpo", "placebo"]


def test_a_measuring_run_of_before_goes_on(lipogram, mini, tmp_path):
    model, sampling = (
        train(
            "sft",
            mini,
            answered(Lipogram(), tmp_path / "a", *"abcd"),
            tmp_path / "m",
            4,
        ),
        SamplingOptions(),
    )
    generator = GeneratorSettings(str(model), max_new_tokens=4)
    folder = tmp_path / "run"
    whole = run_task(Lipogram(), generator, sampling, folder).metrics

    def unfinished():
        (folder / "metrics.json").unlink()
        for part in (folder / "answers").iterdir():
            part.unlink()

    edited(folder, trained_on=["dat"])
    unfinished()
    assert run_task(Lipogram(), generator, sampling, folder).metrics == whole
    edited(folder, model_sha256="0" * 64)
    unfinished()
    with refused("run: the model's folder changed"):
        run_task(Lipogram(), generator, sampling, folder)


def test_word_targets_need_a_list_in_a_row_of_its_own(tmp_path):
    settings = {"answers": tmp_path, "output_dir": tmp_path / "out", "packing": True}
    settings |= {"report_to": "none"}
    yaml = ["--config", str(ROOT / "recipes" / "tiny" / "sft-word-targets.yaml")]
    with refused("word_targets: packed rows"):
        parse(SftArguments, SftSettings, [*yaml, *flags(settings)])
