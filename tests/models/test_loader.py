"""Loading asks transformers and PEFT what they found: of models of public classes, of references, encoders, engines."""

import json
import shutil

import numpy as np
import pytest
import torch
import transformers
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    BertModel,
    LlamaForCausalLM,
    modeling_utils,
)

from fakes import AXES
from grpo_runs import recipe, run
from scripted_grpo import tiny_llama
from sentences import refused
from sozo.data.whole_models import whole_models
from sozo.models.tiny import build_tokenizer
from sozo.models.weights import check_adapter, load_model, load_tokenizer
from sozo.scoring.embeddings import make_encoder

pytestmark = pytest.mark.usefixtures("forked_modules")

TOKENIZER = build_tokenizer(list(AXES))
IDS = torch.arange(2, 20)[None]
TEXT = {
    "vocab_size": len(TOKENIZER),
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
}
TEXT |= {
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
}
TEXT |= {"eos_token_id": 1, "bos_token_id": 1}
LINEAR = {
    "linear_num_value_heads": 2,
    "linear_num_key_heads": 2,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
}
LINEAR |= {"head_dim": 8, "layer_types": ["full_attention", "full_attention"]}
SIGHT = {"hidden_size": 16, "patch_size": 14}
BLOCKS = SIGHT | {
    "depth": 1,
    "intermediate_size": 16,
    "num_heads": 2,
    "out_hidden_size": 16,
}
LORA = {
    "r": 2,
    "target_modules": ["q_proj", "v_proj"],
    "init_lora_weights": False,
    "task_type": "CAUSAL_LM",
}


def qwen3_5():
    tower = BLOCKS | {"num_position_embeddings": 16}
    config = transformers.Qwen3_5Config(text_config=TEXT | LINEAR, vision_config=tower)
    return transformers.Qwen3_5ForConditionalGeneration(config)


def llama():
    return tiny_llama(len(TOKENIZER), num_hidden_layers=2, tie_word_embeddings=True)


def saved(model, folder, extra=None):
    model.save_pretrained(folder)
    TOKENIZER.save_pretrained(folder)
    if extra:
        change(folder / "model.safetensors", lambda weights: weights | extra)
    return folder


def change(file, how):
    weights = {name: weight.clone() for name, weight in how(load_file(file)).items()}
    save_file(weights, file, {"format": "pt"})


def without(part):
    return lambda weights: {
        name: weight for name, weight in weights.items() if part not in name
    }


# How many weights have no use, and one; 0 where the class itself says that they need none.
UNUSED = {
    "TRL's value head": (
        {"v_head.summary.weight": torch.ones(1, 16)},
        1,
        "v_head.summary.weight",
    ),
    "buffers of old": (
        {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(4)},
        0,
        None,
    ),
}


@pytest.mark.parametrize("case", UNUSED)
def test_weights_of_a_public_class_that_have_no_use_are_one_line(case, tmp_path, capfd):
    extra, count, one = UNUSED[case]
    folder = saved(llama(), tmp_path / "m", extra)
    capfd.readouterr()
    model, _ = load_model(str(folder))
    lines = [
        line
        for line in capfd.readouterr().err.splitlines()
        if "m:" in line or "REPORT" in line
    ]
    use = f"{folder}: {type(model).__name__} has no use for {count} of its weights, such as {one}"
    assert lines == ([use] if count else [])
    change(folder / "model.safetensors", without("layers.1.input_layernorm"))
    with refused("whole_models: a norm is missing"):
        load_model(str(folder))


def test_only_what_sozo_loads_is_checked(tmp_path):
    """A class with a new head is somebody's own business, before and after."""
    folder = saved(llama(), tmp_path / "m")
    before = modeling_utils.log_state_dict_report
    with whole_models(), refused("whole_models: a new head is missing"):
        transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    assert modeling_utils.log_state_dict_report is before
    transformers.AutoModelForSequenceClassification.from_pretrained(folder)


# Adapters


def adapted(kind, base, folder, **settings):
    """An adapter over the base in `kind`, saved, and the logits of both."""
    torch.manual_seed(0)
    model = get_peft_model(kind.from_pretrained(base), LoraConfig(**LORA | settings))
    model.save_pretrained(folder)
    with torch.no_grad():
        return model.eval()(input_ids=IDS).logits


@pytest.mark.parametrize(
    "kind", [AutoModelForCausalLM, transformers.Qwen3_5ForConditionalGeneration]
)
def test_an_adapter_loads_in_the_class_whose_names_it_has(kind, tmp_path):
    """TRL trains in the class that config.json names, and AutoModelForCausalLM may be another."""
    base = saved(qwen3_5(), tmp_path / "base")
    right = adapted(kind, base, tmp_path / "a")
    with torch.no_grad():
        found = load_model(str(tmp_path / "a"))[0].eval()(input_ids=IDS).logits
    torch.testing.assert_close(found, right, atol=1e-5, rtol=1e-5)


