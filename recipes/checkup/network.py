"""What lies outside the machine: servers, logins, models of the hub. Keys are looked for and never shown."""

import netrc
import os
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from checkup.finding import ROOT, Finding, State
from checkup.machine import hub_cache
from sozo.data.secrets import public_url

_TIMEOUT = 4.0


def servers() -> dict[str, tuple[str, str]]:
    """Of each server its address, without credentials, and what to do without it."""
    environment = os.environ.get
    hub, wandb = environment("HF_ENDPOINT") or "https://huggingface.co", environment("WANDB_BASE_URL")
    addresses = {
        "package index": (_index(), "pip config set global.index-url URL"),
        "hub": (hub, "export HF_HUB_OFFLINE=1  # and models from folders"),
        "W&B": (wandb or "https://api.wandb.ai", "export WANDB_MODE=offline  # and `wandb sync` later"),
        "endpoint": (
            environment("OPENAI_BASE_URL") or "https://api.openai.com/v1",
            "export OPENAI_BASE_URL=http://your-server:8000/v1  # docs/endpoints.md",
        ),
    }
    return {name: (public_url(address), fix) for name, (address, fix) in addresses.items()}


class Reach:
    """Asks all servers at once, from its making on; `findings` waits for what is left of some seconds."""

    def __init__(self, timeout: float = _TIMEOUT) -> None:
        self._asked, self._timeout, self._until = servers(), timeout, time.monotonic() + 1.5 * timeout
        self._answers: dict[str, str | None] = {}  # name -> what went wrong, or None
        # A resolver that hangs cannot be interrupted: as daemons they end with the process.
        self._threads = [threading.Thread(target=self._ask, args=(name,), daemon=True) for name in self._asked]
        for thread in self._threads:
            thread.start()

    def _ask(self, name: str) -> None:
        request = urllib.request.Request(self._asked[name][0], method="HEAD")  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=self._timeout):  # noqa: S310
                self._answers[name] = None
        except urllib.error.HTTPError:
            self._answers[name] = None  # it answers, if only that it wants a key
        except Exception as error:
            self._answers[name] = str(getattr(error, "reason", error)) or type(error).__name__

    def findings(self) -> Iterator[Finding]:
        """One for each server."""
        for thread in self._threads:
            thread.join(max(0.0, self._until - time.monotonic()))
        for name, (address, fix) in self._asked.items():
            problem = self._answers.get(name, f"no answer within {1.5 * self._timeout:g} s")
            if problem is None:
                yield Finding(State.OK, name, address)
            else:
                yield Finding(State.MISSING, name, f"{address}: {problem}", fix)


def check_logins() -> Iterator[Finding]:
    """Is there a key for W&B, the hub and an endpoint? Only whether."""
    mode, host = (
        os.environ.get("WANDB_MODE"),
        urlsplit(os.environ.get("WANDB_BASE_URL") or "https://api.wandb.ai").hostname,
    )
    here = bool(os.environ.get("WANDB_API_KEY")) or _in_netrc(str(host))
    how = f" (WANDB_MODE={mode})" if mode else "" if here else ": runs are logged offline"
    yield _login("W&B login", here, how, "wandb login")
    token = Path(os.environ.get("HF_TOKEN_PATH") or hub_cache().parent / "token")
    offline = " (HF_HUB_OFFLINE)" if os.environ.get("HF_HUB_OFFLINE", "0").upper() in ("1", "ON", "YES", "TRUE") else ""
    here = bool(os.environ.get("HF_TOKEN")) or token.is_file()
    yield _login("hub token", here, f"{offline}: only gated models and uploads need one", "hf auth login")
    here = bool(os.environ.get("OPENAI_API_KEY"))
    more = ": for a judge, an encoder or a model behind an endpoint"
    yield _login("OPENAI_API_KEY", here, more, "export OPENAI_API_KEY=...")


def check_models() -> Iterator[Finding]:
    """Which of the hub's models that the recipes name are on this machine."""
    texts = [path.read_text("utf-8") for path in sorted((ROOT / "recipes").glob("*/reproduce.yaml"))]
    names = [name for text in texts for name in re.findall(r"^ *(?:embedding_)?model: ([\w.-]+/[\w.-]+)$", text, re.M)]
    for name in dict.fromkeys(names):
        here = any((hub_cache() / f"models--{name.replace('/', '--')}" / "snapshots").glob("*/*"))
        said, fix = ("on this machine", "") if here else ("not on this machine", f"hf download {name}")
        yield Finding(State.OK if here else State.MISSING, "model", f"{name}: {said}", fix)


def _login(name: str, here: bool, more: str, fix: str) -> Finding:
    state, said = (State.OK, "set") if here else (State.MISSING, "not set")
    return Finding(state, name, said + more, "" if here else fix)


def _in_netrc(host: str) -> bool:
    file = Path(os.environ.get("NETRC") or Path.home() / ".netrc")
    with suppress(OSError, netrc.NetrcParseError):
        return netrc.netrc(str(file)).authenticators(host) is not None
    return False


def _index() -> str:
    """The package index that pip asks."""
    if address := os.environ.get("PIP_INDEX_URL"):
        return address
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    with suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
        if done.returncode == 0 and done.stdout.strip():
            return done.stdout.strip()
    return "https://pypi.org/simple/"
