"""The second stage, fusion, cache plans and evaluation."""

import os
import warnings
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy

from . import _quern
from .errors import called, error
from .index import Index, _numbers, _progress
from .judgements import truth_file
from .names import names_of
from .queries import texts_of
from .results import Results
from .runs import Run, run_argument, run_arguments, run_files, scores_of
from .sizes import size_bytes
from .types import Path, Progress, Size


def rerank(
    index: Index,
    results: Results,
    model: Path,
    k: int | None = None,
    *,
    features: str = "all",
    features_from: int | None = None,
    device: str = "cpu",
    gpu: int = 0,
    gpu_memory: Size = None,
    threads: int | None = None,
    progress: Progress = None,
) -> Results:
    """The results of a batch, reranked with a learned model: Results with the model's scores.

    results: of search() or batch(), which know the queries; not a run or a fusion.
    index: built with forward=True. model: a LightGBM, XGBoost or RankLib file, or a ranker description of Quern.
    features: the list that the model was trained with. features_from: what an XGBoost dump numbers features from, 0 if it
    was trained on an array, 1 on a file of features. k: number of results to keep for each query; None: all.
    device ("cpu", "gpu", "auto"), gpu, gpu_memory (bytes or "4G"): where to rerank, with the same scores; a GPU keeps the
    model.
    """
    texts = _texts_of(results)
    reranker = index.reranker(
        model, features=features, features_from=features_from, device=device, gpu=gpu, gpu_memory=gpu_memory
    )
    k = max(1, len(results)) if k is None else k
    if k == 0:
        raise error("invalid_argument", "k must be at least 1, not 0", "k")
    found = called(reranker.rerank, texts, results._found, k, threads or 0, _progress(progress))
    return Results(index, found, results.qids, texts)


def features(index: Index, results: Results, selection: str = "all") -> numpy.ndarray:
    """Features of the results' documents: a float32 array with a row for each result and a column for each feature.

    selection: names or patterns with *, separated by commas, such as "body.*,document.pagerank"; see feature_names().
    """
    return _quern.Features(index, selection).compute(_texts_of(results), results._found)


def _texts_of(results):
    """The queries of results that rerank() and features() take."""
    if not isinstance(results, Results):
        raise TypeError(f"results must be Results of search() or batch(), which know their queries, not {type(results)}")
    return list(results._texts)


def feature_names(selection: str = "all") -> list[str]:
    """The names of features, in the order of the columns: a list of str."""
    return [name for name, _, _ in _quern.feature_list(selection)]


def plan(
    index: Index,
    queries: Any,
    path: Path,
    *,
    budget: Size,
    policy: str = "",
    max_admission: float = 1.0,
    k: int = 10,
    scores: str = "exact",
    overwrite: bool = False,
    threads: int | None = None,
    memory: Size = None,
    progress: Progress = None,
) -> SimpleNamespace:
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
    report = called(
        _quern.plan,
        index,
        list(texts),
        os.fspath(path),
        budget_bytes=size_bytes("budget", budget),
        budget_share=share,
        policy=policy,
        max_admission=max_admission,
        k=k,
        quantized=scores == "quantized",
        overwrite=overwrite,
        threads=threads or 0,
        memory=size_bytes("memory", memory),
        progress=_progress(progress),
    )
    return SimpleNamespace(**report)


def fuse(
    runs: Iterable[Run],
    k: int = 1000,
    *,
    method: str = "rrf",
    weights: Iterable[float] = (),
    normalize: str | None = None,
    rrf_k: float | None = None,
    threads: int | None = None,
    memory: Size = None,
) -> dict[str, dict[str, float]]:
    """Combines two runs or more of the same queries, with the scores and the order of `quern fuse`.

    runs: each as for evaluate(), those of MS MARCO only with "rrf". Results count with the scores that to_trec() writes;
    documents of equal scores are ranked by decreasing docno, as for evaluate().
    method: "rrf" (reciprocal rank fusion: the sum of 1 / (rrf_k + rank), where rrf_k is 60 unless given), "combsum" (the sum
    of the scores) or "combmnz" (that times the number of runs that have the document).
    weights: of each run; none: 1.
    normalize: how "combsum" and "combmnz" take the scores of a query in a run: "min-max" (from 0 to 1, the default) or "none".
    k: results per query.

    Returns {qid: {docno: score}}, best first, with scores of float64. Raises InvalidArgument, CorruptFile and FileError.
    """
    options = {"method": method, "weights": _numbers("weights", weights), "normalize": normalize, "rrf_k": rrf_k, "k": k}
    work = {"threads": threads or 0, "memory": size_bytes("memory", memory)}
    with run_files(runs) as paths:
        return scores_of(called(_quern.fuse, paths, **options, **work))


def compare(
    runs: Iterable[Run],
    qrels: Any = None,
    measures: str | Iterable[str] = (),
    *,
    exact: Run | None = None,
    complete: bool = False,
    samples: int = 100_000,
    seed: int = 1,
) -> dict[str, Any]:
    """Compares the first of several runs with each of the others, as `quern eval --compare` does.

    runs: each as for evaluate(). qrels, exact: as for evaluate(). measures: a name or several; none: the usual ones.
    complete: queries without results count as 0. samples, seed: of the randomization test.
    Returns {measure: {"mean": of the first run, "others": a dict for each other run}} with mean, difference, wins, ties,
    losses; t, t_p and holm_t_p of the paired t-test, None with fewer than two queries; randomization_p and
    holm_randomization_p.
    """
    with truth_file(qrels, exact) as path:
        options = (names_of("measures", measures), exact is not None, complete, samples, seed)
        return called(_quern.compare, run_arguments(runs), path, *options, _warn(exact))


def evaluate(
    run: Run, qrels: Any = None, measures: str | Iterable[str] = (), *, exact: Run | None = None
) -> dict[str, Any]:
    """Evaluates a run with relevance judgements, as `quern eval` and trec_eval do, or with exact results.

    run: a Results, a dict {qid: {docno: score}}, such as one of fuse(), a pandas.DataFrame with qid (or query_id), docno (or
    doc_id) and score, or a run of TREC or MS MARCO: the path of a file, or its text, as that of to_trec().
    qrels: the path of a file; a dict {qid: {docno: grade}}; or a pandas.DataFrame with qid (or query_id), docno (or doc_id)
    and label (or relevance). Files may be compressed.
    exact: in place of qrels, a run of exact results, which approximate ones or those of rounded weights are compared with, as
    `quern eval --exact` does. "exact_recall.10" is the share of a query's 10 best exact results among the run's first 10;
    documents with the score of the tenth are as good as it, so `exact` needs more results than 10, and a warning says if it
    may lack some. Queries without results count as 0.
    measures: a name such as "map", "P.10" or "nDCG@10", or several; none: the usual ones.
    Returns {"all": {measure: value}, "by_query": {qid: {measure: value}}}.
    """
    with truth_file(qrels, exact) as path:
        return _quern.evaluate(run_argument(run), path, names_of("measures", measures), exact is not None, _warn(exact))


def _warn(exact):
    """What a comparison with exact results calls with remarks."""
    return None if exact is None else warnings.warn
