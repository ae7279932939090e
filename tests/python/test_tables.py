"""Vectors from sparse matrices, Arrow tables and datasets."""
import math
import random

import numpy
import pytest

import quern

VECTORS = [{"id": "D1", "vector": {"mill": 1.25, "water": 0.5}}, {"id": "D2", "vector": {"mill": 0.75, "wind": 1.5}}]
QUERIES = {"q": {"mill": 2, "wind": 1}}


def answers(documents, path):
    quern.index(documents, path, impacts=8, impact_scale=85, overwrite=True)
    return list(quern.open(path).batch(QUERIES, k=5))


def test_the_rows_of_a_matrix_are_vectors_by_row_and_column(tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    choice = random.Random(3)
    dense = numpy.array([[choice.choice([0, 0, choice.randrange(1, 200) / 64]) for _ in range(30)] for _ in range(100)],
                        numpy.float32)
    scores = numpy.floor(dense.astype(float) * 80 + 0.5)
    queries = numpy.array([[choice.choice([0, 0, choice.randrange(1, 9)]) for _ in range(30)] for _ in range(10)])
    for matrix in (sparse.csr_matrix(dense), sparse.csr_array(dense), sparse.coo_matrix(dense), sparse.csc_matrix(dense)):
        counts = quern.index(matrix, tmp_path / "m", impacts=8, impact_scale=80, overwrite=True)
        assert (counts.documents, counts.postings) == (100, numpy.count_nonzero(dense))
        results = quern.open(tmp_path / "m").batch(sparse.csr_matrix(queries), k=7)
        for number, query in enumerate(queries):
            plain = scores @ query
            best = sorted((row for row in range(100) if plain[row] > 0), key=lambda row: (-plain[row], row))[:7]
            assert list(results[str(number)]) == [(str(row), plain[row]) for row in best]


def test_entries_of_a_matrix_that_repeat_are_added(tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_matrix((numpy.array([1.0, 0.25, 0.5]), numpy.array([1, 1, 0]), numpy.array([0, 3])), shape=(1, 2))
    quern.index(matrix, tmp_path / "m", impacts=8, impact_scale=100)
    assert list(quern.open(tmp_path / "m").batch({"q": {"1": 1}}, k=1)) == [("0", 125)]
    assert matrix.nnz == 3  # unchanged


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf])
def test_a_wrong_weight_of_a_matrix_is_refused_with_row_and_column(tmp_path, weight):
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_matrix(numpy.array([[1.0, 1.0], [0.5, weight]]))
    with pytest.raises(quern.InvalidArgument, match="document 1: the weight of '1'"):
        quern.index(matrix, tmp_path / "m", impacts=8, impact_scale=10)
    assert not list(tmp_path.iterdir())


def test_matrices_that_contradict_themselves_are_refused(tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    for array, place, value in (("indptr", 1, 9), ("indptr", 1, -1), ("indptr", 0, 1), ("indptr", 2, 99), ("indices", 1, 3),
                                ("indices", 1, -7)):
        wrong = sparse.csr_matrix((numpy.array([1.0, 2, 3]), numpy.array([0, 1, 2]), numpy.array([0, 2, 3])), shape=(2, 3))
        getattr(wrong, array)[place] = value
        with pytest.raises(ValueError, match="a wrong sparse matrix of 2 rows and 3 columns: .*ind"):
            quern.index(wrong, tmp_path / "m", impacts=8)
    assert not list(tmp_path.iterdir())


def test_an_empty_row_is_a_document(tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_matrix(numpy.array([[1, 0], [0, 0], [2, 1]]))
    with pytest.warns(UserWarning, match="document '1' is empty"):
        assert quern.index(matrix, tmp_path / "m", impacts=8).documents == 3
    assert list(quern.open(tmp_path / "m").search({"0": 1})) == [("2", 2), ("0", 1)]


def test_arrow_tables_and_files_of_parquet_are_rows(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    dataset = pytest.importorskip("pyarrow.dataset")
    expected = answers(VECTORS, tmp_path / "x")
    assert expected == [("D2", 64 * 2 + 128), ("D1", 106 * 2)]
    structs = arrow.Table.from_pylist(VECTORS)  # a term that a document lacks is null
    maps = arrow.table({"id": [row["id"] for row in VECTORS],
                        "vector": arrow.array([list(row["vector"].items()) for row in VECTORS],
                                              arrow.map_(arrow.string(), arrow.float32()))})
    parquet.write_table(maps, tmp_path / "maps.parquet")
    for table in (structs, maps, dataset.dataset(tmp_path / "maps.parquet"), maps.to_pandas()):
        assert answers(table, tmp_path / "x") == expected
    twice = arrow.table({"id": ["D1"], "vector": arrow.array([[("mill", 1.0), ("mill", 2.0)]],
                                                             arrow.map_(arrow.string(), arrow.float32()))})
    with pytest.raises(ValueError, match="a key twice"):
        quern.index(twice, tmp_path / "y", impacts=8, impact_scale=10)


def test_datasets_are_rows(tmp_path):
    datasets = pytest.importorskip("datasets")
    assert answers(datasets.Dataset.from_list(VECTORS), tmp_path / "x") == answers(VECTORS, tmp_path / "y")
