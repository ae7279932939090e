"""The second stage, cache plans and evaluation."""

import os
from types import SimpleNamespace

from . import _quern
from .index import _progress
from .queries import texts_of
from .results import Results
from .sizes import size_bytes


def rerank(
    index,
    results,
    model,
    k=None,
    *,
    features="all",
    features_from=None,
    device="cpu",
    gpu=0,
    gpu_memory=None,
    threads=None,
    progress=None,
):
    """The results of a batch, reranked with a learned model: Results with the model's scores.

    index: built with forward=True. model: a LightGBM, XGBoost or RankLib file, or a ranker description of Quern.
    features: the list that the model was trained with. features_from: what an XGBoost dump numbers features from, 0 if it
    was trained on an array, 1 on a file of features. k: number of results to keep for each query; None: all.
    device ("cpu", "gpu", "auto"), gpu, gpu_memory (bytes or "4G"): where to rerank, with the same scores; a GPU keeps the
    model.
    """
    reranker = index.reranker(
        model, features=features, features_from=features_from, device=device, gpu=gpu, gpu_memory=gpu_memory
    )
    texts = list(results._texts)
    found = reranker.rerank(texts, results._found, k or max(1, len(results)), threads or 0, _progress(progress))
    return Results(found, results.qids, texts)


def features(index, results, selection="all"):
    """Features of the results' documents: a float32 array with a row for each result and a column for each feature.

    selection: names or patterns with *, separated by commas, such as "body.*,document.pagerank"; see feature_names().
    """
    return _quern.Features(index, selection).compute(list(results._texts), results._found)


def feature_names(selection="all"):
    """The names of features, in the order of the columns: a list of str."""
    return [name for name, _, _ in _quern.feature_list(selection)]


def plan(
    index,
    queries,
    path,
    *,
    budget,
    policy="",
    max_admission=1.0,
    k=10,
    scores="exact",
    overwrite=False,
    threads=None,
    memory=None,
    progress=None,
):
    """Chooses the blocks to keep in GPU memory from a query log, and writes the plan to `path`.

    queries: as for Index.batch(). budget: bytes, a size such as "64M", or a percentage of all lists such as "10%".
    policy: one of quern.policies(). Returns counts with attributes such as cached_bytes and index_bytes.
    """
    share = 0.0
    if isinstance(budget, str) and budget.endswith("%"):
        share, budget = float(budget[:-1]) / 100, 0
    _, texts = texts_of(queries)
    if scores not in ("exact", "quantized"):
        raise ValueError(f"scores must be 'exact' or 'quantized', not {scores!r}")
    report = _quern.plan(
        index,
        list(texts),
        os.fspath(path),
        budget_bytes=size_bytes(budget),
        budget_share=share,
        policy=policy,
        max_admission=max_admission,
        k=k,
        quantized=scores == "quantized",
        overwrite=overwrite,
        threads=threads or 0,
        memory=size_bytes(memory),
        progress=_progress(progress),
    )
    return SimpleNamespace(**report)


def compare(runs, qrels, measures=(), *, complete=False, samples=100_000, seed=1):
    """Compares the first of several TREC runs with each of the others, as `quern eval --compare` does.

    runs: texts, as returned by Results.to_trec(). qrels: path of the judgements. measures: names; none: the usual ones.
    complete: queries without results count as 0. samples, seed: of the randomization test.
    Returns {measure: {"mean": of the first run, "others": a dict for each other run}} with mean, difference, wins, ties,
    losses; t, t_p and holm_t_p of the paired t-test, None with fewer than two queries; randomization_p and
    holm_randomization_p.
    """
    return _quern.compare(list(runs), os.fspath(qrels), list(measures), complete, samples, seed)


def evaluate(run, qrels, measures=()):
    """Evaluates a TREC run with relevance judgements, as `quern eval` and trec_eval do.

    run: the text of a run, as returned by Results.to_trec(). qrels: path of the judgements.
    Returns {"all": {measure: value}, "by_query": {qid: {measure: value}}}.
    """
    return _quern.evaluate(run, os.fspath(qrels), list(measures))
