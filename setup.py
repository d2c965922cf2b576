"""Refuses to build from a copy whose links to the rooms are plain files, and forgets what an earlier build left."""

import shutil
import sys

from setuptools import setup

sys.path.insert(0, "src")
try:
    import sozo  # noqa: F401  it looks at its links
except ImportError as error:
    raise SystemExit(str(error)) from None
# Modules that are gone by now would be in the wheel too.
shutil.rmtree("build/lib", ignore_errors=True)
setup()
