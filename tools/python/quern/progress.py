"""Progress of long-running work, on standard error."""

import sys


def show(stage, done, total, unit):
    """Shows the progress of a stage on one line, which it overwrites."""
    share = f" {100 * done // total} %" if total else ""
    sys.stderr.write(f"\r{stage}: {done} {unit}{share}\033[K")
    if total and done >= total:
        sys.stderr.write("\n")
    sys.stderr.flush()
