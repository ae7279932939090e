"""The program for bm25-benchmarks on a small dataset in the form of BEIR: its figures are computed anew from its index."""
import json
import math
import shutil
import subprocess
import sys

import pytest

import quern
from conftest import SOURCE

PROGRAM = SOURCE / "scripts/peers.d/bm25-benchmarks/on_quern.py"
KIT = SOURCE / "tests/conformance"


def write_lines(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    """The documents and queries of the conformance kit; queries with a document's id, without results, without judgements."""
    folder = tmp_path_factory.mktemp("datasets")
    (folder / "mills" / "qrels").mkdir(parents=True)
    documents = [json.loads(line) for line in (KIT / "documents.jsonl").read_text().splitlines()]
    write_lines(
        folder / "mills/corpus.jsonl",
        [{"_id": d["docno"], "title": d["title"], "text": d["text"]} for d in documents],
    )
    words = [f"{d['title']} {d['text']}".split() for d in documents]
    queries = [line.split("\t") for line in (KIT / "queries.tsv").read_text().splitlines()]
    same = documents[7]["docno"]
    queries = [(qid, text) for qid, text in queries[:20]] + [
        (same, " ".join(words[7])), ("absent", "xyzzy"), ("unjudged", "mill")]
    write_lines(folder / "mills/queries.jsonl", [{"_id": qid, "text": text} for qid, text in queries])
    with open(folder / "mills/qrels/test.tsv", "w") as qrels:
        qrels.write(f"query-id\tcorpus-id\tscore\nabsent\t{same}\t1\n")
        for qid, text in queries[:-1]:
            for i in [*range(0, len(documents), 3), 7]:
                if text.split()[0] in words[i]:
                    qrels.write(f"{qid}\t{documents[i]['docno']}\t{1 + i % 2}\n")
    return folder


def run(*arguments):
    return subprocess.run([sys.executable, PROGRAM, *map(str, arguments)], capture_output=True, text=True)


def ndcg_and_recall(found, judged, cut):
    gains = [judged.get(docno, 0) for docno in found[:cut]]
    ideal = sorted(judged.values(), reverse=True)[:cut]
    dcg = [sum(gain / math.log2(rank + 2) for rank, gain in enumerate(each)) for each in (gains, ideal)]
    return dcg[0] / dcg[1], sum(gain > 0 for gain in gains) / len(judged)


def test_figures_are_those_of_the_index(datasets, tmp_path):
    done = run("-d", "mills", "--save_dir", datasets, "--result_dir", tmp_path, "--stemmer_name", "none", "--stopwords", "none",
               "--k1", "0.9", "--b", "0.4", "--top_k", 50, "-n", 2)
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "quern").glob("mills-*.json")
    outcome = json.loads(path.read_text())
    assert (outcome["model"], outcome["k1"], outcome["top_k"], outcome["n_threads"]) == ("quern", 0.9, 50, 2)
    assert outcome["timing"].keys() == {"index", "query"}

    qrels = {}
    for line in (datasets / "mills/qrels/test.tsv").read_text().splitlines()[1:]:
        qid, docno, grade = line.split("\t")
        qrels.setdefault(qid, {})[docno] = int(grade)
    index = quern.open(datasets / "mills/index.quern")
    texts = [json.loads(line) for line in (datasets / "mills/queries.jsonl").read_text().splitlines()]
    assert outcome["stats"] == {"num_docs": 300, "num_queries": len(qrels), "num_tokens": index.stats.tokens}
    assert (index.stats.k1, index.stats.b, index.stats.stemmer, index.stats.stopwords) == (0.9, 0.4, "none", "none")
    for cut in (1, 10, 100):
        values = []
        for query in texts:
            if query["_id"] in qrels:
                ranked = sorted(index.search(query["text"], k=50), key=lambda hit: (hit[1], hit[0]), reverse=True)  # as trec_eval
                found = [docno for docno, _ in ranked if docno != query["_id"]]
                values.append(ndcg_and_recall(found, qrels[query["_id"]], cut))
        for name, mean in zip(("ndcg", "recall"), (sum(each) / len(values) for each in zip(*values))):
            assert outcome["scores"][name][str(cut)] == pytest.approx(mean, abs=1e-5), (name, cut)


def test_stems_and_stop_words_are_the_default(datasets, tmp_path):
    done = run("-d", "mills", "--save_dir", datasets, "--result_dir", tmp_path)
    assert done.returncode == 0, done.stderr
    stats = quern.open(datasets / "mills/index.quern").stats
    assert (stats.stemmer, stats.stopwords, stats.k1, stats.b) == ("porter2", "english", 1.2, 0.75)


def test_judged_queries_without_text_are_an_error(datasets, tmp_path):
    shutil.copytree(datasets / "mills", tmp_path / "fewer")
    (tmp_path / "fewer/queries.jsonl").write_text("")
    done = run("-d", "fewer", "--save_dir", tmp_path)
    assert done.returncode == 1 and "queries.jsonl lacks the judged query" in done.stderr


def test_missing_datasets(datasets, tmp_path):
    done = subprocess.run([sys.executable, "-c", "import sys; sys.modules['beir'] = None; sys.modules['beir.util'] = None\n"
                           f"sys.argv = ['on_quern', '-d', 'nothing', '--save_dir', {str(tmp_path)!r}]\n"
                           f"exec(open({str(PROGRAM)!r}).read())"], capture_output=True, text=True)
    assert done.returncode == 1 and "nothing is missing; unzip the dataset there, or install beir" in done.stderr
    (tmp_path / "empty").mkdir()
    done = run("-d", "empty", "--save_dir", tmp_path)
    assert done.returncode == 1 and "corpus.jsonl: No such file or directory; a dataset in the form of BEIR has it" in done.stderr
    assert run("-d", "mills", "--stemmer_name", "porter").returncode == 2
