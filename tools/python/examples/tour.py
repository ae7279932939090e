"""A tour of the package: from documents to evaluated and reranked results. Needs nothing but the package itself.

    python tour.py [FOLDER]      FOLDER: where its files go (default: a temporary one)
"""

import pathlib
import sys
import tempfile

import quern

DOCUMENTS = [
    ("M1", "Querns", "A quern is a hand mill: two stones, the upper one turned by hand, grind grain to flour."),
    ("M2", "Water mills", "Water turns the wheel of a water mill. An overshot wheel takes the weight of the water."),
    ("M3", "Windmills", "A windmill turns its sails to the wind. A post mill turns as a whole, a tower mill its cap."),
    ("M4", "Millstones", "Millstones are dressed with furrows, which lead the flour outwards. Stones come in pairs."),
    ("M5", "Flour", "Wheat and rye give flour for bread. Fine flour is bolted through silk; bran stays behind."),
    ("M6", "Rivers", "A river with little fall drives an undershot wheel. A mill pond keeps water for dry days."),
    ("M7", "Mill hands", "The miller takes his toll of the grain. Mill hands carry sacks up the stairs of the mill."),
]
TOPICS = {"1": "hand mill", "2": "water wheels", "3": "grinding stones for flour"}
JUDGEMENTS = "1 0 M1 2\n1 0 M7 0\n2 0 M2 2\n2 0 M6 1\n3 0 M1 1\n3 0 M4 2\n3 0 M5 1\n"
# A model that looks at two features. LightGBM, XGBoost and RankLib write files of larger ones, which are read as well.
MODEL = """[ranker]
version = 1
[inputs]
linear = body.bm25 1
linear = body.ordered_pairs 1
[layer.1]
weights = 1 1
"""


def main(folder):
    print(f"quern {quern.__version__}: algorithms {', '.join(quern.algorithms())}\n")

    # An index from any iterable of documents. It appears as a whole, or not at all.
    path = folder / "mills.quern"
    documents = ({"docno": docno, "title": title, "text": text} for docno, title, text in DOCUMENTS)
    report = quern.index(documents, path, stemmer="porter2", quantize=8, store_text=True, forward=True, overwrite=True)
    print(f"indexed {report.documents} documents with {report.terms} terms")

    ix = quern.open(path)
    ix.verify()
    docids, frequencies = ix.postings("mill")
    print(f"'mill' is in {ix.df('mill')} documents: docIDs {docids.tolist()}, {frequencies.tolist()} times")
    print(f"'Grinding stones' becomes {ix.analyze('Grinding stones')}\n")

    # One query, and many.
    for docno, score in ix.search("water wheel", k=3):
        print(f"{docno} {score:.4f} {ix.document(ix.find(docno))['title']}")
    first = ix.batch(TOPICS, k=5)
    for algorithm in ("or", "maxscore", "bmw"):  # all find the same, bit for bit
        same = ix.batch(TOPICS, k=5, algorithm=algorithm)
        assert (same.docid == first.docid).all() and (same.score == first.score).all()
    print(f"\n{first.to_trec()}")

    # How good is that? And after a second stage?
    qrels = folder / "qrels.txt"
    qrels.write_text(JUDGEMENTS)
    model = folder / "model.txt"
    model.write_text(MODEL)
    second = quern.rerank(ix, first, model)
    for name, run in [("first stage", first), ("reranked", second)]:
        measures = run.evaluate(qrels, ["map", "ndcg_cut.5"])
        print(f"{name}: " + ", ".join(f"{measure} {value:.4f}" for measure, value in measures.items()))

    # Features, to train models with.
    names = quern.feature_names("body.*")
    print(f"{len(names)} features of bodies for {len(first)} results: {quern.features(ix, first, 'body.*').shape}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(pathlib.Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(pathlib.Path(temporary))
