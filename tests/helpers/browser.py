"""Chromium by its debugging pipe, for tests of what a page does: no client library needed."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
    None,
)


class Browser:
    """One tab. Close it."""

    def __init__(self, folder):
        (to_read, write), (read, to_write) = os.pipe(), os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_read, to_write)]
        words = (
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--hide-scrollbars",
        )
        words += (
            "--disable-background-networking",
            "--remote-debugging-pipe",
            f"--user-data-dir={folder}",
        )
        # Chromium reads its descriptor 3 and writes its descriptor 4.
        start = f"import os, sys; os.dup2({ends[0]}, 3); os.dup2({ends[1]}, 4); os.execv(sys.argv[1], sys.argv[1:])"
        command = [sys.executable, "-c", start, CHROMIUM, *words]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, pass_fds=ends, **quiet)
        for end in (to_read, to_write, *ends):
            os.close(end)
        self.pipe, self.answers = os.fdopen(write, "wb", 0), os.fdopen(read, "rb", 0)
        self.number, self.buffer, self.session, self.errors = 0, b"", {}, []
        self.requests = []  # addresses, once the domain Network is enabled
        self.asked = []  # types of the dialogs that came; each is accepted
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = {
            "sessionId": self.call(
                "Target.attachToTarget", targetId=target, flatten=True
            )["sessionId"]
        }
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def close(self):
        self.pipe.close()
        self.process.terminate()
        self.process.wait(30)
        self.answers.close()

    def call(self, method, **params):
        self.number += 1
        self._send(self.number, method, **params)
        while (answer := self._next()).get("id") != self.number:
            if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.errors.append(answer["params"])
            if answer.get("method") == "Page.javascriptDialogOpening":
                self.asked.append(answer["params"]["type"])
                self._send(0, "Page.handleJavaScriptDialog", accept=True)
            if answer.get("method") == "Network.requestWillBeSent":
                self.requests.append(answer["params"]["request"]["url"])
        assert "error" not in answer, answer
        return answer["result"]

    def _send(self, number, method, **params):
        message = {"id": number, "method": method, "params": params, **self.session}
        self.pipe.write(json.dumps(message).encode() + b"\0")

    def _next(self):
        while b"\0" not in self.buffer:
            part = self.answers.read(1 << 16)
            assert part, "the browser is gone"
            self.buffer += part
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def open(self, url, width=1280, script=True):
        """Go to a page and wait until it and its reader, if it has one, are there."""
        size = {
            "width": width,
            "height": 900,
            "deviceScaleFactor": 1,
            "mobile": width < 700,
        }
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        # From there to there Chromium may never answer.
        if self.run("location.href") != "about:blank":
            self.call("Page.navigate", url="about:blank")
        # Where a dialog came, Chromium forgets an address that follows at once.
        while self.run("location.href + document.readyState") != "about:blankcomplete":
            time.sleep(0.05)
        self.call("Page.navigate", url=url)
        ready = "location.protocol === 'file:' && document.readyState === 'complete'"
        reader = " && !document.querySelector('#reader[hidden]')" if script else ""
        deadline = time.monotonic() + 60
        while not self.run(ready + reader):
            assert time.monotonic() < deadline, "the page does not come"
            time.sleep(0.05)

    def run(self, code):
        """The value of an expression; works on a page whose own scripts are off, too."""
        done = self.call(
            "Runtime.evaluate",
            expression=code,
            returnByValue=True,
            awaitPromise=True,
            userGesture=True,
        )
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def press_enter(self):
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if kind == "keyDown" else {}
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key="Enter",
                code="Enter",
                windowsVirtualKeyCode=13,
                **text,
            )


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A browser for a module's tests, which ends without an error of a page."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium")
    browser = Browser(tmp_path_factory.mktemp("profile"))
    browser.call("Network.enable")
    yield browser
    browser.close()
    assert browser.errors == []
