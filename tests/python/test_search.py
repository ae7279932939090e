"""Searching: the results are the command line's."""
import concurrent.futures
import json
import os
import pickle
import signal
import threading

import numpy
import pytest

import quern


@pytest.mark.parametrize("options", [{}, {"algorithm": "and"}, {"scores": "quantized"},
                                     {"scorer": "bm25+pagerank", "alpha": 0.5}, {"k1": 0.9, "b": 0.4},
                                     {"expand": "rm3"}, {"expand": "bo1:terms=20", "scores": "quantized"}])
def test_runs_are_the_command_lines_byte_by_byte(sample, sample_path, topics, command_line, options):
    arguments = []
    for name, value in options.items():
        arguments += [f"--{name}", value]
    expected = command_line("query", sample_path, "-q", SAMPLE_TOPICS, "-k", 30, *arguments)
    found = sample.batch(topics, 30, **options)
    assert found.to_trec() == expected
    assert len(found) == len(expected.splitlines())


def test_the_searchers_used_last_are_kept(sample_path):
    ix = quern.open(sample_path)
    first = ix.searcher(k1=1.0)
    for k1 in (1.1, 1.2, 1.3):
        ix.searcher(k1=k1)
    assert ix.searcher(k1=1.0) is first and len(ix._searchers) == 4
    ix.searcher(k1=1.4)
    assert ix.searcher(k1=1.0) is first and len(ix._searchers) == 4
    for k1 in (1.1, 1.2, 1.3, 1.4):
        ix.searcher(k1=k1)
    assert ix.searcher(k1=1.0) is not first and len(ix._searchers) == 4


def test_expanded_queries(sample, topics, tmp_path):
    for text in topics.values():
        weights = sample.expand(text, "rm3:documents=5", k1=0.9)
        assert set(sample.analyze(text)) <= set(weights) and sum(weights.values()) == pytest.approx(1)
        found = sample.search(text, 20, expand="rm3:documents=5", k1=0.9)
        again = sample.search(weights, 20, k1=0.9)
        assert list(found) == list(again)
    expected = [list(sample.search(text, expand="bo1")) for text in topics.values()]
    batch = sample.batch(topics, expand="bo1", threads=3)
    assert [batch[qid] for qid in topics] == expected
    with pytest.raises(quern.InvalidArgument, match="use one of rm3, bo1"):
        sample.search("mill", expand="rocchio")
    quern.index([("1", "a mill")], tmp_path / "plain")
    with pytest.raises(quern.InvalidArgument, match="forward"):
        quern.open(tmp_path / "plain").search("mill", expand="rm3")


# Algorithms that return only documents with all terms.
INTERSECTIONS = ("and", "hash-segments")


def test_algorithms_and_threads_agree(sample, topics):
    expected = sample.batch(topics, 20, algorithm="or")
    all_terms = sample.batch(topics, 20, algorithm="and")
    for algorithm in quern.algorithms():
        if algorithm == "and-or":
            continue
        wanted = all_terms if algorithm in INTERSECTIONS else expected
        for threads in (1, 2, 5):
            found = sample.batch(topics, 20, algorithm=algorithm, threads=threads)
            assert numpy.array_equal(found.docid, wanted.docid) and numpy.array_equal(found.score, wanted.score)
    one_by_one = [sample.search(text, 20) for text in topics.values()]
    assert numpy.array_equal(numpy.concatenate([found.docid for found in one_by_one]), expected.docid)


def test_results_are_arrays_that_belong_together(sample, topics):
    found = sample.batch(topics, 7)
    assert found.docid.dtype == numpy.uint32 and found.score.dtype == numpy.float32
    assert found.query.dtype == numpy.int32 and found.offsets.dtype == numpy.uint64
    assert len(found.offsets) == len(topics) + 1 and found.offsets[-1] == len(found)
    assert found.docnos() == [sample.docno(docid) for docid in found.docid.tolist()]
    run = found.to_run()
    assert list(run) == list(topics) and sum(map(len, run.values())) == len(found)
    docids, scores = found.docid, found.score
    expected = docids.tolist()
    del found
    assert docids.tolist() == expected and len(scores) == len(expected)
    with pytest.raises(ValueError):
        docids[0] = 1


