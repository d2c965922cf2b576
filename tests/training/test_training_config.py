"""Settings of a run: what is impossible is refused in one line that says what to do, before a model is loaded."""

import asyncio
import json
import subprocess
import sys
from argparse import Namespace

import pytest

from grpo_runs import ROOT, eight_processes
from sozo.data.errors import UserError
from sozo.data.prompts import prompt as ask
from sozo.data.prompts.form import PLAIN
from sozo.models.model_support import encode_text
from sozo.models.tiny import build_tokenizer
from sozo.training.arguments import GrpoArguments, SftArguments
from sozo.training.batches import (
    accumulation_steps,
    check_groups,
    check_prompts,
    check_saves,
)
from sozo.training.config import parse
from sozo.training.entries import entries_of, read_entries
from sozo.training.grpo import GrpoSettings, checked_entries, fit_prompts
from sozo.training.mix import reward_functions
from sozo.training.sft_dpo import SftSettings, cut_examples

BENT = (
    ("top_k", "50"),
    ("top_p", "0.9"),
    ("min_p", "0.1"),
    ("repetition_penalty", "1.1"),
)
TINY = ["--config", str(ROOT / "recipes" / "tiny" / "grpo.yaml")]


def refusal(function, *arguments, **settings):
    """The one line with which `function` refuses."""
    with pytest.raises(UserError) as error:
        function(*arguments, **settings)
    assert "\n" not in str(error.value)
    return str(error.value)


def written(folder, text):
    """`--config` of a YAML file for a CPU with `text` in it."""
    file = folder / "run.yaml"
    rest = [
        line
        for line in ("tasks: [dat]", "num_prompts: 4096")
        if line.partition(" ")[0] not in text
    ]
    file.write_text("\n".join(["use_cpu: true", "bf16: false", text, *rest]), "utf-8")
    return ["--config", str(file)]


# Batch arithmetic


@pytest.mark.parametrize(
    ("completions", "per_device", "processes", "product"),
    [
        (250, 8, 4, "8 x 4 process(es) = 32"),
        (64, 64, 8, "64 x 8 process(es) = 512"),
        (96, 20, 4, "20 x 4 process(es) = 80"),
        (0, 8, 1, "8 x 1 process(es) = 8"),
        (-5, 8, 1, "8 x 1 process(es) = 8"),
    ],
)
def test_completions_that_are_no_multiple(completions, per_device, processes, product):
    assert refusal(
        accumulation_steps, "completions_per_step", completions, per_device, processes
    ) == (
        f"completions_per_step {completions} is not a multiple of per_device_train_batch_size {product}; "
        "change one of the two"
    )


def test_broken_groups_are_refused():
    check_groups(3, 2, 4, 8)
    # 4 x 3 x 5 = 60.
    assert refusal(check_groups, 4, 3, 5, 8) == (
        "per_device_train_batch_size 4 x 3 process(es) x 5 accumulation step(s) = 60 completions, not a multiple of "
        "num_generations 8; change completions_per_step or num_generations"
    )
    # No step may be dropped.
    assert "1 completions, not a multiple" in refusal(check_groups, 1, 1, 1, 8)
    assert "num_generations must be at least 2" in refusal(check_groups, 4, 1, 1, 1)


def test_an_epoch_fills_its_batches():
    check_prompts(4096, 8, 256)
    check_prompts(32, 8, 256)
    # 100 x 8 = 800 = 3.125 batches of 256, each of 32 prompts.
    assert refusal(check_prompts, 100, 8, 256) == (
        "num_prompts 100 x num_generations 8 = 800 completions do not fill batches of 256; "
        "change num_prompts"
    )
    assert "40 completions do not fill" in refusal(check_prompts, 5, 8, 256)


