"""One unit of the GPU check, in a process of its own, so that its memory is its own: `python -m gpu.unit UNIT FOLDER`.

The result is written whole or not at all: what is there is done. All results make the table beside what is expected.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sozo.data.extras import install_command
from sozo.data.record import read_json, write_json

PARTS = ("roofline", "samplers", "sft", "dpo", "grpo", "vllm")
DTYPES = (
    "float32",
    "bfloat16",
)  # in this order: the second repeats the first one's completions
# Chosen, not measured on a GPU: bfloat16 keeps 8 binary digits (0.4% a rounding), and a mean over hundreds of tokens
# and thousands of weights averages most of it out.
MOST_LOSS, MOST_NORM = 0.02, 0.1
MOST_DEVIATION = 4.0  # standard errors: one in 16,000 by chance
ROOM = "does not fit"
MOST_SYNC = 0.1  # nats a token between the engine's log-probabilities and the trainer's


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
        if part not in parts and not (
            part == "roofline" and {"samplers", "vllm"} & set(parts)
        ):
            continue
        if part == "roofline":
            yield from (Unit(part, "", dtype) for dtype in DTYPES)
        elif part == "vllm":
            yield from (
                Unit(f"vllm-{what}", shapes[0], "bfloat16")
                for what in ("start", "sync")
            )
        else:
            yield from (
                Unit(part, shape, dtype) for shape in shapes for dtype in DTYPES
            )


def why_skipped(unit: Unit, device: str) -> str | None:
    """Why the unit cannot be measured here, or None."""
    if not unit.part.startswith("vllm"):
        return None
    if device == "cpu":
        return "needs a GPU"
    return (
        None
        if find_spec("vllm")
        else f"vLLM is not installed: {install_command('vllm')}"
    )


def measure(unit: Unit, folder: Path, device: str) -> dict[str, Any]:
    """The unit's numbers."""
    from gpu import samplers, shapes

    if unit.part == "roofline":
        return asdict(samplers.measure_device(device, unit.dtype))
    shape, model = shapes.shape(unit.shape), folder / "models" / unit.shape
    shapes.build(shape, model, device)
    if unit.part in ("sft", "dpo", "grpo"):
        from gpu.step import check_step

        return check_step(
            unit.part, shape, model, unit.dtype, device, folder / "work" / str(unit)
        )
    best = samplers.Roofline(**read_json(Unit("roofline", "", unit.dtype).file(folder)))
    if unit.part == "samplers":
        return samplers.check_samplers(shape, model, unit.dtype, device, best)
    from gpu.engine import check_start, check_sync

    if unit.part == "vllm-start":
        return check_start(shape, model, unit.dtype, best)
    return check_sync(shape, model, unit.dtype, folder / "work" / str(unit))


Results = Mapping[Unit, Mapping[str, Any]]


def markdown(
    facts: Mapping[str, str], results: Results, others: Mapping[Unit, str]
) -> str:
    """All tables. `others` says of units without a result why."""
    parts = [
        "# GPU check",
        "\n".join(f"- {name}: {value}" for name, value in facts.items()),
    ]
    for rows in (
        _speeds(results),
        _samplers(results),
        _steps(results),
        _memory(results),
        _engine(results),
    ):
        title, head, *body = rows
        if body:
            bars = "|".join("---" for _ in head.split("|"))
            parts.append(
                "\n".join(
                    [
                        f"## {title}",
                        "",
                        f"| {head} |",
                        f"|{bars}|",
                        *(f"| {row} |" for row in body),
                    ]
                )
            )
    if others:
        parts.append(
            "\n".join(
                [
                    "## Without a result",
                    "",
                    *(f"- {unit}: {why}" for unit, why in others.items()),
                ]
            )
        )
    return "\n\n".join(parts) + "\n"


def unexpected(results: Results) -> list[str]:
    """What is not as expected, one line each."""
    rows = [
        row
        for table in (_samplers, _steps, _engine)
        for row in list(table(results))[2:]
    ]
    return [row for row in rows if "NO" in row.split(" | ")]


def _verdict(good: bool) -> str:
    return "yes" if good else "NO"  # never yes of NaN


def _of(results: Results, *parts: str) -> Iterator[tuple[Unit, Mapping[str, Any]]]:
    return (
        (unit, result)
        for unit, result in results.items()
        if unit.part in parts and "no_room" not in result
    )


