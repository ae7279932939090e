"""Progress of long-running work: bars of tqdm, also in notebooks, or without it a line on standard error."""

import sys

_HINT = "quern: pip install tqdm shows progress as bars, also in notebooks\n"
_hints = [_HINT]  # until it is given


def shown():
    """A function of (stage, done, total, unit) that shows the progress of one piece of work."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        if _hints:
            sys.stderr.write(_hints.pop())
        return show
    return Bars(tqdm)


def show(stage, done, total, unit):
    """Shows the progress of a stage on one line, which it overwrites."""
    share = f" {100 * done // total} %" if total else ""
    sys.stderr.write(f"\r{stage}: {done} {unit}{share}\033[K")
    if total and done >= total:
        sys.stderr.write("\n")
    sys.stderr.flush()


class Bars:
    """A bar of tqdm for each stage, with its total where that is known.

    tqdm: the class of bars.
    """

    def __init__(self, tqdm):
        self._tqdm = tqdm
        self._stage = None
        self._bar = None

    def __call__(self, stage, done, total, unit):
        if stage != self._stage or done < self._bar.n:
            if self._bar is not None:
                self._bar.close()
            self._stage = stage
            self._bar = self._tqdm(desc=stage, total=total or None, unit=f" {unit}", unit_scale=True)
        self._bar.total = total or None
        self._bar.update(done - self._bar.n)
        if total and done >= total:
            self._bar.close()
