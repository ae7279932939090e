"""Wang, Yu, Stones, Ren, Wang, Liu, Ren: Efficient GPU-based Query Processing with Pruned List Caching (ICPADS 2017)."""
import math

from figures import ALL, BATCH, NONE, SOME, figure, gpu_rows, measured_times, panel, simulated_ms, streamed_ms

POLICIES = ('vfb', 'qtf', 'qtfdf')
SCORES = ('--scorer', 'bm25+pagerank', '--idf', 'robertson')
LINKS = (12, 25, 55, 100, 375)  # GB/s
LIMITS = (50, 100, 150)  # ms
LARGE = 4096  # queries of a batch that fills an H200


@figure('wang-3', "Visits along the most frequent term's list", NONE, 1)
def wang_3(m):
    rows = m.bench('bench', 'query', m.index('score'), '-q', m.log(50000), '--visits', '-k', '1,10', '--alpha', 0.3)['visits']
    series = {f"k = {row['k']}": [(place / 100, visits / row['curve']['queries'])
                                  for place, visits in enumerate(row['curve']['visits'])] for row in rows}
    return [panel(series, 'place in the list, from 0 to 1', "visiting frequency, share of the term's queries")]


def simulated_cache(m):
    """Totals by policy: (budget in percent, row)."""
    rows = m.bench('simulate', 'cache', m.index('score'), '--train', m.log(10000, 'train'), '-q', m.log(10000), '--policy',
                   ','.join(POLICIES), '--budget', '5%,10%,20%,30%,40%', '--idf', 'robertson')['results']
    return {policy: [(round(100 * row['budget_bytes'] / row['index_bytes']), row) for row in rows if row['policy'] == policy]
            for policy in POLICIES}


def memories(m):
    """M, as shares of the lists. A query of the sample needs a large share of them."""
    return ('40%', '60%', '80%') if m.small else ('10%', '20%', '30%', '40%')


def measured_cache(m, strategy, part, queries, *words):
    """`part` of the grid of `quern bench gpu-cache`; writes the points of the model."""
    points = m.file(f'{strategy}-{part}')
    bench = m.bench('bench', 'gpu-cache', m.index('score'), '--train', m.log(3000, 'train'), '-q', m.log(queries), '-a', 'and',
                    *SCORES, '--part', part, '--memories', ','.join(memories(m)), '--calibrate', '15%,50%', '--limits', 'none',
                    '--repeats', m.repeats, '--points', points, '--force', *words)
    return {**bench, 'folder': points}


def by_buffer(m):
    """Wang's engine: all policies, memories M and buffers S_b, for lambda = 0.95 and k = 10."""
    return measured_cache(m, 'wang', 'buffers', 2000, '--policies', ','.join((*POLICIES, 'none')), '--gpu-options',
                          'strategy=wang,tails=cpu', '--list-buffers', '8%,12%' if m.small else '1%,2%,4%,8%', '--batches',
                          f'64,512,{LARGE}', '--base', 'batch=16384,lambda=0.95')


def by_lambda(m):
    """vfb with every lambda, and the second of the buffers."""
    buffer = sorted({point['list_buffer'] for point in by_buffer(m)['points']})[1]
    return measured_cache(m, 'wang', 'lambdas', 2000, '--policies', 'vfb', '--gpu-options',
                          f'strategy=wang,tails=cpu,list-buffer={buffer}', '--batches', LARGE, '--base', 'batch=16384')


def by_batch(m):
    """Quern's own strategy."""
    return measured_cache(m, 'range', 'memories', 10000, '--policies', ','.join((*POLICIES, 'none')), '--gpu-options',
                          'strategy=range', '--batches', '256,16384')


def response_ms(point):
    """With two batches under way, a batch waits for the one before it."""
    return min(2, point['batches']) * point['total_us'] * point['queries'] / point['batches'] / 1000


def best_rates(points, limit=math.inf):
    """Thousand queries per second by policy and memory, of the best buffer, batch or lambda within a response time; else 0."""
    rates = {}
    for point in points:
        own = rates.setdefault(point['policy'], {})
        rate = point['queries_per_second'] / 1e3 if response_ms(point) <= limit else 0
        own[point['memory']] = max(own.get(point['memory'], 0), rate)
    return rates


def bars(rates, title):
    return panel({policy: [(f'{memory[:-1]} %', rate) for memory, rate in own.items()] for policy, own in rates.items()},
                 'M, % of the lists', 'thousand queries per second', title, kind='bar')


