"""Building and opening indexes."""
import collections
import json
import math
import pickle
import random
import signal
import threading

import numpy
import pytest

import quern
from conftest import leftovers, run_script

WORDS = "mill water wheel stone grain hand quern wind river flour".split()


def documents(count, seed=1):
    choice = random.Random(seed)
    for i in range(count):
        yield {"docno": f"D{i}", "text": " ".join(choice.choices(WORDS, k=choice.randrange(30)))}


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
