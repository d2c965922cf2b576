"""What a loader only warns of: adapters, bases, tokenizers and heads that do not fit are refused; what fits loads.

The shapes are those of public reports: keys written by another class or wrapper, files that hold half of a model,
configurations that say something else than their weights. Written by somebody who did not mend the loader.
"""

import json
import re
import shutil
import sys

import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaForCausalLM,
)

from fakes import AXES, list_text
from grpo_runs import recipe, run
from scripted_grpo import tiny_llama
from sozo.data.errors import UserError
from sozo.data.schema import write_columns
from sozo.models.tiny import build_tokenizer
from sozo.models.weights import load_adapter, load_model

IDS = torch.arange(2, 20)[None]
ROWS = 46  # of the embeddings
FRONT = "base_model.model.model.layers"
WEIGHTS = "model.safetensors"
LORA = {"r": 2, "lora_alpha": 8, "lora_dropout": 0.0, "task_type": "CAUSAL_LM"}
TWO = {"target_modules": ["q_proj", "v_proj"]}


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    """Folders of models of two layers with their tokenizer: `tied`, and others that differ in what they are named."""
    root = tmp_path_factory.mktemp("bases")
    tokenizer = build_tokenizer([*AXES, *(f"語{k}" for k in range(20))])
    shapes = {
        "tied": {},
        "untied": {"tie_word_embeddings": False},
        "deep": {"num_hidden_layers": 3},
    }
    shapes |= {
        "flat": {"num_hidden_layers": 1},
        "wide": {"hidden_size": 32},
        "padded": {"vocab_size": 128},
    }
    for name, changes in shapes.items():
        fixed = {
            "num_hidden_layers": 2,
            "tie_word_embeddings": True,
            "max_position_embeddings": 128,
        } | changes
        size = fixed.pop("vocab_size", len(tokenizer))
        tiny_llama(size, **fixed).save_pretrained(root / name)
        tokenizer.save_pretrained(root / name)
    return root


def adapter(base, folder, **changes):
    """A LoRA adapter with random weights, over the model in `base`, and the logits of the model with it."""
    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_pretrained(base)
    adapted = get_peft_model(model, LoraConfig(**LORA | TWO | changes))
    for parameter in adapted.parameters():
        if parameter.requires_grad:
            parameter.data += 0.3 * torch.randn_like(parameter)
    adapted.save_pretrained(folder)
    AutoTokenizer.from_pretrained(base).save_pretrained(folder)
    with torch.no_grad():
        return adapted.eval()(IDS).logits


def logits(folder):
    with torch.no_grad():
        return load_model(str(folder))[0].eval()(IDS).logits


def rewrite(file, change):
    """Replace the tensors in `file` by what `change` makes of them (a mapping)."""
    save_file(
        {k: v.clone().contiguous() for k, v in change(load_file(file)).items()},
        file,
        {"format": "pt"},
    )


def reconfigure(folder, **changes):
    for file in folder.glob("*config.json"):
        if file.name in ("adapter_config.json", "config.json"):
            file.write_text(
                json.dumps(json.loads(file.read_text("utf-8")) | changes), "utf-8"
            )


def refusal(folder, load=load_model):
    """What the loader says of the folder: one line, which names it."""
    with pytest.raises(UserError) as error:
        load(str(folder))
    line = str(error.value)
    assert "\n" not in line
    assert "Traceback" not in line
    assert str(folder) in line
    return line


def refused_or_itself(folder, right, *named):
    """Never another model: one line, or the model whose logits are `right`."""
    said, found = None, None
    try:
        found = logits(folder)
    except UserError as error:
        said = str(error)
    if said is None:
        torch.testing.assert_close(found, right, atol=1e-5, rtol=1e-5)
    else:
        assert "\n" not in said
        assert all(name in said for name in (str(folder), *named))


def counted(line, keys):
    """Whether a line says how many of these keys, or of the layers or modules that they belong to, and names one."""
    modules = {
        re.sub(r"(\.lora_.*|\.weight|\.bias)$", "", key).removeprefix(
            "base_model.model."
        )
        for key in keys
    }
    numbers = {
        int(number.replace(",", ""))
        for number in re.findall(r"(?<![\w.])\d[\d,]*(?![\w.])", line)
    }
    layers = {re.findall(r"layers\.\d+", key)[0] for key in keys if "layers." in key}
    sizes = {len(keys), len(modules), len(layers)}
    return bool(numbers & sizes) and any(module in line for module in modules)


