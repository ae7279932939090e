"""Queries in the forms that callers pass."""

import os


def texts_of(queries):
    """Ids and texts of queries: two lists of str.

    queries: a list of texts, which get the ids "1", "2" and so on; pairs of id and text; a dict {id: text}; or a
    pandas.DataFrame with the columns qid and query.
    """
    if hasattr(queries, "columns"):
        return [str(qid) for qid in queries["qid"]], list(queries["query"])
    if isinstance(queries, dict):
        return [str(qid) for qid in queries], list(queries.values())
    if isinstance(queries, (str, bytes, os.PathLike)):
        raise TypeError(
            "queries must be a dict {id: text}, a list of texts, pairs of id and text or a DataFrame, not "
            f"{type(queries).__name__}: pass a single query to search(), and a file of queries to `quern query`"
        )
    queries = list(queries)
    if queries and all(isinstance(query, tuple) and len(query) == 2 for query in queries):
        return [str(qid) for qid, _ in queries], [text for _, text in queries]
    return [str(i) for i in range(1, len(queries) + 1)], queries