@pytest.mark.parametrize(
    ("lasts", "iterations", "steps", "save_steps", "unit"),
    [
        # A generation of 4 micro-batches is one step of 4; of 2 it is half a step.
        (4, 1, 4, 3, None),
        (2, 1, 4, 3, None),
        # 4 micro-batches twice over are 2 steps of 4; 6 micro-batches and steps of 4 meet every third step.
        (4, 2, 4, 6, None),
        (4, 2, 4, 5, 2),
        (6, 1, 4, 1, 3),
        # A share of all steps may fall anywhere.
        (4, 2, 4, 0.1, 2),
    ],
)
def test_a_checkpoint_stands_where_a_generation_ends(
    lasts, iterations, steps, save_steps, unit
):
    training = Namespace(
        save_strategy="steps",
        save_steps=save_steps,
        steps_per_generation=lasts,
        num_iterations=iterations,
        gradient_accumulation_steps=steps,
    )
    if unit is None:
        check_saves(training)
        return
    message = refusal(check_saves, training)
    assert message.startswith(f"save_steps {save_steps:g} cuts a generation")
    assert message.endswith(f"give a multiple of {unit}")
    training.save_strategy = "no"
    check_saves(training)


# parse


def parse_grpo(argv):
    script, training, model = parse(GrpoArguments, GrpoSettings, argv)
    checked_entries(script, training)
    return script, training, model


def test_flags_go_over_the_file(tmp_path):
    file = written(
        tmp_path,
        "learning_rate: 5e-7\nnum_prompts: 8\nnum_generations: 8\nseed: 3\nbeta: 1e-2",
    )
    script, training, model = parse_grpo(
        [
            *file,
            "--seed",
            "4",
            "--model_name_or_path",
            "somewhere",
            "--per_device_train_batch_size",
            "8",
        ]
    )
    # YAML reads 5e-7 (no dot) as text.
    assert (training.learning_rate, training.beta, training.seed) == (5e-7, 0.01, 4)
    assert (script.num_prompts, model.model_name_or_path) == (8, "somewhere")
    assert parse_grpo([f"--config={file[1]}"])[1].seed == 3


@pytest.mark.parametrize("steps", [1, 8])
def test_given_accumulation_steps_are_never_overwritten(steps, tmp_path):
    file = written(
        tmp_path,
        "completions_per_step: 256\nper_device_train_batch_size: 4\nnum_generations: 8",
    )
    message = refusal(parse_grpo, [*file, "--gradient_accumulation_steps", str(steps)])
    assert (
        f"gradient_accumulation_steps {steps} is not what completions_per_step 256 needs"
        in message
    )
    assert "1 process(es), 64; leave one of the two out" in message
    assert (
        parse_grpo([*file, "--gradient_accumulation_steps", "64"])[
            1
        ].gradient_accumulation_steps
        == 64
    )


