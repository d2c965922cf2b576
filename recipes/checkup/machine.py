"""The machine: cores, memory, disk, GPUs as the driver and as torch see them."""

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import disk_usage, which
from typing import Any

from checkup.finding import Finding, State, pip_install
from sozo.data.cache import cache_home

GIB = 1024**3
_LEAST_MEMORY, _LEAST_DISK, _LEAST_SHARED = 4 * GIB, 20 * GIB, 1 * GIB
_LONGEST_BUILD = 600  # seconds
_PARAMETERS = 8.03e9  # of the paper's largest model; a checkpoint of full training under ZeRO-3 has 14 bytes for each
_TORCH = """
import json, torch
found = [torch.cuda.get_device_properties(k) for k in range(torch.cuda.device_count())]
gpus = [{"name": p.name, "bytes": p.total_memory, "capability": [p.major, p.minor]} for p in found]
print(json.dumps({"version": torch.__version__, "cuda": torch.version.cuda, "gpus": gpus}))
"""


def check_machine() -> Iterator[Finding]:
    """Cores, memory and disk."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    yield Finding(State.OK, "CPU", f"{cores} core{'s' * (cores > 1)} for this process")
    if (memory := _memory()) is not None:
        free, total = memory
        state = State.OK if free >= _LEAST_MEMORY else State.MISSING
        fix = "" if state == State.OK else "end other programs, or take a larger machine"
        yield Finding(state, "memory", f"{free / GIB:.1f} of {total / GIB:.1f} GiB free", fix)
    checkpoint = f"of an 8B model in full training a checkpoint takes {14 * _PARAMETERS / GIB:.0f} GiB"
    yield _disk("disk, runs/", Path.cwd(), checkpoint, "give --output_dir on a larger disk")
    yield _disk("disk, cache", cache_home(), str(cache_home()), "export SOZO_CACHE=/a/larger/disk")
    yield _disk("disk, hub", hub_cache(), str(hub_cache()), "export HF_HOME=/a/larger/disk")
    shared = Path("/dev/shm")  # noqa: S108
    if shared.is_dir():
        size = disk_usage(shared).total
        state = State.OK if size >= _LEAST_SHARED else State.MISSING
        fix = "" if state == State.OK else "docker run --shm-size=16g ..."
        yield Finding(state, "shared memory", f"{size / GIB:.1f} GiB, for several processes (NCCL, vLLM)", fix)


def check_builds() -> Iterator[Finding]:
    """Locks that a killed DeepSpeed start has left: the next start waits for them without a word."""
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    for lock in sorted(Path(os.environ.get("TORCH_EXTENSIONS_DIR", home / "torch_extensions")).glob("**/lock")):
        if time.time() - lock.stat().st_mtime > _LONGEST_BUILD:
            said = f"{lock.parent.name} is locked since long: every DeepSpeed start waits for ever"
            yield Finding(State.MISSING, "DeepSpeed", said, f"rm {shlex.quote(str(lock))}")


def check_gpus() -> Iterator[Finding]:
    """GPUs as the driver has them, and whether this torch can use them."""
    driver, torch = _driver(), _torch()
    if torch is None:
        yield Finding(State.NEEDED, "torch", "cannot be imported", "make install")
    else:
        built = f"for CUDA {torch['cuda']}" if torch["cuda"] else "for the CPU only"
        yield Finding(State.OK, "torch", f"{torch['version']}, built {built}")
    gpus = torch["gpus"] if torch else []
    if not driver and not gpus:
        said = "none: tiny and Gemma 3 270M train on a CPU, 7-8B models do not"
        yield Finding(State.MISSING, "GPU", said, "a machine with NVIDIA GPUs; recipes/README.md says how many")
    elif not gpus:
        again = pip_install("constraints.txt").replace("-e .", "--force-reinstall torch")
        yield Finding(State.MISSING, "GPU", f"the driver has {', '.join(driver)}, torch sees none", again)
    for number, gpu in enumerate(gpus):
        capability = ".".join(map(str, gpu["capability"]))
        said = f"{gpu['name']}, {gpu['bytes'] / GIB:.0f} GiB, compute capability {capability}"
        half = gpu["capability"] >= [8, 0]
        state, fix = (State.OK, "make gpu-check") if half else (State.MISSING, "--dtype float32 --bf16 false")
        yield Finding(state, f"GPU {number}", said if half else f"{said}: no bfloat16", fix)


def hub_cache() -> Path:
    """Where the hub's models are kept."""
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "huggingface"
    return Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub")


def _disk(name: str, folder: Path, said: str, fix: str) -> Finding:
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free, writable = disk_usage(there).free, os.access(there, os.W_OK)
    state = State.OK if writable and free >= _LEAST_DISK else State.MISSING
    amount = f"{free / GIB:.0f} GiB free" if writable else "not writable"
    return Finding(state, name, f"{amount} ({said})", "" if state == State.OK else fix)


def _memory() -> tuple[int, int] | None:
    """Bytes free and in all, of the machine or of the container; None where nothing says."""
    try:
        lines = (line.split() for line in Path("/proc/meminfo").read_text("utf-8").splitlines())
        values = {words[0]: 1024 * int(words[1]) for words in lines}
        free, total = values["MemAvailable:"], values["MemTotal:"]
        limit, used = (Path(f"/sys/fs/cgroup/memory.{name}") for name in ("max", "current"))
        if limit.is_file() and (text := limit.read_text("utf-8").strip()) != "max":
            return min(free, int(text) - int(used.read_text("utf-8"))), min(total, int(text))
    except (OSError, KeyError, ValueError, IndexError):
        return None
    return free, total


def _driver() -> list[str]:
    if (command := which("nvidia-smi")) is None:
        return []
    query = [command, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    done = subprocess.run(query, capture_output=True, text=True, timeout=20, check=False)
    return [" ".join(line.split(",")) for line in done.stdout.splitlines() if line] if done.returncode == 0 else []


def _torch() -> dict[str, Any] | None:
    """What torch says of itself and of GPUs, in a process of its own: a broken one takes its process with it."""
    done = subprocess.run([sys.executable, "-c", _TORCH], capture_output=True, text=True, timeout=120, check=False)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None
