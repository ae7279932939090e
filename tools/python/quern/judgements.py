"""Relevance judgements and measures in the forms that callers pass."""

import contextlib
import os
import tempfile

from .frames import rows_of
from .runs import run_file


def truth_file(qrels, exact):
    """The path of a file that runs are evaluated with, as long as the context lasts: of judgements or of an exact run."""
    if (qrels is None) == (exact is None):
        raise TypeError("either qrels or exact is needed: judgements, or a run of exact results")
    return judgements_file(qrels) if exact is None else run_file(exact)


@contextlib.contextmanager
def judgements_file(qrels):
    """The path of a file of judgements, as long as the context lasts.

    qrels: a path; a dict {qid: {docno: grade}}; or a pandas.DataFrame with qid (or query_id), docno (or doc_id) and label (or
    relevance).
    """
    if isinstance(qrels, (str, os.PathLike)):
        yield os.fspath(qrels)
        return
    with tempfile.NamedTemporaryFile("w", suffix=".qrels", encoding="utf-8") as file:
        file.writelines(f"{qid} 0 {docno} {_whole(grade)}\n" for qid, docno, grade in _rows(qrels))
        file.flush()
        yield file.name


def _whole(grade):
    """A grade as an integer; 1.0 is one, too, since pandas makes floats of columns with missing values."""
    if grade != int(grade):
        raise ValueError(f"a relevance grade must be a whole number, not {grade!r}")
    return int(grade)


def _rows(qrels):
    """(qid, docno, grade) of each judgement."""
    if isinstance(qrels, dict):
        return ((qid, docno, grade) for qid, judged in qrels.items() for docno, grade in judged.items())
    if not hasattr(qrels, "columns"):
        raise TypeError(f"qrels must be a path, a dict {{qid: {{docno: grade}}}} or a DataFrame, not {type(qrels).__name__}")
    return rows_of(qrels, "qrels", ("qid", "query_id"), ("docno", "doc_id"), ("label", "relevance"))
