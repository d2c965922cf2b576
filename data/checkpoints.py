"""A training's checkpoints, and what tells one model in a folder from another.

What a checkpoint holds is written down when it is whole, and compared before a run goes on, or starts from it.

The mark of a whole checkpoint, `sozo_state.json`, is written last and has the size of each file. Digests follow in a
thread, so that no step waits: each process writes those of its own files. What was killed before them has sizes alone.
"""

import hashlib
import json
import re
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

from sozo.data.cache import kept
from sozo.data.errors import UserError
from sozo.data.processes import gather, rank, world_size
from sozo.data.record import own_name, read_json

STATE = "sozo_state.json"  # training writes it into each checkpoint, last: it is whole; and beside the finished model
SIZES, VERSION = "files", 2  # of the mark
_DIGESTS = "sozo_digests_{}.json"  # by the process's number
_CUT_SHORT = "it was cut short while it was written"
_BLOCK = 2**22  # bytes read at once
_LARGE = 2**26  # bytes of a file that is not read again while nobody writes to it
ADAPTER_FILE, WHOLE_FILE = "adapter_config.json", "config.json"


def is_adapter(folder: str | Path) -> bool:
    """Does the folder hold a LoRA adapter and not a whole model?"""
    return (Path(folder) / ADAPTER_FILE).is_file() and not (
        Path(folder) / WHOLE_FILE
    ).is_file()


def base_of(adapter: str | Path) -> str:
    """The model that an adapter is of, as its folder says."""
    return str(read_json(Path(adapter) / ADAPTER_FILE).get("base_model_name_or_path"))


def model_digests(model: Path) -> dict[str, str | None]:
    """What tells a model from others under its name: digests of its folder and of an adapter's base; None of the hub's.

    Of a base on the hub it is the commit, as soon as that is in the hub's cache.
    """
    digests = {"model_sha256": folder_sha256(model) if model.is_dir() else None}
    if is_adapter(model):
        base = Path(base_of(model))
        digests["base_sha256"] = (
            folder_sha256(base) if base.is_dir() else _commit(model)
        )
    return digests


def _commit(adapter: Path) -> str | None:
    from huggingface_hub import try_to_load_from_cache

    revision = read_json(adapter / ADAPTER_FILE).get("revision")
    file = try_to_load_from_cache(base_of(adapter), WHOLE_FILE, revision=revision)
    return Path(file).parent.name if isinstance(file, str) else None


