"""Sizes in memory."""

import numbers

_UNITS = {"K": 10, "M": 20, "G": 30, "T": 40}


def size_bytes(name, size):
    """Bytes of a size such as 67108864, "64M" or "1.5G"; None: 0. Errors call the argument `name`."""
    if size is None:
        return 0
    given = size
    if isinstance(size, str):
        unit = _UNITS.get(size[-1:].upper())
        try:
            size = float(size[:-1]) * (1 << unit) if unit else float(size)
        except ValueError:
            raise ValueError(f"{name} must be a size such as 64M or 1.5G, not {size!r}") from None
    if not isinstance(size, numbers.Real):
        raise TypeError(f"{name} must be bytes or a size such as 64M, not {size!r:.80}")
    if not 0 <= size < 1 << 63:
        raise ValueError(f"{name} must be from 0 to 2^63 bytes, not {given}")
    return int(size)