def test_completions_per_step_fits_one_process_and_eight(tmp_path):
    file = written(
        tmp_path,
        "completions_per_step: 256\nper_device_train_batch_size: 4\nnum_generations: 8",
    )
    one = parse_grpo(file)[1]
    assert (one.gradient_accumulation_steps, one.generation_batch_size) == (64, 256)
    with eight_processes():
        eight = parse_grpo(file)[1]
        assert (eight.gradient_accumulation_steps, eight.generation_batch_size) == (
            8,
            256,
        )
        message = refusal(parse_grpo, [*file, "--completions_per_step", "100"])
    assert "completions_per_step 100 is not a multiple" in message
    assert "4 x 8 process(es) = 32" in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "lerning_rate: 1.0",
            "unknown setting: lerning_rate (did you mean learning_rate?)",
        ),
        (
            "num_promts: 7\nzzz: 1",
            "unknown setting: num_promts (did you mean num_prompts?), zzz",
        ),
        # Not the group size of 4 completions, which the misspelt key was to fix.
        (
            "completions_per_stp: 64\nper_device_train_batch_size: 4",
            "unknown setting: completions_per_stp (did you",
        ),
        (
            "learning_rate: five",
            "argument --learning_rate/--learning-rate: invalid float value: 'five'",
        ),
        ("num_prompts: 0", "tasks: dat: num_prompts: Input should be greater than 0"),
        (
            "num_prompts: 100\nper_device_train_batch_size: 64",
            "num_prompts 100 x num_generations 8 = 800 completions do not fill",
        ),
        (
            "max_steps: 3\nnum_prompts: 4\nper_device_train_batch_size: 64",
            "num_prompts 4 x num_generations 8 = 32 completions do not fill",
        ),
        (
            "per_device_train_batch_size: 0",
            "per_device_train_batch_size must be at least 1, not 0",
        ),
        (
            "num_iterations: 2\nsave_steps: 3",
            "save_steps 3 cuts a generation, which is trained on for 2 ",
        ),
        ("steps_per_generation: 0", "steps_per_generation must be at least 1, not 0"),
        (
            "tasks: [{task: dat, reward_funcs: [sozo.rewards.dat_reward], reward_args: 3}]",
            "tasks: dat: reward_args: Input should be a valid dictionary",
        ),
        (
            "tasks: [{task: dat, reward_funcs: [a.b], reward_args: {a.b: 1}}]",
            "tasks: dat: reward_args, a.b: Input should be a valid dictionary",
        ),
        # A reward stands in the entry that it pays for.
        (
            "reward_funcs: [a.b]",
            "reward_funcs is of TRL's own script; here write them into an entry: tasks",
        ),
        (
            "dataset_name: trl-lib/tldr\ndataset_train_split: train",
            "dataset_name is of TRL's own script; here write tasks: [{prompts: hub:NAME",
        ),
        ("dataset_test_split: test", "here write evaluate: {"),
        (
            "tasks: [{task: dat, reward_args: {a.b: {}}}]",
            "tasks: dat: reward_args names a.b, which is not one of reward_funcs []",
        ),
        ("tasks: 3", "tasks must be a list of what is asked"),
        ("tasks: [dat, 3]", "tasks, entry 2 must be a task's name or a mapping, not 3"),
        ("tasks: ['{']", "tasks, entry 1 is not JSON"),
        ("tasks: [dot]", "there is no task dot; there are dat, "),
        (
            "tasks: [{num_prompts: 8}]",
            "give a task (a name) or prompts (a JSONL file, or hub:NAME), and not both",
        ),
        (
            "tasks: [{prompts: mine.jsonl}]",
            "tasks: mine.jsonl: nothing pays for its completions; give reward_funcs",
        ),
        (
            "tasks: [{task: dat, scall: 2}]",
            "tasks: dat: unknown setting: scall (did you mean scale?)",
        ),
        (
            "tasks: [{task: dat, noun_check: auto}]",
            "tasks: dat: unknown setting: noun_check (did you mean noun_checker?)",
        ),
        (
            "tasks: [{task: dat, reward_weights: [1, 2]}]",
            "tasks: dat: 2 reward_weights for 1 rewards; give one for each",
        ),
        (
            "tasks: [{task: dat, reward_weights: [1]}]\nreward_weights: [1]",
            "reward_weights stand both in tasks and beside",
        ),
        ("reward_weights: [1, 2]", "2 reward_weights for 1 rewards; give one for each"),
        (
            "num_prompts:\ntasks: [{prompts: no.jsonl, reward_funcs: [a.b]}]",
            "no.jsonl: no such file; give a JSONL file",
        ),
        ("loss_type: [", "this is not YAML"),
        ("a: b: c", "run.yaml: this is not YAML (line 3: "),
    ],
)
def test_a_file_that_cannot_work(text, message, tmp_path):
    assert message in refusal(parse_grpo, written(tmp_path, text))


