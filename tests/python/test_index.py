"""Building and opening indexes."""
import collections
import json
import math
import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
import threading

import numpy
import pytest

import quern

WORDS = "mill water wheel stone grain hand quern wind river flour".split()


def documents(count, seed=1):
    choice = random.Random(seed)
    for i in range(count):
        yield {"docno": f"D{i}", "text": " ".join(choice.choices(WORDS, k=choice.randrange(30)))}


def leftovers(folder):
    return sorted(os.listdir(folder))


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


def test_postings_are_those_of_counting(tmp_path):
    given = list(documents(1000))
    quern.index(given, tmp_path / "ix", block_size=64, codec="rpfd")
    ix = quern.open(tmp_path / "ix")
    for word in WORDS:
        expected = [(i, document["text"].split().count(word)) for i, document in enumerate(given)]
        expected = [(i, count) for i, count in expected if count]
        docids, frequencies = ix.postings(word)
        assert docids.dtype == frequencies.dtype == numpy.uint32
        assert list(zip(docids.tolist(), frequencies.tolist())) == expected
        assert ix.df(word) == len(expected) and ix.cf(word) == sum(count for _, count in expected)
    assert [term for term, _, _ in ix.terms()] == sorted(WORDS)
    del ix
    assert docids.sum() == sum(i for i, _ in expected)  # the arrays own what they show


def test_scores_are_bm25(tmp_path):
    given = list(documents(300, seed=4))
    quern.index(given, tmp_path / "ix")
    ix = quern.open(tmp_path / "ix")
    lengths = [len(document["text"].split()) for document in given]
    average = sum(lengths) / len(lengths)
    found = ix.search("mill water", k=300)
    df = {word: sum(word in document["text"].split() for document in given) for word in ("mill", "water")}
    for docid, score in zip(found.docid.tolist(), found.score.tolist()):
        words = given[docid]["text"].split()
        expected = 0
        for word, n in df.items():
            f = words.count(word)
            idf = math.log(1 + (len(given) - n + 0.5) / (n + 0.5))
            expected += idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * lengths[docid] / average))
        assert score == pytest.approx(expected, rel=1e-5)
    assert len(found) == sum(bool({"mill", "water"} & set(document["text"].split())) for document in given)


def test_a_corpus_of_files_gives_the_command_lines_bytes(tmp_path, command_line):
    from conftest import SAMPLE

    quern.index(SAMPLE / "corpus", tmp_path / "a", stemmer="porter2", threads=1, memory="64M")
    command_line("index", SAMPLE / "corpus", "-o", tmp_path / "b", "--stemmer", "porter2")
    assert (tmp_path / "a/index.quern").read_bytes() == (tmp_path / "b/index.quern").read_bytes()


def test_a_language_sets_stemmer_and_stop_words(tmp_path):
    documents = [("1", "Les moulins de la rivière"), ("2", "une roue")]
    quern.index(documents, tmp_path / "a", language="french")
    quern.index(documents, tmp_path / "b", stemmer="french", stopwords="french")
    assert (tmp_path / "a/index.quern").read_bytes() == (tmp_path / "b/index.quern").read_bytes()
    index = quern.open(tmp_path / "a")
    assert index.analyze("le moulin") == ["moulin"] and [docno for docno, _ in index.search("moulin")] == ["1"]
    with pytest.raises(quern.InvalidArgument, match="did you mean french"):
        quern.index(documents, tmp_path / "c", language="frensh")


def test_a_list_names_the_files_of_a_corpus(tmp_path):
    from conftest import SAMPLE

    names = sorted(path.name for path in (SAMPLE / "corpus").iterdir())
    (tmp_path / "list").write_text("# comment\n" + "\n".join(names) + "\n")
    quern.index(SAMPLE / "corpus", tmp_path / "folder.quern")
    quern.index(None, tmp_path / "list.quern", files_from=tmp_path / "list", files_root=SAMPLE / "corpus")
    assert (tmp_path / "list.quern/index.quern").read_bytes() == (tmp_path / "folder.quern/index.quern").read_bytes()
    with pytest.raises(TypeError, match="None with files_from"):
        quern.index([], tmp_path / "other.quern", files_from=tmp_path / "list")
    for option in ("include", "exclude"):
        with pytest.raises(TypeError, match=f"{option} must be a sequence of names, not '\\*.gz'"):
            quern.index(SAMPLE / "corpus", tmp_path / "other.quern", **{option: "*.gz"})