def modelled(m, bench, policy, batch, memory_bytes, *words):
    """The model's best split and curve."""
    return m.bench('simulate', 'throughput', f"{bench['folder']}/{policy}-{batch}.csv", '--memory', int(memory_bytes), *words)


def bytes_of(bench, memory):
    """M in bytes; buffers are a part of it."""
    return next(point['expected']['list_bytes'] + 2 * point['list_buffer'] for point in bench['points']
                if point['memory'] == memory)


@figure('wang-4', 'The functions of the throughput model', SOME, 3)
def wang_4(m):
    panels = [panel({policy: [(share, row['transfer_bytes_per_query'] / 1e3) for share, row in points]
                     for policy, points in simulated_cache(m).items()}, 'S_c, % of the lists', 'KB transferred per query',
                    'dq(S_c), simulated')]
    if m.gpu:
        bench = by_buffer(m)
        runs = sorted({run['batch_queries']: run for run in bench['resident']}.items())
        panels += [panel({'c': [(batch, run['c_us']) for batch, run in runs]}, 'n, queries per batch', 'µs per query', 'c(n)',
                         log='xy'),
                   panel({'t': [(copy['bytes'] / 1e6, 1e6 * copy['us'] / copy['bytes']) for copy in bench['copied_lists']]},
                         'S_b, MB', 'µs per MB', 't(S_b)', log='xy')]
    return panels


@figure('wang-5', 'Throughput by the cache\'s share of memory, by the model and measured', ALL, 1)
def wang_5(m):
    bench, panels = by_buffer(m), []
    memory = bytes_of(bench, memories(m)[-1])
    for limit in (150, 0):
        curves = {policy: modelled(m, bench, policy, LARGE, memory, '--limit', limit)['curve'] for policy in POLICIES}
        points = {policy: [{**point, **point['expected']} for point in bench['points'] if point['policy'] == policy
                           and point['memory'] == memories(m)[-1] and response_ms(point) <= (limit or math.inf)]
                  for policy in POLICIES}
        for source, found in (('', curves), (', measured', points)):
            series = {policy: [(row['cache_bytes'] / memory, row['queries_per_second'] / 1e3) for row in rows]
                      for policy, rows in found.items()}
            panels.append(panel(series, 'S_c / M', 'thousand queries per second',
                                (f'within {limit} ms' if limit else 'no limit') + source))
    return panels


@figure('wang-6', "Times of the GPU and of the CPU's post-processing by lambda and memory", ALL, 1)
def wang_6(m):
    points = by_lambda(m)['points']
    series = {name: [(f"{point['memory']}\n{point['max_admission']:g}", point[key]) for point in points]
              for name, key in (('GPU processing', 'gpu_us'), ('copies', 'copying_us'), ('CPU post-processing', 'cpu_us'))}
    return [panel(series, 'M, % of the lists, and lambda', 'µs per query', kind='stack')]


@figure('wang-7', 'Transfers by policy, simulated', NONE, 1)
def wang_7(m):
    totals = simulated_cache(m).items()
    return [panel({policy: [(share, scale * row[key]) for share, row in points] for policy, points in totals},
                  'cache, % of the lists', unit, title)
            for title, key, scale, unit in (('transfer volume', 'transfer_bytes_per_query', 1e-3, 'KB per query'),
                                            ('hit rate', 'hit_rate', 100, 'lists found in the cache, %'))]


@figure('wang-8', 'Throughput by policy', ALL, 1)
def wang_8(m):
    """Also with range, and by the model for other links, with a second memory."""
    own, memory = by_buffer(m), memories(m)[1]
    benches = {'wang': (own, own['points'] + by_lambda(m)['points'], LARGE)}
    for batch in (256, 16384):
        bench = by_batch(m)
        points = [point for point in bench['points'] if point['batch'] == batch]
        benches[f'range, batches of {batch}'] = bench, points, batch
    best = best_rates(benches['wang'][1])
    panels = [bars(best_rates(points), name) for name, (_, points, _) in benches.items()]
    panels.insert(1, panel({'Quern': [(other, 100 * max(rate / best[other][share] - 1 for share, rate in best['vfb'].items()
                                                     if best[other].get(share)))
                                      for other in POLICIES[1:]]}, '', 'most that vfb is faster, %', 'vfb against', kind='bar'))
    for name, (bench, points, batch) in benches.items():
        link = max(copy['gb_per_second'] for copy in bench['pinned_copies'])
        series = {policy: [(speed, modelled(m, bench, policy, batch, bytes_of(bench, memory), '--overlap', '--link', speed)
                            ['best']['queries_per_second'] / 1e3) for speed in LINKS] for policy in (*POLICIES, 'none')}
        series.update({f'{policy}, measured': [(link, rates[memory])] for policy, rates in best_rates(points).items()})
        panels.append(panel(series, 'GB/s of the link', 'thousand queries per second', f'{name}, M = {memory}', log='x'))
    return panels


