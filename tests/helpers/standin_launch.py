"""Stands in for `accelerate launch`: plays the step that it is asked to launch, in a second, without a model.

It writes what the step would leave: a table of answers or a model's folder, and metrics.json last.
STANDIN_FAIL and STANDIN_HANG name the step that fails (with STANDIN_STATUS) or hangs halfway; every start is written
to STANDIN_CALLS, and STANDIN_RUN into metrics.json, as a run time would be.
"""

import json
import os
import sys
import time
from pathlib import Path

from fakes import Answer, write_answer_table


def main():
    launched = sys.argv[1], *sys.argv[3:5]
    assert launched == ("--config_file", "-m", "sozo")
    command, *words = sys.argv[5:]
    trains = command == "train"
    assert trains or command == "dat"
    played = words[0] if trains else command
    flags = {
        word.removeprefix("--"): behind
        for word, behind in zip(words, [*words[1:], ""], strict=True)
        if word.startswith("--")
    }
    output = Path(flags["output_dir" if trains else "output"])
    with Path(os.environ["STANDIN_CALLS"]).open("a") as calls:
        calls.write(f"{output.name}\n")
    output.mkdir(parents=True, exist_ok=True)
    (output / "config.json").write_text("{}")
    sys.stdout.write(
        f"playing {played} {'on a terminal' if sys.stdout.isatty() else ''}\n"
    )
    sys.stdout.write("1%\r50%\r100%\rbar done\n")
    sys.stdout.flush()
    if trains:
        (output / "checkpoint-4").mkdir(exist_ok=True)
        (output / "checkpoint-4" / "model.safetensors").touch()
    if os.environ.get("STANDIN_FAIL") == output.name:
        sys.stderr.write("RuntimeError: no \x1b[31mmemory\x1b[0m left\n")
        return int(os.environ.get("STANDIN_STATUS", "3"))
    if os.environ.get("STANDIN_HANG") == output.name:
        Path(os.environ["STANDIN_CALLS"] + ".pid").write_text(str(os.getpid()))
        time.sleep(600)
    for name in ("answers", "model_name_or_path"):
        path = Path(flags.get(name, "."))
        assert path == Path("tiny") or path.is_dir(), path
    if not trains:
        write_answer_table(
            output / "answers" / "part-00000.parquet",
            table(flags["source"], int(flags["num_answers"])),
        )
    (output / "metrics.json").write_text(
        json.dumps({"step": output.name, "run": os.environ.get("STANDIN_RUN")})
    )
    return 0


def table(source, count):
    """Of every four answers one is unusable."""
    words = [chr(0x4E00 + i) for i in range(200)]
    return [
        Answer(f"{i:08d}", source, 0, "text", None, None, "format")
        if i % 4 == 3
        else Answer(
            f"{i:08d}",
            source,
            0,
            "text",
            tuple(words[(i * 7 + k) % 200] for k in range(10)),
            0.5 + i / 1e4,
        )
        for i in range(count)
    ]


if __name__ == "__main__":
    sys.exit(main())