def test_what_goes_wrong_has_a_python_exception_and_leaves_nothing(tmp_path):
    def throws_in_the_midst():
        yield from documents(50000)
        raise LookupError("in the midst")

    path = tmp_path / "ix"
    for wrong, expected in [
        ([], quern.InvalidArgument),
        ([{"text": "no name"}], KeyError),
        ([{"docno": "a", "text": 5}], TypeError),
        ([{"docno": "a", "text": "lone \ud800 surrogate"}], UnicodeEncodeError),
        ([{"docno": "", "text": "x"}], ValueError),
        (["text", 3], (KeyError, TypeError)),
        (3, TypeError),
        (throws_in_the_midst(), LookupError),
        (str(tmp_path / "missing"), quern.FileError),
    ]:
        with pytest.raises(expected):
            quern.index(wrong, path)
        assert leftovers(tmp_path) == []
    with pytest.raises(quern.InvalidArgument):
        quern.index([{"docno": "a"}, {"docno": "a"}], path, duplicates="refuse")
    with pytest.raises(quern.InvalidArgument, match="codec"):
        quern.index([{"docno": "a"}], path, codec="zip")
    with pytest.raises(quern.InvalidArgument) as small:
        quern.index([{"docno": "a"}], path, memory="1M")
    assert small.value.option == "memory" and small.value.code == "invalid_argument"
    with pytest.raises(LookupError):
        quern.index(documents(10), path, progress=lambda *_: {}["the caller's own"])
    assert leftovers(tmp_path) == []
    quern.index(documents(10), path)
    with pytest.raises(quern.InvalidArgument, match="overwrite|exists"):
        quern.index(documents(10), path)
    with pytest.raises(quern.CorruptFile):
        (tmp_path / "text").write_text("no index")
        quern.open(tmp_path / "text")


def test_crawls_are_read_by_language_and_payload(tmp_path):
    def page(docno, language, digest):
        block = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>mill {docno}"
        return (
            f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{docno}>\r\nWARC-Payload-Digest: {digest}\r\n"
            f"WARC-Identified-Content-Language: {language}\r\nContent-Length: {len(block)}\r\n\r\n{block}\r\n\r\n"
        )

    crawl = tmp_path / "crawl.warc"
    crawl.write_bytes((page("a", "eng", "sha1:A") + page("b", "deu", "sha1:B") + page("c", "eng,deu", "sha1:A")).encode())
    report = quern.index(crawl, tmp_path / "ix", languages=["eng"], drop_copies=True, skip_bad=True)
    assert (report.documents, report.left_out) == (1, 2)
    with pytest.raises(quern.InvalidArgument, match="languages"):
        quern.index(crawl, tmp_path / "wrong", languages=["en"])
    with pytest.raises(TypeError, match="languages"):
        quern.index(crawl, tmp_path / "wrong", languages="eng")


def test_duplicates_are_counted(tmp_path):
    report = quern.index([{"docno": "a", "text": "x"}, {"docno": "a", "text": "y"}], tmp_path / "ix")
    assert report.duplicates == 1


def test_progress_is_reported(tmp_path):
    steps = []
    quern.index(documents(20000), tmp_path / "ix", progress=lambda *step: steps.append(step))
    assert {"parse", "write lists"} <= {stage for stage, *_ in steps}
    quern.open(tmp_path / "ix").verify(progress=lambda *step: steps.append(step))


def test_damage_is_found(tmp_path):
    quern.index(documents(2000), tmp_path / "ix")
    data = bytearray((tmp_path / "ix/index.quern").read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "ix/index.quern").write_bytes(data)
    with pytest.raises(quern.CorruptFile, match="index.quern"):
        quern.open(tmp_path / "ix").verify()