@pytest.mark.parametrize("text", ["", "- a\n- b", "just words", "1: 2"])
def test_a_file_without_settings(text, tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text(text)
    assert "run.yaml: must hold lines `setting: value`" in refusal(
        parse_grpo, ["--config", str(file)]
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--lerning_rate", "3"],
            "unknown setting: lerning_rate (did you mean learning_rate?)",
        ),
        (
            ["--lerning-rate=3"],
            "unknown setting: lerning_rate (did you mean learning_rate?)",
        ),
        # An abbreviation is an unknown setting too.
        (["--see", "3"], "unknown setting: see (did you mean seed?)"),
        (["stray"], "unknown setting: stray"),
        (
            ["--learning_rate"],
            "argument --learning_rate/--learning-rate: expected one argument",
        ),
        (["--use_cpu", "maybe"], "Truthy value expected"),
        (["--learning_rate", "-1"], "learning_rate must be 0 or more, not -1.0"),
        (["--temperature", "0"], "temperature must be above 0, not 0.0"),
        (["--report_to", "wanbd"], "not 'wanbd' (did you mean wandb?)"),
        (["--dtype", "bf16"], "argument --dtype: invalid choice: 'bf16'"),
        (
            ["--num_generations", "7", "--completions_per_step", "64"],
            "64 completions, not a multiple of num_generations 7",
        ),
        (["--save_total_limit", "1"], "use 2 or more"),
        (
            ["--sampler", "fast"],
            "sampler must be one of shared_prefix, trl, vllm, not fast",
        ),
        (
            ["--sampler", "trl", "--use_vllm", "true"],
            "sampler trl and use_vllm true contradict each other",
        ),
        (
            ["--sampler", "shared_prefix", "--use_vllm", "true"],
            "sampler shared_prefix and use_vllm true contradict",
        ),
        (
            ["--sampler", "vllm", "--vllm_mode", "server"],
            "vllm_mode server needs a GPU: TRL sends weights by NCCL;",
        ),
        (
            ["--top_k", "50"],
            "the model's own distribution and cannot follow top_k 50; leave it out (top_k 0, top_p 1)",
        ),
        (["--top_p", "0.9", "--min_p", "0.1"], "cannot follow top_p 0.9, min_p 0.1;"),
        (["--repetition_penalty", "1.2"], "cannot follow repetition_penalty 1.2;"),
        (
            ["--generation_kwargs", '{"num_beams": 2}'],
            "cannot follow generation_kwargs {'num_beams': 2};",
        ),
        *(
            (
                ["--sampler", "vllm", f"--{name}", value],
                f"would correct by a biased ratio with {name} {value}",
            )
            for name, value in BENT
        ),
    ],
)
def test_flags_that_cannot_work(words, message):
    assert message in refusal(parse_grpo, [*TINY, *words])


def test_config_without_a_file(tmp_path):
    assert refusal(parse_grpo, ["--config", "nosuch.yaml"]).startswith(
        "nosuch.yaml: no such file; "
    )
    assert refusal(parse_grpo, ["--config=nosuch.yaml"]).startswith(
        "nosuch.yaml: no such file; "
    )
    assert refusal(parse_grpo, ["--config"]).startswith("--config needs a file")
    assert "cannot be read" in refusal(parse_grpo, ["--config", str(tmp_path)])


def test_reward_settings():
    entry = {
        "task": "dat",
        "reward_funcs": ["sozo.rewards.make_dat_reward", "mine.f"],
        "reward_args": {"sozo.rewards.make_dat_reward": {"scale": 1.0}},
    }
    words = ["--tasks", json.dumps(entry), "--reward_weights", "1", "0.5"]
    script, training, _ = parse_grpo([*TINY, *words])
    (read,) = entries_of(script)
    assert read.reward_funcs == entry["reward_funcs"]
    assert read.reward_args == entry["reward_args"]
    assert training.reward_weights == [1.0, 0.5]


def test_reading_flags_makes_no_task():
    script, training, _ = parse(
        GrpoArguments, GrpoSettings, [*TINY, "--tasks", "nowhere"]
    )
    assert script.tasks == [{"task": "nowhere"}]
    with pytest.raises(UserError, match="there is no task nowhere"):
        checked_entries(script, training)


def test_parsing_loads_no_model():
    code = (
        "import sys; from sozo.training.config import parse; from sozo.training.grpo import *;"
        "parse(GrpoArguments, GrpoSettings, sys.argv[1:]);"
        "loaded = {'sentence_transformers', 'spacy', 'trl.trainer.grpo_trainer', 'wandb'} & set(sys.modules);"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code, *TINY], cwd=ROOT, check=True)


# Samplers


@pytest.mark.parametrize(
    ("words", "sampler"),
    [
        ([], "shared_prefix"),
        (["--use_vllm", "true"], "vllm"),
        (["--sampler", "vllm"], "vllm"),
        (["--sampler", "vllm", "--use_vllm", "true"], "vllm"),
        (["--sampler", "trl"], "trl"),
        (["--sampler", "trl", "--top_k", "50"], "trl"),
    ],
)
def test_the_sampler_and_use_vllm_agree(words, sampler):
    script, training, _ = parse_grpo([*TINY, *words])
    assert (script.sampler, training.use_vllm) == (sampler, sampler == "vllm")


