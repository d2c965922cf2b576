"""What the doctor looks at: packages, the machine and its GPUs, logins, models of the hub, servers.

It needs no package, changes nothing, and of a key it says only whether there is one.
"""

import json
import netrc
import os
import re
import shlex
import subprocess
import sys
import threading
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from shutil import disk_usage, which
from typing import Any
from urllib.parse import urlsplit

from checkup.finding import ROOT, Finding, State
from sozo.data.cache import cache_home
from sozo.data.extras import install_command
from sozo.data.secrets import public_url

GIB = 1024**3
# What each extra is for, in the words of a person who lacks it.
FEATURES = {
    "train": "training, and sampling from weights",
    "encoders": "encoders of a hub or a folder",
    "report": "pages with pictures",
    "juman": "the paper's noun checker jumanpp",
    "offline": "jumandic and ja-ginza, which need no hub and no Juman++; with train the model tiny",
    "e5": "the encoder e5, which comes with its weights",
    "english": "the DAT in English: lemminflect and minilm",
    "paper": "tokenizers of the paper's encoders",
    "vllm": "vLLM: fast sampling on a GPU",
    "gemma": "Gemma 3 270M from the package index",
    "serve": "a reward over HTTP: sozo serve",
    "all": "everything that lives in one environment",
    "dev": "make test",
}
_LEAST_MEMORY, _LEAST_DISK, _LEAST_SHARED = 4 * GIB, 20 * GIB, 1 * GIB
_LONGEST_BUILD = 600  # seconds
_SERVER_SECONDS = 4.0  # for an answer
_WANDB = "https://api.wandb.ai"
_PARAMETERS = 8.03e9  # of the paper's largest model; a checkpoint of full training under ZeRO-3 has 14 bytes for each
_TORCH = """
import json, torch
devices = [torch.cuda.get_device_properties(k) for k in range(torch.cuda.device_count())]
gpus = [{"name": p.name, "bytes": p.total_memory, "capability": [p.major, p.minor]} for p in devices]
print(json.dumps({"version": torch.__version__, "cuda": torch.version.cuda, "gpus": gpus}))
"""


def installed(name: str) -> str | None:
    """The version of an installed package, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def check_base() -> Iterator[Finding]:
    """Python and the packages without which nothing works."""
    project = _project()
    needed = re.sub(r"[^\d.]", "", project["requires-python"])
    text = f"{sys.version.split()[0]} (needs {needed} or newer), {sys.executable}"
    new = sys.version_info >= tuple(map(int, needed.split(".")))
    yield _enough(new, "Python", text, f"make PYTHON=python{needed} install", State.NEEDED)
    lacking = missing([*project["dependencies"], "sozo"])
    text = ", ".join(lacking) or f"sozo and the {len(project['dependencies'])} that it needs"
    yield _enough(not lacking, "packages", text, "make install", State.NEEDED)


def check_extras() -> Iterator[Finding]:
    """Each optional feature of pyproject.toml."""
    extras = _project()["optional-dependencies"]
    for extra in extras:
        lacking = missing(_requirements(extra, extras))
        text = ": ".join(filter(None, (FEATURES[extra], ", ".join(lacking))))
        yield _enough(not lacking, f"[{extra}]", text, install_command(extra))


def missing(requirements: Iterable[str]) -> list[str]:
    """Which requirements are not met, each with what is installed instead.

    >>> missing(["nosuch>=2.9", "numpy>=1"])
    ['no nosuch']
    """
    try:
        from packaging.requirements import Requirement
    except ModuleNotFoundError:  # a bare Python: names must do
        names = [re.split(r"[^\w.-]", line)[0] for line in requirements]
        return [f"no {name}" for name in names if installed(name) is None]
    lacking = []
    for requirement in map(Requirement, requirements):
        if requirement.marker and not requirement.marker.evaluate():
            continue
        present = installed(requirement.name)
        if present is None:
            lacking.append(f"no {requirement.name}")
        elif not requirement.specifier.contains(present, prereleases=True):
            lacking.append(f"{requirement.name} {present} instead of {requirement.specifier}")
    return lacking


def _requirements(extra: str, extras: dict[str, list[str]]) -> Iterator[str]:
    """An extra's packages, with those of the extras that it consists of."""
    for line in extras[extra]:
        if others := re.fullmatch(r"sozo\[(.+)\]", line):
            for other in others[1].split(","):
                yield from _requirements(other, extras)
        else:
            yield line


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def check_jumanpp() -> Iterator[Finding]:
    """Is there a Juman++ that analyses a word?"""
    works, text = False, "the paper's noun checker: not on the PATH"
    if command := which("jumanpp"):
        try:
            done = subprocess.run([command], input="犬\n".encode(), capture_output=True, timeout=20, check=False)
            works = done.stdout.startswith("犬".encode()) and done.stdout.rstrip().endswith(b"EOS")
            text = command if works else f"{command} gave no analysis (exit status {done.returncode})"
        except (OSError, subprocess.TimeoutExpired) as error:
            text = f"{command} does not run ({type(error).__name__})"
    instead = "install Juman++ 2 (github.com/ku-nlp/jumanpp), or take the noun checker jumandic"
    yield _enough(works, "Juman++", text, instead)