def test_results_become_a_data_frame(sample, topics):
    pandas = pytest.importorskip("pandas")
    found = sample.batch(pandas.DataFrame({"qid": list(topics), "query": list(topics.values())}), 5)
    frame = found.to_frame()
    assert list(frame.columns) == ["qid", "docid", "docno", "rank", "score", "query"]
    assert (frame.groupby("qid").size() <= 5).all() and frame["rank"].min() == 0
    assert frame["query"].iloc[0] == topics[frame["qid"].iloc[0]]


def test_queries_come_in_several_forms(sample):
    expected = sample.batch(["water", "mill"], 3)
    assert expected.qids == ["1", "2"]
    for form in ({"1": "water", "2": "mill"}, [("1", "water"), ("2", "mill")], {1: "water", 2: "mill"},
                 iter(["water", "mill"]), ("water", "mill")):
        found = sample.batch(form, 3)
        assert found.qids == ["1", "2"] and (found.docid == expected.docid).all()
    assert len(sample.batch([], 3)) == 0
    assert len(sample.search("", 3)) == 0
    for wrong in ("water", b"water", ["water", 3], [None], 7):
        with pytest.raises(TypeError):
            sample.batch(wrong, 3)
    for wrong in (SAMPLE_TOPICS, str(SAMPLE_TOPICS)):
        with pytest.raises(TypeError, match=r"must be a dict \{id: text\}, .* a file of queries to quern.read_queries"):
            sample.batch(wrong)
    for wrong in ({"k": 0}, {"algorithm": "none"}, {"scores": "x"}, {"device": "x"}, {"k1": -1.0},
                  {"k1": float("nan")}, {"b": 2.0}):
        with pytest.raises(ValueError):
            sample.batch(["water"], **wrong)
    with pytest.raises(TypeError):
        sample.batch(["water"], 3, no_such_option=1)


def test_ctrl_c_ends_a_batch(sample):
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        sample.batch(["water mill wheel stone"] * 3_000_000, 20, threads=2)
    assert len(sample.batch(["water"], 3)) == 3
    with pytest.raises(LookupError):
        sample.batch(["water"], 3, progress=lambda *_: {}["the caller's own"])


def test_threads_share_an_index(sample, topics):
    texts = list(topics.values())
    expected = [sample.search(text, 10).docid.tolist() for text in texts]

    def work(seed):
        for i in range(200):
            place = (seed + i) % len(texts)
            assert sample.search(texts[place], 10).docid.tolist() == expected[place]
            if i % 20 == 0:
                sample.batch(texts, 10, threads=2)
        return True

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_a_gpu_that_is_missing_is_an_error_but_not_with_auto(sample, topics):
    warnings = []
    try:
        on_gpu = sample.batch(topics, 10, device="gpu")
    except quern.GpuError:
        on_gpu = sample.batch(topics, 10, device="auto", warn=warnings.append)
        assert warnings
    assert (on_gpu.docid == sample.batch(topics, 10).docid).all()


from conftest import SAMPLE  # noqa: E402

SAMPLE_TOPICS = SAMPLE / "topics.txt"


def vectors(count, seed=3):
    import random

    choice = random.Random(seed)
    for i in range(count):
        terms = {f"##t{choice.randrange(1 + choice.randrange(40))}": choice.randrange(256) for _ in range(12)}
        yield {"docno": f"V{i}", "vector": terms}


