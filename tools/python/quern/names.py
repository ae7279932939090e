"""Lists of names."""

from collections.abc import Iterable


def name_list(option, names):
    """A list of names. Refuses a single str, whose letters would be taken as names."""
    if isinstance(names, Iterable) and not isinstance(names, str):
        listed = list(names)
        if all(isinstance(name, str) for name in listed):
            return listed
    raise TypeError(f"{option} must be a sequence of names, not {names!r:.80}")


def names_of(option, names):
    """A list of names, of which a str is one."""
    return [names] if isinstance(names, str) else name_list(option, names)