def check_machine() -> Iterator[Finding]:
    """Cores, memory and disk."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    yield Finding(State.OK, "CPU", f"{cores} core{'s' * (cores > 1)} for this process")
    if (memory := _memory()) is not None:
        free, total = memory
        fix = "end other programs, or take a larger machine"
        yield _enough(free >= _LEAST_MEMORY, "memory", f"{free / GIB:.1f} of {total / GIB:.1f} GiB free", fix)
    checkpoint = f"of an 8B model in full training a checkpoint takes {14 * _PARAMETERS / GIB:.0f} GiB"
    yield _disk("disk, runs/", Path.cwd(), checkpoint, "give --output_dir on a larger disk")
    yield _disk("disk, cache", cache_home(), str(cache_home()), "export SOZO_CACHE=/a/larger/disk")
    yield _disk("disk, hub", hub_cache(), str(hub_cache()), "export HF_HOME=/a/larger/disk")
    shared = Path("/dev/shm")  # noqa: S108
    if shared.is_dir():
        size = disk_usage(shared).total
        text = f"{size / GIB:.1f} GiB, for several processes (NCCL, vLLM)"
        yield _enough(size >= _LEAST_SHARED, "shared memory", text, "docker run --shm-size=16g ...")


def _enough(good: bool, name: str, text: str, fix: str, otherwise: State = State.MISSING) -> Finding:
    """A finding that needs its `fix` only where it is not good."""
    return Finding(State.OK, name, text) if good else Finding(otherwise, name, text, fix)


def _disk(name: str, folder: Path, text: str, fix: str) -> Finding:
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free, writable = disk_usage(existing).free, os.access(existing, os.W_OK)
    amount = f"{free / GIB:.0f} GiB free" if writable else "not writable"
    return _enough(writable and free >= _LEAST_DISK, name, f"{amount} ({text})", fix)


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


def check_builds() -> Iterator[Finding]:
    """Locks that a killed DeepSpeed start has left: the next start waits for them without a word."""
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    for lock in sorted(Path(os.environ.get("TORCH_EXTENSIONS_DIR", home / "torch_extensions")).glob("**/lock")):
        if time.time() - lock.stat().st_mtime > _LONGEST_BUILD:
            text = f"{lock.parent.name} is locked since long: every DeepSpeed start waits for ever"
            yield Finding(State.MISSING, "DeepSpeed", text, f"rm {shlex.quote(str(lock))}")


def check_gpus() -> Iterator[Finding]:
    """GPUs as the driver has them, and whether this torch can use them."""
    driver, torch = _driver(), _torch()
    if torch is None:
        yield Finding(State.MISSING, "torch", "cannot be imported", install_command("train"))
    else:
        built = f"for CUDA {torch['cuda']}" if torch["cuda"] else "for the CPU only"
        yield Finding(State.OK, "torch", f"{torch['version']}, built {built}")
    gpus = torch["gpus"] if torch else []
    if not driver and not gpus:
        text = "none: tiny and Gemma 3 270M train on a CPU, 7-8B models do not"
        yield Finding(State.MISSING, "GPU", text, "a machine with NVIDIA GPUs; recipes/README.md says how many")
    elif not gpus:
        again = "pip install -c constraints.txt --force-reinstall torch"
        yield Finding(State.MISSING, "GPU", f"the driver has {', '.join(driver)}, torch sees none", again)
    for number, gpu in enumerate(gpus):
        capability = ".".join(map(str, gpu["capability"]))
        text = f"{gpu['name']}, {gpu['bytes'] / GIB:.0f} GiB, compute capability {capability}"
        if gpu["capability"] >= [8, 0]:
            yield Finding(State.OK, f"GPU {number}", text, "make gpu-check")
        else:
            yield Finding(State.MISSING, f"GPU {number}", f"{text}: no bfloat16", "--dtype float32 --bf16 false")


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


def check_logins() -> Iterator[Finding]:
    """Is there a key for W&B, the hub and an endpoint? Only whether."""
    mode, host = os.environ.get("WANDB_MODE"), urlsplit(os.environ.get("WANDB_BASE_URL") or _WANDB).hostname
    login = bool(os.environ.get("WANDB_API_KEY")) or _in_netrc(str(host))
    how = f" (WANDB_MODE={mode})" if mode else "" if login else ": runs are logged offline"
    yield _login("W&B login", login, how, "wandb login")
    token = Path(os.environ.get("HF_TOKEN_PATH") or hub_cache().parent / "token")
    offline = " (HF_HUB_OFFLINE)" if os.environ.get("HF_HUB_OFFLINE", "0").upper() in ("1", "ON", "YES", "TRUE") else ""
    login = bool(os.environ.get("HF_TOKEN")) or token.is_file()
    yield _login("hub token", login, f"{offline}: only gated models and uploads need one", "hf auth login")
    purpose = ": for a judge, an encoder or a model behind an endpoint"
    key = bool(os.environ.get("OPENAI_API_KEY"))
    yield _login("OPENAI_API_KEY", key, purpose, "export OPENAI_API_KEY=...")


def _login(name: str, login: bool, more: str, fix: str) -> Finding:
    return _enough(login, name, ("set" if login else "not set") + more, fix)


def _in_netrc(host: str) -> bool:
    file = Path(os.environ.get("NETRC") or Path.home() / ".netrc")
    with suppress(OSError, netrc.NetrcParseError):
        return netrc.netrc(str(file)).authenticators(host) is not None
    return False


def hub_cache() -> Path:
    """Where the hub's models are kept."""
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "huggingface"
    return Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub")


