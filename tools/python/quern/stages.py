"""What is done with results and query logs: the second stage and cache plans."""

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
    device="cpu",
    gpu=0,
    gpu_memory=None,
    threads=None,
    progress=None,
):
    """The results of a batch, reordered by a learned model: Results, whose scores are the model's.

    index: built with forward=True. model: a file of LightGBM, XGBoost or RankLib, or a description of Quern's own.
    features: the list that the model was trained with. k: so many of each query are left; None: all.
    device ("cpu", "gpu", "auto"), gpu, gpu_memory (bytes or "4G"): where, with the same scores; a GPU keeps the model.
    """
    reranker = index.reranker(model, features=features, device=device, gpu=gpu, gpu_memory=gpu_memory)
    texts = list(results._texts)
    found = reranker.rerank(texts, results._found, k or max(1, len(results)), threads or 0, _progress(progress))
    return Results(found, results.qids, texts)


def features(index, results, selection="all"):
    """Features of the results' documents: a float32 array with a row for each result and a column for each feature.

    selection: names or patterns with * between commas, as "body.*,document.pagerank"; feature_names() says which.
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
    """Chooses from a query log the blocks that a GPU's memory should hold, and writes the plan to `path`.

    queries: as for Index.batch(). budget: bytes, a size such as "64M", or a share of all lists such as "10%".
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


def evaluate(run, qrels, measures=()):
    """Measures of a TREC run by judgements, as `quern eval` and trec_eval compute them.

    run: the text of a run, as Results.to_trec() gives it. qrels: a file of judgements.
    Returns {"all": {measure: value}, "by_query": {qid: {measure: value}}}.
    """
    return _quern.evaluate(run, os.fspath(qrels), list(measures))