# Adapters that do not fit their base, or in part


def prefixed(old, new):
    return lambda weights: {
        name.replace(old, new): weight for name, weight in weights.items()
    }


def kept(pattern):
    return lambda weights: {
        name: weight for name, weight in weights.items() if re.search(pattern, name)
    }


def doubled_layer(weights):
    return weights | {
        name.replace("layers.1", "layers.7"): w
        for name, w in weights.items()
        if "layers.1" in name
    }


# What was done to the adapter's file, and which of its keys after it, or of those that it had before, is to blame.
RENAMED = {
    "a multimodal class": prefixed(
        FRONT, "base_model.model.model.language_model.layers"
    ),
    "a multimodal class of old": prefixed(
        FRONT, "base_model.model.language_model.model.layers"
    ),
    "no prefix": prefixed("base_model.model.", ""),
    "a base_model too few": prefixed("base_model.model.model.", "base_model.model."),
    "PEFT of PEFT": prefixed("base_model.model.", "base_model.model.base_model.model."),
    "a prefix of four": prefixed(
        "base_model.model.model.", "base_model.model.model.model."
    ),
    "diffusers": prefixed("base_model.model.model.", "transformer."),
    "GPT-2's names": prefixed(
        "base_model.model.model.layers", "base_model.model.transformer.h"
    ),
    "another module": prefixed("self_attn", "attention"),
    "lora_up and lora_down": lambda weights: {
        k.replace("lora_A", "lora_down").replace("lora_B", "lora_up"): v
        for k, v in weights.items()
    },
    "fused names": lambda weights: {
        k.replace("q_proj", "qkv_proj"): v for k, v in weights.items()
    },
    "layers counted from one": lambda weights: {
        re.sub(r"layers\.(\d)", lambda m: f"layers.{int(m[1]) + 1}", k): v
        for k, v in weights.items()
    },
    "half of them renamed": lambda weights: {
        k.replace("model.layers.1", "model.language_model.layers.1"): v
        for k, v in weights.items()
    },
}
PARTLY = {
    "half of the layers": kept(r"layers\.0"),
    "no layer but the last": kept(r"layers\.1"),
    "lora_A only": kept("lora_A"),
    "lora_B only": kept("lora_B"),
    "no v_proj": kept("q_proj"),
    "one weight less": lambda weights: dict(list(weights.items())[:-1]),
    "nothing": lambda weights: {},
}
BEYOND = {
    "a layer that is nowhere": doubled_layer,
    "one stray weight": lambda weights: (
        weights | {"base_model.model.model.layers.0.mlp.x.lora_A.weight": IDS.float()}
    ),
    "DoRA's vectors": lambda weights: (
        weights
        | {
            f"{FRONT}.{k}.self_attn.q_proj.lora_magnitude_vector": torch.ones(16)
            for k in range(2)
        }
    ),
    "a value head": lambda weights: (
        weights | {"v_head.summary.weight": torch.ones(1, 16)}
    ),
}
CHANGES = {**RENAMED, **PARTLY, **BEYOND}


@pytest.mark.parametrize("case", CHANGES)
def test_an_adapter_whose_keys_do_not_fit_is_refused(case, bases, tmp_path):
    adapter(bases / "tied", tmp_path / "a")
    file = tmp_path / "a" / "adapter_model.safetensors"
    before = load_file(file)
    rewrite(file, CHANGES[case])
    after = load_file(file)
    line = refusal(tmp_path / "a")
    lost, stray = before.keys() - after.keys(), after.keys() - before.keys()
    assert counted(line, lost) or counted(line, stray), line
    assert refusal(tmp_path / "a", load_adapter)


@pytest.mark.parametrize(
    ("wrapper", "change"),
    [
        ("a compiled model's", prefixed("base_model.", "_orig_mod.base_model.")),
        ("a parallel model's", prefixed("base_model.", "module.base_model.")),
        (
            "FSDP's",
            prefixed("base_model.model.", "_fsdp_wrapped_module.base_model.model."),
        ),
        (
            "checkpointed layers'",
            lambda w: {
                re.sub(r"(layers\.\d)", r"\1._checkpoint_wrapped_module", k): v
                for k, v in w.items()
            },
        ),
        ("state_dict()'s", prefixed(".weight", ".default.weight")),
        ("state_dict()'s of another name", prefixed(".weight", ".lora.weight")),
        ("default twice", prefixed(".weight", ".default.default.weight")),
        ("quantized layers'", prefixed("q_proj.", "q_proj.base_layer.")),
    ],
)
def test_an_adapter_of_a_wrapped_model_is_refused_or_is_itself(
    wrapper, change, bases, tmp_path
):
    right = adapter(bases / "tied", tmp_path / "a")
    rewrite(tmp_path / "a" / "adapter_model.safetensors", change)
    refused_or_itself(tmp_path / "a", right, "self_attn")


