"""Sizes in memory."""

_UNITS = {"K": 10, "M": 20, "G": 30, "T": 40}


def size_bytes(size):
    """Bytes of a size such as 67108864, "64M" or "1.5G"; None: 0."""
    if size is None:
        return 0
    if isinstance(size, str):
        unit = _UNITS.get(size[-1:].upper())
        try:
            size = float(size[:-1]) * (1 << unit) if unit else float(size)
        except ValueError:
            raise ValueError(f"{size!r} is not a size such as 64M or 1.5G") from None
    if not 0 <= size < 1 << 63:
        raise ValueError(f"a size must be from 0 to 2^63, not {size}")
    return int(size)