def test_given_weights_are_added_up(tmp_path):
    given = list(vectors(700))
    quern.index(given, tmp_path / "ix", impacts=8, block_size=64)
    ix = quern.open(tmp_path / "ix")
    assert ix.stats.impact_bits == 8
    queries = [{"##t0": 3, "##t1": 1}, {"##t2": 2, "##t5": 7, "nothing": 1}, {}]
    for algorithm in quern.algorithms():
        found = ix.batch(queries, 50, algorithm=algorithm)
        for i, query in enumerate(queries):
            scores = {}
            for docid, document in enumerate(given):
                has = [term for term in query if document["vector"].get(term)]
                if has and (algorithm not in INTERSECTIONS or len(has) == len(query)):
                    scores[docid] = sum(query[term] * document["vector"][term] for term in has)
            best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:50]
            rows = slice(int(found.offsets[i]), int(found.offsets[i + 1]))
            if algorithm != "and-or":
                assert list(zip(found.docid[rows].tolist(), found.score[rows].tolist())) == best
            one = ix.search(query, 50, algorithm)
            assert one.docid.tolist() == found.docid[rows].tolist()
    assert ix.search({"##t0": 0.5}, query_scale=2).score[0] == ix.search({"##t0": 1}).score[0]
    for wrong in ({"##t0": float("nan")}, {"##t0": -1}, {"##t0": float("inf")}, {"##t0": 0.5}):
        with pytest.raises(quern.InvalidArgument):
            ix.search(wrong)
        with pytest.raises(quern.InvalidArgument):
            ix.batch([wrong])
    for wrong in ({"##t0": "x"}, {3: 1}, {"##t0": None}):
        with pytest.raises(TypeError):
            ix.search(wrong)
    with pytest.raises(TypeError, match="the weight of '##t0' must be a number, not 'x'"):
        ix.batch([{"##t1": 1}, {"##t0": "x"}])
    with pytest.raises(quern.InvalidArgument, match="query number 2: the weight 0.5 of the query's term '##t0'"):
        ix.batch({"a": {"##t0": 1}, "b": {"##t0": 0.5}})
    with pytest.raises(ValueError, match=r"number 1 \(docno 'a'\): it has no vector, which impacts needs"):
        quern.index([{"docno": "a", "vector": None}], tmp_path / "no", impacts=8)
    for wrong in (float("nan"), -1, float("inf"), 256, 0.5):
        with pytest.raises(quern.InvalidArgument):
            quern.index([{"docno": "a", "vector": {"x": wrong}}], tmp_path / "no", impacts=8)
    assert not (tmp_path / "no").exists()


def test_a_search_with_a_budget_says_what_its_results_are_worth(tmp_path):
    quern.index(vectors(6000), tmp_path / "ix", impacts=8)
    ix = quern.open(tmp_path / "ix")
    queries = [{f"##t{i}": 3, f"##t{i + 3}": 1} for i in range(5)]
    best = ix.batch(queries, 20)
    assert best.exact is None and best.bound_left is None
    proven = 0
    for options in ({"blocks_left_out": 0}, {"blocks_left_out": 95}, {"budget_us": 1}, {"budget_us": 9e6}):
        found = ix.batch(queries, 20, **options)
        assert found.exact == [bound is None for bound in found.bound_left]
        assert found.statistics["unproven"] == found.exact.count(False)
        proven += found.exact.count(True)
        for i, (exact, bound) in enumerate(zip(found.exact, found.bound_left)):
            expected, got = best[str(i + 1)], found[str(i + 1)]
            assert got == expected if exact else all(score <= bound for docno, score in set(expected) - set(got))
        again = pickle.loads(pickle.dumps(found))
        assert again == found and again.bound_left == found.bound_left
        if "blocks_left_out" in options:
            assert ix.batch(queries, 20, threads=1, **options) == found
            assert ix.search(queries[0], 20, **options).bound_left == found.bound_left[:1]
    assert 10 <= proven < 20
    for ask in (ix.search, lambda query, **options: ix.batch([query], **options)):
        for options, text in (
            ({"budget_us": 5, "algorithm": "and"}, "algorithm and can't stop early"),
            ({"budget_us": 0}, "budget_us must be from 1 to 60000000, not 0"),
            ({"blocks_left_out": 101}, "blocks_left_out must be from 0 to 100, not 101"),
        ):
            with pytest.raises(quern.InvalidArgument, match=text):
                ask(queries[0], **options)
        with pytest.raises(TypeError, match="budget_us must be float"):
            ask(queries[0], budget_us="x")


def test_weights_of_a_textual_query_count_occurrences(sample):
    by_text, by_vector = sample.search("water water mill", 20), sample.search({"water": 2, "mill": 1}, 20)
    assert (by_text.docid == by_vector.docid).all() and (by_text.score == by_vector.score).all()


