"""What `sozo study --check` starts once nothing is missing: minutes that save hours.

Each launcher's processes add up a number and say what their GPUs have; the first step of a model draws eight answers in
each process, engine and encoder side by side; the noun checker says of ten words what Juman++ says; a file is written.
"""

import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from sozo.data.errors import UserError, one_line_errors
from sozo.data.processes import end_with_launcher
from sozo.models.settings import OF_NOUNS
from sozo.scoring.nouns import make_noun_checker
from sozo.studies.study.config import Study
from sozo.studies.study.process import launched, run_logged, tail
from sozo.studies.study.steps import SAMPLE, Step
from sozo.training.estimates import GIB, free_gib

# As a real Juman++ 2 analysed them.
_NOUNS = dict.fromkeys(["犬", "学校", "時間", "机", "東京"], True)
_NOUNS |= dict.fromkeys(["走る", "美しい", "静か", "とても", "そして"], False)
_EACH = 8  # answers of a process
_WRITTEN = GIB // 4  # bytes


def trial(
    study: Study,
    steps: Sequence[Step],
    launch: list[str],
    say: Callable[[str], None] = print,
) -> Iterator[str]:
    """A line for each thing that does not work; what was seen is told to `say`."""
    checker = str(study.sampling.get("noun_checker", "auto"))
    if study.language == "ja":
        verdicts = make_noun_checker(checker).check(list(_NOUNS))
        for word, verdict in zip(_NOUNS, verdicts, strict=True):
            if verdict.is_noun != _NOUNS[word]:
                yield f"noun checker {checker}: {word} is {'a' if verdict.is_noun else 'no'} noun here; another Juman++?"
    say(_writing(Path(study.output_dir)))
    for file in {study.file, *(step.config for step in steps if step.config)}:
        for key in re.findall(r"(\w*revision): *null", file.read_text("utf-8")):
            say(f"{file}: {key} pins no commit; that which is loaded is recorded")
    words = launched(launch)
    with tempfile.TemporaryDirectory() as folder:
        for file in dict.fromkeys(step.launcher for step in steps if step.launcher):
            command = [*words, "--config_file", str(file), "-m", __name__]
            yield from _run(f"processes of {file.stem}", command, folder, say)
        for step in steps:
            drawn = step.script == SAMPLE and "num_answers" in step.flags
            if (
                drawn
                and step.launcher
                and not step.inputs
                and step.flags["model"] not in OF_NOUNS
            ):
                count = _EACH * step.processes
                few = {"num_answers": str(count), "batch_size": str(_EACH)}
                own = replace(
                    step,
                    flags=step.flags | few | {"output_dir": f"{folder}/{step.name}"},
                )
                yield from _run(
                    f"step {step.name}", own.command(words, sys.executable), folder, say
                )
                break


def _run(
    what: str, command: list[str], folder: str, say: Callable[[str], None]
) -> Iterator[str]:
    log = Path(folder, f"{what}.log")
    started = time.monotonic()
    status = run_logged(command, log)
    say(f"{what}: {time.monotonic() - started:.0f} s\n{tail(log, 12)}")
    if status:
        yield f"{what} failed (exit status {status}): {tail(log, 1)}"


def _writing(folder: Path) -> str:
    """How fast a file is written where the study will be, and what is free there."""
    place = next(path for path in (folder, *folder.absolute().parents) if path.is_dir())
    started = time.monotonic()
    with tempfile.TemporaryFile(dir=place) as file:
        file.write(bytes(_WRITTEN))
        file.flush()
        os.fsync(file.fileno())
    speed = _WRITTEN / GIB / (time.monotonic() - started)
    return f"{place}: {speed:.2g} GiB a second are written, {free_gib(place):,.0f} GiB are free"


def main() -> None:
    """One process of a launcher's: meet the others, add up, say what the GPU has."""
    end_with_launcher()
    import torch
    from accelerate.utils import reduce

    from accelerate import PartialState

    state = PartialState(cpu=not torch.cuda.is_available())
    total = int(reduce(torch.ones(1, device=state.device), "sum"))
    if total != state.num_processes:
        raise UserError(f"{state.num_processes} processes added up to {total}")
    has = str(state.device)
    if state.device.type == "cuda":
        free, most = torch.cuda.mem_get_info(state.device)
        name = torch.cuda.get_device_name(state.device)
        driver = Path("/proc/driver/nvidia/version").read_text("utf-8").splitlines()[0]
        has = f"{name}, {free / GIB:.0f} of {most / GIB:.0f} GiB free, {driver}"
    sys.stdout.write(f"process {state.process_index} of {total}: {has}\n")
    state.destroy_process_group()


if __name__ == "__main__":
    with one_line_errors("error"):
        main()
