"""Queries in the forms that callers pass, and those of files."""

import os
from collections.abc import Iterable
from typing import Any

from . import _quern
from .errors import called
from .names import names_of
from .tables import vectors_of
from .types import Path


def read_queries(
    path: Path, queries_format: str = "auto", *, id_field: str = "", text_field: str | Iterable[str] = ()
) -> list[tuple[str, Any]]:
    """The queries of a file, as `quern query -q` reads it: pairs of id and text, as Index.batch() takes them.

    path: a file of topics or queries, plain or compressed: topics of TREC or in XML, JSON, lines with or without ids.
    queries_format: "auto" decides it from the whole file; others are "trec", "webtrack", "jsonl", "tsv", "weighted",
    "colon", "lines", and "vector", whose queries are dicts {term: weight} instead of texts.
    id_field, text_field: the names of keys or tags, such as text_field="desc" or ["title", "desc"], whose texts together
    are the query; none: the format's own.
    Ids may be repeated, as in logs; else dict(read_queries(path)) finds a query by its id. Ctrl-C stops it. Raises
    InvalidArgument, CorruptFile, FileError, and UnicodeDecodeError for an id that isn't UTF-8.
    """
    return called(_quern.read_queries, os.fspath(path), queries_format, id_field, names_of("text_field", text_field))


def texts_of(queries):
    """Ids and texts of queries: two lists of str.

    queries: a list of texts, which get the ids "1", "2" and so on; pairs of id and text; a dict {id: text}; or a
    pandas.DataFrame with the columns qid and query. The rows of a SciPy matrix are vectors with the ids "0", "1" and so on.
    """
    if hasattr(queries, "tocsr"):
        vectors = list(vectors_of(queries))
        return [str(row) for row in range(len(vectors))], vectors
    if hasattr(queries, "columns"):
        return [str(qid) for qid in queries["qid"]], list(queries["query"])
    if isinstance(queries, dict):
        return [str(qid) for qid in queries], list(queries.values())
    if isinstance(queries, (str, bytes, os.PathLike)):
        raise TypeError(
            "queries must be a dict {id: text}, a list of texts, pairs of id and text or a DataFrame, not "
            f"{type(queries).__name__}: pass a single query to search(), and a file of queries to quern.read_queries() first"
        )
    queries = list(queries)
    if queries and all(isinstance(query, tuple) and len(query) == 2 for query in queries):
        return [str(qid) for qid, _ in queries], [text for _, text in queries]
    return [str(i) for i in range(1, len(queries) + 1)], queries
