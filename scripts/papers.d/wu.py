"""Wu, Zhang, Ao, Wang, Liu, Wang: A Batched GPU Algorithm for Set Intersection (ISPAN 2009)."""
from figures import ALL, NONE, SOME, figure, measured_times, panel, read_times, shares_below

WU_QUERIES = 33337
BATCHES = (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)


def for_all(queries_per_second):
    """Milliseconds for as many queries as Wu et al. have."""
    return 1000 * WU_QUERIES / queries_per_second


def on_cpu(m, log=None):
    """Queries per second of one thread."""
    row, = m.bench('bench', 'intersect', m.index(), '-q', log or m.log(1000), '--method', 'stride', '--repeats', 1)['results']
    return 1e6 / row['mean_us']


def intersected(m, methods, batches, *words, log=None):
    return m.bench('bench', 'gpu-intersect', m.index(), '-q', log or m.log(WU_QUERIES), '--methods', methods, '--batches',
                   ','.join(map(str, batches)), '--cpu-methods', 'block-skipping', '--repeats', m.repeats, *words)['gpu']


def one_by_one(m):
    row, = intersected(m, 'serial', (1,), log=m.log(1000))
    return row['queries_per_second']


def copying_ms(row, queries):
    """Copies of queries and results, for as many queries as Wu et al. have."""
    return (row['last_pass']['upload_us'] + row['last_pass']['download_us']) / 1000 * WU_QUERIES / queries


def shortest_lists(m):
    rows = read_times(measured_times(m, 'cpu', m.index(), 'test', 'and', 10, queries=5000))
    return {query: int(row['shortest']) for query, row in rows.items()}


@figure('wu-6', 'Queries by the length of their shortest list', NONE, 1)
def wu_6(m):
    bounds = [10, 30, 100, 300, 1000, 2000, 3840, 6000, 10000, 20000, 50000, 100000]
    return [panel({'Quern': shares_below(list(shortest_lists(m).values()), bounds)}, 'length of the shortest list',
                  'queries with a shorter one, %', log='x')]


@figure('wu-7', 'Time by batch size, in order of arrival', ALL, 1)
def wu_7(m):
    rows = intersected(m, 'batched', BATCHES, '--bucketing', 'off')
    return [panel({'batched': [(row['batch_queries'], for_all(row['queries_per_second'])) for row in rows],
                   'one query at a time': [(batch, for_all(one_by_one(m))) for batch in (BATCHES[0], BATCHES[-1])]},
                  'queries per batch', f'ms for {WU_QUERIES:,} queries', log='xy')]


@figure('wu-t1', 'Time in order of arrival', SOME, 1)
def wu_t1(m):
    series = {'CPU': [('CPU, one thread', for_all(on_cpu(m)))]}
    if m.gpu:
        row, = intersected(m, 'batched', (16384,), '--bucketing', 'off')
        series['GPU'] = [('GPU, batched', for_all(row['kernel_queries_per_second']))]
    return [panel(series, '', f'ms for {WU_QUERIES:,} queries', kind='bar', log='y')]


@figure('wu-8', 'Time in order of length', SOME, 1)
def wu_8(m):
    bars = [('CPU, one thread', for_all(on_cpu(m)))]
    if m.gpu:
        row, = intersected(m, 'batched', (16384,), '--bucketing', 'on')
        bars += [('batched', for_all(row['queries_per_second'])),
                 ('batched,\nkernels', for_all(row['kernel_queries_per_second'])),
                 ('one query\nat a time', for_all(one_by_one(m)))]
    return [panel({'Quern': bars}, '', f'ms for {WU_QUERIES:,} queries', kind='bar', log='y')]


@figure('wu-9', 'Rates by the length of the shortest list', SOME, 3)
def wu_9(m):
    bounds = [*range(0, 10000, 1000), *range(10000, 100001, 10000), 10 ** 12]
    lines, lengths, series = m.lines(5000), shortest_lists(m), {}
    for low, high in zip(bounds, bounds[1:]):
        queries = [lines[query - 1] for query, length in lengths.items() if low <= length < high]
        if len(queries) < 20:
            continue
        path = m.write(f'from-{low}.txt', queries)
        series.setdefault('CPU', []).append((low, on_cpu(m, path) / 1e3))
        for row in intersected(m, 'batched', (64, 512), log=path) if m.gpu else ():
            series.setdefault(f"batches of {row['batch_queries']}", []).append((low, row['queries_per_second'] / 1e3))
    return [panel(series, 'length of the shortest list, lower bound of its class', 'thousand queries per second', log='y')]


@figure('wu-10', 'Time by batch size, in order of length', ALL, 1)
def wu_10(m):
    rows = intersected(m, 'batched', BATCHES, '--bucketing', 'on')
    queries = len(m.lines(WU_QUERIES))
    return [panel({'calculating': [(row['batch_queries'], for_all(row['kernel_queries_per_second'])) for row in rows],
                   'copying': [(row['batch_queries'], copying_ms(row, queries)) for row in rows]},
                  'queries per batch', f'ms for {WU_QUERIES:,} queries', log='xy')]


@figure('wu-t2', 'Copies of results, batches of 2,048', ALL, 1)
def wu_t2(m):
    names = {'single': 'separately', 'whole': 'as a whole', 'packed': 'packed'}
    rows = intersected(m, 'batched', (2048,), '--transfer', ','.join(names))
    queries = len(m.lines(WU_QUERIES))
    return [panel({'Quern': [(names[row['transfer']], copying_ms(row, queries)) for row in rows]}, '',
                  f'ms for {WU_QUERIES:,} queries', kind='bar', log='y')]


@figure('wu-11', 'Response time by batch size', ALL, 1)
def wu_11(m):
    rows = intersected(m, 'batched', BATCHES, '--bucketing', 'on')
    return [panel({'batched': [(row['batch_queries'], row['last_pass']['mean_response_us'] / 1000) for row in rows]},
                  'queries per batch', 'ms per response', log='xy')]
