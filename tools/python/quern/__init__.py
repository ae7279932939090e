"""Quern: block-max inverted indexes, and exact top-k search on CPUs and GPUs.

    import quern

    quern.index([{"docno": "M1", "text": "a quern is a hand mill"}], "my.quern")
    ix = quern.open("my.quern")
    print(ix.search("mill").docnos())
    print(ix.batch({"q1": "mill", "q2": "hand"}, k=100).to_frame())

Scores, orders and bytes are those of the command line, for any number of threads and any device.
"""

import os as _os

from . import _gpu_parts
from . import _machine  # noqa: F401 (before the native module, to report what the machine lacks)

__path__[:0] = _gpu_parts.folders()

from ._quern import algorithms, policies, strategies
from ._quern import version as _version
from .building import index
from .errors import (
    Cancelled,
    CorruptFile,
    Error,
    FileError,
    GpuError,
    InvalidArgument,
    OutOfMemory,
    UnsupportedVersion,
)
from .index import Index
from .queries import read_queries
from .results import Results
from .stages import compare, evaluate, feature_names, features, fuse, plan, rerank
from .tuning import Tuning

__version__ = _version()

__all__ = [
    "Cancelled",
    "CorruptFile",
    "Error",
    "FileError",
    "GpuError",
    "Index",
    "InvalidArgument",
    "OutOfMemory",
    "Results",
    "Tuning",
    "UnsupportedVersion",
    "algorithms",
    "compare",
    "evaluate",
    "feature_names",
    "features",
    "fuse",
    "index",
    "open",
    "plan",
    "policies",
    "read_queries",
    "rerank",
    "strategies",
]


def open(*paths: str | _os.PathLike[str]) -> Index:
    """Opens an index, or all shards of one, in any order, as the index that they were cut from.

    Raises FileError if a path does not exist, CorruptFile and InvalidArgument if it is not an index, InvalidArgument unless
    several are all shards of one index.
    """
    return Index(*paths)
