"""Indexes from documents and corpora."""

import itertools
import os
import warnings
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

from . import _quern
from .errors import called, set_members
from .index import _progress
from .names import name_list
from .sizes import size_bytes
from .tables import rows_of, with_vectors
from .types import Path, Progress, Size


def index(
    documents: Any,
    path: Path,
    *,
    language: str = "",
    stemmer: str = "",
    stopwords: Path | Iterable[str] = "",
    codec: str = "maskpfd",
    block_size: int = 128,
    recursion: int = 1,
    order: str = "auto",
    seed: int = 1,
    quantize: int = 0,
    weights: str = "",
    impacts: int = 0,
    impact_scale: float | None = None,
    k1: float = 1.2,
    b: float = 0.75,
    pagerank: Path = "",
    links: Path = "",
    alpha: float = 0.3,
    pagerank_scale: str = "rank",
    keep_fields: Iterable[str] = (),
    store_text: bool = False,
    forward: bool = False,
    allow_empty: bool = False,
    duplicates: str = "keep",
    max_errors: int = 1000,
    overwrite: bool = False,
    memory: Size = None,
    threads: int | None = None,
    progress: Progress = None,
    warn: Callable[[str], Any] | None = None,
    id_field: str = "",
    title_field: str = "",
    text_field: str = "",
    url_field: str = "",
    vector_field: str = "",
    missing: str = "refuse",
    format: str = "auto",
    files_from: Path = "",
    files_root: Path = "",
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    max_document: Size = "64M",
    skip_bad: bool = False,
    languages: Iterable[str] = (),
    drop_copies: bool = False,
) -> SimpleNamespace:
    """Builds an index at `path`, which appears complete or not at all.

        quern.index([{"docno": "M1", "text": "a quern is a hand mill"}], "my.quern", language="english")
        quern.index("corpus/", "my.quern", store_text=True, overwrite=True)

    documents: one of
      an iterable of dicts, or of objects with these attributes: docno (or doc_id, id, _id), a str or an integer; text (or
        contents, body, content), a str or a list or tuple of them; and optionally title and url; with `impacts`, a vector
        (or toks), a dict of terms and weights, is indexed instead. The text of an object with a method default_text(), as
        ir_datasets' documents have, is its result. A document without a text of these names is indexed whole: all its
        other str, except for title, url and kept fields;
      a pandas.DataFrame, whose rows are documents; a value that is missing in a kept field is none;
      a pyarrow.Table or pyarrow.dataset.Dataset, such as the files of Parquet, or a datasets.Dataset, whose rows are
        documents; a vector is a map or a struct, without its nulls;
      a sparse matrix of SciPy, with `impacts`: its rows are documents with the rows' numbers, from 0, as docnos and those
        of the columns as terms;
      an iterable of (docno, text), or of texts, whose docnos are "1", "2" and so on (a list of texts is taken for paths if
        one of them is a file, or if none has white space);
      a dataset of ir_datasets, or its name as "irds:NAME";
      the path of a corpus (a file or a folder of TREC, WARC, JSONL or TSV files, plain or compressed), or a list of
        paths. The options from `format` on apply only to these;
      None, with files_from.

    id_field, title_field, text_field, url_field, vector_field: the name of a field in dicts, objects and JSON objects;
      a field with a name has only that one.
    keep_fields: names of further keys or attributes, such as ["lang", "date"], whose values are kept for filters: str
      of at most 255 bytes, numbers and bools. A document without a field, or with None, has no value.
    missing: what a missing value of pandas (NaN, NA, NaT) as text, title or URL is: "refuse" raises ValueError, "empty"
      takes it for an empty str.
    duplicates: "refuse" raises InvalidArgument for a docno that occurred before; "keep" indexes both documents.

    language: that of the text, such as "english": its Snowball stemmer and its stop words, unless stemmer ("none",
      "porter2" and others) or stopwords ("none", a language, a file, a list of words) says otherwise. Default: words
      keep their endings, and none is dropped.
    store_text: also stores the texts, for Index.text() and Results.snippets().
    forward: also stores the tokens by document, for rerank(), features() and the option expand of queries.

    k1, b: BM25's, for block maxima; queries may use others.
    quantize: bits of impacts that are stored as small integers, 4 to 16, for queries with scores="quantized"; 0: none.
    weights: a weighting model whose weights are stored instead of frequencies, such as "qld", "pl2" or "qld:mu=1500",
      in `quantize` bits (default 16).
    impacts: bits of given weights, 4 to 16 (learned sparse retrieval: SPLADE, uniCOIL); weights are multiplied by
      impact_scale and rounded; without it they must be integers.
    pagerank: "links" computes it from the links of pages, or of the file `links`; or a file of lines "document score".
      pagerank_scale ("rank", "log", "linear"): how it is scaled for scores; alpha: its weight, for the order "score".

    order: of docIDs: "url", "natural", "bisection", "score", "random" (with seed); "auto": "url" if all documents have
      one, else "natural".
    codec: "maskpfd", "newpfd", "rpfd" (with recursion) or "rice". block_size: 64, 128, 256 or 512 postings.
    overwrite: replaces an index at the path. allow_empty: builds an index even if no document has a term.

    memory: a budget such as "1G". threads: default all cores. progress: True, or a function that is called with
      (stage, done, total, unit). warn: a function that is called with warnings; default: warnings.warn.

    format: "trecweb", "trectext", "warc", "jsonl" or "tsv", which "auto" never decides on.
    files_from: the path of a list of files and folders, one per line; relative paths start from files_root, or from the
      working folder. include, exclude: lists of patterns such as ["*.warc.gz"] for the files in folders.
    max_errors: how many bad documents of files are skipped before the work is given up. max_document: larger ones are
      bad. skip_bad: skips any number of bad documents, and damaged members of gzip files.
    languages: of crawls (WARC, WET), the languages of pages to keep, as codes such as ["eng", "deu"]. drop_copies: of
      crawls, skips pages with the payload of an earlier one.

    Returns counts of documents, terms, postings and more, with attributes of these names.
    Raises exceptions of the iterable, InvalidArgument, CorruptFile, FileError, and KeyboardInterrupt at Ctrl-C. Nothing of
    the index is left in that case.
    """
    options = _quern.IndexOptions()
    indexing = {
        "language": language,
        "stemmer": stemmer,
        "stopwords": _stopwords(stopwords),
        "codec": codec,
        "block_size": block_size,
        "recursion": recursion,
        "order": order,
        "seed": seed,
        "quantize": quantize,
        "weights": weights,
        "impacts": impacts,
        "impact_scale": impact_scale,
        "k1": k1,
        "b": b,
        "pagerank": os.fspath(pagerank),
        "links": os.fspath(links),
        "alpha": alpha,
        "pagerank_scale": pagerank_scale,
        "keep_fields": name_list("keep_fields", keep_fields),
        "store_text": store_text,
        "forward": forward,
        "allow_empty": allow_empty,
        "refuse_duplicates": _refuses(duplicates),
        "max_errors": max_errors,
        "overwrite": overwrite,
    }
    set_members(options, indexing)
    names = {
        "id_field": id_field,
        "title_field": title_field,
        "text_field": text_field,
        "url_field": url_field,
        "vector_field": vector_field,
    }
    work = (threads or 0, size_bytes("memory", memory), _progress(progress), warn or warnings.warn)
    if files_from and documents is not None:
        raise TypeError("documents must be None with files_from")
    corpus = [] if files_from else _paths(documents)
    if corpus is None:
        choice = _quern.FieldChoice()
        set_members(choice, {**names, "missing_is_empty": _is_empty(missing)})
        counts = called(_quern.index_documents, _iterable(documents), os.fspath(path), options, choice, *work)
        return SimpleNamespace(**counts)
    reading = _quern.CorpusOptions()
    files = {
        **names,
        "format": format,
        "files_from": os.fspath(files_from),
        "files_root": os.fspath(files_root),
        "include": name_list("include", include),
        "exclude": name_list("exclude", exclude),
        "max_document": size_bytes("max_document", max_document),
        "skip_bad": skip_bad,
        "languages": name_list("languages", languages),
        "drop_copies": drop_copies,
    }
    set_members(reading, files)
    return SimpleNamespace(**called(_quern.index_corpus, corpus, os.fspath(path), options, reading, *work))


