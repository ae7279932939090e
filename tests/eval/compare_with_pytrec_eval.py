#!/usr/bin/env python3
"""Compares `quern eval` with trec_eval 9, through its Python binding, on synthetic and given runs, and with trec_eval 10.

    pip install pytrec_eval-terrier
    tests/eval/compare_with_pytrec_eval.py build/release/quern                      # synthetic runs
    tests/eval/compare_with_pytrec_eval.py build/release/quern my.run my.qrels      # also these
    tests/eval/compare_with_pytrec_eval.py build/release/quern --trec-eval ./trec_eval   # also an executable of version 10

Each query's values must have the same bits, and summaries may differ only by the rounding of sums in another order. Of the
executable, built from github.com/usnistgov/trec_eval, the printed lines must be equal. CTest does not run it, since it needs a
package that Debian lacks.
"""
import argparse, json, math, os, random, struct, subprocess, sys, tempfile

CUTS = ['P', 'recall', 'ndcg_cut', 'map_cut', 'success']
WHOLE = ['num_ret', 'num_rel', 'num_rel_ret', 'map', 'gm_map', 'Rprec', 'bpref', 'recip_rank', 'ndcg', 'set_P', 'set_recall', 'set_F']
COUNTS = {'num_ret', 'num_rel', 'num_rel_ret'}
# Of trec_eval 10, in its order, which is that of its output.
PRINTED = ['num_q', 'num_ret', 'num_rel', 'num_rel_ret', 'map', 'gm_map', 'Rprec', 'bpref', 'recip_rank', 'iprec_at_recall', 'P',
           'recall', 'infAP', 'gm_bpref', 'Rprec_mult', 'utility', '11pt_avg', 'dcg', 'ideal_dcg', 'ndcg', 'ndcg_cut', 'map_cut',
           'relative_P', 'success', 'set_P', 'set_relative_P', 'set_recall', 'set_map', 'set_F', 'num_nonrel_judged_ret', 'rbp',
           'rbp_resid', 'unj']
CUT_LIST = [1, 2, 3, 5, 7, 10, 20, 100, 1000]


def as_float32(text):
    try:
        return struct.unpack('f', struct.pack('f', float(text)))[0]
    except OverflowError:
        return math.copysign(math.inf, float(text))


def read_run(path):
    run = {}
    with open(path) as lines:
        for line in lines:
            qid, _, docno, _, score, *_ = line.split()
            run.setdefault(qid, {})[docno] = float(score)
    return run


def read_qrels(path):
    qrels = {}
    with open(path) as lines:
        for line in lines:
            qid, _, docno, relevance = line.split()[:4]
            qrels.setdefault(qid, {})[docno] = int(relevance)
    return qrels


def cut(run, depth):
    """The first results of each query, in trec_eval's order."""
    def best(results):
        by_docno = sorted(results, key=lambda docno: docno.encode(), reverse=True)
        return sorted(by_docno, key=lambda docno: -as_float32(results[docno]))[:depth]
    return {qid: {docno: results[docno] for docno in best(results)} for qid, results in run.items()}


def expected(run, qrels, measures, level):
    """Values of all judged queries: those without results have the values of an empty ranking."""
    import pytrec_eval
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(measures), relevance_level=level)
    return evaluator.evaluate({qid: results for qid, results in run.items() if qid in qrels})


def names_of(measures):
    return [f'{m.partition(".")[0]}_{c}' for m in measures if '.' in m for c in m.partition('.')[2].split(',')] + \
           [m for m in measures if '.' not in m]


class Comparison:
    def __init__(self, quern):
        self.quern, self.values, self.summaries, self.failures = quern, 0, 0, []

    def same(self, where, name, got, want):
        self.values += 1
        if got != want:
            self.failures.append(f'{where}: {name} is {got!r}, trec_eval has {want!r}')

    def near(self, where, name, got, want, count):
        self.summaries += 1
        if abs(got - want) > count * 2e-16 * max(1.0, abs(want)) or f'{got:.4f}' != f'{want:.4f}':
            self.failures.append(f'{where}: {name} of all is {got!r}, trec_eval has {want!r}')

    def compare(self, where, run_path, qrels_path, level=1, depth=None, complete=False):
        run, qrels = read_run(run_path), read_qrels(qrels_path)
        measures = [f'{name}.{",".join(map(str, CUT_LIST))}' for name in CUTS] + WHOLE
        # trec_eval miscounts levels beyond its array if no judgement of the query reaches the previous level.
        if level - 1 > min(max(of.values()) for of in qrels.values()):
            measures.remove('bpref')
        ours = [f'{name}.{at}' for name in CUTS for at in CUT_LIST] + [name for name in measures if '.' not in name]
        words = [self.quern, 'eval', run_path, qrels_path, '--json', '--per-query', '--quiet', '--relevance-level', str(level),
                 '--as', '9', '--measures', ','.join(ours)]
        words += ['--depth', str(depth)] if depth else []
        words += ['--complete'] if complete else []
        got = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
        want = expected(cut(run, depth) if depth else run, qrels, measures, level)
        by_query = {row['id']: row['measures'] for row in got['by_query']}
        if by_query.keys() != want.keys():
            self.failures.append(f'{where}: other queries')
            return
        names = [name for name in names_of(measures) if name != 'gm_map']
        for qid, values in want.items():
            for name in names:
                self.same(f'{where}, query {qid}', name, by_query[qid][name], values[name])
        self.compare_summaries(where, got['measures'], want, qrels, names, level, complete)

    def compare_summaries(self, where, got, want, qrels, names, level, complete):
        order = sorted(want, key=lambda qid: qid.encode())
        count = len(qrels) if complete else len(want)
        for name in names:
            total = 0.0
            for qid in order:
                total += want[qid][name]
            if name == 'num_rel' and complete:
                total = sum(relevance >= level for of in qrels.values() for relevance in of.values())
            self.near(where, name, got[name], total if name in COUNTS else total / count, count)
        logs = sum(want[qid]['gm_map'] for qid in order) + (count - len(want)) * math.log(0.00001)
        self.near(where, 'gm_map', got['gm_map'], math.exp(logs / count), 100 * count)


    def compare_printed(self, where, trec_eval, run_path, qrels_path, level):
        """Compares the lines of all queries; with -c, since trec_eval 10 ends without it where a query has no results."""
        words = [self.quern, 'eval', run_path, qrels_path, '--per-query', '--complete', '--quiet', '--relevance-level', str(level),
                 '--measures', ','.join(PRINTED)]
        got = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
        words = [trec_eval, '-q', '-c', '-l', str(level)] + [word for name in PRINTED for word in ('-m', name)]
        want = subprocess.run(words + [qrels_path, run_path], check=True, capture_output=True, text=True).stdout.splitlines()
        if len(got) != len(want):
            self.failures.append(f'{where}: {len(got)} lines, trec_eval has {len(want)}')
        for ours, theirs in zip(got, want):
            name, qid = theirs.split()[:2]
            # With -c, trec_eval's num_rel of all queries ignores -l.
            if level == 1 or (name, qid) != ('num_rel', 'all'):
                self.same(where, f'{name} of {qid}', ours, theirs)