# SFT; DPO's arguments are checked by the same functions


def parse_sft(*words):
    start = ["--use_cpu", "true", "--bf16", "false", "--answers", "somewhere"]
    return parse(SftArguments, SftSettings, [*start, *words])


def test_examples_per_step_fits_one_process_and_eight():
    words = [
        "--examples_per_step",
        "256",
        "--per_device_train_batch_size",
        "4",
        "--top_k",
        "512",
    ]
    assert parse_sft(*words)[1].gradient_accumulation_steps == 64
    with eight_processes():
        assert parse_sft(*words)[1].gradient_accumulation_steps == 8
        message = refusal(parse_sft, *words, "--examples_per_step", "100")
        assert message == (
            "examples_per_step 100 is not a multiple of per_device_train_batch_size 4 x 8 process(es) = 32; "
            "change one of the two"
        )
        # 4 x 8 x 1 accumulation step.
        assert "top_k 9 does not fill batches of 32 " in refusal(
            parse_sft, "--per_device_train_batch_size", "4", "--top_k", "9"
        )


def test_an_epoch_of_sft_has_a_table_and_fills_its_batches():
    words = ["--examples_per_step", "256", "--per_device_train_batch_size", "4"]
    assert refusal(parse_sft, *words, "--top_k", "1000") == (
        "top_k 1000 does not fill batches of 256 (examples_per_step); change top_k"
    )
    cpu = ["--use_cpu", "true", "--bf16", "false"]
    assert refusal(parse, SftArguments, SftSettings, cpu).startswith(
        "answers is missing: --answers DIR"
    )
    # A few steps need not be a whole epoch, but one batch they must be.
    parse_sft(*words, "--top_k", "1000", "--max_steps", "2")
    assert "top_k 100 does not fill batches of 256 " in refusal(
        parse_sft, *words, "--top_k", "100", "--max_steps", "2"
    )


# Reward functions


def rewards_of(**entry):
    return [function.reward for function in reward_functions(read_entries([entry], {}))]