def _stopwords(stopwords):
    """The stop words in the library's form."""
    if isinstance(stopwords, (str, os.PathLike)):
        return os.fspath(stopwords)
    return "words:" + ",".join(stopwords)


def _refuses(duplicates):
    if duplicates not in ("keep", "refuse"):
        raise ValueError(f"duplicates must be 'keep' or 'refuse', not {duplicates!r}")
    return duplicates == "refuse"


def _is_empty(missing):
    if missing not in ("refuse", "empty"):
        raise ValueError(f"missing must be 'refuse' or 'empty', not {missing!r}")
    return missing == "empty"


def _paths(documents):
    """The paths of a corpus; None if `documents` is not a corpus. Texts differ from paths by white space."""
    if isinstance(documents, (str, os.PathLike)):
        name = os.fspath(documents)
        return None if name.startswith("irds:") else [name]
    if isinstance(documents, (list, tuple)) and documents:
        if all(isinstance(path, (str, os.PathLike)) for path in documents) and not _are_texts(documents):
            return [os.fspath(path) for path in documents]
    return None


def _are_texts(documents):
    return any(isinstance(one, str) and len(one.split()) > 1 for one in documents) and not any(map(_is_file, documents))


def _is_file(path):
    try:
        return os.path.exists(path)
    except (OSError, ValueError):  # too long, or with a null character
        return False


def _iterable(documents):
    """Documents of all kinds as dicts, or as objects with attributes."""
    if isinstance(documents, str):
        import ir_datasets

        documents = ir_datasets.load(documents.removeprefix("irds:"))
    if hasattr(documents, "docs_iter"):
        return documents.docs_iter()
    rows = rows_of(documents)
    if rows is not None:
        return rows
    if hasattr(documents, "itertuples"):
        names = [str(name) for name in documents.columns]
        return (with_vectors(dict(zip(names, row))) for row in documents.itertuples(index=False, name=None))
    documents = iter(documents)
    first = list(itertools.islice(documents, 1))
    documents = itertools.chain(first, documents)
    if first and isinstance(first[0], str):
        return ({"docno": str(number), "text": text} for number, text in enumerate(documents, 1))
    if first and type(first[0]) is tuple:
        return (_of_pair(pair, number) for number, pair in enumerate(documents, 1))
    return documents


def _of_pair(pair, number):
    if type(pair) is not tuple or len(pair) != 2:
        raise TypeError(f"document number {number} must be (docno, text), as the first is, not {pair!r:.80}")
    return {"docno": pair[0], "text": pair[1]}
