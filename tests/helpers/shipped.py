"""The shipped YAMLs, as they are parsed."""

from contextlib import nullcontext

from grpo_runs import eight_processes
from sozo.training.arguments import DpoArguments, GrpoArguments, SftArguments
from sozo.training.config import parse
from sozo.training.grpo import GrpoSettings
from sozo.training.sft_dpo import DpoSettings, SftSettings

METHODS = {
    "sft": (SftArguments, SftSettings),
    "dpo": (DpoArguments, DpoSettings),
    "grpo": (GrpoArguments, GrpoSettings),
    "sft-0.17": (SftArguments, SftSettings),
    "grpo-0.17": (GrpoArguments, GrpoSettings),
    "sft-word-targets": (SftArguments, SftSettings),
    "grpo-beyond": (GrpoArguments, GrpoSettings),
    "grpo-pairing": (GrpoArguments, GrpoSettings),
    "mix": (GrpoArguments, GrpoSettings),
    "sft-lora": (SftArguments, SftSettings),
    "sft-frontier": (SftArguments, SftSettings),
    "warm": (SftArguments, SftSettings),
    "even": (SftArguments, SftSettings),
    "wide": (SftArguments, SftSettings),
    "mix-warm": (SftArguments, SftSettings),
}


PAPER = {
    "swallow-8b": "tokyotech-llm/Llama-3.1-Swallow-8B-Instruct-v0.3",
    "qwen2.5-7b": "Qwen/Qwen2.5-7B-Instruct",
    "llm-jp-3-7.2b": "llm-jp/llm-jp-3-7.2b-instruct2",
}


ON_CPU = ["--use_cpu", "true", "--bf16", "false"]


def settings_of(path, processes=1):
    words = ["--config", str(path), *ON_CPU]
    if METHODS[path.stem][0] is not GrpoArguments:
        words += ["--answers", "somewhere"]
    with eight_processes() if processes == 8 else nullcontext():
        return parse(*METHODS[path.stem], words)
