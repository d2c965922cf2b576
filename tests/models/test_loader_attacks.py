"""What a loader only warns of: adapters, bases, tokenizers and heads that do not fit are refused; what fits loads.

The shapes are those of public reports: keys written by another class or wrapper, files that hold half of a model,
configurations that say something else than their weights. Written by somebody who did not mend the loader.
"""

import json
import re
import shutil

import pytest
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaForCausalLM,
)

from fakes import AXES, list_text
from grpo_runs import recipe, run
from scripted_grpo import tiny_llama
from sentences import refused, says
from sozo.data.checkpoints import model_digests
from sozo.data.errors import UserError
from sozo.data.schema import write_columns
from sozo.models.model_support import template_of
from sozo.models.tiny import build_tokenizer
from sozo.models.weights import check_model, load_adapter, load_model, load_tokenizer

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
    shapes = {"tied": {}, "untied": {"tie_word_embeddings": False}}
    shapes |= {"padded": {"vocab_size": 128}}
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


# What was done to the adapter's file.
MULTIMODAL = prefixed(FRONT, "base_model.model.model.language_model.layers")
CHANGES = {
    "a multimodal class": MULTIMODAL,
    "lora_A only": kept("lora_A"),
    "nothing": lambda weights: {},
    "a layer that is nowhere": doubled_layer,
}


@pytest.mark.parametrize("case", CHANGES)
def test_an_adapter_whose_keys_do_not_fit_is_refused(case, bases, tmp_path):
    adapter(bases / "tied", tmp_path / "a")
    file = tmp_path / "a" / "adapter_model.safetensors"
    rewrite(file, CHANGES[case])
    assert re.search(r"\d of .* such as \S*layers\.\d", refusal(tmp_path / "a"))
    assert refusal(tmp_path / "a", load_adapter)


# The configuration says one thing, and the weights another
@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({}, {"r": 4}),
        ({}, {"target_modules": ["nothing"]}),
        ({}, {"base_model_name_or_path": None}),
        ({}, {"use_dora": True}),
        ({"trainable_token_indices": [3, 5]}, {"trainable_token_indices": None}),
    ],
)
def test_an_adapter_whose_configuration_is_of_another_is_refused(
    made, said, bases, tmp_path
):
    adapter(bases / "untied", tmp_path / "a", **made)
    reconfigure(tmp_path / "a", **said)
    refusal(tmp_path / "a")


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n"
# What is written into a folder with the adapter `a` over the model `base`.
NO_MODELS = {
    "a key that PEFT does not know": (
        "a",
        lambda root: reconfigure(root / "a", scaling_rule="cube root"),
    ),
    "a base with such a key": (
        "a",
        lambda root: (root / "base/adapter_config.json").write_text(
            json.dumps({"peft_type": "LORA", "scaling_rule": 3})
        ),
    ),
    "a pointer of Git LFS": (
        "base",
        lambda root: (root / "base" / WEIGHTS).write_bytes(POINTER),
    ),
    "a pointer as adapter": (
        "a",
        lambda root: (root / "a/adapter_model.safetensors").write_bytes(POINTER),
    ),
    "a GGUF file": (
        "m.gguf",
        lambda root: (root / "m.gguf").write_bytes(b"GGUF\3\0\0\0"),
    ),
    "a base that is a pointer": (
        "a",
        lambda root: (root / "base/tokenizer.json").write_bytes(POINTER),
    ),
}


@pytest.mark.parametrize("case", NO_MODELS)
def test_what_it_is_or_says_is_named(case, bases, tmp_path):
    name, change = NO_MODELS[case]
    adapter(shutil.copytree(bases / "tied", tmp_path / "base"), tmp_path / "a")
    for file in (tmp_path / "a").glob("*token*"):
        file.unlink()
    change(tmp_path)
    with refused(f"weights: {case}"):
        check_model(str(tmp_path / name))
        load_model(str(tmp_path / name))


def test_an_adapters_template_is_used_with_the_tokenizer_of_its_base(bases, tmp_path):
    adapter(bases / "tied", tmp_path / "a")
    for file in (tmp_path / "a").glob("*token*"):
        file.unlink()
    (tmp_path / "a/chat_template.jinja").write_text("{{ messages[0].content }}!")
    tokenizer = load_tokenizer(str(tmp_path / "a"))
    turns = [{"role": "user", "content": "犬"}]
    assert tokenizer.apply_chat_template(turns, tokenize=False) == "犬!"
    (tmp_path / "a/chat_template.jinja").unlink()
    own = load_tokenizer(str(tmp_path / "a"))
    assert template_of(tokenizer) != template_of(own)


@pytest.mark.parametrize(
    "change",
    [kept("^(?!.*norm)"), kept("^(?!.*(token_adapter|trainable_tokens))")],
    ids=["modules to save", "tokens"],
)
def test_an_adapter_without_its_other_parts_is_refused(change, bases, tmp_path):
    adapter(
        bases / "tied",
        tmp_path / "a",
        modules_to_save=["norm"],
        trainable_token_indices=[3, 5],
    )
    logits(tmp_path / "a")
    rewrite(tmp_path / "a" / "adapter_model.safetensors", change)
    refusal(tmp_path / "a")


