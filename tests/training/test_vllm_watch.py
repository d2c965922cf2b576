"""GRPO with a stand-in for vLLM: stale weights end the run within k steps, and bf16 does not."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import LlamaForCausalLM

from fakes import AXES, list_text
from scripted_grpo import scripted
from sentences import refused
from sozo.data.prompts import messages, prompt
from sozo.training.grpo_trainer import MixTrainer
from sozo.training.vllm_watch import Canary, fixed_sequences, vllm_log_probabilities

TEXTS = [list_text(AXES[k : k + 3]) for k in range(4)]
SEQUENCES = [([1, 2], [8, 16]), ([3], [24])]


class StandIn:
    """An engine in bf16 that takes the trainer's weights when TRL says so, until `stale_from`; then it loses them."""

    def __init__(self, trainer, stale_from=10**6, off=0.0):
        self.trainer, self.stale_from, self.off = trainer, stale_from, off
        self.model = LlamaForCausalLM._from_config(
            trainer.model.config, attn_implementation="eager"
        ).eval()

    def sync_weights(self):
        if self.trainer.state.global_step < self.stale_from:
            weights = {
                name: value + self.off
                for name, value in self.trainer.model.state_dict().items()
            }
            self.model.float().load_state_dict(weights)
            self.model.bfloat16()

    @torch.no_grad()
    def log_probabilities(self, sequences):
        rows = []
        for asked, answer in sequences:
            logits = (
                self.model(input_ids=torch.tensor([asked + answer]))
                .logits[0, len(asked) - 1 : -1]
                .float()
            )
            rows.append(
                torch.log_softmax(logits, -1)
                .gather(1, torch.tensor(answer)[:, None])[:, 0]
                .tolist()
            )
        return np.concatenate(rows)


def watched(folder, *, steps=9, every=2, sampled=-3.0, rate=1e-3, **stale):
    """A trainer that believes it draws by vLLM: the scripted texts, each token at log-probability `sampled`."""

    def paid(completions, **kwargs):
        return [float(number) for number in range(len(completions))]

    settings = {
        "max_steps": steps,
        "learning_rate": rate,
        "lr_scheduler_type": "constant",
    }
    trainer = scripted(folder, TEXTS, [paid], MixTrainer, **settings)
    # As from a checkpoint in bf16: a small step is less than a weight's last digit.
    trainer.model.load_state_dict(
        {name: w.bfloat16().float() for name, w in trainer.model.state_dict().items()}
    )
    drawn = trainer.rollout_func

    def rollout(prompts, trainer):
        output = drawn(prompts, trainer)
        return output | {
            "logprobs": [[sampled] * len(row) for row in output["completion_ids"]]
        }

    trainer.rollout_func, trainer.use_vllm, trainer._last_loaded_step = (
        rollout,
        True,
        -1,
    )
    trainer.vllm_generation = engine = StandIn(trainer, **stale)
    sequences = fixed_sequences(trainer.processing_class, [messages(prompt("dat"))], 12)
    trainer.canary = Canary(engine.log_probabilities, sequences, every)
    return trainer


@pytest.mark.parametrize("rate", [1e-2, 1e-5])
def test_fresh_weights_in_bf16_pass(rate, tmp_path):
    trainer = watched(tmp_path, rate=rate)
    trainer.train()
    gaps = [
        entry["canary/gap"]
        for entry in trainer.state.log_history
        if "canary/gap" in entry
    ]
    assert len(gaps) == 5  # steps 1, 3, 5, 7, 9
    assert all(0 < gap < 0.2 for gap in gaps)


@pytest.mark.parametrize(
    ("every", "stale_from", "stopped"), [(2, 3, 5), (1, 4, 5), (4, 1, 5)]
)
def test_stale_weights_end_the_run_within_k_steps(every, stale_from, stopped, tmp_path):
    # Step n + 1 draws with the weights of global step n: those of `stale_from` are the first that never arrive.
    trainer = watched(tmp_path, every=every, stale_from=stale_from)
    with refused("vllm: stale weights") as error:
        trainer.train()
    assert str(error.value).startswith(f"step {stopped}: ")
    assert stopped - 1 - stale_from < every


def test_other_weights_end_the_run_at_its_first_step(tmp_path):
    with refused("vllm: other weights"):
        watched(tmp_path, off=0.5).train()


def test_a_run_that_does_not_move_is_not_called_stale(tmp_path):
    watched(tmp_path, steps=5, rate=0.0, stale_from=1).train()


def outputs(rows):
    """What vLLM says of prompts: nothing of the first token, of the others its log-probability and the likeliest's."""
    told = [
        [
            None,
            *(
                {token: SimpleNamespace(logprob=-token / 8), 999: None}
                for token in row[1:]
            ),
        ]
        for row in rows
    ]
    return [SimpleNamespace(prompt_logprobs=each) for each in told]


def test_a_colocated_engine_is_asked_for_what_prompts_are_worth(monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", module := ModuleType("vllm"))
    module.SamplingParams = lambda **options: options
    calls = []

    def generate(prompts, sampling_params, use_tqdm):
        calls.append(sampling_params)
        return outputs([prompt["prompt_token_ids"] for prompt in prompts])

    llm = SimpleNamespace(generate=generate)
    engine = SimpleNamespace(mode="colocate", llm=llm)
    assert vllm_log_probabilities(engine, SEQUENCES).tolist() == [-1.0, -2.0, -3.0]
    assert calls == [{"temperature": 1.0, "max_tokens": 1, "prompt_logprobs": 1}]


def test_a_server_is_asked_by_one_process():
    def get_sequence_logprobs(sequences, prompt_lengths, top_logprobs):
        assert (sequences, prompt_lengths, top_logprobs) == (
            [[1, 2, 8, 16], [3, 24]],
            [2, 1],
            1,
        )
        return {"actual_logprobs": [[[-1.0], [-2.0]], [[-3.0]]]}

    client = SimpleNamespace(get_sequence_logprobs=get_sequence_logprobs)
    server = SimpleNamespace(
        mode="server",
        accelerator=SimpleNamespace(is_main_process=True),
        vllm_client=client,
    )
    assert vllm_log_probabilities(server, SEQUENCES).tolist() == [-1.0, -2.0, -3.0]
