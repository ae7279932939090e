"""The exceptions of the package: all are `Error`, and what Python programs expect besides."""


class Error(Exception):
    """What the library refuses or fails with.

    code: what kind of thing went wrong, as "corrupt_file".
    option: the option that the remedy names first, as "memory"; empty if it names none.
    """

    code = "other"
    option = ""


class InvalidArgument(Error, ValueError):
    """A request that can't be carried out: a wrong value, a file of another kind, existing output."""


class CorruptFile(Error):
    """A file whose bytes contradict its format or its checksums."""


class UnsupportedVersion(Error):
    """A sound file of a format version that this package does not know."""


class FileError(Error, OSError):
    """The operating system refused: a missing file, a full disk."""


class OutOfMemory(Error, MemoryError):
    """Memory ran out: with fewer threads or less `memory` the same work takes less."""


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
    """The exception for an error of the library; called by the module."""
    made = _CLASSES.get(code, Error)(text)
    made.code = code
    made.option = option
    return made