def check_models() -> Iterator[Finding]:
    """Which of the hub's models that the recipes name are on this machine."""
    texts = [path.read_text("utf-8") for path in sorted((ROOT / "recipes").glob("*/reproduce.yaml"))]
    names = re.findall(r"^ *(?:embedding_)?model: ([\w.-]+/[\w.-]+)$", "\n".join(texts), re.MULTILINE)
    for name in dict.fromkeys(names):
        snapshots = hub_cache() / f"models--{name.replace('/', '--')}" / "snapshots"
        present = any(snapshots.glob("*/*"))
        yield _enough(present, "model", f"{name}: {'' if present else 'not '}on this machine", f"hf download {name}")


def servers() -> dict[str, tuple[str, str]]:
    """Of each server its address, without credentials, and what to do without it."""
    environment = os.environ.get
    wandb, endpoint = environment("WANDB_BASE_URL") or _WANDB, environment("OPENAI_BASE_URL")
    addresses = {
        "package index": (_index(), "pip config set global.index-url URL"),
        "hub": (
            environment("HF_ENDPOINT") or "https://huggingface.co",
            "export HF_HUB_OFFLINE=1  # and models from folders",
        ),
        "W&B": (wandb, "export WANDB_MODE=offline  # and `wandb sync` later"),
        "endpoint": (
            endpoint or "https://api.openai.com/v1",
            "export OPENAI_BASE_URL=http://your-server:8000/v1  # docs/endpoints.md",
        ),
    }
    return {name: (public_url(address), fix) for name, (address, fix) in addresses.items()}


def _index() -> str:
    """The package index that pip asks."""
    if address := os.environ.get("PIP_INDEX_URL"):
        return address
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SERVER_SECONDS, check=False)
        if done.returncode == 0 and done.stdout.strip():
            return done.stdout.strip()
    return "https://pypi.org/simple/"


class Reach:
    """Asks all servers at once, from its making on; `findings` waits for what is left of some seconds."""

    def __init__(self, timeout: float = _SERVER_SECONDS) -> None:
        self._servers, self._timeout, self._until = servers(), timeout, time.monotonic() + 1.5 * timeout
        self._problems: dict[str, str] = {}  # by server; empty where it answered
        # A resolver that hangs cannot be interrupted: as daemons they end with the process.
        self._threads = [threading.Thread(target=self._ask, args=(name,), daemon=True) for name in self._servers]
        for thread in self._threads:
            thread.start()

    def _ask(self, name: str) -> None:
        request, problem = urllib.request.Request(self._servers[name][0], method="HEAD"), ""  # noqa: S310
        try:
            urllib.request.urlopen(request, timeout=self._timeout).close()  # noqa: S310
        except urllib.error.HTTPError:
            pass  # it answers, if only that it wants a key
        except Exception as error:
            problem = str(getattr(error, "reason", error)) or type(error).__name__
        self._problems[name] = problem

    def findings(self) -> Iterator[Finding]:
        """One for each server."""
        for thread in self._threads:
            thread.join(max(0.0, self._until - time.monotonic()))
        for name, (address, fix) in self._servers.items():
            problem = self._problems.get(name, f"no answer within {1.5 * self._timeout:g} s")
            yield _enough(not problem, name, f"{address}: {problem}" if problem else address, fix)