@figure('wang-9', 'Throughput within a response time', ALL, 1)
def wang_9(m):
    points = by_buffer(m)['points'] + by_lambda(m)['points']
    return [bars(best_rates(points, limit), f'within {limit} ms') for limit in LIMITS]


@figure('wang-10', 'A GPU with memory for a part of the lists beside CPU threads', ALL, 2)
def wang_10(m):
    """Shares of the GPU are the best ones of a simulation with measured times of the training half."""
    threads, ks = (1, 2, 4, 8), (1, 10) if m.small else (1, 5, 10, 15)
    index, names = m.index('score'), {k: f'k = {k}' for k in ks}
    shares = [tenth / 10 for tenth in range(1, 10, 4 if m.small else 1)]
    memory, plan = '9M' if m.small else '40%', m.file('wang-10.plan')
    m.quern('plan', index, '-q', m.log(3000, 'train'), '--gpu-memory', memory, '--idf', 'robertson', '-o', plan, '--force',
            '--quiet')
    on_gpu = ('--gpu-memory', memory, '--plan', plan, '--gpu-options')
    all_ks = ','.join(map(str, ks))
    times = [measured_times(m, device, index, 'train', 'and', all_ks, *SCORES, *words, queries=200)
             for device, words in (('cpu', ()), ('gpu', ('--strategies', 'wang', *on_gpu, 'tails=cpu', '--batches', f'1,{BATCH}')))]
    rates, by_share, simulated = {'CPU': {}, 'GPU': {}, f'GPU, batches of {LARGE}': {}, 'combined': {}}, {}, {}
    for count in threads[1:]:
        rows = m.bench('bench', 'query', index, '-q', m.log(150), '-a', 'and', '-k', all_ks if count == 8 else '1,10', *SCORES,
                       '-j', count, '--repeats', 1, '--warm-up', 0)
        rates['CPU'].update({(row['k'], batch['threads']): batch['queries_per_second'] / 1e3 for row in rows['results']
                             for batch in row['batches']})
    for row in gpu_rows(m, index, 'wang', ('and',), f'{BATCH},{LARGE}', '-k', all_ks, *SCORES, *on_gpu, 'tails=cpu', queries=3000):
        own = rates['GPU' if row['batch_queries'] == BATCH else f'GPU, batches of {LARGE}']
        own.update({(row['k'], count): row['queries_per_second'] / 1e3 for count in threads})
    for k in ks:
        for count in threads if k in (1, 10) else threads[-1:]:
            sharing = {share: ('--schedule', 'share', '--gpu-share', share) for share in shares}
            ms = {share: simulated_ms(m, times, '-a', 'and', '--strategy', 'wang', '-k', k, '--cpu-threads', count, *words)
                  for share, words in sharing.items()}
            best = min(ms, key=ms.get)
            simulated[k, count] = 1 / ms[best]
            ms_of_stream = streamed_ms(m, index, 'and', k, ms[best], *SCORES, '--device', 'both', '--cpu-threads', count,
                                       *sharing[best], *on_gpu, 'strategy=wang,tails=cpu')
            rates['combined'][k, count] = 1 / ms_of_stream
        by_share[names[k]] = [(share, 1 / each) for share, each in ms.items()]
    by_threads = {f'{name}, k = {k}': [(count, own[k, count]) for count in threads] for k in (1, 10)
                  for name, own in (*rates.items(), ('combined, simulated', simulated))}
    return [panel(by_threads, 'CPU threads', 'thousand queries per second', 'throughput', log='y'),
            panel({name: [(names[k], own[k, 8] / rates['CPU'][k, 8]) for k in ks] for name, own in rates.items() if name != 'CPU'},
                  '', 'times as fast', 'beside 8 threads', kind='bar'),
            panel(by_share, "the GPU's share", 'thousand queries per second', 'by share, simulated with 8 threads')]