def test_filters_leave_the_rest_of_the_ranking(sample, sample_path, topics, command_line):
    everything = sample.batch(topics, len(sample), algorithm="or")
    odd = [docid for docid in range(len(sample)) if docid % 2]
    docnos = [sample.docno(docid) for docid in odd]
    passing = sample.filter(docnos + ["no such docno"])
    assert len(passing) == len(odd) and len(sample.filter(odd)) == len(odd)
    for algorithm in ("auto", "maxscore", "bmw", "wand", "or"):
        found = sample.batch(topics, 10, algorithm=algorithm, filter=passing)
        for i in range(len(topics)):
            rows = slice(int(everything.offsets[i]), int(everything.offsets[i + 1]))
            expected = [docid for docid in everything.docid[rows].tolist() if docid % 2][:10]
            assert found.docid[int(found.offsets[i]) : int(found.offsets[i + 1])].tolist() == expected
    expression = f"docno in ({docnos[0]}, {docnos[1]}) or url^=http://no.such/"
    expected = command_line("query", sample_path, "-q", SAMPLE_TOPICS, "-k", 5, "--filter", expression)
    assert sample.batch(topics, 5, filter=expression).to_trec() == expected
    assert len(sample.search("water", 5, filter=[])) == 0
    with pytest.raises(quern.InvalidArgument):
        sample.search("water", filter="lang=en and (")
    with pytest.raises(quern.InvalidArgument):
        sample.search("water", filter=[len(sample)])


def test_intersections_are_the_command_lines(sample, sample_path, topics, command_line):
    found = sample.intersect(topics)
    printed = command_line("intersect", sample_path, "-q", SAMPLE / "topics.txt")
    assert found.docid.tolist() == [int(line.split("\t")[1]) for line in printed.splitlines()]
    assert found.docnos() == [line.split("\t")[2] for line in printed.splitlines()]
    assert not found.score.any() and len(found) > 0
    some = sample.intersect(["mill"], method="stride", filter=found.docid[:3].tolist(), threads=2)
    assert set(some.docid) <= set(found.docid[:3])
    assert sample.intersect([{"mill": 1, "water": 0}]).docid.tolist() == sample.intersect(["mill"]).docid.tolist()
    assert sample.intersect(["mill"], device="auto").docid.tolist() == sample.intersect(["mill"]).docid.tolist()
    with pytest.raises(quern.InvalidArgument):
        sample.intersect(["mill"], method="merge-find")


def test_shards_open_as_one_index(sample, sample_path, topics, command_line, tmp_path):
    paths = [tmp_path / f"{number}.quern" for number in (2, 1)]
    for number, path in zip((2, 1), paths):
        command_line("cut", sample_path, "--shard", f"{number}/2", "-o", path)
    shards = quern.open(*paths)
    assert len(shards) == len(sample)
    assert shards.batch(topics, 20).to_trec() == sample.batch(topics, 20).to_trec()
    first = sample.batch(topics, 10)
    assert (quern.features(shards, first) == quern.features(sample, first)).all()
    model = SAMPLE / "ranker.txt"
    assert quern.rerank(shards, first, model).to_trec() == quern.rerank(sample, first, model).to_trec()
    for wrong in (lambda: shards.df("mill"), lambda: shards.intersect(["mill"]), lambda: quern.open(paths[0], paths[0])):
        with pytest.raises(quern.InvalidArgument):
            wrong()


def test_results_are_sequences_of_docnos_and_scores(sample, topics):
    results = sample.batch(topics, k=5)
    pairs = list(zip(results.docnos(), results.score.tolist()))
    assert results[0] == pairs[0] and results[-1] == pairs[-1] and results[2:9:3] == pairs[2:9:3] == list(results)[2:9:3]
    for number, qid in enumerate(topics):
        assert results[qid] == [pair for pair, query in zip(pairs, results.query) if query == number]
    with pytest.raises(KeyError):
        results["unknown"]
    with pytest.raises(IndexError):
        results[len(results)]
    copy = pickle.loads(pickle.dumps(results))
    assert copy == results and copy.to_trec() == results.to_trec()
    assert results == sample.batch(topics, k=5) and results != sample.batch(topics, k=4) and results != pairs


