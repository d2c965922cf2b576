"""Stand-ins for what a trainer imports and its reward code does not use: ray, CUDA and the like."""

import importlib.abc
import importlib.machinery
import sys
import types


class Nothing:
    """Any attribute, call, item or base class; a decorator returns what it decorates."""

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Nothing()

    def __call__(self, *args, **kwargs):
        return (
            args[0]
            if len(args) == 1 and callable(args[0]) and not kwargs
            else Nothing()
        )

    def __mro_entries__(self, bases):
        return ()

    def __getitem__(self, key):
        return Nothing()

    def __or__(self, other):
        return Nothing()

    __ror__ = __or__


class Module(types.ModuleType):
    __path__ = ()
    __version__ = "2.0"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Module(spec.name)

    def exec_module(self, module):
        pass


def stand_in(*names):
    """Packages of these names are stand-ins from now on."""
    sys.meta_path.insert(0, Finder(set(names)))
