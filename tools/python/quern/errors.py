"""The exceptions of the package. All derive from `Error`, and from the builtin exceptions that Python programs expect."""

import numbers
import re
from collections.abc import Iterable


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


def called(native, *arguments, **options):
    """native(*arguments, **options): a function of the native module, whose TypeErrors list all parameters. Raises one that
    names the argument instead, or InvalidArgument for a number out of range."""
    try:
        return native(*arguments, **options)
    except TypeError as raised:
        raise wrong_argument(raised, arguments, options) from raised.__cause__


def set_members(members, values, prefix=""):
    """Sets members of an object of the native module; raises as called() does, with names without `prefix`."""
    for name, value in values.items():
        try:
            setattr(members, name, value)
        except TypeError as raised:
            wrong = _wrong_among(_kinds(raised), {"arg": value}, name.removeprefix(prefix))
            raise wrong or raised from raised.__cause__


def _kinds(raised):
    """The kinds of parameters in the first signature of a TypeError of the native module; none for others."""
    signature = re.search(r"\((?:self, )?(.*)\) -> ", str(raised)) or [""]
    return {name: kind.strip() for name, kind in re.findall(r"(\w+): ([^=,)]+)", signature[0])}


def wrong_argument(raised, arguments, options):
    """The error that names the argument, for a TypeError of a function of the native module; else the TypeError itself."""
    kinds = _kinds(raised)
    if not kinds:
        return raised
    given = {**dict(zip(kinds, arguments)), **options}
    for name in given:
        if name not in kinds:
            known = ", ".join(name for name in kinds if name not in ("index", "warn"))
            return TypeError(f"unknown option {name!r}; options: {known}")
    return _wrong_among(kinds, given) or raised


def wrong_value(name, kind, value):
    """The error for the argument of a parameter, called by the native module; `kind`: its type in Python."""
    if kind == "str" and isinstance(value, str):
        value.encode()  # raises UnicodeEncodeError
    return _wrong_among({name: kind}, {name: value}) or TypeError(f"{name} must be {kind}, not {value!r:.80}")


def _wrong_among(kinds, given, shown=None):
    """The error for the wrong one of some arguments; None if there is none. `shown`: the name that it gives the argument.

    A number that is too large for one parameter fits another, so such numbers come last.
    """
    for check in (_wrong_value, _too_large):
        for name, value in given.items():
            if wrong := check(shown or name, kinds.get(name, ""), value):
                return wrong
    return None


_SEQUENCE = "collections.abc.Sequence[int]"
_TYPES = {"int": numbers.Integral, "float": numbers.Real, "str": str, "bool": bool}


def _wrong_value(name, kind, value):
    """The error for an argument that does not have the kind of its parameter; None if it has."""
    if kind == _SEQUENCE:
        if not isinstance(value, Iterable):
            return TypeError(f"{name} must be a sequence of int, not {value!r:.80}")
        return next(filter(None, (_wrong_value(name, "int", one) for one in value)), None)
    kind, *rest = kind.split(" ")
    if value is None and rest:
        return None
    if not isinstance(value, _TYPES.get(kind, object)):
        return TypeError(f"{name} must be {kind}, not {value!r:.80}")
    if kind == "int" and value < 0:
        return error("invalid_argument", f"{name} must be at least {int(name == 'k')}, not {value}", name)
    return None


_OF_64_BITS = ("memory", "gpu_memory", "budget_bytes", "max_document", "seed")


def _too_large(name, kind, value):
    """The error for a number above those that the narrowest parameters take; None for others."""
    given = value if kind == _SEQUENCE else [value] if kind.split(" ")[0] == "int" and value is not None else []
    limit = 1 << (64 if name in _OF_64_BITS else 31)
    return error("invalid_argument", f"{name} is too large", name) if any(number >= limit for number in given) else None
