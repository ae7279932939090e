"""Types of arguments that many functions take."""

import os
from collections.abc import Callable
from typing import Any, TypeAlias

Path: TypeAlias = str | os.PathLike[str]
#: Bytes, or a size such as "64M"; None: the default.
Size: TypeAlias = int | float | str | None
#: Called with (stage, done, total, unit); True shows progress on standard error.
Progress: TypeAlias = bool | Callable[[str, int, int, str], Any] | None