def test_judgements_are_files_dicts_and_data_frames(sample, topics):
    results = sample.batch(topics, k=100)
    judged = {}
    for line in (SAMPLE / "qrels.txt").read_text().splitlines():
        qid, _, docno, grade = line.split()
        judged.setdefault(qid, {})[docno] = int(grade)
    expected = results.evaluate(SAMPLE / "qrels.txt", ["map", "ndcg"])
    assert results.evaluate(judged, ["map", "ndcg"]) == expected
    pandas = pytest.importorskip("pandas")
    rows = [(qid, docno, float(grade)) for qid, grades in judged.items() for docno, grade in grades.items()]
    for names in (["qid", "docno", "label"], ["query_id", "doc_id", "relevance"]):
        frame = pandas.DataFrame(rows, columns=names)
        assert quern.evaluate(results.to_trec(), frame, ["map", "ndcg"])["all"] == expected
    with pytest.raises(ValueError, match="no column label or relevance; its columns: qid, docno"):
        results.evaluate(pandas.DataFrame({"qid": [], "docno": []}))
    with pytest.raises(ValueError, match="whole number, not 0.5"):
        results.evaluate({"1": {"a": 0.5}})
    with pytest.raises(TypeError, match="not list"):
        results.evaluate([])


def test_wrong_arguments_are_named(sample):
    for options, text in [
        ({"k": "x"}, "k must be int, not 'x'"),
        ({"k1": "x"}, "k1 must be float, not 'x'"),
        ({"fast": 1}, "unknown option 'fast'; options: k1, b,"),
        ({"threads": 1.5}, "threads must be int, not 1.5"),
        ({"filter": {"docno": None}}, "str, numbers and bools, not None"),
    ]:
        with pytest.raises(TypeError, match=text):
            sample.batch(["mill"], **options)
        with pytest.raises(TypeError, match=text):
            sample.search("mill", **options)


def test_negative_numbers_are_refused(sample):
    for ask in (sample.search, lambda query, **options: sample.batch([query], **options)):
        with pytest.raises(quern.InvalidArgument, match="k must be at least 1, not -1") as raised:
            ask("mill", k=-1)
        assert raised.value.code == "invalid_argument" and raised.value.option == "k"
        with pytest.raises(quern.InvalidArgument, match="gpus must be at least 0, not -2"):
            ask("mill", gpus=-2)
    for ask in (sample.batch, sample.intersect, lambda queries, threads: sample.tune(queries, {"1": {"A": 1}}, threads=threads)):
        with pytest.raises(quern.InvalidArgument, match="threads must be at least 0, not -1"):
            ask(["mill"], threads=-1)


def test_wrong_numbers_are_named(sample, sample_path, tmp_path):
    """By every function that takes a number of the native module, whatever its type."""
    run, qrels = {"1": {"A": 1.0}}, {"1": {"A": 1}}
    model, found = SAMPLE / "ranker.txt", sample.batch(["mill"])
    index = lambda **options: quern.index([("A", "mill")], tmp_path / "ix", **options)  # noqa: E731
    tune = lambda **options: sample.tune(["mill"], {"1": {"A": 1}}, **options)  # noqa: E731
    rerank = lambda **options: quern.rerank(sample, found, model, **options)  # noqa: E731
    plan = lambda **options: quern.plan(sample, ["mill"], tmp_path / "plan", **{"budget": "10%", **options})  # noqa: E731
    calls = {
        sample.verify: ["threads", "memory"],
        lambda **options: sample.search("mill", **options): ["k", "threads", "gpu", "gpus", "gpu_memory", "memory"],
        lambda **options: sample.batch(["mill"], **options): ["k", "threads", "gpu", "gpus", "gpu_memory", "memory"],
        lambda **options: sample.intersect(["mill"], **options): ["threads", "gpu", "gpus", "gpu_memory", "memory"],
        lambda **options: sample.filter("docno=A", **options): ["threads"],
        lambda **options: quern.fuse([run, run], **options): ["k", "threads", "memory"],
        lambda **options: quern.compare([run, run], qrels, **options): ["samples", "seed"],
        plan: ["k", "threads", "memory", "budget"],
        tune: ["folds", "k", "depth", "trec_eval", "threads", "memory"],
        rerank: ["k", "threads", "gpu", "features_from", "gpu_memory"],
        index: ["block_size", "recursion", "seed", "quantize", "impacts", "max_errors", "memory", "threads"],
        lambda **options: quern.index(SAMPLE / "corpus", tmp_path / "ix", **options): ["max_document"],
        sample.docno: ["docid"], sample.length: ["docid"], sample.document: ["docid"], sample.text: ["docid"],
        lambda **options: sample.snippets("mill", **options): ["docids"],
        lambda **options: sample.kept_values("docno", **options): ["docids"],
    }
    with pytest.raises(TypeError, match="^device must be str, not 3"):
        sample.search("mill", memory="4G", device=3)
    sizes = ("memory", "gpu_memory", "budget", "max_document")
    for call, names in calls.items():
        for name in names:
            for wrong in (-1, 2**70):
                with pytest.raises(ValueError, match=f"^{name} (must be|is too large)"):
                    call(**{name: [wrong] if name == "docids" else wrong})
            for wrong in ("many", [1]) if name in sizes else ("many", 2.5):
                with pytest.raises((TypeError, ValueError), match=f"^{name} must be"):
                    call(**{name: [wrong] if name == "docids" else wrong})
    with pytest.raises(ValueError, match="docids must be at least 0, not -1"):
        sample.filter([-1])
    with pytest.raises(TypeError, match="term must be str, not 7"):
        sample.df(7)
    for call, name in ((sample.analyze, "text"), (sample.find, "docno")):
        with pytest.raises(TypeError, match=f"^{name} must be str, not 7"):
            call(7)
    with pytest.raises(UnicodeEncodeError):
        sample.df("\ud800")
    with pytest.raises(TypeError, match="^docids must be a sequence of int, not 3"):
        sample.snippets("mill", 3)
    with pytest.raises(TypeError, match="k must be int, not None"):
        sample.search("mill", None)
    assert not (tmp_path / "ix").exists() and not (tmp_path / "plan").exists()


