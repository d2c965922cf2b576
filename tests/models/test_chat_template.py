"""A real instruct model's chat template end to end: what is trained is what is asked, with a system prompt or without.

The template is Qwen2.5's own, as TRL ships it. The weights are random, the tokenizer is a byte-level BPE, whose text
transformers splits as Qwen's.
"""

from pathlib import Path
from unittest.mock import patch

import pytest
import torch
import trl
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoTokenizer,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen2Model,
)

from fakes import list_text
from grpo_runs import ROOT, flags
from sozo.data.prompts import prompt
from sozo.data.schema import write_columns
from sozo.models.settings import GeneratorSettings
from sozo.training.arguments import DpoArguments, GrpoArguments, SftArguments
from sozo.training.config import parse
from sozo.training.grpo import GrpoSettings, train_grpo
from sozo.training.sft_dpo import DpoSettings, SftSettings, train_dpo, train_sft
from writers import load_generator

METHODS = {
    "sft": (train_sft, SftArguments, SftSettings, trl.SFTTrainer),
    "dpo": (train_dpo, DpoArguments, DpoSettings, trl.DPOTrainer),
    "grpo": (train_grpo, GrpoArguments, GrpoSettings, trl.GRPOTrainer),
}
DEFAULT = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
SYSTEM = "短く答えて。"
GOOD, BAD = (list_text(f"{side}{k}" for k in "一二三四五六七八九十") for side in "上下")
# ChatML, written out by hand.
ASKED = "<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"


def lengths(completions, **kwargs):
    """A reward that needs no scorer."""
    return [float(len(completion[0]["content"])) for completion in completions]


@pytest.fixture(scope="module")
def qwen(tmp_path_factory):
    """The folder of a small Qwen2 with random weights."""
    folder = tmp_path_factory.mktemp("qwen") / "model"
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=700, initial_alphabet=alphabet, special_tokens=special
    )
    made.train_from_iterator(
        [prompt("dat"), GOOD, BAD, DEFAULT, "system\nuser\nassistant\n"], trainer
    )
    template = Path(trl.__file__).with_name("chat_templates") / "qwen2_5.jinja"
    names = {"pad_token": special[0], "eos_token": special[2]}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, chat_template=template.read_text("utf-8"), **names
    )
    sizes = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    sizes |= {
        "num_key_value_heads": 1,
        "max_position_embeddings": 2048,
        "vocab_size": len(tokenizer),
    }
    torch.manual_seed(0)
    model = Qwen2ForCausalLM(
        Qwen2Config(**sizes, bos_token_id=0, eos_token_id=2, pad_token_id=0)
    )
    model.generation_config.eos_token_id = [2, 0]  # as Qwen2.5's
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def rows_of(ids, mask):
    """The tokens of each row that the mask names."""
    return [row[of_row].tolist() for row, of_row in zip(ids, mask, strict=True)]


@pytest.fixture
def fed(monkeypatch):
    """The rows of token ids that a model is given, call by call, without padding; those of trials are left out."""
    rows, forward = [], Qwen2Model.forward

    def spy(self, input_ids=None, attention_mask=None, **kwargs):
        padded = isinstance(attention_mask, torch.Tensor) and attention_mask.ndim == 2
        given = (
            rows_of(input_ids, attention_mask.bool()) if padded else input_ids.tolist()
        )
        rows.extend(row for row in given if len(row) > 64)
        return forward(
            self, input_ids=input_ids, attention_mask=attention_mask, **kwargs
        )

    monkeypatch.setattr(Qwen2Model, "forward", spy)
    return rows