def test_a_users_own_reward_beside_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "my_first_reward.py").write_text(
        "def length(completions, **kwargs):\n    return [float(len(c)) for c in completions]\n\n\n"
        "def make(factor):\n    return lambda completions, **kwargs: [factor for _ in completions]\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    paths = ["my_first_reward.length", "my_first_reward.make"]
    length, fixed = rewards_of(
        task="dat",
        reward_funcs=paths,
        reward_args={"my_first_reward.make": {"factor": 2.0}},
    )
    assert (length(completions=["ab", ""]), fixed(completions=["ab", ""])) == (
        [2.0, 0.0],
        [2.0, 2.0],
    )


@pytest.mark.parametrize(
    ("path", "arguments", "message"),
    [
        (
            "dat_reward",
            {},
            "'dat_reward' is no dotted path such as my_package.dat_reward",
        ),
        (
            "no_such_module_of_mine.f",
            {},
            "no_such_module_of_mine.f: No module named 'no_such_module_of_mine'",
        ),
        (
            "sozo.rewards.no_such",
            {},
            "sozo.rewards.no_such: module 'sozo.rewards' has no attribute 'no_such'",
        ),
        ("math.pi", {}, "math.pi cannot be called (it is a float)"),
        ("sozo.rewards.make_dat_reward", {"scal": 1.0}, "unknown setting: scal"),
    ],
)
def test_reward_functions_that_are_not_there(path, arguments, message):
    entry = {
        "task": "dat",
        "reward_funcs": [path],
        "reward_args": {path: arguments} if arguments else {},
    }
    assert message in refusal(rewards_of, **entry)


OF_A_STRANGER = """
import functools

def no_kwargs(completions):
    return [1.0 for _ in completions]

def make(factor):
    def reward(completions, **kwargs):
        return [factor for _ in completions]
    return reward

def needs_solution(completions, solution, **kwargs):
    return [float(text == s) for text, s in zip(completions, solution)]

def by_ids(completion_ids, **kwargs):
    return [float(len(ids)) for ids in completion_ids]

def takes_all(**columns):
    return [1.0 for _ in columns["completions"]]

class Judge:
    def __call__(self, completions, **kwargs):
        return [0.5 for _ in completions]

judge = Judge()

def text(completions, **kwargs):
    return ["3" for _ in completions]

def one_number(completions, **kwargs):
    return 1.0

def one_too_few(completions, **kwargs):
    return [1.0 for _ in completions[1:]]

async def later(completions, **kwargs):
    return [{} for _ in completions]

def numpy(completions, **kwargs):
    import numpy
    return numpy.ones(len(completions))

def some(completions, **kwargs):
    return [None, *[1 for _ in completions[1:]]]

async def soon(completions, worth=1.0, **kwargs):
    return [worth for _ in completions]

half = functools.partial(soon, worth=0.5)

class Client:
    async def asked(self, completions, **kwargs):
        return [0.25 for _ in completions]

asked = Client().asked

def of_texts(function):
    @functools.wraps(function)
    def reward(completions, **kwargs):
        return function(completions)
    return reward

@of_texts
def wrapped(completions):
    return [2.0 for _ in completions]

def tensor(completions, **kwargs):
    import torch
    return torch.tensor(1.0)

def huge(completions, **kwargs):
    return [10**400 for _ in completions]
"""


@pytest.fixture
def strangers(tmp_path, monkeypatch):
    """A stranger's module of rewards in the working directory: its name."""
    name = f"strangers_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(OF_A_STRANGER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sozo.rewards.make_dat_reward", "sozo.rewards.make_dat_reward is a class; if"),
        ("sozo.rewards.make_task_reward", "takes no completions; if it makes a reward"),
        (
            "make",
            "takes no completions; if it makes a reward, name it in reward_args, ",
        ),
        (
            "Judge",
            "is a class; if it makes a reward, name it in reward_args, such as {",
        ),
        ("no_kwargs", "has no **kwargs, but is handed all that TRL knows; add them to"),
        ("needs_solution", "needs solution, which is no column of dat; if it makes"),
    ],
)
def test_a_reward_that_cannot_be_called_is_refused_uncalled(name, message, strangers):
    path = name if "." in name else f"{strangers}.{name}"
    said = refusal(rewards_of, task="dat", reward_funcs=[path])
    assert said.startswith(f"reward function {path} ")
    assert message in said


def called(strangers, name, prompts="prompts.jsonl"):
    entry = {"prompts": prompts, "reward_funcs": [f"{strangers}.{name}"]}
    (reward,) = reward_functions(read_entries([entry], {}))
    texts = {"prompts": ["?", "?"], "completions": ["a", "b"]}
    paid = reward(asked=[0, 0], completion_ids=[[1], [1, 2]], **texts)
    return asyncio.run(paid) if asyncio.iscoroutine(paid) else paid


@pytest.mark.parametrize(
    ("name", "paid"),
    [
        ("needs_solution", [1.0, 0.0]),
        ("by_ids", [1.0, 2.0]),
        ("takes_all", [1.0, 1.0]),
        ("judge", [0.5, 0.5]),
        ("numpy", [1.0, 1.0]),
        ("some", [None, 1.0]),
        ("half", [0.5, 0.5]),
        ("asked", [0.25, 0.25]),
        ("wrapped", [2.0, 2.0]),
        ("tensor", "reward tensor gave tensor(1.); return a list of a number, or None"),
        ("huge", "reward huge gave 1000000000"),
        ("text", "reward text gave '3' for a completion; return a list of a number,"),
        (
            "one_number",
            "reward one_number gave 1.0; return a list of a number, or None",
        ),
        (
            "one_too_few",
            "reward one_too_few gave 1 values for 2 completions; return one",
        ),
        ("later", "reward later gave {} for a completion; return a list of a number"),
    ],
)
def test_what_a_strangers_reward_gives_first(name, paid, strangers, tmp_path):
    (tmp_path / "prompts.jsonl").write_text('{"prompt": "?", "solution": "a"}')
    if isinstance(paid, str):
        assert refusal(called, strangers, name).startswith(paid)
    else:
        assert called(strangers, name) == paid


