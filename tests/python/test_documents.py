"""What the documents of an index may be."""
import collections
import math

import numpy
import pytest

import quern
from conftest import leftovers


def test_documents_come_as_dicts_tuples_and_objects(tmp_path):
    Tuple = collections.namedtuple("Tuple", "doc_id title text url")

    class WithDefaultText:
        doc_id = "c"

        def default_text(self):
            return "stone and wheel"

    mixed = [
        {"_id": "a", "contents": "water mill", "title": "Mills", "url": "http://mill.example/"},
        Tuple("b", "Winds", "wind mill", None),
        WithDefaultText(),
        {"id": 7, "body": "seven"},
    ]
    report = quern.index(iter(mixed), tmp_path / "ix")
    assert report.documents == 4
    ix = quern.open(tmp_path / "ix")
    assert len(ix) == 4
    assert [ix.docno(i) for i in range(4)] == ["a", "b", "c", "7"]
    assert ix.document(0) == {"docno": "a", "url": "http://mill.example/", "title": "Mills", "length": 3}
    assert ix.df("mill") == 2 and ix.df("wheel") == 1 and ix.df("nothing") == 0
    assert ix.find("7") == 3 and ix.find("8") is None


def texts_of(given, path, **options):
    """The stored texts of an index of documents, by docno, as lines."""
    quern.index(given, path, store_text=True, **options)
    ix = quern.open(path)
    return {ix.docno(i): ix.text(i).split("\n") for i in range(len(ix))}


def test_a_text_under_another_name_is_indexed_and_named_once(tmp_path):
    warnings = []
    given = [
        {"docno": "a", "title": "Mills", "passage": "water mill", "lang": "en", "parts": ["one", ("two", {"x": "three"})]},
        collections.namedtuple("Tuple", "doc_id abstract year")("b", "wind mill", 1999),
        {"docno": "c", "text": ["hand", ("mill",)], "passage": "no"},
        {"docno": "d", "content": "stone"},
    ]
    found = texts_of(given, tmp_path / "ix", keep_fields=["lang"], warn=warnings.append)
    assert found["a"][:5] == ["Mills", "water mill", "one", "two", "three"]
    assert found["b"][:2] == ["", "wind mill"]
    assert found["c"][:3] == ["", "hand", "mill"]
    assert found["d"][:2] == ["", "stone"]
    assert len(warnings) == 1
    assert "document number 1 (docno 'a') has no text" in warnings[0] and "'passage', 'parts'" in warnings[0]
    assert warnings[0].endswith("(2 documents in total)")
    named = texts_of([{"key": 7, "passage": "mill", "text": "no"}], tmp_path / "named", id_field="key", text_field="passage")
    assert named == {"7": ["", "mill", ""]}
    with pytest.warns(UserWarning, match="has no text under"):
        quern.index([{"docno": "a", "passage": "mill"}], tmp_path / "default")
    with pytest.raises(quern.InvalidArgument, match="no document of the corpus has a term"):
        quern.index([{"docno": "a", "text": "-"}], tmp_path / "empty", warn=warnings.append)
    assert "document 'a' is empty" in warnings[1]
    assert quern.index([{"docno": "a"}], tmp_path / "empty", allow_empty=True, warn=warnings.append).empty == 1


def test_default_text_is_the_text_less_its_title(tmp_path):
    Section = collections.namedtuple("Section", "title text")

    class Doc(collections.namedtuple("Doc", "doc_id title abstract body url")):
        def default_text(self):
            body = self.body.decode() if isinstance(self.body, bytes) else " ".join(s.text for s in self.body)
            return f"{self.title} {self.abstract} {body}"

    given = [
        Doc("bytes", "Mills", "water", b"wheel", "http://a/"),
        Doc("tuples", "Mills", "wind", (Section("s", "sails"), Section("s", "stone")), None),
    ]
    assert texts_of(given, tmp_path / "ix") == {
        "bytes": ["Mills", "water wheel", ""],
        "tuples": ["Mills", "wind sails stone", ""],
    }


def test_ids_may_be_scalars_of_numpy(tmp_path):
    ids = [numpy.int64(7), numpy.str_("a"), numpy.uint8(8), numpy.bytes_(b"b"), 9]
    kept = [numpy.float32(0.5), numpy.str_("x"), numpy.bool_(True), numpy.uint8(3), 4]
    given = [{"docno": i, "text": "mill", "kept": k} for i, k in zip(ids, kept)]
    quern.index(given, tmp_path / "ix", keep_fields=["kept"])
    ix = quern.open(tmp_path / "ix")
    assert [ix.docno(i) for i in range(5)] == ["7", "a", "8", "b", "9"]
    assert len(ix.filter("kept=0.5 or kept=x or kept=true or kept in (3,4)")) == 5


