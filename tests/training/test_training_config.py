"""Settings of a run: what is impossible is refused in one line that says what to do, before a model is loaded."""

import json
import sys
from argparse import Namespace
from contextlib import nullcontext

import pytest

from grpo_runs import ROOT, eight_processes, flags
from sentences import refused
from sozo.data.prompts import prompt as ask
from sozo.data.prompts.form import PLAIN
from sozo.models.model_support import encode_text
from sozo.models.tiny import build_tokenizer
from sozo.training.arguments import GrpoArguments, SftArguments
from sozo.training.config import parse
from sozo.training.entries import read_entries
from sozo.training.grpo import GrpoRun, GrpoSettings
from sozo.training.mix import reward_functions
from sozo.training.plan import Hardware, make_plan
from sozo.training.sft_dpo import SftRun, SftSettings

TINY = ["--config", str(ROOT / "recipes" / "tiny" / "grpo.yaml")]


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


def parse_grpo(argv):
    script, training, model = parse(GrpoArguments, GrpoSettings, argv)
    script.epoch(training)
    return script, training, model


# Batch arithmetic

STEPS = {"completions_per_step": 64, "num_generations": 16}


@pytest.mark.parametrize(
    ("changes", "processes"),
    [
        ({"completions_per_step": 250}, 1),
        ({"completions_per_step": 0}, 1),
        ({"per_device_train_batch_size": 64}, 8),
        ({"num_generations": 1}, 1),  # a group to compare within
        ({"num_generations": 7}, 1),
        ({"num_prompts": 5}, 1),  # an epoch of 80 completions
        ({"num_prompts": 100, "num_generations": 8}, 1),  # of 12.5 steps
        # 2 micro-batches twice over are 2 steps; 3 micro-batches and steps of 2 meet every third step.
        ({"num_iterations": 2, "save_steps": 5}, 1),
        ({"steps_per_generation": 3, "save_steps": 4, "num_prompts": 2040}, 1),
        ({"num_iterations": 2, "save_steps": 0.1}, 1),  # which may fall anywhere
    ],
)
def test_a_batch_that_cannot_be(changes, processes):
    words = [*TINY, *flags(STEPS | {"save_steps": 6} | changes)]
    with refused(f"batches: {changes} on {processes}"):
        make_plan("grpo", words, Hardware(processes))


def test_checkpoints_stand_where_a_generation_ends():
    words = [*TINY, *flags({"num_iterations": 2, "save_steps": 5})]
    assert parse_grpo([*words, "--save_strategy", "no"])
    assert parse_grpo([*words, "--save_steps", "6"])
    assert parse_grpo([*TINY, "--save_steps", "0.3"])


# parse


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


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ("two unknown keys", "num_promts: 7\nzzz: 1"),
        # Not the group size of 4 completions, which the misspelt key was to fix.
        (
            "the first thing",
            "completions_per_stp: 64\nper_device_train_batch_size: 4",
        ),
        ("no prompts", "num_prompts: 0"),
        (
            "an epoch is not full",
            "num_prompts: 100\nper_device_train_batch_size: 64",
        ),
        (
            "a reward's arguments are no mapping",
            "tasks: [{task: dat, reward_funcs: [a.b], reward_args: {a.b: 1}}]",
        ),
        # A reward stands in the entry that it pays for.
        ("TRL's reward_funcs", "reward_funcs: [a.b]"),
        (
            "TRL's data set",
            "dataset_name: trl-lib/tldr",
        ),
        (
            "arguments of another reward",
            "tasks: [{task: dat, reward_args: {a.b: {}}}]",
        ),
        ("an entry is a number", "tasks: [dat, 3]"),
        ("an entry is no JSON", "tasks: ['{']"),
        ("an entry of nothing", "tasks: [{num_prompts: 8}]"),
        ("nothing pays", "tasks: [{prompts: mine.jsonl}]"),
        ("an unknown key of an entry", "tasks: [{task: dat, scall: 2}]"),
        ("an unknown key of a task", "tasks: [{task: dat, noun_check: auto}]"),
        ("too many weights", "tasks: [{task: dat, reward_weights: [1, 2]}]"),
        (
            "weights in two places",
            "tasks: [{task: dat, reward_weights: [1]}]\nreward_weights: [1]",
        ),
        (
            "no file of prompts",
            "num_prompts:\ntasks: [{prompts: no.jsonl, reward_funcs: [a.b]}]",
        ),
        ("no YAML", "a: b: c"),
    ],
)
def test_a_file_that_cannot_work(row, text, tmp_path):
    with refused(f"training file: {row}"):
        GrpoRun(*parse(GrpoArguments, GrpoSettings, written(tmp_path, text)))