@pytest.mark.parametrize(
    ("trained", "loaded"),
    [
        ("deep", "tied"),
        ("tied", "deep"),
        ("flat", "tied"),
        ("tied", "flat"),
        ("wide", "tied"),
    ],
)
def test_an_adapter_of_another_size_of_its_base_is_refused(
    trained, loaded, bases, tmp_path
):
    adapter(bases / trained, tmp_path / "a")
    reconfigure(tmp_path / "a", base_model_name_or_path=str(bases / loaded))
    line = refusal(tmp_path / "a")
    assert re.search(r"layers\.\d", line), line


# The configuration says one thing, and the weights another
@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({}, {"target_modules": ["q_proj", "k_proj", "v_proj"]}),
        ({}, {"target_modules": ["q_proj"]}),
        ({}, {"target_modules": "all-linear"}),
        ({}, {"r": 4}),
        ({}, {"use_dora": True}),
        ({}, {"layers_to_transform": [0]}),
        ({"layers_to_transform": [0]}, {"layers_to_transform": None}),
        ({"layers_to_transform": [0]}, {"layers_to_transform": [1]}),
        ({}, {"rank_pattern": {"q_proj": 4}}),
        ({"rank_pattern": {"q_proj": 4}}, {"rank_pattern": {}}),
        ({}, {"modules_to_save": ["lm_head"]}),
        ({}, {"modules_to_save": ["norm"]}),
        ({}, {"trainable_token_indices": [3, 5]}),
        ({"trainable_token_indices": [3, 5]}, {"trainable_token_indices": None}),
        ({"use_dora": True}, {"use_dora": False}),
        ({"lora_bias": True}, {"lora_bias": False}),
        ({}, {"lora_bias": True}),
    ],
)
def test_an_adapter_whose_configuration_is_of_another_is_refused(
    made, said, bases, tmp_path
):
    adapter(bases / "untied", tmp_path / "a", **made)
    reconfigure(tmp_path / "a", **said)
    refusal(tmp_path / "a")


@pytest.mark.parametrize(
    "change",
    [
        lambda weights: {
            k: v for k, v in weights.items() if "lora_magnitude_vector" not in k
        },
        lambda weights: {k: v for k, v in weights.items() if "norm" not in k},
        lambda weights: {
            k: v
            for k, v in weights.items()
            if "token_adapter" not in k and "trainable_tokens" not in k
        },
    ],
    ids=["magnitudes", "modules to save", "tokens"],
)
def test_an_adapter_without_its_other_parts_is_refused(change, bases, tmp_path):
    adapter(
        bases / "tied",
        tmp_path / "a",
        use_dora=True,
        modules_to_save=["norm"],
        trainable_token_indices=[3, 5],
    )
    logits(tmp_path / "a")
    rewrite(tmp_path / "a" / "adapter_model.safetensors", change)
    refusal(tmp_path / "a")


