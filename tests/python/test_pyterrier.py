"""Pipelines of PyTerrier, without Java."""
import pytest

pt = pytest.importorskip("pyterrier")
pandas = pytest.importorskip("pandas")

import quern  # noqa: E402
from conftest import SAMPLE  # noqa: E402
from quern.pyterrier import QuernIndex, metadata_of  # noqa: E402


@pytest.fixture
def queries(topics):
    return pandas.DataFrame({"qid": list(topics), "query": list(topics.values())})


@pytest.fixture
def index(sample_path):
    return QuernIndex(sample_path)


def trec(frame):
    """Results as lines without the scores' digits, which data frames widen."""
    return [(row.qid, row.docno, row.rank + 1) for row in frame.itertuples()]


def trec_of(text):
    return [(qid, docno, int(rank)) for qid, _, docno, rank, _, _ in map(str.split, text.splitlines())]


def test_an_index_is_built_from_dicts(tmp_path):
    index = QuernIndex(tmp_path / "ix", stemmer="porter2")
    assert not index.built()
    assert index.index({"docno": f"D{i}", "text": f"mills {i}"} for i in range(10)) is index
    assert index.built() and len(index.quern) == 10
    found = index.bm25(num_results=3).search("mill")
    assert list(found["rank"]) == [0, 1, 2] and list(found["docno"]) == ["D0", "D1", "D2"]


def test_retrievers_find_what_the_command_line_finds(index, sample_path, queries, command_line):
    for retriever, arguments in [
        (index.bm25(num_results=25), []),
        (index.bm25(num_results=25, k1=0.9, b=0.4), ["--k1", 0.9, "--b", 0.4]),
        (index.quantized(num_results=25), ["--scores", "quantized"]),
        (index.bm25() % 25, []),
    ]:
        found = retriever.transform(queries)
        expected = command_line("query", sample_path, "-q", SAMPLE / "topics.txt", "-k", 25, *arguments)
        assert trec(found) == trec_of(expected)
        scores = [float(line.split()[4]) for line in expected.splitlines()]
        assert found["score"].astype("float32").tolist() == pandas.Series(scores).astype("float32").tolist()


def test_rank_cut_offs_are_fused(index):
    retriever = index.bm25(num_results=100)
    assert retriever.fuse_rank_cutoff(10).num_results == 10
    assert retriever.fuse_rank_cutoff(1000) is retriever
    fused = (retriever % 10).compile()
    assert fused.num_results == 10


def test_columns_of_queries_stay(index, queries):
    found = index.bm25(num_results=5).transform(queries.assign(source="sample"))
    assert (found["source"] == "sample").all()
    assert list(found.columns)[:3] == ["qid", "query", "source"]
    empty = index.bm25().transform(queries.head(0))
    assert len(empty) == 0 and {"docno", "score", "rank"} <= set(empty.columns)


def test_a_learned_model_follows_in_a_pipeline(index, sample_path, queries, command_line):
    pipeline = index.bm25(num_results=20) >> index.reranker(SAMPLE / "ranker.txt")
    expected = command_line("query", sample_path, "-q", SAMPLE / "topics.txt", "-k", 20, "--rerank", 20, "--ranker",
                            SAMPLE / "ranker.txt")
    assert trec(pipeline.transform(queries)) == trec_of(expected)
    with_features = (index.bm25(num_results=5) >> index.features("body.*")).transform(queries)
    assert with_features["features"].iloc[0].shape == (len(quern.feature_names("body.*")),)


@pytest.mark.parametrize("expand", ["rm3", "rm3:documents=5,weight=0.3", "bo1"])
def test_queries_are_expanded(index, sample_path, queries, command_line, expand):
    pipeline = index.bm25(num_results=20, expand=expand)
    expected = command_line("query", sample_path, "-q", SAMPLE / "topics.txt", "-k", 20, "--expand", expand)
    assert trec(pipeline.transform(queries)) == trec_of(expected)
    assert trec(pipeline.transform(queries)) != trec(index.bm25(num_results=20).transform(queries))
    assert trec((pipeline % 5).transform(queries)) == trec(index.bm25(num_results=5, expand=expand).transform(queries))


def test_experiments_measure_pipelines(index, queries):
    qrels = pandas.DataFrame(
        [line.split() for line in (SAMPLE / "qrels.txt").read_text().splitlines()],
        columns=["qid", "iteration", "docno", "label"],
    ).astype({"label": int})
    measured = pt.Experiment([index.bm25(num_results=100)], queries, qrels, ["map"])
    by_quern = index.quern.batch(queries, 100).evaluate(SAMPLE / "qrels.txt", ["map"])
    assert measured["map"].iloc[0] == pytest.approx(by_quern["map"], abs=1e-3)