def folder_sha256(folder: Path) -> str:
    """Digest of the names and contents of a folder's own files, such as a model's: some seconds for 16 GB, once.

    A README.md is left out: an evaluation may write its results into a model's card.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.name != "README.md":
            digest.update(f"{path.name}\0".encode() + bytes.fromhex(_file_sha256(path)))
    return digest.hexdigest()


def _file_sha256(path: Path) -> str:
    facts = path.stat()
    if facts.st_size < _LARGE:
        return _digest(path)
    # No program can set the time of the last change of a file's content or name.
    written = facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns
    key = f"{path.resolve()} {written}"
    return str(kept("sha256", key.encode(), lambda: _digest(path)))


def checkpoints(output: Path) -> list[Path]:
    """The checkpoints of a training output, the newest first; whatever else is called like one is left alone."""
    steps = {
        path: re.fullmatch(r"checkpoint-([0-9]{1,18})", path.name)
        for path in output.glob("checkpoint-*")
    }
    numbers = {
        path: int(step[1]) for path, step in steps.items() if step and path.is_dir()
    }
    return sorted(numbers, key=lambda path: numbers[path], reverse=True)


def last_checkpoint(output: Path) -> Path | None:
    """The newest marked checkpoint, for who only reads of it; one that a kill cut short is passed over."""
    return next(
        (path for path in checkpoints(output) if (path / STATE).is_file()), None
    )


def sizes(checkpoint: Path) -> dict[str, int]:
    """The bytes of each file of a checkpoint, by its path in it."""
    files = {
        path.relative_to(checkpoint).as_posix(): path
        for path in sorted(checkpoint.rglob("*"))
        if path.is_file()
    }
    # Hidden: no part of it
    ours = re.compile(rf"{re.escape(STATE)}|{_DIGESTS.format('[0-9]+')}|(.*/)?\..*")
    return {
        name: path.stat().st_size
        for name, path in files.items()
        if not ours.fullmatch(name)
    }


def newer(output: Path, than: Path | None) -> set[Path]:
    """The checkpoints behind this one, which a run that goes on from it does not take for whole."""
    every = checkpoints(output)
    return set(every[: every.index(than)] if than in every else every)


def older(checkpoint: Path, kept: int, without: Container[Path] = ()) -> list[Path]:
    """The checkpoints before this one that are more than `kept` with it, the newest first; `without` some."""
    every = [path for path in checkpoints(checkpoint.parent) if path not in without]
    return every[every.index(checkpoint) + kept :]


def record_of(model: Path) -> Path | None:
    """Where it is recorded how a model in a folder, or a checkpoint in it, was trained; None without a record."""
    within = (model / STATE).is_file() or model.name.startswith("checkpoint-")
    places = [model, model.parent] if within else [model]
    return next(
        filter(Path.is_file, (place / "run_config.json" for place in places)), None
    )


def unmark(checkpoint: Path) -> None:
    """Take the mark away, since the checkpoint is written anew."""
    for path in (*checkpoint.glob(_DIGESTS.format("*")), checkpoint / STATE):
        path.unlink(missing_ok=True)


def whole_checkpoint(
    output: Path, named: Path | None = None
) -> tuple[Path | None, list[str]]:
    """The newest checkpoint that a run can go on from, or the `named` one; and what is wrong with those after it.

    None where a run begins: without any, or where a kill cut the first short. UserError where the named one, or all of
    them, are damaged. All processes must call it together, and come to the same result.
    """
    if named:
        if not gather(named.is_dir())[0]:
            remedy = "leave it out to go on from the last whole one"
            raise UserError(f"resume_from_checkpoint {named}: no such folder; {remedy}")
        if gather(named.resolve().parent != output.resolve())[0]:
            remedy = "leave it out, or start a run from it by --model_name_or_path"
            raise UserError(
                f"resume_from_checkpoint {named}: is no checkpoint of {output}; {remedy}"
            )
        if wrong := faults(named):
            last, _ = _newest(output)
            remedy = (
                f"the last whole one is {last.name}" if last else "no other is whole"
            )
            raise UserError(
                f"resume_from_checkpoint {named}: {'; '.join(wrong)}; {remedy}"
            )
        return named, []
    found, wrong = _newest(output)
    if found is None and not all(_CUT_SHORT in line for line in wrong):
        remedy = "restore what is damaged, or give another --output_dir"
        raise UserError(
            f"{output}: no checkpoint is whole: {'; '.join(wrong)}; {remedy}"
        )
    return found, wrong


def _newest(output: Path) -> tuple[Path | None, list[str]]:
    lines: list[str] = []
    for name in gather([path.name for path in checkpoints(output)])[0]:
        if not (wrong := faults(output / name)):
            return output / name, lines
        lines += [f"{name}, passed over: {line}" for line in wrong]
    return None, lines


def faults(checkpoint: Path) -> list[str]:
    """Why no run can go on from a checkpoint, a line each; none if it is whole.

    All processes must call it together: each reads its share of the files.
    """
    mark = gather(_read_mark(checkpoint))[0]
    if isinstance(mark, str):
        return [mark]
    found = gather(
        list(_compare(checkpoint, mark, _shares(mark, world_size())[rank()], _digest))
    )
    lines = list(dict.fromkeys(line for lines in found for line in lines))
    if not lines and not any("optim" in name for name in mark):
        lines = [
            "it has no optimizer (save_only_model), so that no run can go on from it"
        ]
    return lines


def damaged(checkpoint: Path) -> list[str]:
    """What is wrong with a checkpoint for who reads only its model, a line each; none of what no training wrote.

    Files that are gone are none of these: without the optimizer it is a model like others.
    """
    mark = _read_mark(checkpoint)
    if isinstance(mark, str):
        trained = (checkpoint.parent / "run_config.json").is_file()
        return [mark] if trained and checkpoint.name.startswith("checkpoint-") else []
    read = [
        name
        for name in mark
        if "optim" not in name and name != "README.md" and (checkpoint / name).is_file()
    ]
    return list(_compare(checkpoint, mark, read, _file_sha256))


def _read_mark(checkpoint: Path) -> dict[str, int] | str:
    """The sizes that the mark of a checkpoint says; or what is wrong with it."""
    if not (checkpoint / STATE).is_file():
        # Digests are written after the mark.
        return (
            f"{STATE} is missing"
            if any(checkpoint.glob(_DIGESTS.format("*")))
            else f"{_CUT_SHORT} (no {STATE})"
        )
    try:
        values = read_json(checkpoint / STATE)
    except UserError:
        return f"{STATE} cannot be read"
    files = values.get(SIZES)
    if not isinstance(files, dict) or not all(
        type(size) is int for size in files.values()
    ):
        return f"{STATE} does not say what the checkpoint holds"
    return files


def _shares(files: dict[str, int], world: int) -> list[list[str]]:
    """Which files each process reads: those that bear its number, and of the others about as many bytes as the rest.

    >>> _shares({"rng_state_0.pth": 1, "rng_state_1.pth": 1, "model": 8, "optimizer": 16}, 2)
    [['optimizer', 'rng_state_0.pth'], ['model', 'rng_state_1.pth']]
    """
    shares: list[list[str]] = [[] for _ in range(world)]
    loads = [0] * world
    for name in sorted(files, key=lambda name: (-files[name], name)):
        number = re.search(r"(?:rank|rng_state)_([0-9]+)", name)
        owner = int(number[1]) % world if number else loads.index(min(loads))
        shares[owner].append(name)
        loads[owner] += files[name]
    return shares


def _compare(
    checkpoint: Path,
    mark: dict[str, int],
    mine: Sequence[str],
    digest: Callable[[Path], str],
) -> Iterator[str]:
    """What is wrong with this process's share of the files."""
    digests: dict[str, str] = {}
    for path in sorted(checkpoint.glob(_DIGESTS.format("*"))):
        try:
            digests |= read_json(path)
        except UserError:
            yield f"{path.name} cannot be read"
    if unknown := digests.keys() - mark.keys() - {STATE}:
        yield f"{STATE} does not name {min(unknown)}, of which there is a digest"
    for name in mine if rank() else [STATE, *mine]:
        path = checkpoint / name
        try:
            if not path.is_file():
                yield f"{name} is missing"
            elif name in mark and (size := path.stat().st_size) != mark[name]:
                yield f"{name} has {size:,} of {mark[name]:,} bytes"
            elif name in digests and digest(path) != digests[name]:
                yield f"the content of {name} changed after it was written"
        except OSError as error:
            yield f"{name} cannot be read ({error.strerror})"