def spread(weights, folder, lost=None):
    """The weights in two files with their index; `lost` is a file's number that is not written."""
    names = sorted(weights)
    parts = [names[::2], names[1::2]]
    where = {}
    for number, part in enumerate(parts, 1):
        file = f"model-{number:05d}-of-00002.safetensors"
        where |= dict.fromkeys(part, file)
        if number != lost:
            save_file({k: weights[k] for k in part}, folder / file, {"format": "pt"})
    (folder / WEIGHTS).unlink(missing_ok=True)
    index = {"metadata": {"total_size": 1}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


LOST = {
    "a layer's norm": kept(r"^(?!.*layers\.1\.input_layernorm)"),
    "the last norm": kept(r"^(?!model\.norm)"),
    "the embeddings": kept(r"^(?!model\.embed)"),
    "the head": kept("^(?!lm_head)"),
    "half of the layers": kept(r"^(?!.*layers\.1)"),
    "everything": kept("^model.norm"),
    "a multimodal class": prefixed("model.layers", "model.language_model.layers"),
    "another class": prefixed("model.layers", "transformer.h"),
    "a compiled model's": prefixed("model.", "_orig_mod.model."),
    "a LoRA-wrapped layer": prefixed("q_proj.weight", "q_proj.base_layer.weight"),
}


@pytest.mark.parametrize("case", LOST)
@pytest.mark.parametrize("over", ["base", "adapter"])
def test_a_base_with_missing_weights_is_refused(case, over, bases, tmp_path):
    base = shutil.copytree(bases / "untied", tmp_path / "base")
    if over == "adapter":
        adapter(base, tmp_path / "a")
    before = load_file(base / WEIGHTS)
    rewrite(base / WEIGHTS, LOST[case])
    lost = before.keys() - load_file(base / WEIGHTS).keys()
    line = refusal(tmp_path / "a" if over == "adapter" else base)
    assert str(base) in line
    assert counted(line, lost), line


@pytest.mark.parametrize("over", ["base", "adapter"])
@pytest.mark.parametrize(
    "case",
    [
        "a shard that is gone",
        "a shard without some",
        "more layers said",
        "a head of its own said",
    ],
)
def test_a_base_that_promises_more_than_it_holds_is_refused(
    case, over, bases, tmp_path
):
    base = shutil.copytree(bases / "tied", tmp_path / "base")
    if over == "adapter":
        adapter(base, tmp_path / "a")
    weights = load_file(base / WEIGHTS)
    if case == "a shard that is gone":
        spread(weights, base, lost=2)
    elif case == "a shard without some":
        spread(weights, base)
        rewrite(
            base / "model-00002-of-00002.safetensors",
            lambda w: dict(sorted(w.items())[2:]),
        )
    elif case == "more layers said":
        reconfigure(base, num_hidden_layers=4)
    else:
        reconfigure(base, tie_word_embeddings=False)
    refusal(tmp_path / "a" if over == "adapter" else base)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("untied", {"vocab_size": 48}),
        ("tied", {"vocab_size": 24}),
        ("tied", {"hidden_size": 32}),
        ("tied", {"intermediate_size": 64}),
        ("tied", {"num_key_value_heads": 1}),
    ],
)
def test_weights_of_another_size_than_said_are_refused(name, said, bases, tmp_path):
    base = shutil.copytree(bases / name, tmp_path / "base")
    reconfigure(base, **said)
    refusal(base)


def test_a_head_with_other_rows_than_the_embeddings_is_refused(bases, tmp_path):
    base = shutil.copytree(bases / "untied", tmp_path / "base")
    rewrite(
        base / WEIGHTS,
        lambda w: w | {"lm_head.weight": torch.cat([w["lm_head.weight"]] * 2)},
    )
    refusal(base)


# Tokenizers and embeddings


def longer(folder, count, **special):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens([f"新{k}" for k in range(count)])
    if special:
        tokenizer.add_special_tokens(special)
    tokenizer.save_pretrained(folder)
    return len(tokenizer)


@pytest.mark.parametrize("where", ["base", "adapter", "adapter of a base's"])
@pytest.mark.parametrize("count", [1, 60])
def test_a_tokenizer_of_more_tokens_than_rows_is_refused(count, where, bases, tmp_path):
    base = shutil.copytree(bases / "untied", tmp_path / "base")
    if where != "base":
        adapter(base, tmp_path / "a")
    if where == "adapter of a base's":
        for file in (tmp_path / "a").glob("*token*"):
            file.unlink()
    rows = load_file(base / WEIGHTS)["model.embed_tokens.weight"].shape[0]
    size = longer(tmp_path / "a" if where == "adapter" else base, count)
    line = refusal(base if where == "base" else tmp_path / "a")
    assert str(size) in line.replace(",", "")
    assert str(rows) in line.replace(",", "")


def test_a_pad_token_beyond_the_last_row_is_refused(bases, tmp_path):
    """As the recipes of Llama 2 added one, and the model was not resized."""
    base = shutil.copytree(bases / "untied", tmp_path / "base")
    longer(base, 0, pad_token="[PAD]")
    refusal(base)