def test_errors_name_the_document(tmp_path):
    class NAType:
        pass

    good = {"docno": "g", "text": "mill"}
    for wrong, kind, message in [
        ({"docno": "d7", "text": 5}, TypeError, "document number 2 .docno 'd7'.: its text must be a str, not"),
        ({"docno": "d7", "text": b"x"}, TypeError, "number 2 .docno 'd7'.: its text must be a str"),
        ({"docno": "d7", "text": "mill", "url": 1}, TypeError, "number 2 .docno 'd7'.: its URL"),
        ({"docno": 1.5, "text": "mill"}, TypeError, "number 2: its docno must be a str or an integer, not 1.5"),
        ({"docno": math.nan, "text": "mill"}, ValueError, "number 2: its docno must be a str or an integer, not nan"),
        ({"docno": "d7", "text": "lone \ud800"}, UnicodeEncodeError, "document number 2 .docno 'd7'."),
        ({"text": "mill"}, KeyError, "document number 2: a document has none of docno, doc_id, id, _id"),
        ({"docno": "", "text": "mill"}, ValueError, "document number 2: a docno must have"),
        ({"docno": "d7", "text": float("nan")}, ValueError, "number 2 .docno 'd7'.: its text is nan, a missing value"),
        ({"docno": "d7", "text": numpy.float32("nan")}, ValueError, "docno 'd7'.: its text is .*missing='empty'"),
        ({"docno": "d7", "text": NAType()}, ValueError, "docno 'd7'.: its text is"),
        ({"docno": "d7", "text": "mill", "title": math.nan}, ValueError, "its title is nan"),
    ]:
        with pytest.raises(kind, match=message):
            quern.index([good, wrong], tmp_path / "ix")
        assert leftovers(tmp_path) == []
    given = [good, {"docno": "d7", "text": math.nan, "title": NAType(), "kept": math.nan}]
    warnings = []
    assert quern.index(given, tmp_path / "ix", missing="empty", keep_fields=["kept"], warn=warnings.append).empty == 1
    assert "document 'd7' is empty" in warnings[0]


def test_missing_values_of_data_frames(tmp_path):
    pandas = pytest.importorskip("pandas")
    for missing in (pandas.NA, pandas.NaT, numpy.nan):
        given = [{"docno": numpy.int64(2), "text": missing, "n": missing}, {"docno": 3, "text": "stone", "n": 2}]
        frame = pandas.DataFrame({name: pandas.Series([d[name] for d in given], dtype=object) for name in given[0]})
        rows = list(frame.itertuples(index=False))
        with pytest.raises(ValueError, match="number 1 .docno '2'.: its text is .* a missing value"):
            quern.index(rows, tmp_path / "ix")
        options = {"missing": "empty", "keep_fields": ["n"], "warn": lambda _: None, "overwrite": True}
        assert texts_of(rows, tmp_path / "ok", **options) == {"2": ["", ""], "3": ["", "stone", ""]}


def test_documents_come_as_texts_pairs_and_data_frames(tmp_path):
    texts = ["a water mill", "mill", "hand quern"]
    pairs = list(zip("123", texts))
    forms = [texts, iter(texts), pairs, iter(pairs), [{"docno": docno, "text": text} for docno, text in pairs]]
    found = []
    for number, given in enumerate(forms):
        quern.index(given, tmp_path / str(number))
        found.append(list(quern.open(tmp_path / str(number)).search("water mill")))
    assert found == [found[0]] * len(forms) and [docno for docno, _ in found[0]] == ["1", "2"]

    with pytest.raises(TypeError, match=r"document number 2 must be \(docno, text\), .* not \('4',\)"):
        quern.index([("3", "mill"), ("4",)], tmp_path / "bad")
    with pytest.raises(quern.FileError, match="nowhere"):
        quern.index(["nowhere"], tmp_path / "bad")
    with pytest.raises(ValueError, match=r"number 1 \(docno 'd'\): it has a vector, but no text; .* impacts=8"):
        quern.index([{"docno": "d", "vector": {"mill": 1}}], tmp_path / "bad")
    with pytest.raises(quern.InvalidArgument, match="use overwrite") as raised:
        quern.index(texts, tmp_path / "0")
    assert raised.value.option == "overwrite"

    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"docno": [7, 8], "text": ["mill", "mill"], "year": [2020, math.nan], "lang": [None, "en"]})
    quern.index(frame, tmp_path / "frame", keep_fields=["year", "lang"])
    ix = quern.open(tmp_path / "frame")
    assert [docno for docno, _ in ix.search("mill", filter={"year": 2020})] == ["7"]
    assert [docno for docno, _ in ix.search("mill", filter="not has year and lang=en")] == ["8"]


def test_a_dataset_of_ir_datasets_by_its_name(tmp_path):
    ir_datasets = pytest.importorskip("ir_datasets")
    formats = pytest.importorskip("ir_datasets.formats")

    class Docs(formats.BaseDocs):
        def docs_iter(self):
            for i in range(30):
                yield formats.GenericDoc(f"G{i}", "water mill" if i % 3 else "stone")

        def docs_cls(self):
            return formats.GenericDoc

        def docs_count(self):
            return 30

    ir_datasets.registry.register("quern-test", ir_datasets.Dataset(Docs()))
    counts = quern.index("irds:quern-test", tmp_path / "named")
    assert counts.documents == 30
    quern.index(ir_datasets.load("quern-test"), tmp_path / "given")
    assert quern.open(tmp_path / "named").df("mill") == 20
    assert (tmp_path / "named/index.quern").read_bytes() == (tmp_path / "given/index.quern").read_bytes()
    with pytest.raises(KeyError):
        quern.index("irds:no-such-dataset", tmp_path / "none")
    assert not (tmp_path / "none").exists()