def test_an_adapter_is_checked_without_the_weights_of_its_base(tmp_path):
    base = saved(llama(), tmp_path / "base")
    adapted(AutoModelForCausalLM, base, tmp_path / "a", modules_to_save=["lm_head"])
    (base / "model.safetensors").unlink()
    check_adapter(str(tmp_path / "a"))
    change(
        tmp_path / "a" / "adapter_model.safetensors",
        without("layers.1.self_attn.q_proj"),
    )
    with refused("weights: an adapter lacks a layer"):
        check_adapter(str(tmp_path / "a"))


@pytest.mark.parametrize("lost", ["adapter", "base"])
def test_a_model_with_an_adapter_in_its_folder_is_checked_twice(lost, tmp_path):
    """Which transformers loads as one, and of which it reports the adapter only."""
    folder = saved(llama(), tmp_path / "m")
    right = adapted(AutoModelForCausalLM, folder, folder)
    with torch.no_grad():
        torch.testing.assert_close(load_model(str(folder))[0].eval()(IDS).logits, right)
    file, part = {
        "adapter": ("adapter_model", "layers.1"),
        "base": ("model", "layers.1.mlp"),
    }[lost]
    change(folder / f"{file}.safetensors", without(part))
    with refused(f"whole_models: of both the {lost} lacks weights"):
        load_model(str(folder))


# Tokenizers


@pytest.mark.parametrize(
    ("template", "held"),
    [(None, False), ("{% for m in messages %}<image>{% endfor %}", True)],
)
def test_a_special_token_without_a_row_is_refused_where_a_prompt_holds_it(
    template, held, tmp_path
):
    """Gemma 3's tokenizer knows a token for images that its models of text have no row for."""
    folder = saved(llama(), tmp_path / "m")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<image>"]})
    tokenizer.chat_template = template or tokenizer.chat_template
    tokenizer.save_pretrained(folder)
    adapted(AutoModelForCausalLM, folder, tmp_path / "a")
    tokenizer.save_pretrained(tmp_path / "a")
    for path in (folder, tmp_path / "a"):
        if held:
            with refused("weights: a special token without a row"):
                load_tokenizer(str(path))
        else:  # and PEFT's loader, which would give the token a row, has no say
            assert load_model(str(path))[
                0
            ].get_input_embeddings().num_embeddings == len(TOKENIZER)


def test_embeddings_that_were_resized_for_an_adapter_come_with_it(tmp_path):
    """To a multiple of 64: more rows than the tokenizer needs."""
    base = saved(llama(), tmp_path / "base")
    tokenizer = AutoTokenizer.from_pretrained(base)
    tokenizer.add_tokens(["新語"])
    model = LlamaForCausalLM.from_pretrained(base)
    model.resize_token_embeddings(len(tokenizer), pad_to_multiple_of=64)
    model = get_peft_model(model, LoraConfig(**LORA))
    model.save_pretrained(tmp_path / "a")
    tokenizer.save_pretrained(tmp_path / "a")
    found, _ = load_model(str(tmp_path / "a"))
    torch.testing.assert_close(
        found(IDS).logits, model.eval()(IDS).logits, atol=1e-5, rtol=1e-5
    )


# Trainings


@pytest.mark.slow
def test_every_process_refuses_a_model_with_missing_weights(mini, answers, tmp_path):
    broken = shutil.copytree(mini, tmp_path / "broken")
    change(broken / "model.safetensors", without("down_proj"))
    settings = {
        "model_name_or_path": broken,
        "output_dir": "out",
        "report_to": "none",
        "max_steps": 1,
    }
    settings |= {"per_device_train_batch_size": 4, "save_strategy": "no"}
    settings |= {"answers": answers, "top_k": 64}
    launch = recipe(method="sft", launch="cpu2_zero3.yaml", **settings)
    done = run(launch, tmp_path)
    assert done.returncode
    assert "of its weights are missing" in done.stderr
    assert not (tmp_path / "out" / "run_config.json").exists()


# Encoders


def test_an_encoder_may_lack_what_no_vector_asks_for(tiny_bert, tmp_path):
    """Many are published without BERT's pooler."""
    right = make_encoder(tiny_bert).encode(["犬", "子猫"])
    folder = shutil.copytree(tiny_bert, tmp_path / "bert")
    change(folder / "model.safetensors", without("pooler"))
    np.testing.assert_array_equal(
        make_encoder(str(folder)).encode(["犬", "子猫"]), right
    )
    change(folder / "model.safetensors", without("output.dense.bias"))
    with refused("whole_models: an encoder's bias is missing"):
        make_encoder(str(folder))


def test_an_encoder_of_another_size_than_said_is_refused(tiny_bert, tmp_path):
    folder = shutil.copytree(tiny_bert, tmp_path / "bert")
    config = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps(config | {"intermediate_size": 64}))
    assert BertModel.from_pretrained(tiny_bert).config.intermediate_size == 32
    with refused("whole_models: an encoder of another size"):
        make_encoder(str(folder))