def test_an_open_index_stays_when_it_is_replaced(tmp_path):
    path = tmp_path / "ix"
    quern.index(documents(100), path)
    ix = quern.open(path)
    before = ix.search("mill", 100)
    quern.index(documents(10), path, overwrite=True)
    assert len(ix) == 100 and len(quern.open(path)) == 10
    assert (ix.search("mill", 100).docid == before.docid).all()


def run_script(text, *arguments, **more):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(text), *map(str, arguments)], stdout=subprocess.PIPE, text=True, **more
    )


@pytest.mark.parametrize("endless", ["({'docno': str(i), 'text': 'x y z'} for i in itertools.count())",
                                     "map(dict, itertools.repeat({'docno': 'a', 'text': 'x y z'}))"])
def test_ctrl_c_ends_a_build_and_leaves_nothing(tmp_path, endless):
    running = run_script(
        f"""
        import itertools, sys, quern
        print("begun", flush=True)
        try:
            quern.index({endless}, sys.argv[1], memory="64M")
        except KeyboardInterrupt:
            print("interrupted")
        """,
        tmp_path / "ix",
        cwd=tmp_path,
    )
    assert running.stdout.readline() == "begun\n"
    threading.Event().wait(1)
    running.send_signal(signal.SIGINT)
    assert running.communicate(timeout=60)[0] == "interrupted\n"
    assert leftovers(tmp_path) == []


def test_ctrl_c_ends_the_building_of_a_corpus(tmp_path):
    with open(tmp_path / "corpus.tsv", "w") as corpus:
        for i in range(2_000_000):
            corpus.write(f"{i}\tthe text of number {i} {i * 7919 % 100003} {i * 31 % 77777}\n")
    running = run_script(
        """
        import sys, quern
        print("begun", flush=True)
        try:
            quern.index(sys.argv[1], sys.argv[2], format="tsv", order="bisection", memory="64M")
            print("done")
        except KeyboardInterrupt:
            print("interrupted")
        """,
        tmp_path / "corpus.tsv",
        tmp_path / "ix",
    )
    assert running.stdout.readline() == "begun\n"
    threading.Event().wait(1)
    running.send_signal(signal.SIGINT)
    assert running.communicate(timeout=60)[0] == "interrupted\n"
    assert leftovers(tmp_path) == ["corpus.tsv"]


def test_an_index_may_be_used_after_a_fork(tmp_path):
    quern.index(documents(5000), tmp_path / "ix")
    out = run_script(
        """
        import os, sys, quern
        ix = quern.open(sys.argv[1])
        expected = ix.batch(["mill water", "wheel"] * 200, 50, threads=2).docid.tolist()
        child = os.fork()
        if child == 0:
            same = ix.batch(["mill water", "wheel"] * 200, 50, threads=2).docid.tolist() == expected
            same = same and len(ix.search("mill", 5)) == 5
            os._exit(0 if same else 1)
        status = os.waitpid(child, 0)[1]
        print(status, ix.batch(["mill water", "wheel"] * 200, 50, threads=2).docid.tolist() == expected)
        """,
        tmp_path / "ix",
    )
    assert out.communicate(timeout=60)[0] == "0 True\n"


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