@pytest.mark.parametrize("text", ["", "- a\n- b", "1: 2"])
def test_a_file_without_settings(text, tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text(text)
    with refused("training file: no settings"):
        parse_grpo(["--config", str(file)])


@pytest.mark.parametrize(
    "words",
    [
        "--lerning-rate=3",
        "--see 3",  # an abbreviation is an unknown setting too
        "stray",
        "recipes/mine.yaml",
        "learning_rate=0.0003",  # as a sweep of W&B writes it
        "--model tiny",
        "--learning_rate",
        "--report_to wanbd",
        "--save_total_limit 1",
        "--gradient_accumulation_steps 2",
        "--hub_token hf_x",
        "--sync_ref_model true --beta 0",
        "--push_to_hub true",
        "--seed many",
        "--seed 1 2",
        "--lora_r 16",
        "--sampler trl --use_vllm true",
        "--top_k 50",
        "--top_p 0.9 --min_p 0.1",
        '--generation_kwargs {"num_beams":2}',
        "--sampler vllm --top_k 50 --top_p 0.9 --min_p 0.1 --repetition_penalty 1.1",
        "--config=nosuch.yaml",
        "--config",
        "--config .",
    ],
)
def test_flags_that_cannot_work(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with refused(f"training flags: {words}"):
        parse_grpo([*([] if "--config" in words else TINY), *words.split()])


def test_reward_settings():
    entry = {
        "task": "dat",
        "reward_funcs": ["sozo.rewards.make_dat_reward", "mine.f"],
        "reward_args": {"sozo.rewards.make_dat_reward": {"scale": 1.0}},
    }
    words = ["--tasks", json.dumps(entry), "--reward_weights", "1", "0.5"]
    script, training, _ = parse_grpo([*TINY, *words])
    (read,) = read_entries(script.tasks)
    assert read.reward_funcs == entry["reward_funcs"]
    assert read.reward_args == entry["reward_args"]
    assert training.reward_weights == [1.0, 0.5]


def test_reading_flags_makes_no_task():
    read = parse(GrpoArguments, GrpoSettings, [*TINY, "--tasks", "nowhere"])
    assert read[0].tasks == [{"task": "nowhere"}]
    with refused("tasks: no such task"):
        GrpoRun(*read)


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
        script, told, _ = parse_sft(
            "--per_device_train_batch_size", "4", "--top_k", "9"
        )
        with refused("batches: 9 examples on 8 processes"):  # 4 x 8 x 1
            script.epoch(told)


def test_examples_of_sft_fill_a_step():
    words = ["--examples_per_step", "256", "--per_device_train_batch_size", "4"]
    script, told, _ = parse_sft(*words, "--top_k", "100", "--max_steps", "2")
    with refused("batches: two steps of 100 examples"):
        script.epoch(told)


# Reward functions


def rewards_of(**entry):
    return [function.reward for function in reward_functions(read_entries([entry]))]


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
    ("path", "arguments"),
    [
        ("dat_reward", {}),
        ("no_such_module_of_mine.f", {}),
        ("sozo.rewards.no_such", {}),
        ("math.pi", {}),
        ("sozo.rewards.make_dat_reward", {"scal": 1.0}),
        ("sozo.rewards.make_dat_usable", {"noun_checker": "mecab"}),
    ],
)
def test_reward_functions_that_are_not_there(path, arguments):
    entry = {
        "task": "dat",
        "reward_funcs": [path],
        "reward_args": {path: arguments} if arguments else {},
    }
    with refused(f"rewards: {path}"):
        rewards_of(**entry)


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
    "name",
    [
        "sozo.rewards.make_dat_reward",
        "sozo.rewards.make_task_reward",
        "make",
        "Judge",
        "no_kwargs",
        "needs_solution",
    ],
)
def test_a_reward_that_cannot_be_called_is_refused_uncalled(name, strangers):
    path = name if "." in name else f"{strangers}.{name}"
    with refused(f"rewards: {name} cannot be called"):
        rewards_of(task="dat", reward_funcs=[path])