def test_a_tokenizer_with_a_hole_whose_last_token_is_beyond_the_rows_is_refused(
    bases, tmp_path
):
    """Fewer tokens than rows, and an id that has no row."""
    base = shutil.copytree(bases / "tied", tmp_path / "base")
    file = base / "tokenizer.json"
    tokenizer = json.loads(file.read_text("utf-8"))
    last = max(tokenizer["model"]["vocab"], key=tokenizer["model"]["vocab"].get)
    tokenizer["model"]["vocab"][last] = 500
    file.write_text(json.dumps(tokenizer, ensure_ascii=False), "utf-8")
    refusal(base)


def test_another_models_tokenizer_is_refused(bases, tmp_path):
    base = shutil.copytree(bases / "untied", tmp_path / "base")
    build_tokenizer([f"別{k}" for k in range(300)]).save_pretrained(base)
    refusal(base)


@pytest.mark.parametrize("saved", ["embed_tokens and lm_head", "nothing"])
def test_an_adapter_that_was_made_with_more_rows_is_refused_or_is_itself(
    saved, bases, tmp_path
):
    """Resized for new tokens before the training; the base on disk was not."""
    model = AutoModelForCausalLM.from_pretrained(bases / "untied")
    tokenizer = AutoTokenizer.from_pretrained(bases / "untied")
    tokenizer.add_tokens(["新語", "造語"])
    model.resize_token_embeddings(len(tokenizer))
    changes = (
        {"modules_to_save": ["embed_tokens", "lm_head"]} if saved != "nothing" else {}
    )
    adapted = get_peft_model(model, LoraConfig(**LORA | TWO | changes))
    adapted.save_pretrained(tmp_path / "a", save_embedding_layers=False)
    tokenizer.save_pretrained(tmp_path / "a")
    with torch.no_grad():
        right = adapted.eval()(IDS).logits
    refused_or_itself(tmp_path / "a", right)


@pytest.mark.parametrize(
    ("base", "made", "said"),
    [
        ("tied", {"lora_bias": True}, {}),  # which cannot be merged
        (
            "tied",
            {"modules_to_save": ["norm"]},
            {"modules_to_save": None},
        ),  # whose key has a place in the base
        ("tied", {"bias": "all"}, {}),
        ("untied", {"exclude_modules": ["layers.0.self_attn.q_proj"]}, {}),
        ("tied", {}, {"target_modules": r".*layers\.\d+\.self_attn\.[qv]_proj"}),
        ("tied", {}, {"target_modules": "self_attn"}),
        ("tied", {}, {"target_modules": ["nothing"]}),
        ("tied", {}, {"peft_type": "LOHA"}),
        ("tied", {}, {"base_model_name_or_path": None}),
        ("tied", {}, {"fan_in_fan_out": None, "a_setting_of_tomorrow": 1}),
    ],
)
def test_an_adapter_is_refused_or_is_itself(base, made, said, bases, tmp_path):
    right = adapter(bases / base, tmp_path / "a", **made)
    reconfigure(tmp_path / "a", **said)
    refused_or_itself(tmp_path / "a", right)


@pytest.mark.parametrize(
    "change",
    [
        lambda w: w | {"base_model.model.lm_head.weight": 2 * torch.ones(ROWS, 16)},
        lambda w: (
            w | {"base_model.model.model.embed_tokens.weight": 2 * torch.ones(ROWS, 16)}
        ),
        lambda w: w | {f"{FRONT}.0.mlp.up_proj.weight": torch.ones(32, 16)},
    ],
    ids=["a head", "embeddings", "a layer"],
)
def test_whole_weights_beside_an_adapter_have_a_place(change, bases, tmp_path):
    """As PEFT saves embeddings that were resized: they are of the base, and are not lost in silence."""
    adapter(bases / "untied", tmp_path / "a")
    file = tmp_path / "a" / "adapter_model.safetensors"
    before = load_file(file)
    rewrite(file, change)
    ((name, weight),) = [
        item for item in load_file(file).items() if item[0] not in before
    ]
    model, said = None, ""
    try:
        model, _ = load_model(str(tmp_path / "a"))
    except UserError as error:
        said = str(error)
    if model is None:
        assert str(tmp_path / "a") in said
    else:
        assert model.state_dict()[name.removeprefix("base_model.model.")].equal(weight)