def test_the_folder_of_an_index_is_known(sample_path):
    assert metadata_of(str(sample_path), ["index.quern"]) == {"type": "sparse_index", "format": "quern"}
    assert metadata_of("elsewhere", ["data.pisa"]) is None
    assert pt.inspect.artifact_type_format(QuernIndex(sample_path)) == ("sparse_index", "quern")


def test_given_weights_are_searched_by_query_toks(tmp_path):
    index = QuernIndex(tmp_path / "ix", impacts=8)
    index.index({"docno": f"D{i}", "toks": {"a": i + 1, "b": 10 - i}} for i in range(10))
    found = index.impacts(num_results=2).transform(
        pandas.DataFrame({"qid": ["1", "2"], "query_toks": [{"a": 2, "b": 1}, {"b": 1}]})
    )
    assert list(found["docno"]) == ["D9", "D8", "D0", "D1"]
    assert list(found["score"]) == [21.0, 20.0, 10.0, 9.0]


def test_parameters_are_set_and_searched(index, queries, topics):
    retriever = index.bm25(num_results=100, b=0.3)
    assert retriever.get_parameter("b") == 0.3 and retriever.get_parameter("k1") is None
    retriever.set_parameter("k1", 2.0)
    assert trec(retriever.transform(queries)) == trec(index.bm25(num_results=100, k1=2.0, b=0.3).transform(queries))
    retriever.set_parameter("k1", None)
    assert trec(retriever.transform(queries)) == trec(index.bm25(num_results=100, b=0.3).transform(queries))

    lines = [line.split() for line in (SAMPLE / "qrels.txt").read_text().splitlines()]
    qrels = pandas.DataFrame(
        [(qid, docno, int(grade)) for qid, _, docno, grade in lines], columns=["qid", "docno", "label"]
    )
    grid = {"k1": [0.4, 1.2, 2.0], "b": [0.1, 0.75]}
    rows = pt.GridScan(retriever, {retriever: grid}, queries, qrels, ["map"], verbose=False)
    tuned = index.quern.tune(topics, SAMPLE / "qrels.txt", k=100, **grid)
    assert len(rows) == len(tuned.points) == 6
    for row in rows.itertuples():
        expected = [p["value"] for p in tuned.points if p["k1"] == row[2] and p["b"] == row[4]]
        assert row.map == pytest.approx(expected[0], abs=1e-9)
    best = pt.GridSearch(retriever, {retriever: grid}, queries, qrels, "map", verbose=False)
    assert best.get_parameter("k1") == tuned.best["k1"] and best.get_parameter("b") == tuned.best["b"]


def test_stored_fields_are_loaded(tmp_path):
    documents = [
        {"docno": "D1", "title": "Mills", "text": "A mill.\nA wheel.", "url": "http://a/", "lang": "en", "year": 1900},
        {"docno": "D2", "text": "A mill and a mill", "lang": None, "year": 1901.5},
    ]
    index = QuernIndex(tmp_path / "ix", store_text=True, keep_fields=["lang", "year"]).index(documents)
    retriever = index.bm25()
    found = (retriever >> retriever.text_loader()).search("mill").set_index("docno")
    assert list(found.columns[-5:]) == ["text", "title", "url", "lang", "year"]
    for document in documents:
        row = found.loc[document["docno"]]
        assert " ".join(row["text"].split()) == " ".join(document["text"].split())
        assert row["title"] == document.get("title", "") and row["url"] == document.get("url", "")
        assert row["year"] == document["year"]
    assert found["lang"]["D1"] == "en" and pandas.isna(found["lang"]["D2"])
    assert list(index.text_loader("year").transform(pandas.DataFrame({"docno": ["D2", "D1"]}))["year"]) == [1901.5, 1900]
    by_function = (retriever >> pt.text.get_text(index, ["text", "lang"])).search("mill")
    assert list(by_function.columns[-2:]) == ["text", "lang"]
    with pytest.raises(ValueError, match="D3"):
        index.text_loader().transform(pandas.DataFrame({"docno": ["D3"]}))
    with pytest.raises(quern.InvalidArgument, match="keeps no field 'author'; it keeps lang, year"):
        (retriever >> index.text_loader("author")).search("mill")


def test_fields_without_texts_are_loaded(tmp_path):
    index = QuernIndex(tmp_path / "ix").index([{"docno": "D1", "title": "Mills", "text": "a mill"}])
    assert list((index.bm25() >> index.text_loader()).search("mill").columns[-2:]) == ["title", "url"]
    with pytest.raises(quern.InvalidArgument, match="store_text"):
        (index.bm25() >> index.text_loader("text")).search("mill")
