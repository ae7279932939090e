"""Runs in the forms that callers pass."""

import contextlib
import math
import os
import pathlib
import string
import tempfile
from typing import Any, TypeAlias

from .frames import rows_of
from .results import Results
from .types import Path

#: Results; a dict {qid: {docno: score}}; a pandas.DataFrame with qid (or query_id), docno (or doc_id) and score; or the path
#: or the text of a TREC run.
Run: TypeAlias = Path | Results | dict[str, dict[str, float]] | Any


@contextlib.contextmanager
def run_files(runs):
    """The paths of files of runs, as long as the context lasts."""
    runs = _listed(runs)
    with tempfile.TemporaryDirectory(prefix="quern-") as folder:
        yield [_file_of(run, pathlib.Path(folder) / f"run-{number}") for number, run in enumerate(runs, 1)]


@contextlib.contextmanager
def run_file(run):
    """The path of a file of one run, as long as the context lasts."""
    with run_files([run]) as (path,):
        yield path


def run_argument(run):
    """A run as the native module takes it: the path of a file, or an empty one, and the text of a run."""
    return (os.fspath(run), "") if _is_path(run) else ("", _text_of(run))


def run_arguments(runs):
    """run_argument() of each."""
    return [run_argument(run) for run in _listed(runs)]


def scores_of(text):
    """The scores of a TREC run: {qid: {docno: score}}, in the order of the lines."""
    run = {}
    for line in text.split("\n")[:-1]:
        qid, _, docno, _, score, _ = line.split(" ")
        run.setdefault(qid, {})[docno] = float(score)
    return run


def _listed(runs):
    """A list of runs; a single run is refused."""
    if isinstance(runs, (str, os.PathLike, dict, Results)) or hasattr(runs, "columns"):
        raise TypeError(f"runs must be a list of runs, not {type(runs).__name__}")
    return list(runs)


def _is_path(run):
    """Whether a run is the path of a file.

    A str of one word is a path even if the file does not exist, since each line of a run has several words.
    """
    if isinstance(run, str):
        return "\n" not in run and (len(run.split()) == 1 or os.path.exists(run))
    return isinstance(run, os.PathLike)


def _file_of(run, path):
    if _is_path(run):
        return os.fspath(run)
    path.write_text(_text_of(run), encoding="utf-8")
    return str(path)


def _text_of(run):
    if isinstance(run, str):
        return run
    return run.to_trec() if isinstance(run, Results) else "".join(map(_line, _rows(run)))


def _line(row):
    """A line of a run. Its rank is not read."""
    qid, docno, score = row
    qid, docno, score = str(qid), str(docno), float(score)
    for name in (qid, docno):
        if not name or any(space in name for space in string.whitespace):
            raise ValueError(f"a run's qids and docnos must be words without white space, not {name!r:.80}")
    if math.isnan(score):
        raise ValueError(f"the score of document {docno} for query {qid} is not a number")
    return f"{qid} Q0 {docno} 1 {score!r} run\n"


def _rows(run):
    """(qid, docno, score) of each result."""
    if isinstance(run, dict):
        return ((qid, docno, score) for qid, found in run.items() for docno, score in found.items())
    if not hasattr(run, "columns"):
        raise TypeError(
            "a run must be a path, a text, Results, a dict {qid: {docno: score}} or a DataFrame, not "
            f"{type(run).__name__}"
        )
    return rows_of(run, "a run", ("qid", "query_id"), ("docno", "doc_id"), ("score",))