def _digest(path: Path, stop: Event | None = None) -> str:
    """SHA-256 of a file; `stop` ends it early, with a digest of nothing."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while (block := file.read(_BLOCK)) and not (stop and stop.is_set()):
            digest.update(block)  # other threads go on meanwhile
    return digest.hexdigest()


class Digests:
    """Writes the digests of this process's files of a checkpoint beside them, in a thread."""

    def __init__(self) -> None:
        self._thread = Thread()
        self._stop = Event()

    def start(self, checkpoint: Path, files: dict[str, int]) -> None:
        """Begin with a checkpoint that is whole, and holds `files` by the mark."""
        names = _shares(files, world_size())[rank()]
        self._stop = Event()
        arguments = checkpoint, names if rank() else [STATE, *names], self._stop
        self._thread = Thread(target=_write_digests, args=arguments, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Give up what is not finished: the next checkpoint is about to be written, and an older one removed."""
        self._stop.set()
        self.join()

    def join(self, seconds: float | None = None) -> None:
        """Return when the digests are written, or after so many seconds."""
        if self._thread.ident:
            self._thread.join(seconds)


def _write_digests(checkpoint: Path, names: Sequence[str], stop: Event) -> None:
    with suppress(OSError):  # the folder is gone, or the disk full: sizes must do
        digests = {name: _digest(checkpoint / name, stop) for name in names}
        if stop.is_set():
            return
        partial = own_name(checkpoint / _DIGESTS.format(rank()))
        # Never makes the folder anew
        partial.write_text(json.dumps(digests, indent=2) + "\n", "utf-8")
        partial.replace(checkpoint / _DIGESTS.format(rank()))
