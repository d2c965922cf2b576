"""The student's command, shortened: the same seed gives the same table, and the page stands alone."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

QUICKSTART = Path(__file__).parent.parent / "recipes" / "quickstart.py"


@pytest.mark.slow
def test_quickstart_twice_gives_the_same_table_and_page(tmp_path):
    def run(name):
        command = [sys.executable, str(QUICKSTART), "--output_dir", name, "--num_responses", "256", "--max_steps", "12"]
        command += ["--num_lists", "160"]
        environment = {**os.environ, "SOZO_CACHE": str(tmp_path / name / "cache"), "WANDB_MODE": "offline"}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout

    first, second = run("one"), run("two")
    table = [line for line in first.splitlines() if " of 256" in line]
    assert len(table) == 5
    assert table == [line for line in second.splitlines() if " of 256" in line]
    page = (tmp_path / "one" / "report.html").read_text("utf-8")
    assert "after SFT" in page
    assert not re.search(r"""(?:src|href)=["']?https?:""", page)
