"""Progress of long work, on standard error."""

import sys


def show(stage, done, total, unit):
    """Shows how far a stage has come: one line, written over."""
    share = f" {100 * done // total} %" if total else ""
    sys.stderr.write(f"\r{stage}: {done} {unit}{share}\033[K")
    if total and done >= total:
        sys.stderr.write("\n")
    sys.stderr.flush()
