"""Indexes from documents and corpora."""

import os
import warnings
from types import SimpleNamespace

from . import _quern
from .index import _progress
from .sizes import size_bytes


def index(
    documents,
    path,
    *,
    stemmer="none",
    stopwords="none",
    codec="maskpfd",
    block_size=128,
    recursion=1,
    order="auto",
    seed=1,
    quantize=0,
    impacts=0,
    impact_scale=None,
    k1=1.2,
    b=0.75,
    pagerank="",
    links="",
    alpha=0.3,
    pagerank_scale="rank",
    keep_fields=(),
    store_text=False,
    forward=False,
    allow_empty=False,
    duplicates="keep",
    max_errors=1000,
    overwrite=False,
    memory=None,
    threads=None,
    progress=None,
    warn=None,
    id_field="",
    title_field="",
    text_field="",
    url_field="",
    vector_field="",
    missing="refuse",
    format="auto",
    files_from="",
    files_root="",
    include=(),
    exclude=(),
    max_document="64M",
    skip_bad=False,
    languages=(),
    drop_copies=False,
):
    """Builds an index at `path`, which appears complete or not at all.

    documents: one of
      an iterable of dicts, or of objects with these attributes: docno (or doc_id, id, _id), a str or an integer; text (or
        contents, body, content), a str or a list or tuple of them; and optionally title and url; with `impacts`, a vector
        (or toks), a dict of terms and weights, is indexed instead. The text of an object with a method default_text(), as
        ir_datasets' documents have, is its result. A document without a text of these names is indexed whole: all its
        other str, except for title, url and kept fields;
      a dataset of ir_datasets, or its name as "irds:NAME";
      the path of a corpus (a file or a folder of TREC, WARC, JSONL or TSV files, plain or compressed), or a list of
        paths. The options from `format` on apply only to these;
      None: files_from is the path of a list of a corpus's files and folders, one per line; relative paths start from
        files_root, or from the working folder.
    id_field, title_field, text_field, url_field, vector_field: the name of a field in dicts, objects and JSON objects; a
    field with a name has only that one. missing: what a missing value of pandas (NaN, NA, NaT) as text, title or URL is:
    "refuse" raises ValueError, "empty" takes it for an empty str.
    stemmer, stopwords ("none", "english", a file), codec, block_size, order ("auto", "url", "natural", "bisection",
    "score", "random"), quantize (bits of quantized impacts, 4 to 16), k1, b and the rest: as for `quern index`.
    impacts: bits of given weights, 4 to 16 (learned sparse retrieval: SPLADE, uniCOIL); weights are multiplied by
    impact_scale and rounded; without it they must be integers.
    keep_fields: names of further keys or attributes, such as ["lang", "date"], whose values are kept for filters: str of
    at most 255 bytes, numbers and bools. A document without a field, or with None, has no value.
    languages: for crawls (WARC, WET), the languages of pages to keep, as codes such as ["eng", "deu"]. drop_copies: for
    crawls, skip pages with the payload of an earlier one. skip_bad: skip any number of bad documents, and damaged members
    of gzip files.
    memory: a budget such as "1G". threads: default all cores. progress: True, or a function that is called with (stage,
    done, total, unit). warn: a function that is called with warnings; default: warnings.warn. allow_empty: build an
    index even if no document has a term.

    Returns counts of documents, terms, postings and more, with attributes of these names.
    Raises exceptions of the iterable, InvalidArgument, CorruptFile, FileError, and KeyboardInterrupt at Ctrl-C. Nothing of
    the index is left in that case.
    """
    options = _quern.IndexOptions()
    for name, value in {
        "stemmer": stemmer,
        "stopwords": _stopwords(stopwords),
        "codec": codec,
        "block_size": block_size,
        "recursion": recursion,
        "order": order,
        "seed": seed,
        "quantize_bits": quantize,
        "impact_bits": impacts,
        "impact_scale": impact_scale,
        "k1": k1,
        "b": b,
        "pagerank": os.fspath(pagerank),
        "links": os.fspath(links),
        "alpha": alpha,
        "pagerank_scale": pagerank_scale,
        "keep_fields": _names(keep_fields, "keep_fields"),
        "store_text": store_text,
        "forward": forward,
        "allow_empty": allow_empty,
        "refuse_duplicates": _refuses(duplicates),
        "max_errors": max_errors,
        "overwrite": overwrite,
    }.items():
        setattr(options, name, value)
    names = {
        "id_field": id_field,
        "title_field": title_field,
        "text_field": text_field,
        "url_field": url_field,
        "vector_field": vector_field,
    }
    work = (threads or 0, size_bytes(memory), _progress(progress), warn or warnings.warn)
    if files_from and documents is not None:
        raise TypeError("documents must be None with files_from")
    corpus = [] if files_from else _paths(documents)
    if corpus is None:
        choice = _quern.FieldChoice()
        for name, value in {**names, "missing_is_empty": _is_empty(missing)}.items():
            setattr(choice, name, value)
        return SimpleNamespace(**_quern.index_documents(_iterable(documents), os.fspath(path), options, choice, *work))
    reading = _quern.CorpusOptions()
    for name, value in {
        **names,
        "format": format,
        "files_from": os.fspath(files_from),
        "files_root": os.fspath(files_root),
        "include": list(include),
        "exclude": list(exclude),
        "max_document_bytes": size_bytes(max_document),
        "skip_bad": skip_bad,
        "languages": _names(languages, "languages"),
        "drop_copies": drop_copies,
    }.items():
        setattr(reading, name, value)
    return SimpleNamespace(**_quern.index_corpus(corpus, os.fspath(path), options, reading, *work))


def _stopwords(stopwords):
    """The stop words in the library's form."""
    if isinstance(stopwords, (str, os.PathLike)):
        return os.fspath(stopwords)
    return "words:" + ",".join(stopwords)


def _names(names, option):
    """A list of names. Refuses a single str, whose letters would be taken as names."""
    if isinstance(names, str):
        raise TypeError(f"{option} must be a sequence of names, not {names!r}")
    return list(names)


def _refuses(duplicates):
    if duplicates not in ("keep", "refuse"):
        raise ValueError(f"duplicates must be 'keep' or 'refuse', not {duplicates!r}")
    return duplicates == "refuse"


def _is_empty(missing):
    if missing not in ("refuse", "empty"):
        raise ValueError(f"missing must be 'refuse' or 'empty', not {missing!r}")
    return missing == "empty"


def _paths(documents):
    """The paths of a corpus; None if `documents` is not a corpus."""
    if isinstance(documents, (str, os.PathLike)):
        name = os.fspath(documents)
        return None if name.startswith("irds:") else [name]
    if isinstance(documents, (list, tuple)) and documents:
        if all(isinstance(path, (str, os.PathLike)) for path in documents):
            return [os.fspath(path) for path in documents]
    return None


def _iterable(documents):
    """The documents of a dataset; anything else is returned unchanged."""
    if isinstance(documents, str):
        import ir_datasets

        documents = ir_datasets.load(documents.removeprefix("irds:"))
    return documents.docs_iter() if hasattr(documents, "docs_iter") else documents
