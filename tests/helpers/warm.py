"""`run` starts a Python command as a fork of a process that has already imported what takes seconds to import.

The command has a process of its own, with its own environment, folder, output and exit status. What it shares with
others is code, Python's hash seed, and the nouns and word vectors that are read of installed packages whatever the
settings. One that finds another sozo than this checkout's imports that. The Python commands that it starts itself, such
as the processes of `accelerate launch`, are forks of it. A test of imports or signals starts a new Python instead.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from importlib.machinery import PathFinder
from pathlib import Path

# What the packages below read once, when they are imported.
_READ_AT_IMPORT = (
    "HF_",
    "OMP_",
    "TRACKIO_",
    "TRANSFORMERS_",
    "CUDA_",
    "PYTHONHASHSEED",
)
_lock = threading.Lock()
_process = None


def run(words, *, cwd=None, env=None):
    """As `subprocess.run` with captured output."""
    words = list(map(str, words))
    env = {
        name: str(value) for name, value in (os.environ if env is None else env).items()
    }
    if not _is_python(words, env):
        return subprocess.run(
            words, cwd=cwd, env=env, capture_output=True, text=True, check=False
        )
    (done,) = run_all([words], cwd=cwd, env=env)
    return done


def run_all(commands, *, cwd=None, env=None, timeout=900, kill=None):
    """Several Python commands at once, as forks; after so many seconds they are killed.

    `kill`: a file, how many seconds after it is there they get a signal with all that they started, and which one.
    """
    global _process
    with _lock, tempfile.TemporaryDirectory() as folder:
        if _process is None:
            _process = subprocess.Popen(
                [sys.executable, __file__],
                env=_fixed(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            atexit.register(_process.communicate)
        files = [
            [str(Path(folder) / f"{number}.{name}") for name in ("out", "err")]
            for number in range(len(commands))
        ]
        for number, (_, *words) in enumerate(commands):
            request = (
                number,
                timeout,
                list(map(str, words)),
                str(cwd or Path.cwd()),
                dict(env or os.environ),
            )
            request += files[number], kill and [str(kill[0]), *kill[1:]]
            print(json.dumps(request), file=_process.stdin, flush=True)
        try:
            status = dict(
                map(int, _process.stdout.readline().split()) for _ in commands
            )
        except BaseException:  # the test took too long: what it started ends with it
            atexit.unregister(_process.communicate)
            _process.communicate()
            _process = None
            raise
        said = [
            [Path(file).read_text("utf-8", "surrogateescape") for file in own]
            for own in files
        ]
    return [
        subprocess.CompletedProcess(words, status[k], *said[k])
        for k, words in enumerate(commands)
    ]


def _is_python(words, env):
    """Whether this is a Python command for which all is imported as it would be."""
    known = all(
        env[name] == _fixed().get(name)
        for name in env
        if name.startswith(_READ_AT_IMPORT)
    )
    return (
        known
        and words[:1] == [sys.executable]
        and words[1:]
        and (words[1] in ("-c", "-m") or words[1][0] != "-")
    )


def _fixed():
    return {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}


def _serve():
    """Fork for each line of standard input; return in the fork, with what it is to run."""
    requests, replies = (
        os.fdopen(os.dup(0), "rb", 0),
        os.fdopen(os.dup(1), "w"),
    )  # unbuffered, for `select`
    os.dup2(2, 1)  # what a package says while it is imported is no reply
    subprocess.Popen = _Popen  # for what is imported from here on, too
    _import_others()
    _import_sozo()
    gc.freeze()
    with open(os.devnull) as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
    running = {}  # by process: the request's number, until when, what ends it then, and the file that changes this
    while True:
        if select.select([requests], [], [], 0.01 if running else None)[0]:
            if not (line := requests.readline()):
                for child in running:
                    os.killpg(child, signal.SIGKILL)
                raise SystemExit
            number, timeout, words, folder, environment, files, kill = json.loads(line)
            if not (child := os.fork()):
                break
            running[child] = number, time.monotonic() + timeout, signal.SIGKILL, kill
        for child, (number, until, by, kill) in list(running.items()):
            if kill and Path(kill[0]).is_file():
                running[child] = (
                    number,
                    time.monotonic() + kill[1],
                    (*kill[2:], signal.SIGKILL)[0],
                    None,
                )
            elif time.monotonic() > until:
                os.killpg(child, by)
                running[child] = number, time.monotonic() + 900, signal.SIGKILL, None
            if (ended := os.waitpid(child, os.WNOHANG))[0]:
                del running[child]
                replies.write(f"{number} {os.waitstatus_to_exitcode(ended[1])}\n")
                replies.flush()
    os.setsid()
    for descriptor, file in enumerate(files, 1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), descriptor)
    with contextlib.suppress(OSError):
        os.close(requests.fileno())
        os.close(replies.fileno())
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    return words


def _import_others():
    """What a training run and a score by ja-ginza import of other packages."""
    names = "accelerate datasets matplotlib.pyplot pandas peft scipy.stats spacy torch transformers trl typer wandb"
    for name in names.split():
        importlib.import_module(name)
    for package, names in (
        ("transformers", "AutoModelForCausalLM AutoTokenizer Trainer"),
        ("trl", "DPOTrainer GRPOTrainer SFTTrainer"),
    ):
        for name in names.split():
            getattr(sys.modules[package], name)
    staging = importlib.import_module("wandb.sdk.data_types._private").MEDIA_TMP
    atexit.unregister(staging.cleanup)  # a folder that all forks use


def _import_sozo():
    """This checkout's modules, none of which reads the environment when it is imported; nouns and word vectors."""
    sys.path.insert(1, str(Path(__file__).parents[2] / "src"))
    import sozo

    for module in pkgutil.walk_packages(sozo.__path__, "sozo."):
        if not module.name.startswith(
            ("sozo.__main__", "sozo.rewards.integrations.")
        ):  # of packages that are not here
            importlib.import_module(module.name)
    sys.modules["sozo.data.jumandic"].load_nouns()
    sys.modules["sozo.scoring.embeddings"].make_encoder("ja-ginza")