def made_up(rnd, folder):
    """A run and judgements with ties, levels, unjudged documents, and queries missing from either."""
    documents = [f'{rnd.choice(["D", "d", "X-", "é"])}{rnd.randrange(10 ** rnd.randint(1, 6))}' for _ in range(rnd.randint(5, 400))]
    documents = sorted(set(documents))
    score = rnd.choice([lambda: rnd.gauss(0, 5), lambda: rnd.randint(-3, 3), lambda: 16777216 + rnd.random() * 8,
                        lambda: 1 + rnd.random() * 1e-6, lambda: -rnd.random() * 1e-38, lambda: rnd.choice([math.inf, -math.inf, 0.0])])
    levels = rnd.choice([[0, 1], [0, 1, 2], [-1, 0, 1, 3], [0], [0, 0, 0, 7], [-2, -1, 0, 1]])
    lines, judgements = [], []
    for number in range(rnd.randint(1, 30)):
        qid = rnd.choice(['q', '', 'Q-']) + str(number)
        if rnd.random() < 0.85:
            for rank, docno in enumerate(rnd.sample(documents, rnd.randint(1, len(documents)))):
                lines.append(f'{qid} Q0 {docno} {rank} {score()!r} made-up\n')
        if rnd.random() < 0.85 or number == 0:
            judged = rnd.sample(documents, rnd.randint(1, len(documents)))
            judged = [(docno, rnd.choice(levels)) for docno in judged]
            if max(level for _, level in judged) < 0:  # trec_eval reads out of bounds
                judged[0] = (judged[0][0], 0)
            judgements += [f'{qid} 0 {docno} {level}\n' for docno, level in judged]
            if number == 0 and not lines:
                lines.append(f'{qid} Q0 {documents[0]} 1 1 made-up\n')
    if rnd.random() < 0.5:
        rnd.shuffle(lines)
        rnd.shuffle(judgements)
    paths = os.path.join(folder, 'run'), os.path.join(folder, 'qrels')
    for path, text in zip(paths, (lines, judgements)):
        with open(path, 'w') as out:
            out.writelines(text)
    return paths


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('quern')
    parser.add_argument('files', nargs='*', help='RUN QRELS, any number of pairs')
    parser.add_argument('--trec-eval', metavar='PATH', help='an executable of trec_eval 10')
    parser.add_argument('--rounds', type=int, default=200, help='synthetic runs (default: 200)')
    parser.add_argument('--seed', type=int, default=1)
    options = parser.parse_intermixed_args()
    if len(options.files) % 2:
        parser.error('each run needs judgements')
    comparison = Comparison(options.quern)
    for run, qrels in zip(options.files[::2], options.files[1::2]):
        for level, depth, complete in [(1, None, False), (1, None, True), (2, None, False), (1, 10, False)]:
            comparison.compare(f'{run}, level {level}, depth {depth}', run, qrels, level, depth, complete)
    rnd = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.rounds):
            run, qrels = made_up(rnd, folder)
            level = rnd.choice([1, 1, 1, 2, 3])
            comparison.compare(f'made-up run {number}', run, qrels, level, rnd.choice([None, None, 1, 10, 50]), rnd.random() < 0.3)
            if options.trec_eval:
                comparison.compare_printed(f'made-up run {number}', options.trec_eval, run, qrels, level)
    for failure in comparison.failures[:50]:
        print('FAILED: ' + failure)
    print(f'{comparison.values} values of queries and {comparison.summaries} summaries compared, {len(comparison.failures)} differ')
    sys.exit(1 if comparison.failures else 0)


if __name__ == '__main__':
    main()