@pytest.mark.parametrize("prefix", ["model.", "base_model.", "_orig_mod.", "module."])
def test_a_base_of_a_wrapped_model_is_refused_or_is_itself(prefix, bases, tmp_path):
    base = shutil.copytree(bases / "untied", tmp_path / "base")
    rewrite(
        base / WEIGHTS,
        lambda weights: {f"{prefix}{name}": weight for name, weight in weights.items()},
    )
    refused_or_itself(base, logits(bases / "untied"), "weight")


# What is right and loads


@pytest.mark.parametrize(
    ("base", "changes"),
    [
        ("tied", {}),
        ("untied", {"target_modules": "all-linear"}),
        ("tied", {"use_dora": True}),
        ("tied", {"use_rslora": True}),
        ("untied", {"modules_to_save": ["lm_head"]}),
        ("untied", {"modules_to_save": ["embed_tokens", "lm_head"]}),
        ("tied", {"modules_to_save": ["norm"]}),
        ("tied", {"trainable_token_indices": [3, 5]}),
        ("tied", {"rank_pattern": {"q_proj": 4}, "alpha_pattern": {"q_proj": 2}}),
        ("deep", {"layers_to_transform": [0, 2]}),
        ("untied", {"target_modules": ["embed_tokens", "q_proj"]}),
        ("padded", {}),
    ],
)
def test_a_whole_adapter_is_itself(base, changes, bases, tmp_path):
    right = adapter(bases / base, tmp_path / "a", **changes)
    torch.testing.assert_close(logits(tmp_path / "a"), right, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    "form", ["of torch", "over a base in parts", "over a base in half precision"]
)
def test_a_whole_adapter_in_another_form_is_itself(form, bases, tmp_path):
    base = shutil.copytree(bases / "tied", tmp_path / "base")
    if form == "over a base in half precision":
        AutoModelForCausalLM.from_pretrained(base, dtype=torch.float16).save_pretrained(
            base
        )
    right = adapter(base, tmp_path / "a")
    if form == "over a base in parts":
        spread(load_file(base / WEIGHTS), base)
    if form == "of torch":
        file = tmp_path / "a" / "adapter_model.safetensors"
        torch.save(load_file(file), tmp_path / "a" / "adapter_model.bin")
        file.unlink()
    torch.testing.assert_close(
        logits(tmp_path / "a").float(), right.float(), atol=2e-2, rtol=2e-2
    )


USED = {
    "a tied head that is written": lambda w: (
        w | {"lm_head.weight": w["model.embed_tokens.weight"]}
    ),
    "a tied head that is not": lambda w: w,
    "in half precision": lambda w: {k: v.bfloat16() for k, v in w.items()},
    "rotary buffers": lambda w: (
        w
        | {
            f"model.layers.{k}.self_attn.rotary_emb.inv_freq": torch.ones(4)
            for k in range(2)
        }
    ),
}
UNUSED = {
    "a value head": {"v_head.summary.weight": (1, 16), "v_head.summary.bias": (1,)},
    "a reward model's score": {"score.weight": (1, 16)},
    "a vision tower": {f"vision_tower.layers.{k}.weight": (16, 16) for k in range(12)},
    "a projector": {"model.mm_projector.weight": (16, 8)},
    "a layer for several tokens": {"model.mtp.0.proj.weight": (16, 16)},
    "a layer too many": {"model.layers.2.self_attn.q_proj.weight": (16, 16)},
}


def said(folder, caplog, capfd):
    """Lines that were said of the folder."""
    both = capfd.readouterr()
    lines = [*caplog.messages, *both.err.splitlines(), *both.out.splitlines()]
    return [line for line in lines if str(folder) in line and "LOAD REPORT" not in line]


@pytest.mark.parametrize("case", [*USED, *UNUSED])
def test_a_base_without_a_lack_loads_and_what_is_unused_is_one_line(
    case, bases, tmp_path, caplog, capfd
):
    right = logits(bases / "tied")
    base = shutil.copytree(bases / "tied", tmp_path / "base")
    new = {name: torch.ones(shape) for name, shape in UNUSED.get(case, {}).items()}
    rewrite(base / WEIGHTS, USED.get(case, lambda w: w | new))
    capfd.readouterr()
    found = logits(base)
    close = 2e-2 if case == "in half precision" else 1e-6
    torch.testing.assert_close(found.float(), right, atol=close * 40, rtol=close)
    lines = said(base, caplog, capfd)
    if case in UNUSED:
        assert lines, "nothing was said of weights that are not used"
        assert len(set(lines)) == 1, lines
        assert str(len(new)) in lines[0]
        assert any(name in lines[0] for name in new)
    else:
        assert not lines


