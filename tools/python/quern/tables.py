"""Rows of sparse matrices, Arrow tables and datasets as documents or queries."""

import itertools


def rows_of(table):
    """The rows as dicts; None if `table` is none of these."""
    if hasattr(table, "tocsr"):
        return ({"docno": number, "vector": vector} for number, vector in enumerate(vectors_of(table)))
    if hasattr(table, "to_batches"):
        return map(with_vectors, itertools.chain.from_iterable(batch.to_pylist() for batch in table.to_batches()))
    if hasattr(table, "features") and hasattr(table, "column_names"):
        return map(with_vectors, table)
    return None


def vectors_of(matrix):
    """The rows of a SciPy matrix as dicts {column: weight}, with the columns' numbers as terms."""
    if hasattr(matrix, "check_format"):
        _check_format(matrix)
    matrix = matrix.tocsr()
    if not matrix.has_canonical_format:  # a column may be twice in a row, which SciPy defines as the sum
        matrix = matrix.copy()
        matrix.sum_duplicates()
    for start, end in itertools.pairwise(matrix.indptr.tolist()):
        columns = map(str, matrix.indices[start:end].tolist())
        yield dict(zip(columns, matrix.data[start:end].tolist()))


def _check_format(matrix):
    """Raises ValueError for wrong pointers and indices, with which SciPy's functions read and write beyond its arrays."""
    try:
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise ValueError(f"a wrong sparse matrix of {matrix.shape[0]} rows and {matrix.shape[1]} columns: {error}") from None


def with_vectors(row):
    """A row whose maps, which Arrow has as pairs, are dicts, and whose structs have only the keys of the row."""
    return {name: _vector(value) for name, value in row.items()}


def _vector(value):
    if isinstance(value, list) and value and all(type(pair) is tuple and len(pair) == 2 for pair in value):
        pairs, value = value, dict(value)
        if len(value) < len(pairs):
            raise ValueError(f"a map has a key twice: {pairs!r:.200}")
    if isinstance(value, dict):
        return {key: weight for key, weight in value.items() if weight is not None}
    return value
