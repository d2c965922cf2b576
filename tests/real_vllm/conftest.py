"""vLLM's own engine, on this machine's CPU: `make test-vllm` has an environment for it; no other target comes here."""

import os
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

os.environ["VLLM_CPU_KVCACHE_SPACE"] = (
    "2"  # GB; vLLM's own share of the memory would be more than a laptop's
)
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
collect_ignore_glob = [] if find_spec("vllm") else ["test_*"]
REAL = Path(__file__).parents[2] / "runs/smollm2-135m-instruct/base"


@pytest.fixture(scope="session", autouse=True)
def eager():
    """Without compilation, which takes a minute more at each start."""
    import vllm

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(vllm, "LLM", partial(vllm.LLM, enforce_eager=True))
        yield


@pytest.fixture(scope="session")
def tiny():
    from sozo.models.tiny import ensure_tiny

    return str(ensure_tiny())


@pytest.fixture(scope="session")
def real():
    """A model that people use."""
    if not REAL.is_dir():
        pytest.skip("needs python recipes/unpack.py smollm2-135m-instruct")
    return str(REAL)


@pytest.fixture(scope="session", params=["tiny", "real"])
def folder(request):
    """A model of nouns, and a real one."""
    return request.getfixturevalue(request.param)
