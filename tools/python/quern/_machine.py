"""Refuses machines on which the native module would crash with an illegal instruction."""

import pathlib


def _check():
    flags = ""
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("flags"):
                flags = f"{line} "
                break
    except OSError:
        return
    missing = [flag for flag in ("avx2", "bmi2", "fma") if flags and f" {flag} " not in flags]
    if missing:
        raise ImportError(f"quern needs a CPU with AVX2 (2015 and later); this one lacks {', '.join(missing)}")


_check()