def test_more_rows_than_tokens_are_usual(bases, caplog, capfd):
    """Embeddings that are padded to a multiple of 128, as Qwen's."""
    assert logits(bases / "padded").shape[-1] == 128
    assert not said(bases / "padded", caplog, capfd)


def test_a_model_without_its_head_class_loads_as_before(bases, tmp_path):
    """Saved by LlamaModel: no prefix and, since it is tied, no head."""
    base = shutil.copytree(bases / "tied", tmp_path / "base")
    LlamaForCausalLM.from_pretrained(base).model.save_pretrained(base)
    torch.testing.assert_close(
        logits(base), logits(bases / "tied"), atol=1e-6, rtol=1e-6
    )


# Six public layouts, as their authors saved them
SMALL = {
    "vocab_size": 64,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
}
SMALL |= {"num_attention_heads": 2, "max_position_embeddings": 64}
HEADS = SMALL | {"num_key_value_heads": 1}
TEXT = HEADS | {"head_dim": 8, "model_type": "gemma3_text", "pad_token_id": 0}
SIGHT = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
}
SIGHT |= {"image_size": 28, "patch_size": 14, "model_type": "siglip_vision_model"}


def each_layer(name, tensor):
    return {name.format(k): tensor for k in range(2)}


LAYOUTS = {
    # No prefix, and masks that were buffers once.
    "gpt2": (
        {"vocab_size": 64, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64},
        lambda w: (
            {k.removeprefix("transformer."): v for k, v in w.items()}
            | each_layer("h.{}.attn.bias", torch.ones(1, 1, 64, 64))
        ),
    ),
    # Buffers of masks and rotations.
    "gpt_neox": (
        SMALL,
        lambda w: (
            w
            | each_layer("gpt_neox.layers.{}.attention.bias", torch.ones(1, 1, 64, 64))
            | each_layer("gpt_neox.layers.{}.attention.masked_bias", torch.tensor(-1e9))
            | each_layer(
                "gpt_neox.layers.{}.attention.rotary_emb.inv_freq", torch.ones(2)
            )
        ),
    ),
    "qwen2": (HEADS | {"tie_word_embeddings": True}, lambda w: w),
    # A tied head that is written all the same.
    "qwen3": (
        HEADS | {"head_dim": 8, "tie_word_embeddings": True},
        lambda w: w | {"lm_head.weight": w["model.embed_tokens.weight"]},
    ),
    # Experts, each in a file's key of its own, that are one tensor in memory.
    "mixtral": (HEADS | {"num_local_experts": 2}, lambda w: w),
    # A multimodal class, whose keys are renamed as they are read.
    "gemma3": (
        {"text_config": TEXT, "vision_config": SIGHT, "mm_tokens_per_image": 4},
        lambda w: w,
    ),
}


def layout(name, folder):
    """Save the small model of that layout; returns it."""
    settings, change = LAYOUTS[name]
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(name, **settings))
    model.save_pretrained(folder)
    build_tokenizer([f"語{k}" for k in range(50)]).save_pretrained(folder)
    rewrite(folder / WEIGHTS, change)
    return model


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_public_layout_loads_without_a_word(name, tmp_path, caplog, capfd):
    model = layout(name, tmp_path / "m")
    capfd.readouterr()
    with torch.no_grad():
        torch.testing.assert_close(
            logits(tmp_path / "m"), model.eval()(IDS).logits, atol=1e-6, rtol=1e-6
        )
    assert not said(tmp_path / "m", caplog, capfd)


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_public_layout_that_lacks_a_weight_is_refused(name, tmp_path):
    layout(name, tmp_path / "m")
    lost = re.compile(r"(ln_1|input_layernorm)\.weight$")
    file = tmp_path / "m" / WEIGHTS
    before = load_file(file)
    first = next(key for key in sorted(before) if lost.search(key))
    rewrite(file, lambda w: {key: weight for key, weight in w.items() if key != first})
    assert re.search(r"layernorm|ln_1", refusal(tmp_path / "m"))


