"""From what a user names to a generator: folders, adapters, bare tokenizers, vLLM on a stand-in, one-line errors."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import partialmethod

import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import LlamaForCausalLM

from fakes import merge
from model_folders import LLM, NOUNS
from sentences import refused
from sozo.data.prompts import prompt
from sozo.models.model_support import encode_text
from sozo.models.nouns import FrontierWriter, NounWriter
from sozo.models.openai_endpoint import EndpointWriter
from sozo.models.settings import GeneratorSettings, resolve
from sozo.models.tiny import build_tokenizer, tiny_folder
from sozo.models.transformers_model import LocalWriter
from sozo.models.vllm_engine import VllmWriter
from sozo.models.weights import (
    load_adapter,
    load_model,
    load_tokenizer,
    rounding_error,
)
from sozo.tasks.dat.task import Dat
from sozo.tasks.task import Task
from writers import load_generator

DAT = prompt("dat")


def without(folder, copy, *names):
    shutil.copytree(folder, copy)
    for name in names:
        (copy / name).unlink()
    return copy


# Settings


def test_the_backend_is_decided_without_loading_anything(model_folder):
    def decided(*args, **kwargs):
        return resolve(GeneratorSettings(*args, **kwargs))

    for writer, kind, backend in (
        (decided("random"), NounWriter, "random"),
        (decided("frontier", strength=1.0), FrontierWriter, "frontier"),
        (decided("gpt-4o", base_url="http://host/v1"), EndpointWriter, "openai"),
        (decided("tiny"), LocalWriter, "transformers"),
        (decided(str(model_folder)), LocalWriter, "transformers"),
        (decided("org/name"), LocalWriter, "transformers"),
        (decided("org/name", backend="vllm"), VllmWriter, "vllm"),
    ):
        assert (type(writer), writer.record["backend"]) == (kind, backend)
    assert decided("tiny").source == "tiny"
    assert decided("tiny", source="before").source == "before"


class Cold(Task):
    max_new_tokens = 16
    temperature = 0.0001


def test_a_task_has_a_limit_and_a_temperature_where_nothing_was_asked():
    asked = GeneratorSettings("org/name")
    for task in (Task, Dat, Cold):
        writer = resolve(asked, task)
        assert writer.max_new_tokens == task.max_new_tokens
        assert writer.temperature == task.temperature
        assert (
            writer.record.items()
            >= {
                "max_new_tokens": task.max_new_tokens,
                "temperature": task.temperature,
            }.items()
        )
    writer = resolve(replace(asked, max_new_tokens=5, sampling="temperature=0.5"), Cold)
    assert (writer.max_new_tokens, writer.temperature) == (5, 0.5)


@pytest.mark.parametrize(
    ("settings", "row"),
    [
        ({"model": "random", "backend": "tgi"}, "settings: an unknown backend"),
        (
            {"model": "random", "sampling": "temperature=2"},
            "settings: a sampling of random",
        ),
        (
            {"model": "m", "backend": "openai", "sampling": "top_k=20"}
            | {"endpoint": "{extra_body: {top_k: 1}}"},
            "settings: top_k said twice",
        ),
        (
            {"model": "m", "backend": "openai", "sampling": "temperature=2"}
            | {"endpoint": "{temperature: none}"},
            "settings: temperature said twice",
        ),
        ({"model": "random", "max_new_tokens": 0}, "settings: no new token"),
        (
            {"model": "tiny", "backend": "transformers", "base_url": "http://x/v1"},
            "settings: a base_url without an endpoint",
        ),
        (
            {"model": "m", "base_url": "localhost:8000/v1"},
            "settings: a base_url without http",
        ),
        ({"model": "./runs/none"}, "weights: no such folder"),
        ({"model": "runs/a/b"}, "weights: no such folder of three names"),
        ({"model": "tiny", "nouns": "tiny"}, "settings: nouns of a model"),
    ],
)
def test_what_cannot_be_is_refused_first(settings, row):
    with refused(row):
        resolve(GeneratorSettings(**settings))


@pytest.mark.parametrize(
    ("content", "row"),
    [
        (None, "weights: no model in a folder"),
        ("{", "weights: a broken config"),
        ('{"model_type": "unheard_of"}', "weights: an unknown architecture"),
    ],
)
def test_a_folder_that_is_no_model_or_a_broken_one_is_one_line(content, row, tmp_path):
    if content:
        (tmp_path / "config.json").write_text(content)
    with refused(row):
        load_generator(GeneratorSettings(str(tmp_path)))


def test_a_hub_that_is_out_of_reach_is_one_line(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with refused("weights: a hub out of reach"):
        load_generator(GeneratorSettings("nobody/nothing"))


def test_a_limit_that_was_asked_for_is_refused_before_the_model_is_loaded(
    model_folder, tmp_path, monkeypatch
):
    config = json.loads(
        (shutil.copytree(model_folder, tmp_path / "m") / "config.json").read_text()
    )
    (tmp_path / "m/config.json").write_text(
        json.dumps(config | {"max_position_embeddings": 32})
    )
    task = Dat(Dat.Settings(noun_checker="jumandic", embedding_model="ja-ginza"))
    used = len(encode_text(load_tokenizer(str(model_folder)), DAT))
    with monkeypatch.context() as patched:
        patched.setattr("sozo.models.transformers_model.load_model", None)
        for backend in ("transformers", "vllm"):
            patched.setattr("sozo.models.vllm_engine.require", lambda *_: None)
            settings = GeneratorSettings(
                str(tmp_path / "m"), backend, source="m", max_new_tokens=33
            )
            with refused("model_support: a limit above the window") as caught:
                load_generator(settings, task=task)
            assert f"has room for {32 - used} behind" in str(caught.value)
    for limit in (
        32 - used,
        task.max_new_tokens,
    ):  # what fits; and the task's own, of which answers get what fits
        load_generator(
            GeneratorSettings(str(tmp_path / "m"), max_new_tokens=limit), task=task
        )


def test_tiny_is_made_in_a_process_of_its_own(tmp_path, monkeypatch):
    commands = []

    def run(command, *, env, **_):
        commands.append(command)
        assert "WORLD_SIZE" not in env
        return subprocess.CompletedProcess(command, len(commands) - 1)

    monkeypatch.setenv("SOZO_CACHE", str(tmp_path))
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr(subprocess, "run", run)
    writer = resolve(GeneratorSettings("tiny"))
    assert writer.pinned().model == str(tiny_folder()) == commands[0][-2]
    with refused("tiny: could not be made"):
        writer.pinned()
    tiny_folder().mkdir()
    (tiny_folder() / "config.json").touch()  # as if it had been made
    assert writer.pinned().model == commands[0][-2]
    assert (
        commands
        == [[sys.executable, "-m", "sozo.models.tiny", str(tiny_folder()), "0"]] * 2
    )


# Transformers


def test_a_tokenizer_without_chat_template_and_pad_token(model_folder, tmp_path):
    bare = without(model_folder, tmp_path / "bare", "chat_template.jinja")
    for name in ("tokenizer_config.json", "special_tokens_map.json", "config.json"):
        if (bare / name).exists():
            values = json.loads((bare / name).read_text("utf-8"))
            values = {
                key: value
                for key, value in values.items()
                if key not in ("pad_token", "pad_token_id")
            }
            (bare / name).write_text(json.dumps(values), "utf-8")
    generator = load_generator(GeneratorSettings(str(bare), max_new_tokens=3))
    assert generator._tokenizer.chat_template is None
    assert generator._tokenizer.pad_token is None
    assert len(generator.answer([DAT] * 3, seed=0, batch=0)) == 3


def test_a_missing_tokenizer_is_one_line(model_folder, tmp_path):
    names = [path.name for path in model_folder.iterdir() if "token" in path.name]
    bare = without(model_folder, tmp_path / "bare", *names)
    with refused("weights: no tokenizer"):
        load_generator(GeneratorSettings(str(bare)))


def test_an_adapter_without_a_tokenizer_is_merged_into_its_base(model_folder, tmp_path):
    adapted = get_peft_model(
        LlamaForCausalLM.from_pretrained(model_folder),
        LoraConfig(r=2, target_modules=["q_proj", "v_proj"], init_lora_weights=False),
    )
    adapted.save_pretrained(tmp_path)
    generator = load_generator(GeneratorSettings(str(tmp_path), max_new_tokens=5))
    weights = generator._model.state_dict()
    assert not any("lora" in name for name in weights)
    merged = adapted.merge_and_unload().state_dict()
    for name, weight in weights.items():
        torch.testing.assert_close(weight, merged[name])
    assert len(generator.answer([DAT] * 2, seed=0, batch=0)) == 2


@pytest.mark.usefixtures("forked_modules")
def test_in_half_precision_an_adapter_stays_beside_the_weights_that_would_round_it_away(
    model_folder, tmp_path
):
    shutil.copytree(model_folder, tmp_path / "base")
    base = LlamaForCausalLM.from_pretrained(model_folder)
    base.model.layers[0].self_attn.q_proj.weight.data.fill_(1)
    base.save_pretrained(tmp_path / "base")
    base = LlamaForCausalLM.from_pretrained(tmp_path / "base")
    adapted = get_peft_model(
        base, LoraConfig(r=1, lora_alpha=1, target_modules=["q_proj"])
    )
    adapter = adapted.get_base_model().model.layers[0].self_attn.q_proj
    # The digits of bfloat16 end at 2^-7 of 1: of 1 + 2^-10 nothing is left, of 1 + 2^-6 everything.
    adapter.lora_A["default"].weight.data = torch.tensor(
        [[2.0**-10] * 8 + [2.0**-6] * 8]
    )
    adapter.lora_B["default"].weight.data.fill_(1)
    adapted.save_pretrained(tmp_path)

    half, _ = load_model(str(tmp_path), dtype="bfloat16")
    layer = half.model.layers[0].self_attn.q_proj
    x = torch.tensor([1.0] * 8 + [0.0] * 8, dtype=torch.bfloat16)
    assert layer.base_layer(x)[0] == 8
    assert layer.lora_B["default"](layer.lora_A["default"](x.float()))[0] == 2.0**-7
    assert rounding_error(half) == pytest.approx((1 / (1 + 256)) ** 0.5)
    generator = load_generator(
        GeneratorSettings(str(tmp_path), dtype="bfloat16", max_new_tokens=5)
    )
    assert len(generator.answer([DAT] * 2, 0, 0)) == 2

    merge(tmp_path, tmp_path / "merged", "bfloat16")
    assert not any(
        "lora" in name for name in load_file(tmp_path / "merged" / "model.safetensors")
    )


# vLLM, as its documentation has it


def test_vllm_samples_the_whole_distribution_seeded_by_its_first_batch(
    vllm, model_folder
):
    settings = GeneratorSettings(
        str(model_folder),
        backend="vllm",
        dtype="bfloat16",
        sampling="temperature=0.9",
        max_new_tokens=33,
    )
    generator = load_generator(settings)
    first = generator.answer([DAT] * 4, seed=1, batch=2)
    arguments = LLM.made.arguments
    assert 0 <= arguments.pop("seed") < 2**32
    assert arguments == {
        "model": str(model_folder),
        "dtype": "bfloat16",
        "revision": None,
        "enable_prefix_caching": True,
        "generation_config": "vllm",
        "max_model_len": None,  # the model's, where no task says what it needs
    }
    ((prompts, params, lora),) = LLM.made.calls
    tokenizer = build_tokenizer(NOUNS)
    assert [tokenizer.decode(p["prompt_token_ids"]) for p in prompts] == [DAT] * 4
    assert (params.temperature, params.top_p, params.top_k, params.max_tokens) == (
        0.9,
        1.0,
        0,
        33,
    )
    assert params.seed is None  # one for each request would make vLLM draw row by row
    assert lora is None
    generator.answer(["犬", "猫"], seed=1, batch=0)
    assert [tokenizer.decode(p["prompt_token_ids"]) for p in LLM.made.calls[-1][0]] == [
        "犬",
        "猫",
    ]
    # No process and no resumed run begins with draws that another one has had.
    assert load_generator(settings).answer([DAT] * 4, seed=1, batch=2) == first
    begun = [
        load_generator(settings).answer([DAT] * 4, seed=s, batch=b)
        for s, b in ((1, 2), (1, 3), (2, 2), (2, 3))
    ]
    assert len({completion.text for answers in begun for completion in answers}) == 16


def test_what_vllms_window_has_no_room_for_is_told(
    vllm, model_folder, monkeypatch, capsys
):
    monkeypatch.setattr(LLM, "__init__", partialmethod(LLM.__init__, window=40))
    settings = GeneratorSettings(
        str(model_folder), backend="vllm", source="m", max_new_tokens=40
    )
    generator = load_generator(settings)
    for _ in range(2):
        generator.answer([DAT], seed=0, batch=0)
    said = r"m: its window of 40 tokens has room for answers of \d+, fewer than max_new_tokens 40\n"
    assert re.fullmatch(said, capsys.readouterr().err)
    with refused("model_support: a prompt fills the window"):
        generator.answer(["1. 犬\n" * 60], seed=0, batch=0)


def test_a_vllm_that_does_not_start_is_one_line(vllm, model_folder, monkeypatch):
    monkeypatch.setattr(LLM, "__init__", lambda *_, **__: 1 / 0)
    with refused("vllm_engine: does not start"):
        load_generator(GeneratorSettings(str(model_folder), backend="vllm")).answer(
            [DAT], seed=0, batch=0
        )


def test_vllm_serves_an_adapter_over_its_base_on_its_own_gpu(
    vllm, model_folder, tmp_path, monkeypatch
):
    base = LlamaForCausalLM.from_pretrained(model_folder)
    get_peft_model(
        base, LoraConfig(r=12, target_modules=["q_proj"], task_type="CAUSAL_LM")
    ).save_pretrained(tmp_path)
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6")
    generator = load_generator(GeneratorSettings(str(tmp_path), backend="vllm"))
    generator.answer([DAT] * 1, seed=0, batch=0)
    arguments = LLM.made.arguments
    assert (
        arguments["model"],
        arguments["enable_lora"],
        arguments["max_lora_rank"],
    ) == (str(model_folder), True, 16)
    (_, _, lora) = LLM.made.calls[0]
    assert (lora.lora_int_id, lora.lora_path) == (1, str(tmp_path))
    assert LLM.made.environment["CUDA_VISIBLE_DEVICES"] == "6"
    assert "WORLD_SIZE" not in LLM.made.environment
    assert (os.environ["CUDA_VISIBLE_DEVICES"], os.environ["WORLD_SIZE"]) == (
        "4,6",
        "2",
    )
    # vLLM passes over what an adapter lacks.
    weights = load_file(tmp_path / "adapter_model.safetensors")
    save_file(
        dict(sorted(weights.items())[1:]),
        tmp_path / "adapter_model.safetensors",
        {"format": "pt"},
    )
    with refused("weights: vLLM's adapter lacks a layer"):
        load_generator(GeneratorSettings(str(tmp_path), backend="vllm")).answer(
            [DAT], seed=0, batch=0
        )


def test_vllm_that_is_not_there_is_named(model_folder):
    with refused("vllm_engine: is not installed"):
        load_generator(GeneratorSettings(str(model_folder), backend="vllm"))


def test_random_nouns_come_from_a_file_or_from_the_embedded_model(tmp_path):
    nouns = tmp_path / "nouns.txt"
    nouns.write_text("\n".join("犬猫水山川本車空海石木"), "utf-8")
    (completion,) = load_generator(
        GeneratorSettings("random", nouns=str(nouns))
    ).answer([DAT], seed=0, batch=0)
    assert {line.split(". ")[1] for line in completion.text.splitlines()} < set(
        "犬猫水山川本車空海石木"
    )
    assert (
        load_generator(GeneratorSettings("random", nouns="tiny")).describe()["nouns"]
        == 6144
    )
    with refused("languages: no file of nouns"):
        load_generator(GeneratorSettings("random", nouns=str(tmp_path / "missing.txt")))


@pytest.mark.parametrize("base", ["/gone/model", "nobody/nothing"])
def test_an_adapter_without_its_base_says_which_and_where_that_stands(
    base, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        "huggingface_hub.constants.HF_HUB_OFFLINE", True
    )  # else a hub out of reach is tried for minutes
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": 4,
    }
    (tmp_path / "adapter_config.json").write_text(json.dumps(config))
    for load in (load_model, load_adapter, load_tokenizer):
        with refused("weights: an adapter without its base"):
            load(str(tmp_path))