def called(strangers, name, prompts="prompts.jsonl"):
    entry = {"prompts": prompts, "reward_funcs": [f"{strangers}.{name}"]}
    (reward,) = reward_functions(read_entries([entry]))
    texts = {"prompts": ["?", "?"], "completions": ["a", "b"]}
    return reward(asked=[0, 0], completion_ids=[[1], [1, 2]], **texts)


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
        ("tensor", None),
        ("huge", None),
        ("text", None),
        ("one_number", None),
        ("one_too_few", None),
        ("later", None),
    ],
)
def test_what_a_strangers_reward_gives_first(name, paid, strangers, tmp_path):
    (tmp_path / "prompts.jsonl").write_text('{"prompt": "?", "solution": "a"}')
    if paid is None:
        with refused(f"rewards: {name} is no list of numbers"):
            called(strangers, name)
    else:
        assert called(strangers, name) == paid


def test_a_hub_models_revision_is_recorded_as_the_commit_that_was_loaded(
    monkeypatch, tmp_path
):
    import transformers
    from trl import ModelConfig

    from sozo.training.run import _pinned as pinned

    asked = []

    def config(name, revision=None):
        asked.append((name, revision))
        return type("Config", (), {"_commit_hash": "0a1b2c"})

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", config)
    alone = Namespace(main_process_first=lambda **_: nullcontext())
    model = ModelConfig(model_name_or_path="org/model", model_revision=None)
    assert pinned(model, alone)[1] == model.model_revision == "0a1b2c"
    assert asked == [("org/model", None)]
    (tmp_path / "config.json").write_text("{}")
    model = ModelConfig(model_name_or_path=str(tmp_path))
    assert pinned(model, alone) == (str(tmp_path), None)
    assert (model.model_revision, len(asked)) == ("main", 1)


def test_vllm_draws_from_the_whole_distribution_with_room_for_what_is_asked():
    tokenizer = build_tokenizer(["犬", "海"])
    prompt = len(encode_text(tokenizer, ask("dat"), PLAIN))

    def fitted(window, *more):
        script, training, model = parse(GrpoArguments, GrpoSettings, [*TINY, *more])
        GrpoRun(script, training, model).fit(tokenizer, training, window)
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
    for window, words, row in [
        (prompt + limit - 1, "", "too long"),
        (prompt, "", "a prompt fills the window"),
        (None, f"--vllm_max_model_length {prompt + 1}", "no room in vLLM"),
    ]:
        with refused(f"completions: {row}"):
            fitted(window, "--sampler", "vllm", *words.split())


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
        run = Namespace(form=PLAIN)
        SftRun.fit(run, build_tokenizer(["犬"]), training, window)
        assert training.max_length == expected


@pytest.mark.parametrize(
    ("words", "row"),
    [
        ("--use_cpu true --sampler trl", "a CPU"),
        ("--use_cpu false", "shared_prefix"),
        ("--use_cpu false --sampler trl", None),
        (
            '--use_cpu false --sampler trl --evaluate {"every":1,"tasks":["dat"]}',
            "shared_prefix",
        ),
    ],
)
def test_what_does_not_go_with_fsdp_is_refused_at_once(words, row, monkeypatch):
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    with refused(f"FSDP: {row}") if row else nullcontext():
        parse_grpo([*TINY, *words.split()])