@pytest.mark.parametrize("name", LAYOUTS)
def test_an_adapter_of_a_public_layout_is_itself_or_is_refused_in_part(name, tmp_path):
    layout(name, tmp_path / "m")
    targets = {"gpt2": ["c_attn"], "gpt_neox": ["query_key_value"]}.get(
        name, ["q_proj", "v_proj"]
    )
    right = adapter(tmp_path / "m", tmp_path / "a", target_modules=targets)
    torch.testing.assert_close(logits(tmp_path / "a"), right, atol=1e-5, rtol=1e-5)
    rewrite(
        tmp_path / "a" / "adapter_model.safetensors",
        lambda w: dict(sorted(w.items())[2:]),
    )
    refusal(tmp_path / "a")


# From the command line, and where a training goes on


@pytest.fixture(scope="module")
def broken(mini, tmp_path_factory):
    """By kind, a folder of the small model that is to be refused, and the answers that a training takes."""
    root = tmp_path_factory.mktemp("broken")
    adapter_of = {"renamed": RENAMED["a multimodal class"], "half": kept("q_proj")}
    for name, change in adapter_of.items():
        adapted = get_peft_model(
            AutoModelForCausalLM.from_pretrained(mini), LoraConfig(**LORA | TWO)
        )
        adapted.save_pretrained(root / name)
        AutoTokenizer.from_pretrained(mini).save_pretrained(root / name)
        rewrite(root / name / "adapter_model.safetensors", change)
    rewrite(
        shutil.copytree(mini, root / "lacking") / WEIGHTS, kept(r"^(?!.*down_proj)")
    )
    longer(shutil.copytree(mini, root / "tokens"), 3)
    texts = [
        list_text([*AXES[row % 12 :], *AXES[: row % 12]][: 9 + row // 12])
        for row in range(16)
    ]
    columns = {
        "id": [f"{row}" for row in range(16)],
        "text": texts,
        "score": [0.9 - row / 100 for row in range(16)],
    }
    columns["reason"] = [None] * 16
    write_columns(root / "table" / "part-00000.parquet", columns)
    return root


def one_line(done, *named):
    """The run was refused in one line."""
    assert done.returncode == 2, done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    said = (line for line in done.stderr.splitlines() if "LOAD REPORT" not in line)
    lines = [line for line in said if all(name in line for name in named)]
    assert lines, done.stderr[-2000:]


@pytest.mark.parametrize("kind", ["renamed", "half", "lacking", "tokens"])
def test_a_run_of_a_broken_model_is_refused(kind, broken, tmp_path):
    command = [
        sys.executable,
        "-m",
        "sozo",
        "dat",
        "--model",
        broken / kind,
        "--num-answers",
        "4",
    ]
    command += [
        "--max-new-tokens",
        "24",
        "--noun-checker",
        "jumandic",
        "--output",
        "out",
    ]
    one_line(run(list(map(str, command)), tmp_path), str(broken / kind))
    assert not (tmp_path / "out" / "metrics.json").exists()


@pytest.mark.parametrize(
    ("method", "kind", "peft"),
    [
        ("sft", "renamed", True),
        ("sft", "renamed", False),
        ("sft", "lacking", False),
        ("sft", "tokens", False),
        ("dpo", "half", True),
        ("dpo", "lacking", False),
        ("grpo", "renamed", True),
        ("grpo", "lacking", True),
        ("grpo", "tokens", False),
    ],
)
def test_a_training_from_a_broken_model_is_refused(
    method, kind, peft, broken, tmp_path
):
    settings = {
        "model_name_or_path": broken / kind,
        "output_dir": "out",
        "report_to": "none",
        "max_steps": 1,
    }
    settings |= (
        {"use_peft": True, "lora_r": 2, "lora_alpha": 8, "lora_dropout": 0.0}
        if peft
        else {}
    )
    if method != "grpo":
        settings |= {
            "answers": broken / "table",
            {"sft": "top_k", "dpo": "num_pairs"}[method]: 8,
        }
        settings |= {"examples_per_step": 8}
    done = run(recipe(method=method, **settings), tmp_path)
    one_line(done, str(broken / kind))
    assert not list(tmp_path.glob("out/**/*.safetensors"))


def test_a_local_judge_of_a_broken_model_is_refused(broken, tmp_path):
    from sozo.models.judges import make_judge
    from sozo.scoring.judges.protocol import JudgeSettings

    settings = JudgeSettings(
        judge_backend="transformers",
        judge_model=str(broken / "renamed"),
        judge_max_tokens=8,
    )
    judge = make_judge(settings)
    with pytest.raises(UserError, match=re.escape(str(broken / "renamed"))):
        judge._reply(["評価"])