def test_fields_are_kept_as_the_command_line_keeps_them(tmp_path, command_line):
    given = [
        {"id": "a", "contents": "water mill", "lang": "en", "date": 1999, "open": True},
        {"id": "b", "contents": "wind mill", "lang": None, "date": 0.1, "other": [1]},
        {"id": "c", "contents": "mill", "lang": "Ä\n\"", "date": -0.0, "open": False},
        {"id": "d", "contents": "mill", "lang": "x" * 255, "date": 2**60},
        {"id": "e", "contents": "mill", "lang": numpy.float64(2.5), "date": numpy.int64(7)},
    ]
    fields = ["lang", "date", "open"]
    # The lines that the package creates from them, which the index hashes.
    lines = [{key: page[key] for key in ["id", "contents", *fields] if page.get(key) is not None} for page in given]
    written = [json.dumps(line, ensure_ascii=False, separators=(",", ":"), default=int) + "\n" for line in lines]
    corpus = tmp_path / "c.jsonl"
    corpus.write_text("".join(written))
    by_command = tmp_path / "by_command"
    options = ["--format", "jsonl", "--max-document", "4G", "--keep-fields", ",".join(fields)]
    command_line("index", corpus, *options, "-o", by_command)

    report = quern.index(given, tmp_path / "dicts", keep_fields=fields)
    assert report.documents == len(given) and report.bad == 0
    Page = collections.namedtuple("Page", "id contents lang date open", defaults=[None] * 3)
    tuples = [Page(**{key: value for key, value in page.items() if key != "other"}) for page in given]
    quern.index(tuples, tmp_path / "tuples", keep_fields=iter(fields))
    quern.index(corpus, tmp_path / "file", keep_fields=fields, format="jsonl", max_document="4G")
    for same in ("dicts", "tuples", "file"):
        for name in ("index.quern", "fields.quern"):
            assert (tmp_path / same / name).read_bytes() == (by_command / name).read_bytes()
    ix = quern.open(tmp_path / "dicts")
    found = ix.search("mill", filter="lang=en or date<1")
    assert sorted(ix.docno(docid) for docid in found.docid) == ["a", "b", "c"]
    assert len(ix.filter("open=false")) == 1 and len(ix.filter("has lang")) == 4


def test_what_can_not_be_kept_is_refused(tmp_path):
    for wrong, expected in [
        ([1], TypeError),
        ({}, TypeError),
        (b"en", TypeError),
        ("x" * 256, quern.InvalidArgument),
        ("lone \ud800 surrogate", UnicodeEncodeError),
        (math.inf, quern.InvalidArgument),
        (10**400, OverflowError),
    ]:
        with pytest.raises(expected, match="lang|surrogate|too large"):
            quern.index([{"docno": "a", "text": "x", "lang": wrong}], tmp_path / "ix", keep_fields=["lang"])
    with pytest.raises(TypeError):
        quern.index([{"docno": "a", "text": "x"}], tmp_path / "ix", keep_fields="lang")
    with pytest.raises(quern.InvalidArgument, match="can't be kept"):
        quern.index([{"docno": "a", "text": "x"}], tmp_path / "ix", keep_fields=["text"])
    assert leftovers(tmp_path) == []


def test_the_key_of_weights_may_have_another_name(tmp_path, command_line):
    corpus = tmp_path / "c.jsonl"
    corpus.write_text('{"id": "a", "splade": {"mill": 3}}\n{"id": "b", "splade": {"mill": 1, "##x": 9}}\n')
    quern.index(corpus, tmp_path / "a", impacts=8, vector_field="splade")
    command_line("index", corpus, "-o", tmp_path / "b", "--impacts", "8", "--vector-field", "splade")
    assert (tmp_path / "a/index.quern").read_bytes() == (tmp_path / "b/index.quern").read_bytes()
    with pytest.raises(quern.InvalidArgument, match="impacts"):
        quern.index(corpus, tmp_path / "no", vector_field="splade")


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


def test_an_index_is_a_mapping_of_documents(tmp_path):
    quern.index([(f"D{i}", f"mill {i}") for i in range(5)], tmp_path / "ix")
    with quern.open(tmp_path / "ix") as ix:
        assert ix["D3"] == ix[3] == ix[-2] == list(ix)[3] and ix[3]["docno"] == "D3"
        assert "D3" in ix and "D5" not in ix and 3 not in ix
        with pytest.raises(KeyError):
            ix["D5"]
        with pytest.raises(IndexError, match="docIDs are below 5"):
            ix[5]
        before = list(ix.search("mill 3"))
    assert list(ix.search("mill 3")) == before  # opens a new searcher

    copy = pickle.loads(pickle.dumps(ix))
    assert copy.content_hash == ix.content_hash and list(copy.search("mill 3")) == before
    pickled = pickle.dumps(ix)
    quern.index([("D1", "mill")], tmp_path / "ix", overwrite=True)
    with pytest.raises(quern.InvalidArgument, match="has been replaced"):
        pickle.loads(pickled)