def spread(weights, folder):
    """The weights in two files with their index."""
    names = sorted(weights)
    parts = [names[::2], names[1::2]]
    where = {}
    for number, part in enumerate(parts, 1):
        file = f"model-{number:05d}-of-00002.safetensors"
        where |= dict.fromkeys(part, file)
        save_file({k: weights[k] for k in part}, folder / file, {"format": "pt"})
    (folder / WEIGHTS).unlink(missing_ok=True)
    index = {"metadata": {"total_size": 1}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


@pytest.mark.parametrize(
    ("change", "count", "over"),
    [
        (kept("^(?!lm_head)"), 1, "adapter"),
        (prefixed("model.layers", "model.language_model.layers"), 18, "base"),
    ],
    ids=["the head", "a multimodal class"],
)
def test_a_base_with_missing_weights_is_refused(change, count, over, bases, tmp_path):
    base = shutil.copytree(bases / "untied", tmp_path / "base")
    if over == "adapter":
        adapter(base, tmp_path / "a")
    rewrite(base / WEIGHTS, change)
    line = refusal(tmp_path / "a" if over == "adapter" else base)
    assert str(base) in line
    assert re.search(rf"\b{count} of its weights .* such as", line), line


def test_weights_of_another_size_than_said_are_refused(bases, tmp_path):
    base = shutil.copytree(bases / "tied", tmp_path / "base")
    reconfigure(base, vocab_size=24)
    refusal(base)


# Tokenizers and embeddings


def longer(folder, count):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens([f"新{k}" for k in range(count)])
    tokenizer.save_pretrained(folder)
    return len(tokenizer)


@pytest.mark.parametrize(("count", "where"), [(1, "base"), (60, "adapter")])
def test_a_tokenizer_of_more_tokens_than_rows_is_refused(count, where, bases, tmp_path):
    base = shutil.copytree(bases / "untied", tmp_path / "base")
    if where == "adapter":
        adapter(base, tmp_path / "a")
    rows = load_file(base / WEIGHTS)["model.embed_tokens.weight"].shape[0]
    size = longer(tmp_path / "a" if where == "adapter" else base, count)
    line = refusal(base if where == "base" else tmp_path / "a")
    assert str(size) in line.replace(",", "")
    assert str(rows) in line.replace(",", "")


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


def test_a_whole_head_beside_an_adapter_is_not_lost_in_silence(bases, tmp_path):
    """As PEFT saves embeddings that were resized: they are of the base."""
    adapter(bases / "untied", tmp_path / "a")
    head = 2 * torch.ones(ROWS, 16)
    rewrite(
        tmp_path / "a" / "adapter_model.safetensors",
        lambda weights: weights | {"base_model.model.lm_head.weight": head},
    )
    assert load_model(str(tmp_path / "a"))[0].lm_head.weight.equal(head)


# What is right and loads


@pytest.mark.parametrize(
    ("base", "changes"),
    [
        ("tied", {"use_dora": True}),
        ("untied", {"modules_to_save": ["embed_tokens", "lm_head"]}),
        ("tied", {"trainable_token_indices": [3, 5]}),
        ("padded", {}),
    ],
)
def test_a_whole_adapter_is_itself(base, changes, bases, tmp_path):
    right = adapter(bases / base, tmp_path / "a", **changes)
    torch.testing.assert_close(logits(tmp_path / "a"), right, atol=1e-5, rtol=1e-5)


def test_an_adapter_of_torch_over_a_base_in_parts_is_itself(bases, tmp_path):
    base = shutil.copytree(bases / "tied", tmp_path / "base")
    right = adapter(base, tmp_path / "a")
    spread(load_file(base / WEIGHTS), base)
    file = tmp_path / "a" / "adapter_model.safetensors"
    torch.save(load_file(file), tmp_path / "a" / "adapter_model.bin")
    file.unlink()
    torch.testing.assert_close(logits(tmp_path / "a"), right, atol=1e-5, rtol=1e-5)


def test_a_base_in_half_precision_whose_tied_head_is_written_loads_without_a_word(
    bases, tmp_path, capfd
):
    right = logits(bases / "tied")
    base = shutil.copytree(bases / "tied", tmp_path / "base")
    rewrite(
        base / WEIGHTS, lambda w: w | {"lm_head.weight": w["model.embed_tokens.weight"]}
    )
    rewrite(base / WEIGHTS, lambda w: {k: v.bfloat16() for k, v in w.items()})
    capfd.readouterr()
    torch.testing.assert_close(logits(base).float(), right, atol=0.8, rtol=2e-2)
    assert str(base) not in capfd.readouterr().err


def test_a_model_without_its_head_class_loads_as_before(bases, tmp_path):
    """Saved by LlamaModel: no prefix and, since it is tied, no head."""
    base = shutil.copytree(bases / "tied", tmp_path / "base")
    LlamaForCausalLM.from_pretrained(base).model.save_pretrained(base)
    torch.testing.assert_close(
        logits(base), logits(bases / "tied"), atol=1e-6, rtol=1e-6
    )


# From the command line, and where a training goes on


@pytest.fixture(scope="module")
def broken(mini, tmp_path_factory):
    """By kind, a folder of the small model that is to be refused, and the answers that a training takes."""
    root = tmp_path_factory.mktemp("broken")
    adapted = get_peft_model(
        AutoModelForCausalLM.from_pretrained(mini), LoraConfig(**LORA | TWO)
    )
    adapted.save_pretrained(root / "renamed")
    AutoTokenizer.from_pretrained(mini).save_pretrained(root / "renamed")
    rewrite(root / "renamed" / "adapter_model.safetensors", MULTIMODAL)
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


@pytest.mark.parametrize(
    ("method", "kind", "peft"),
    [
        ("sft", "renamed", True),
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
            "top_k": 8,
            "examples_per_step": 8,
        }
    done = run(recipe(method=method, **settings), tmp_path)
    assert done.returncode == 2, done.stderr[-2000:]
    assert says(f"weights: to train {kind}", done.stderr)
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
    known = model_digests(broken / "renamed")  # every judgement's key has them
    assert known.items() <= judge.parameters.items()
    with refused("weights: the judge's adapter does not fit"):
        judge._reply(["評価"])
