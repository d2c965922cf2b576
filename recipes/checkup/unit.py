"""One unit of the check, in a process of its own, so that its memory is its own: `python -m checkup.unit UNIT FOLDER`.

The result is written whole or not at all: what is there is done.
"""

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from checkup.finding import pip_install
from sozo.data.record import read_json, write_json

PARTS = ("roofline", "samplers", "sft", "dpo", "grpo", "vllm")
DTYPES = ("float32", "bfloat16")  # in this order: the second repeats the first one's completions


@dataclass(frozen=True, slots=True)
class Unit:
    """What is measured at once."""

    part: str
    shape: str
    dtype: str

    def __str__(self) -> str:
        return "-".join(filter(None, (self.part, self.shape, self.dtype)))

    def file(self, folder: Path) -> Path:
        """Where its result is."""
        return folder / "results" / f"{self}.json"


def units(parts: list[str], shapes: list[str]) -> Iterator[Unit]:
    """All units of some parts; samplers are measured beside the roofline, which comes first."""
    for part in PARTS:
        if part not in parts and not (part == "roofline" and {"samplers", "vllm"} & set(parts)):
            continue
        if part == "roofline":
            yield from (Unit(part, "", dtype) for dtype in DTYPES)
        elif part == "vllm":
            yield from (Unit(f"vllm-{what}", shapes[0], "bfloat16") for what in ("start", "sync"))
        else:
            yield from (Unit(part, shape, dtype) for shape in shapes for dtype in DTYPES)


def why_skipped(unit: Unit, device: str) -> str | None:
    """Why the unit cannot be measured here, or None."""
    if not unit.part.startswith("vllm"):
        return None
    if device == "cpu":
        return "needs a GPU"
    return None if find_spec("vllm") else f"vLLM is not installed: {pip_install('constraints-vllm.txt', 'vllm')}"


def measure(unit: Unit, folder: Path, device: str) -> dict[str, Any]:
    """The unit's numbers."""
    from checkup import roofline, shapes

    if unit.part == "roofline":
        return asdict(roofline.measure(device, unit.dtype))
    shape, model = shapes.shape(unit.shape), folder / "models" / unit.shape
    shapes.build(shape, model, device)
    if unit.part in ("sft", "dpo", "grpo"):
        from checkup.step import check_step

        return check_step(unit.part, shape, model, unit.dtype, device, folder / "work" / str(unit))
    best = roofline.Roofline(**read_json(Unit("roofline", "", unit.dtype).file(folder)))
    if unit.part == "samplers":
        from checkup.samplers import check_samplers

        return check_samplers(shape, model, unit.dtype, device, best)
    from checkup.engine import check_start, check_sync

    if unit.part == "vllm-start":
        return check_start(shape, model, unit.dtype, best)
    return check_sync(shape, model, unit.dtype, folder / "work" / str(unit))


def main() -> None:
    """Measure one unit and write its result."""
    import torch

    part, shape, dtype, folder = sys.argv[1:]
    unit = Unit(part, shape, dtype)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        result = measure(unit, Path(folder), device)
    except torch.OutOfMemoryError:
        result = {"no_room": True}
    write_json(unit.file(Path(folder)), result)


if __name__ == "__main__":
    main()
