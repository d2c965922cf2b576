"""Folders of models, and a stand-in for vLLM."""

import os
import random
import sys
import types

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from sozo.models.tiny import build_tokenizer

NOUNS = ["犬", "猫", "水", "山", "川", "本", "車", "空", "海", "石", "木", "花"]


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    tokenizer = build_tokenizer(NOUNS)
    torch.manual_seed(0)
    shape = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    LlamaForCausalLM(
        LlamaConfig(vocab_size=len(tokenizer), eos_token_id=1, pad_token_id=0, **shape)
    ).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


class SamplingParams:
    def __init__(
        self, n=1, *, temperature=1.0, top_p=1.0, top_k=0, seed=None, max_tokens=16
    ):
        self.temperature, self.top_p, self.top_k = temperature, top_p, top_k
        self.seed, self.max_tokens = seed, max_tokens


class LoRARequest:
    def __init__(self, lora_name, lora_int_id, lora_path=""):
        self.lora_name, self.lora_int_id, self.lora_path = (
            lora_name,
            lora_int_id,
            lora_path,
        )


class LLM:
    made = None

    def __init__(
        self,
        model,
        *,
        window=2048,
        tokenizer=None,
        tensor_parallel_size=1,
        dtype="auto",
        revision=None,
        seed=0,
        **kwargs,
    ):
        unknown = set(kwargs) - {
            "enable_prefix_caching",
            "generation_config",
            "max_model_len",
            "enable_lora",
            "max_lora_rank",
        }
        assert not unknown, unknown
        self.arguments = {
            "model": model,
            "dtype": dtype,
            "revision": revision,
            "seed": seed,
            **kwargs,
        }
        self.environment, self.calls, self.random = (
            dict(os.environ),
            [],
            random.Random(seed),
        )
        LLM.made, self.model_config = self, types.SimpleNamespace(max_model_len=window)

    def get_tokenizer(self):
        return build_tokenizer(NOUNS)

    def generate(
        self, prompts, sampling_params=None, *, use_tqdm=True, lora_request=None
    ):
        self.calls.append((prompts, sampling_params, lora_request))

        def output():
            tokens = self.random.choices(
                self.get_tokenizer().convert_tokens_to_ids(NOUNS), k=9
            )
            return types.SimpleNamespace(
                outputs=[types.SimpleNamespace(token_ids=tokens, finish_reason="stop")]
            )

        return [output() for _ in prompts]


@pytest.fixture
def vllm(monkeypatch):
    module, lora, request = (
        types.ModuleType(name) for name in ("vllm", "vllm.lora", "vllm.lora.request")
    )
    module.LLM, module.SamplingParams, request.LoRARequest = (
        LLM,
        SamplingParams,
        LoRARequest,
    )
    module.__spec__ = types.SimpleNamespace()
    for each in (module, lora, request):
        monkeypatch.setitem(sys.modules, each.__name__, each)