def test_a_filter_may_be_a_dict(tmp_path):
    languages = ("en", 'a"b\\', "de", "en")
    given = [{"docno": str(i), "text": "mill", "lang": lang, "n": i, "b": i % 2 == 0} for i, lang in enumerate(languages)]
    quern.index(given, tmp_path / "ix", keep_fields=["lang", "n", "b"])
    ix = quern.open(tmp_path / "ix")
    for passing, expected in [
        ({"lang": "en"}, "03"),
        ({"lang": ["en", "de"], "b": True}, "02"),
        ({"lang": languages[1]}, "1"),
        ({"n": numpy.int64(2)}, "2"),
        ({"lang": "en", "n": [0, 1]}, "0"),
    ]:
        assert "".join(docno for docno, _ in ix.search("mill", filter=passing)) == expected
    for wrong in ("docno=0 or docno", "", 7):
        with pytest.raises(ValueError, match="must be the name of a field"):
            ix.search("mill", filter={wrong: "1"})


def test_snippets_are_the_command_lines(sample, sample_path, topics, command_line, tmp_path):
    found = sample.batch(topics, 5)
    queries = tmp_path / "queries.tsv"
    queries.write_text("".join(f"{qid}\t{text}\n" for qid, text in topics.items()))
    lines = command_line("query", sample_path, "-q", queries, "-k", 5, "--output-format", "json", "--fields", "text").splitlines()
    expected = [result["text"]["snippet"] for line in lines for result in json.loads(line)["results"]]
    assert len(expected) == len(found) > 5 and found.snippets() == expected
    assert sample.search("zzzz").snippets() == []
    with pytest.raises(TypeError, match="queries that are texts"):
        sample.search({"mill": 1.0}).snippets()


def test_snippets_need_texts(tmp_path):
    quern.index(["a mill"], tmp_path / "ix")
    with pytest.raises(quern.InvalidArgument, match="store_text"):
        quern.open(tmp_path / "ix").search("mill").snippets()


def test_shards_have_the_snippets_and_kept_values_of_the_whole(command_line, tmp_path):
    documents = [{"id": f"d{i}", "contents": f"Title\nwater mill {i} turns", "year": i} for i in range(30)]
    quern.index(documents, tmp_path / "ix", store_text=True, keep_fields=["year"])
    for shard in ("1", "2"):
        command_line("cut", tmp_path / "ix", "--shard", f"{shard}/2", "-o", tmp_path / shard)
    whole, shards = quern.open(tmp_path / "ix"), quern.open(tmp_path / "1", tmp_path / "2")
    found, in_shards = whole.search("mill 7 20", k=12), shards.search("mill 7 20", k=12)
    assert found.snippets() == in_shards.snippets() and found.snippets()[0] == "Title water mill 7 turns"
    assert whole.kept_fields() == shards.kept_fields() == ["year"]
    assert whole.kept_values("year", found.docid) == shards.kept_values("year", in_shards.docid)
    assert whole.kept_values("year", found.docid)[:2] == [7, 20]
