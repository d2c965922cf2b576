"""The `jumanpp` checker: Juman++ 2 through its Python binding pyknp, as in the paper.

pyknp builds the command and reads the answer; the pipe between is ours, because pyknp's own waits for ever when the
process dies, needs SIGALRM (main thread only) and loses step after a time-out.
"""

import os
import selectors
import shutil
import subprocess
import threading
import time
import warnings
from typing import Any

from data.errors import UserError
from rewards.nouns.rules import Analysis, Morpheme, MorphemeChecker, NounRules

_ATTEMPTS = 3


class JumanppChecker(MorphemeChecker):
    """Noun checker on a running Juman++, the program `command` with the command-line options `option`.

    A word is vetted before it is sent; a process that dies, falls silent (for `timeout` seconds; ten times as long when
    it is new) or answers for another word is replaced and the word asked again, three times at most. Safe in any
    thread.
    """

    name = "jumanpp"

    def __init__(
        self, rules: NounRules | None = None, *, command: str = "jumanpp", option: str = "", timeout: float = 10.0
    ) -> None:
        super().__init__(rules)
        if shutil.which(command) is None:
            raise UserError(
                f"the command {command} is not on the PATH; install Juman++ 2 or choose the noun checker jumandic"
            )
        self.command, self.timeout = [command, *option.split()], timeout
        self._lock = threading.Lock()
        self._pipe: _Pipe | None = None

    def analyse(self, word: str) -> Analysis:
        with self._lock:
            problem = ""
            for _ in range(_ATTEMPTS):
                try:
                    return self._ask(word)
                except (OSError, EOFError, TimeoutError, ValueError) as error:
                    problem = str(error) or type(error).__name__
                    self.close()
            raise UserError(
                f"{' '.join(self.command)} failed {_ATTEMPTS} times on the word {word!r} ({problem}); "
                "try it in a shell, or choose the noun checker jumandic"
            )

    def _ask(self, word: str) -> Analysis:
        with warnings.catch_warnings():  # pyknp 0.6.1 imports pkg_resources, which warns of its own removal
            warnings.simplefilter("ignore")
            from pyknp import MList

        if self._pipe is None:
            self._pipe = _Pipe(self.command)
            self._pipe.query("あ", 10 * self.timeout)  # loads the model
        morphemes = MList(self._pipe.query(word, self.timeout)).mrph_list()
        # An answer for another word, or for none, means that we have lost step: every vetted word has morphemes.
        answered = "".join(m.midasi for m in morphemes)
        if answered != word:
            raise ValueError(f"answered for {answered!r}")
        return [[Morpheme(r.hinsi, r.bunrui, r.imis) for r in (morpheme, *morpheme.doukei)] for morpheme in morphemes]

    def close(self) -> None:
        """End the process; the next word starts another."""
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None, "_pipe": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())


class _Pipe:
    """A line-in, lines-out process that answers in time, or an error says why not."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )
        assert self._process.stdin
        assert self._process.stdout
        self._in, self._out = self._process.stdin, self._process.stdout
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._out, selectors.EVENT_READ)

    def query(self, word: str, timeout: float) -> str:
        """The answer to `word`, up to the line that is exactly EOS and without it. Comment lines are dropped."""
        self._in.write(word.encode() + b"\n")
        deadline = time.monotonic() + timeout
        answer = b""
        while not (answer == b"EOS\n" or answer.endswith(b"\nEOS\n")):
            if not self._selector.select(max(0.0, deadline - time.monotonic())):
                raise TimeoutError(f"no answer within {timeout:g} s")
            block = os.read(self._out.fileno(), 1 << 16)
            if not block:
                raise EOFError(f"the process ended with status {self._process.wait()}")
            answer += block
        lines = answer.decode("utf-8", "replace").split("\n")[:-2]
        return "\n".join(line for line in lines if not line.startswith("# "))

    def close(self) -> None:
        self._selector.close()
        with self._process:  # its end closes the pipes and waits
            self._process.kill()