def test_a_noun_checker_that_there_is_not():
    said = "no noun checker is called 'mecab'; choose auto, jumanpp, jumandic or (English) lemminflect;"
    assert said in refusal(rewards_of, task="dat", noun_checker="mecab")
    path = "sozo.rewards.make_dat_usable"
    arguments = {path: {"noun_checker": "mecab"}}
    entry = {"task": "dat", "reward_funcs": [path], "reward_args": arguments}
    assert said in refusal(rewards_of, **entry)


def test_a_hub_models_revision_is_recorded_as_the_commit_that_was_loaded(
    monkeypatch, tmp_path
):
    import transformers
    from trl import ModelConfig

    from sozo.training.run import _pin_revision as pin_revision

    asked = []

    def config(name, revision=None):
        asked.append((name, revision))
        return type("Config", (), {"_commit_hash": "0a1b2c"})

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", config)
    model = ModelConfig(model_name_or_path="org/model", model_revision=None)
    assert pin_revision(model) == model.model_revision == "0a1b2c"
    assert asked == [("org/model", None)]
    for local in (str(tmp_path), "tiny"):
        model = ModelConfig(model_name_or_path=local)
        assert pin_revision(model) is None
        assert model.model_revision == "main"
    assert len(asked) == 1


def test_vllm_draws_from_the_whole_distribution_with_room_for_what_is_asked():
    tokenizer = build_tokenizer(["犬", "海"])
    prompt = len(encode_text(tokenizer, ask("dat"), PLAIN))

    def fitted(window, *more):
        script, training, _ = parse_grpo([*TINY, *more])
        fit_prompts(entries_of(script), training, tokenizer, PLAIN, window)
        return training

    training = fitted(None, "--sampler", "vllm")
    limit = training.max_completion_length
    assert training.vllm_max_model_length == prompt + limit
    assert training.vllm_importance_sampling_mode == "token_truncate"
    assert (
        fitted(
            None, "--sampler", "vllm", "--vllm_max_model_length", "700"
        ).vllm_max_model_length
        == 700
    )
    fitted(prompt + limit)  # to the last token
    for window, words, said in [
        (
            prompt + limit - 1,
            (),
            rf"GRPO: max_completion_length {limit} is too long: .* room for {limit - 1} behind",
        ),
        (
            prompt,
            (),
            f"GRPO: a prompt of {prompt} tokens fills the model's window of {prompt}; take",
        ),
        (
            700,
            ("--vllm_max_model_length", "701"),
            "vLLM: vllm_max_model_length 701 is too long: the window of 700 ",
        ),
        (
            None,
            ("--vllm_max_model_length", str(prompt + 1)),
            f"{prompt + 1}: max_completion_length {limit} is ",
        ),
    ]:
        with pytest.raises(UserError, match=said):
            fitted(window, "--sampler", "vllm", *words)


def test_examples_are_cut_at_the_models_window():
    words = [
        "--answers",
        "x",
        "--top_k",
        "4",
        "--per_device_train_batch_size",
        "1",
        "--output_dir",
        "x",
    ]
    words += ["--use_cpu", "true", "--bf16", "false"]
    for length, window, expected in [
        (["40"], 30, 30),
        (["20"], 30, 20),
        (["40"], None, 40),
    ]:
        _, training, _ = parse(
            SftArguments, SftSettings, [*words, "--max_length", *length]
        )
        cut_examples(training, build_tokenizer(["犬"]), PLAIN, window)
        assert training.max_length == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "--use_cpu true --sampler trl",
            "accelerate has no FSDP on a CPU and would train without",
        ),
        (
            "--use_cpu false",
            "sampler shared_prefix does not work under FSDP; set sampler: trl",
        ),
        ("--use_cpu false --sampler trl", None),
        (
            '--use_cpu false --sampler trl --evaluate {"every":1,"tasks":["dat"]}',
            "evaluate does not work under FSDP; leave it out (--evaluate null), or take DeepSpeed",
        ),
        ("--use_cpu false --sampler trl --evaluate null", None),
    ],
)
def test_what_does_not_go_with_fsdp_is_refused_at_once(words, message, monkeypatch):
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    if message is None:
        parse_grpo([*TINY, *words.split()])
    else:
        assert refusal(parse_grpo, [*TINY, *words.split()]).startswith(message)
