"""The `jumanpp` checker: Juman++ 2 through its Python binding pyknp. The paper names Juman++ (section 4.1), and no version.

pyknp builds the command and reads the answer; the pipe between is ours, because pyknp's own waits for ever when the
process dies, needs SIGALRM (main thread only) and loses step after a time-out.
"""

import os
import re
import selectors
import shutil
import subprocess
import threading
import time
import warnings
import weakref
from contextlib import suppress

from sozo.data.errors import UserError, require
from sozo.data.foreign import LONGEST_WORD
from sozo.scoring.nouns.rules import Analysis, Morpheme, MorphemeChecker, NounRules

_ATTEMPTS = 3
# Bytes of an answer; that to a word of 40 characters has some thousands
_LONGEST = 1 << 20
_KEPT = 1000  # bytes of stderr
_PARTS_OF_SPEECH = re.compile(
    "特殊|動詞|形容詞|判定詞|助動詞|名詞|指示詞|副詞|助詞|接続詞|連体詞|感動詞|接頭辞|接尾辞|未定義語"
)


class JumanppChecker(MorphemeChecker):
    """Noun checker on a running Juman++, the program `command` with the command-line options `option`.

    A word is vetted before it is sent; a process that dies, has not answered after `timeout` seconds, or gives no
    analysis or that of another word is replaced and the word asked again, three times at most. A new process has twice
    as long. Safe in any thread; the process ends with the checker.
    """

    name = "jumanpp"

    def __init__(
        self,
        rules: NounRules | None = None,
        *,
        command: str = "jumanpp",
        option: str = "",
        timeout: float = 10.0,
    ) -> None:
        super().__init__(rules)
        if shutil.which(command) is None:
            raise UserError(
                f"the command {command} is not on the PATH; install Juman++ 2 or choose the noun checker jumandic"
            )
        require("pyknp", "the noun checker jumanpp")
        self.command, self.timeout = [command, *option.split()], timeout
        self._lock = threading.Lock()
        self._pipe: _Pipe | None = None

    def analyse(self, word: str) -> Analysis:
        with self._lock:
            for _ in range(_ATTEMPTS):
                try:
                    if self._pipe is None:
                        self._pipe = _Pipe(self.command)
                        self._ask("あ", 2 * self.timeout)  # loads the model
                    return self._ask(word, self.timeout)
                except (
                    OSError,
                    EOFError,
                    LookupError,
                    ValueError,
                    subprocess.TimeoutExpired,
                ) as error:
                    pipe, problem = self._pipe, str(error) or type(error).__name__
                    self.close()
                    if pipe and (complaint := pipe.last_words()):
                        problem += f": {complaint}"
            failed = f"failed {_ATTEMPTS} times on the word {word!r} ({problem})"
            raise UserError(
                f"{' '.join(self.command)} {failed}; try it in a shell, or choose the noun checker jumandic"
            )

    def _ask(self, word: str, timeout: float) -> Analysis:
        # Pyknp 0.6.1 imports pkg_resources, which warns of its own removal
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pyknp import MList

        assert self._pipe
        morphemes = MList(self._pipe.query(word, timeout)).mrph_list()
        # An answer for another word, or for none, means that we have lost step: every vetted word has morphemes.
        answered = "".join(m.midasi for m in morphemes)
        if answered != word:
            raise ValueError(f"answered for {answered[:LONGEST_WORD]!r}")
        readings = [
            [
                Morpheme(r.hinsi, r.bunrui, r.imis, f"{r.katuyou1} {r.katuyou2}")
                for r in (m, *m.doukei)
            ]
            for m in morphemes
        ]
        if not all(
            _PARTS_OF_SPEECH.fullmatch(reading.pos)
            for morpheme in readings
            for reading in morpheme
        ):
            raise ValueError(f"answered {word!r} without its part of speech")
        return readings

    def close(self) -> None:
        """End the process; the next word starts another."""
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None


class _Pipe:
    """A line-in, lines-out process that answers in time, or an error says why not. It ends with its last reference."""

    def __init__(self, command: list[str]) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0
        )
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        self._in, self._out = self._process.stdin, self._process.stdout
        self._said = b""
        self._selector = selectors.DefaultSelector()
        for stream in (self._out, self._process.stderr):
            self._selector.register(stream, selectors.EVENT_READ)
        self.close = weakref.finalize(self, _end, self._process, self._selector)

    def query(self, word: str, timeout: float) -> str:
        """The answer to `word`, up to the line that is exactly EOS and without it. Comment lines are dropped."""
        deadline = time.monotonic() + timeout
        with suppress(BrokenPipeError):  # it has ended; reading tells how
            self._in.write(word.encode() + b"\n")
        answer = b""
        while not (answer == b"EOS\n" or answer.endswith(b"\nEOS\n")):
            left = deadline - time.monotonic()
            ready = self._selector.select(left) if left > 0 else []
            if not ready:
                raise TimeoutError(f"no answer within {timeout:g} s")
            for key, _ in ready:
                block = os.read(key.fd, 1 << 16)
                if not block:
                    self._selector.unregister(key.fileobj)
                    if not self._selector.get_map():
                        raise EOFError(
                            f"the process ended with status {self._process.wait(1)}"
                        )
                elif key.fileobj is self._out:
                    answer += block
                else:
                    self._said = (self._said + block)[-_KEPT:]
            if len(answer) > _LONGEST:
                raise ValueError(f"more than {_LONGEST} bytes for one word")
        lines = answer.decode("utf-8", "replace").split("\n")[:-2]
        return "\n".join(line for line in lines if not line.startswith("# "))

    def last_words(self) -> str:
        """The last line on stderr."""
        return self._said.decode("utf-8", "replace").strip().split("\n")[-1][:200]


def _end(process: subprocess.Popen[bytes], selector: selectors.BaseSelector) -> None:
    selector.close()
    with process:  # its end closes the pipes and waits
        process.kill()
