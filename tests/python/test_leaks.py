"""Leaks of eight concurrent threads, if the module is built with AddressSanitizer."""
import concurrent.futures
import ctypes
import gc

import numpy
import pytest

import quern
from conftest import SAMPLE

_allocated = getattr(ctypes.CDLL(None), "__sanitizer_get_current_allocated_bytes", None)


def allocated_bytes():
    gc.collect()
    _allocated.restype = ctypes.c_size_t
    return _allocated()


def everything(path, topics, folder, number):
    """Typical calls of programs, including wrong ones, for one of several threads."""
    ix = quern.open(path)
    found = ix.batch(topics, 20, threads=2)
    alone = [ix.search(text, 20, filter=found.docnos()[:7]) for text in topics.values()]
    assert sum(map(len, alone)) > 0
    docids, frequencies = ix.postings("mill")
    assert len(docids) == len(frequencies) == ix.df("mill")
    quern.features(ix, found, "body.*")
    quern.rerank(ix, found, SAMPLE / "ranker.txt", 3)
    target = folder / str(number)
    quern.index(({"docno": str(i), "text": "mill wheel"} for i in range(50)), target, overwrite=True)
    with pytest.raises(quern.InvalidArgument):
        quern.index([{"docno": "a", "text": "x"}], target)
    with pytest.raises(ZeroDivisionError):
        quern.index(({"docno": str(i), "text": str(1 // (30 - i))} for i in range(50)), folder / f"half{number}")
    with pytest.raises(quern.InvalidArgument):
        ix.search({"mill": numpy.nan})
    ix.verify()
    return found.score.sum()


@pytest.mark.skipif(_allocated is None, reason="the module is not built with AddressSanitizer")
def test_eight_threads_leave_nothing_behind(sample_path, topics, tmp_path):
    def run(pool):
        sums = list(pool.map(lambda i: everything(sample_path, topics, tmp_path, i), range(8)))
        assert len(set(sums)) == 1

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        # A leak grows each time; threads and their memory are created only now and then.
        growths = []
        for _ in range(4):
            before = allocated_bytes()
            for _ in range(3):
                run(pool)
            growths.append(allocated_bytes() - before)
        assert min(growths) < 24 * 64, growths