def _speeds(results: Results) -> Iterator[str]:
    yield "What this device does (measured)"
    yield "dtype | matrix product, TFLOP/s | copy, GB/s"
    for unit, result in _of(results, "roofline"):
        yield f"{unit.dtype} | {result['operations'] / 1e12:.3g} | {result['bytes'] / 1e9:.3g}"


def _samplers(results: Results) -> Iterator[str]:
    yield f"Samplers (expected: a deviation within {MOST_DEVIATION:g} standard errors, whatever the sampler)"
    yield "shape | dtype | sampler | answers x tokens | tokens/s | roofline | share | deviation | as expected"
    for unit, result in _of(results, "samplers", "vllm-start"):
        options = result.get("options")
        asked = f"{options['rows']} x {options['answer']}" if options else ""
        for name, one in result["samplers"].items():
            speed = f"{one['speed']:,.0f} | {result['best']:,.0f} | {one['speed'] / result['best']:.0%}"
            verdict = _verdict(abs(one["deviation"]) < MOST_DEVIATION)
            yield f"{unit.shape} | {unit.dtype} | {name} | {asked} | {speed} | {one['deviation']:+.2f} | {verdict}"
        if result.get("refused"):
            yield f"{unit.shape} | {unit.dtype} | shared_prefix | | | | | refused: {result['refused']} | NO"


def _steps(results: Results) -> Iterator[str]:
    yield (
        "One step in bfloat16 against float32, and the step after it (expected at the first: losses that differ by "
        f"less than {MOST_LOSS:g}, gradient norms by less than {MOST_NORM:.0%})"
    )
    yield "method | shape | loss, float32 | bfloat16 | gradient norm, float32 | bfloat16 | shared prompt | as expected"
    for unit, result in _of(results, "sft", "dpo", "grpo"):
        other = results.get(Unit(unit.part, unit.shape, "float32"), {})
        if unit.dtype != "bfloat16" or "steps" not in other:
            continue
        pairs = {
            key: [[step[key] for step in run["steps"]] for run in (other, result)]
            for key in ("loss", "grad_norm")
        }
        (loss, half_loss), (norm, half_norm) = pairs["loss"], pairs["grad_norm"]
        near = (
            abs(loss[0] - half_loss[0]) < MOST_LOSS
            and abs(half_norm[0] / norm[0] - 1) < MOST_NORM
        )
        shown = [
            ", ".join(f"{value:.4g}" for value in row)
            for row in (loss, half_loss, norm, half_norm)
        ]
        shared = [run["not_shared"] or "yes" for run in (other, result)]
        said = shared[0] if shared[0] == shared[1] else " / ".join(shared)
        yield f"{unit.part} | {unit.shape} | {' | '.join(shown)} | {said} | {_verdict(near and said == 'yes')}"


def _memory(results: Results) -> Iterator[str]:
    yield "Peak memory of the steps beside the states' (activations, CUDA and the allocator come on top; on a CPU, libraries)"
    yield "method | shape | dtype | measured, GiB | reserved | states | of which"
    for unit, result in results.items():
        if unit.part not in ("sft", "dpo", "grpo"):
            continue
        if "no_room" in result:
            yield f"{unit.part} | {unit.shape} | {unit.dtype} | {ROOM} | | |"
            continue
        reserved = f"{result['reserved']:.2f}" if "reserved" in result else ""
        of_which = ", ".join(
            f"{name} {gib:.2g}" for name, gib in result["estimate"].items() if gib
        )
        total = sum(result["estimate"].values())
        measured = f"{result['peak']:.2f} | {reserved} | {total:.2f}"
        yield f"{unit.part} | {unit.shape} | {unit.dtype} | {measured} | {of_which}"


def _engine(results: Results) -> Iterator[str]:
    yield f"vLLM (expected: log-probabilities within {MOST_SYNC:g} nats of the trainer's, after new weights too)"
    yield "shape | what | measured | as expected"
    for unit, result in _of(results, "vllm-start"):
        yield f"{unit.shape} | start | {result['start']:.0f} s | yes"
    for unit, result in _of(results, "vllm-sync"):
        found = result["differences"]
        near = len(found) > 1 and max(found) < MOST_SYNC
        yield f"{unit.shape} | sync | {', '.join(f'{one:.3g}' for one in found)} nats | {_verdict(near)}"


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
