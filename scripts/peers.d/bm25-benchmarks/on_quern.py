"""Quern in bm25-benchmarks: README.md."""
import argparse
import csv
import json
import os
import resource
import sys
import time
from pathlib import Path

import quern

CUTS = (1, 10, 100, 1000)
MEASURES = {'ndcg': 'ndcg_cut', 'map': 'map_cut', 'recall': 'recall', 'precision': 'P'}
URL = 'https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets/{}.zip'


def fetch(dataset, folder):
    """The folder of a dataset, which is downloaded unless it is there."""
    path = Path(folder) / dataset
    if not path.is_dir():
        try:
            from beir.util import download_and_unzip
        except ImportError:
            sys.exit(f'on_quern: {path} is missing; unzip the dataset there, or install beir, which downloads it')
        download_and_unzip(URL.format(dataset), str(folder))
    if dataset == 'cqadupstack':  # has parts, which the benchmarks join
        from utils.beir import merge_cqa_dupstack
        merge_cqa_dupstack(path)
    return path


def read_lines(path):
    try:
        with open(path, encoding='utf-8') as lines:
            return [json.loads(line) for line in lines]
    except OSError as error:
        sys.exit(f'on_quern: {path}: {error.strerror}; a dataset in the form of BEIR has it')


def load(path, split):
    """The documents, the texts of the judged queries, and the judgements."""
    documents = [{'docno': line['_id'], 'text': line.get('title', '') + ' ' + line['text']}
                 for line in read_lines(path / 'corpus.jsonl')]
    qrels = {}
    try:
        with open(path / 'qrels' / f'{split}.tsv', encoding='utf-8', newline='') as lines:
            for query, document, grade in list(csv.reader(lines, delimiter='\t', quoting=csv.QUOTE_NONE))[1:]:
                qrels.setdefault(query, {})[document] = int(grade)
    except OSError as error:
        sys.exit(f'on_quern: {error.filename}: {error.strerror}; a dataset in the form of BEIR has it')
    texts = {line['_id']: line['text'] for line in read_lines(path / 'queries.jsonl')}
    if missing := qrels.keys() - texts.keys():
        sys.exit(f'on_quern: {path / "queries.jsonl"} lacks the judged query {min(missing)}')
    return documents, {query: texts[query] for query in qrels}, qrels


class Timer:
    """Seconds of named steps, which are printed with the rate."""

    def __init__(self):
        self.seconds = {}

    def measure(self, name, count, step):
        start = time.perf_counter()
        result = step()
        seconds = time.perf_counter() - start
        self.seconds[name.lower()] = {'elapsed': round(seconds, 4)}
        print(f'[Quern] {name}: {seconds:.4f}s ({count / seconds:.2f}/s)')
        return result


def evaluate(results, qrels):
    """Means over the judged queries as BEIR computes them, which ignores a document with the id of its query."""
    run = {query: {docno: score for docno, score in found.items() if docno != query}
           for query, found in results.to_run().items()}
    names = [f'{name}.{cut}' for name in MEASURES.values() for cut in CUTS]
    by_query = quern.evaluate(run, qrels, names)['by_query'] if any(run.values()) else {}

    def mean(name):  # a query without results counts as 0
        return round(sum(values[name] for values in by_query.values()) / len(qrels), 5)
    return {key: {str(cut): mean(f'{name}_{cut}') for cut in CUTS} for key, name in MEASURES.items()}


def main(dataset, n_threads, top_k, save_dir, result_dir, stemmer_name, stopwords, k1, b):
    path = fetch(dataset, save_dir)
    documents, queries, qrels = load(path, 'dev' if dataset == 'msmarco' else 'test')
    print(f'Dataset: {dataset}, {len(documents):,} documents, {len(queries):,} queries, {n_threads} threads')

    timer = Timer()
    target = path / 'index.quern'
    timer.measure('Index', len(documents), lambda: quern.index(
        documents, target, stemmer={'snowball': 'porter2'}.get(stemmer_name, 'none'),
        stopwords={'en': 'english'}.get(stopwords, 'none'), k1=k1, b=b, threads=n_threads, overwrite=True))
    index = quern.open(target)
    index.batch(list(queries.values())[:1], top_k, threads=n_threads)  # opens what queries need

    def answer():
        results = index.batch(queries, top_k, threads=n_threads)
        results.docnos()  # as strings, which others return
        return results
    results = timer.measure('Query', len(queries), answer)

    scores = evaluate(results, qrels)
    print(f"nDCG {scores['ndcg']}, recall {scores['recall']}")
    outcome = {
        'model': 'quern', 'dataset': dataset, 'stemmer': stemmer_name, 'tokenizer': 'quern', 'method': 'lucene',
        'stopwords': stopwords, 'k1': k1, 'b': b, 'date': time.strftime('%Y-%m-%d %H:%M:%S'), 'n_threads': n_threads,
        'top_k': top_k, 'max_mem_gb': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2,
        'stats': {'num_docs': len(documents), 'num_queries': len(queries), 'num_tokens': index.stats.tokens},
        'timing': timer.seconds, 'scores': scores,
    }
    folder = Path(result_dir) / 'quern'
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f'{dataset}-{os.urandom(8).hex()}.json').write_text(json.dumps(outcome, indent=2))


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description='Benchmark Quern on a dataset.',
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument('-d', '--dataset', default='fiqa', help='Dataset to benchmark on.')
    parser.add_argument('-n', '--n_threads', type=int, default=1, help='Number of threads to run in parallel.')
    parser.add_argument('--top_k', type=int, default=1000, help='Number of documents to retrieve.')
    parser.add_argument('--save_dir', default='datasets', help='Directory of the datasets.')
    parser.add_argument('--result_dir', default='results', help='Directory to save results.')
    parser.add_argument('--stemmer_name', default='snowball', choices=['snowball', 'none'])
    parser.add_argument('--stopwords', default='en', choices=['en', 'none'])
    parser.add_argument('--k1', type=float, default=1.2, help='BM25 parameter.')
    parser.add_argument('--b', type=float, default=0.75, help='BM25 parameter.')
    main(**vars(parser.parse_args()))
