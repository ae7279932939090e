"""The exceptions of the package. All derive from `Error`, and from the builtin exceptions that Python programs expect."""

import contextlib
import numbers
import re


class Error(Exception):
    """Base class of the package's exceptions.

    code: the kind of error, for example "corrupt_file".
    option: the first option that the remedy names, for example "memory"; empty if there is none.
    """

    code = "other"
    option = ""


class InvalidArgument(Error, ValueError):
    """A request that can't be carried out: a bad value, a file of another kind, existing output."""


class CorruptFile(Error):
    """A file whose bytes contradict its format or its checksums."""


class UnsupportedVersion(Error):
    """An undamaged file of a format version that this package does not support."""


class FileError(Error, OSError):
    """The operating system refused: a missing file, a full disk."""


class OutOfMemory(Error, MemoryError):
    """Out of memory. Fewer threads or a lower `memory` need less."""


class GpuError(Error):
    """There is no GPU, or it failed, or it has too little memory."""


class Cancelled(Error):
    """The work was stopped."""


_CLASSES = {
    "invalid_argument": InvalidArgument,
    "wrong_usage": InvalidArgument,
    "corrupt_file": CorruptFile,
    "unsupported_version": UnsupportedVersion,
    "io": FileError,
    "out_of_memory": OutOfMemory,
    "gpu": GpuError,
    "gpu_out_of_memory": GpuError,
    "cancelled": Cancelled,
}


def error(code, text, option):
    """The exception for a library error; called by the native module."""
    text = text.replace("build it with QUERN_CUDA=ON", "pip install 'quern-search[cuda]'")
    made = _CLASSES.get(code, Error)(text)
    made.code = code
    made.option = option
    return made


_KINDS = {"int": numbers.Integral, "float": numbers.Real, "str": str, "bool": bool}


def wrong_argument(raised, arguments):
    """An error that names the argument, for a TypeError of the native module, which lists all parameters; else that itself."""
    parameters = dict(re.findall(r"(\w+): (\w+)", (re.search(r"\((?:self, )?(.*)\) -> ", str(raised)) or [""])[0]))
    if not parameters:
        return raised
    for name, value in arguments.items():
        if name not in parameters:
            known = ", ".join(name for name in parameters if name not in ("index", "warn"))
            return TypeError(f"unknown option {name!r}; options: {known}")
        if value is not None and not isinstance(value, _KINDS.get(parameters[name], object)):
            return TypeError(f"{name} must be {parameters[name]}, not {value!r:.80}")
        if parameters[name] == "int" and value is not None and value < 0:
            return error("invalid_argument", f"{name} must be at least {int(name == 'k')}, not {value}", name)
    return raised


@contextlib.contextmanager
def arguments_checked(**arguments):
    """Raises wrong_argument() instead of a TypeError of the native module about one of these arguments."""
    try:
        yield
    except TypeError as raised:
        raise wrong_argument(raised, arguments) from None