def train(method, model, output, **settings):
    """One step of two examples; what the loss is handed."""
    function, script, config, trainer = METHODS[method]
    handed, original = [], trainer.compute_loss

    def spy(self, model, inputs, *args, **kwargs):
        handed.append(dict(inputs))
        return original(self, model, inputs, *args, **kwargs)

    given = {
        "model_name_or_path": model,
        "output_dir": output,
        "report_to": "none",
        "max_steps": 1,
    }
    given |= {"per_device_train_batch_size": 2, **settings}
    if method == "grpo":
        given |= {
            "completions_per_step": 2,
            "num_generations": 2,
            "num_prompts": 1,
            "max_completion_length": 8,
        }
        paid = ["test_chat_template.lengths"]
        given |= {"tasks": [{"task": "dat", "reward_funcs": paid}]}
    else:
        columns = {
            "id": ["a", "b", "c", "d"],
            "text": [GOOD, GOOD, BAD, BAD],
            "score": [0.9, 0.8, 0.2, 0.1],
        }
        write_columns(
            output.with_name("table") / "part-00000.parquet",
            columns | {"reason": [None] * 4},
        )
        given |= {
            "answers": output.with_name("table"),
            "examples_per_step": 2,
            "max_length": 512,
        }
        given |= {"top_k": 2} if method == "sft" else {"num_pairs": 2}
    yaml = ["--config", str(ROOT / "recipes" / "tiny" / f"{method}.yaml")]
    with patch.object(trainer, "compute_loss", spy):
        function(*parse(script, config, [*yaml, *flags(given)]))
    (inputs,) = handed
    return inputs


def sampled(model, fed, **settings):
    """The token ids of the DAT's prompt as `model` is asked it."""
    fed.clear()
    load_generator(GeneratorSettings(str(model), max_new_tokens=1, **settings)).answer(
        [prompt("dat")], seed=0, batch=0
    )
    (asked,) = fed
    return asked


@pytest.mark.parametrize(
    ("method", "system"), [("sft", SYSTEM), ("dpo", None), ("grpo", SYSTEM)]
)
def test_what_is_trained_is_what_is_asked(method, system, qwen, fed, tmp_path):
    tokenizer = AutoTokenizer.from_pretrained(qwen)
    asked = ASKED.format(system=system or DEFAULT, question=prompt("dat"))
    settings = {"system_prompt": system} if system else {}
    for shared in (False, True):
        output = tmp_path / str(shared) / "out"
        fed.clear()
        inputs = train(method, qwen, output, share_prompt=shared, **settings)
        rows = list(fed)
        # Asked as it was trained, with no word said about it, and the base model told what it was trained with.
        ids = sampled(output, fed)
        assert tokenizer.decode(ids) == asked
        assert sampled(qwen, fed, **settings) == ids
        if method == "grpo":
            answers = rows_of(
                inputs["completion_ids"], inputs["completion_mask"].bool()
            )
            assert inputs["prompt_ids"].tolist() == [ids, ids]
            assert rows.pop(0) == ids  # what the sampler drew the answers behind
        else:
            # A line break of the template's stands behind the end, and is trained as TRL trains it.
            texts = [GOOD, GOOD] if method == "sft" else [GOOD, GOOD, BAD, BAD]
            answers = [tokenizer.encode(f"{text}<|im_end|>\n") for text in texts]
            mask = (
                inputs["labels"] != -100
                if method == "sft"
                else inputs["completion_mask"].bool()
            )
            trained = rows_of(inputs["input_ids"], mask)
            assert trained == answers
            assert [tokenizer.decode(row) for row in trained] == [
                f"{text}<|im_end|>\n" for text in texts
            ]
        if shared:
            # The prompt once; its last token, behind which each answer begins, before each; no answer's last token.
            assert rows
            assert all(
                row
                == ids[:-1] + [t for answer in answers for t in (ids[-1], *answer[:-1])]
                for row in rows
            )
        else:
            assert {tuple(row) for row in rows} == {
                (*ids, *answer) for answer in answers
            }


def test_no_system_prompt_is_the_templates_own(qwen, fed, tmp_path):
    train("sft", qwen, tmp_path / "out", system_prompt=SYSTEM)
    tokenizer = AutoTokenizer.from_pretrained(qwen)
    asked = sampled(tmp_path / "out", fed, system_prompt="")
    assert tokenizer.decode(asked) == ASKED.format(
        system=DEFAULT, question=prompt("dat")
    )