class _Popen(subprocess.Popen):
    """A Python command that a fork starts is a fork of it."""

    def _execute_child(
        self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *others
    ):
        words, env = (
            [*map(str, args)] if isinstance(args, list | tuple) else [],
            dict(os.environ if env is None else env),
        )
        if unbuffered := words[1:2] == ["-u"]:
            del words[1]
        if not _is_python(words, env):
            super()._execute_child(
                args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *others
            )
            return
        *pipes, _, _, _, _, _, new_session, _ = others[3:]
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid, self._child_created = os.fork(), True
        if self.pid:
            self._close_pipe_fds(*pipes)
            return
        for number in signal.valid_signals():
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for descriptor, own in enumerate((pipes[0], pipes[3], pipes[5])):
            if own != -1:
                os.dup2(own, descriptor)
        for descriptor in {*range(3, 256)} - set(pass_fds):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        if new_session:
            os.setsid()
        if preexec_fn:
            preexec_fn()
        os.chdir(cwd or ".")
        os.environ.clear()
        os.environ.update(env)
        # As a new Python has them: the first process's own may be files, and a pipe cannot seek.
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
        sys.stdout.reconfigure(write_through=unbuffered)
        _end(words[1:])


def _execute(words):
    """What `python words` does."""
    found = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [
        *filter(None, found),
        *(path for path in sys.path[1:] if path not in found),
    ]
    if not Path(PathFinder.find_spec("sozo").origin).samefile(
        sys.modules["sozo"].__file__
    ):
        for name in [name for name in sys.modules if name.partition(".")[0] == "sozo"]:
            del sys.modules[name]
    if words[0] == "-c":
        sys.path.insert(0, "")
        sys.argv = ["-c", *words[2:]]
        exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})
    elif words[0] == "-m":
        sys.path.insert(0, str(Path.cwd()))
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(words[0]).resolve().parent))
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")


def _end(words):
    """Execute and end as Python does, but for taking apart, module by module, what the first process holds too."""
    for made in list(weakref.finalize._registry):
        made.detach()  # what the first process made is its own to remove
    if encoding := os.environ.get(
        "PYTHONIOENCODING"
    ):  # which Python reads as it starts
        sys.stdout.reconfigure(encoding=encoding)
        sys.stderr.reconfigure(encoding=encoding, errors="backslashreplace")
    status = 0
    try:
        _execute(words)
    except SystemExit as ended:
        status = (
            ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        )
        if not isinstance(ended.code, int | None):
            sys.stderr.write(f"{ended.code}\n")
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)


if __name__ == "__main__":
    _end(_serve())
