"""GRPO with a stand-in for vLLM: other weights end the run, bf16 does not."""

import numpy as np
import pytest
import torch
from transformers import LlamaForCausalLM

from fakes import AXES, list_text
from scripted_grpo import scripted
from sozo.data.errors import UserError
from sozo.models.model_support import end_tokens
from sozo.training.grpo_trainer import MixTrainer

TEXTS = [list_text(AXES[k : k + 3]) for k in range(4)]


class StandIn:
    """An engine in bf16 that takes the trainer's weights when TRL says so, until `stale_from`; then it loses them."""

    def __init__(self, trainer, stale_from=10**6, off=0.0):
        self.trainer, self.stale_from, self.off = trainer, stale_from, off
        self.model = LlamaForCausalLM._from_config(trainer.model.config, attn_implementation="eager").eval()

    def sync_weights(self):
        if self.trainer.state.global_step < self.stale_from:
            weights = {name: value + self.off for name, value in self.trainer.model.state_dict().items()}
            self.model.float().load_state_dict(weights)
            self.model.bfloat16()

    @torch.no_grad()
    def log_probabilities(self, sequences):
        rows = []
        for asked, response in sequences:
            logits = self.model(input_ids=torch.tensor([asked + response])).logits[0, len(asked) - 1 : -1].float()
            rows.append(torch.log_softmax(logits, -1).gather(1, torch.tensor(response)[:, None])[:, 0].tolist())
        return np.concatenate(rows)

    def of_each(self, output):
        """Log-probabilities of what was drawn, for each answer."""
        drawn = list(zip(output["prompt_ids"], output["completion_ids"], strict=True))
        return np.split(self.log_probabilities(drawn), np.cumsum([len(ids) for _, ids in drawn])[:-1])


def watched(folder, *, steps=9, rate=1e-3, settings=(), **stale):
    """A trainer that believes it draws by vLLM: the scripted texts, as likely as the engine says."""

    def paid(completions, **kwargs):
        return [float(number) for number in range(len(completions))]

    settings = {"max_steps": steps, "learning_rate": rate, "lr_scheduler_type": "constant", **dict(settings)}
    trainer = scripted(folder, TEXTS, [paid], MixTrainer, **settings)
    # As from a checkpoint in bf16: a small step is less than a weight's last digit.
    trainer.model.load_state_dict({name: w.bfloat16().float() for name, w in trainer.model.state_dict().items()})
    drawn = trainer.rollout_func

    def rollout(prompts, trainer):
        output = drawn(prompts, trainer)
        return output | {"logprobs": [row.tolist() for row in engine.of_each(output)]}

    trainer.rollout_func, trainer.use_vllm, trainer._last_loaded_step = rollout, True, -1
    trainer.vllm_generation = engine = StandIn(trainer, **stale)
    return trainer


def test_trl_ends_what_it_draws_where_our_samplers_do(tmp_path):
    trainer = watched(tmp_path)
    assert sorted(trainer.eos_token_ids) == end_tokens(trainer.model, trainer.processing_class)


def gaps(trainer):
    return [entry["sampling/gap"] for entry in trainer.state.log_history if "sampling/gap" in entry]


@pytest.mark.parametrize("rate", [1e-2, 1e-4, 1e-5])
@pytest.mark.parametrize("corrected", [True, False])
def test_fresh_weights_in_bf16_pass(rate, corrected, tmp_path):
    trainer = watched(tmp_path, rate=rate, settings={"vllm_importance_sampling_correction": corrected})
    trainer.train()
    assert len(gaps(trainer)) == 9
    assert all(0 < gap < 0.1 for gap in gaps(trainer))


def test_the_gap_is_a_mean_over_tokens(tmp_path):
    # What the trainer itself said of the same tokens, three quarters of a nat off on one answer of four.
    trainer = watched(tmp_path, steps=1, rate=0.0)
    engine, drawn = trainer.vllm_generation, trainer.rollout_func
    engine.model, engine.sync_weights = trainer.model, lambda: None

    def rollout(prompts, trainer):
        output = drawn(prompts, trainer)
        first, *others = output["logprobs"]
        lengths.extend(map(len, output["logprobs"]))
        return output | {"logprobs": [[value - 0.75 for value in first], *others]}

    lengths, trainer.rollout_func = [], rollout
    trainer.train()
    assert gaps(trainer) == [pytest.approx(0.75 * lengths[0] / sum(lengths), abs=1e-5)]


def test_weights_that_no_longer_arrive_end_the_run_once_they_differ(tmp_path):
    # Step n + 1 draws with the weights of global step n: those of step 3 are the first that never arrive.
    trainer = watched(tmp_path, rate=3e-2, stale_from=3)
    with pytest.raises(UserError, match=r"^step 4: vLLM draws from other weights than the trainer's: ") as error:
        trainer.train()
    assert "\n" not in str(error.value)
    assert max(gaps(trainer)) < 0.1


def test_other_weights_end_the_run_at_its_first_step(tmp_path):
    with pytest.raises(UserError, match=r"^step 1: vLLM draws from other weights than the trainer's: .* restart vLLM"):
        watched(tmp_path, off=0.5).train()
