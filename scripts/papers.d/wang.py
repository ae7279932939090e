"""Wang, Yu, Stones, Ren, Wang, Liu, Ren: Efficient GPU-based Query Processing with Pruned List Caching (ICPADS 2017)."""
from figures import ALL, NONE, SOME, figure, gpu_rows, measured_times, panel, simulated_ms

POLICIES = ('vfb', 'qtf', 'qtfdf')
PAGERANK = ('--scorer', 'bm25+pagerank')


@figure('wang-3', "Visits along the most frequent term's list", NONE, 1)
def wang_3(m):
    rows = m.bench('bench', 'query', m.index('score'), '-q', m.log(50000), '--visits', '-k', '1,10', '--alpha', 0.3)['visits']
    series = {f"k = {row['k']}": [(place / 100, visits / row['curve']['queries'])
                                  for place, visits in enumerate(row['curve']['visits'])] for row in rows}
    return [panel(series, 'place in the list, from 0 to 1', "visiting frequency, share of the term's queries")]


def simulated_cache(m):
    """Totals by policy and lambda: (budget in percent, row)."""
    rows = m.bench('simulate', 'cache', m.index('score'), '--train', m.log(50000, 'train'), '-q', m.log(50000), '--policy',
                   ','.join(POLICIES), '--budget', '5%,10%,20%,30%,40%', '--idf', 'robertson')['results']
    return {policy: [(100 * row['budget_bytes'] / row['index_bytes'], row) for row in rows if row['policy'] == policy]
            for policy in POLICIES}


def measured_cache(m):
    points = m.file('points')
    bench = m.bench('bench', 'gpu-cache', m.index('score'), '--train', m.log(10000, 'train'), '-q', m.log(10000), '-a', 'and',
                    *PAGERANK, '--gpu-options', 'strategy=wang', '--part', 'memories', '--memories', '10%,20%,30%,40%',
                    '--calibrate', '7%,25%', '--policies', ','.join(POLICIES), '--batches', '64,1024', '--base',
                    'memory=40%,batch=1024', '--limits', '50,100,150,none', '--repeats', m.repeats, '--points', points, '--force')
    return {**bench, 'folder': points}


@figure('wang-4', 'The functions of the throughput model', SOME, 3)
def wang_4(m):
    panels = [panel({policy: [(share, row['transfer_bytes_per_query'] / 1e3) for share, row in points]
                     for policy, points in simulated_cache(m).items()}, 'S_c, % of the lists', 'KB transferred per query',
                    'dq(S_c), simulated')]
    if m.gpu:
        bench = measured_cache(m)
        runs = sorted({run['batch_queries']: run for run in bench['resident']}.items())
        panels += [panel({'c': [(batch, run['c_us']) for batch, run in runs]}, 'n, queries per batch', 'µs per query', 'c(n)',
                         log='xy'),
                   panel({'t': [(copy['bytes'] / 1e6, 1e6 * copy['us'] / copy['bytes']) for copy in bench['copied_lists']]},
                         'S_b, MB', 'µs per MB', 't(S_b)', log='xy')]
    return panels


@figure('wang-5', 'Throughput by the cache\'s share of memory, by the model', ALL, 3)
def wang_5(m):
    """Measured throughput by the buffer's size needs an engine whose buffer can be set."""
    bench, panels = measured_cache(m), []
    memory = max(point['expected']['list_bytes'] for point in bench['points'])
    for limit in (150, 0):
        series = {}
        for policy in POLICIES:
            curve = m.bench('simulate', 'throughput', f"{bench['folder']}/{policy}-1024.csv", '--memory', int(memory), '--limit',
                            limit)
            series[policy] = [(split['cache_bytes'] / memory, split['queries_per_second'] / 1e3) for split in curve['curve']]
        panels.append(panel(series, 'S_c / M', 'thousand queries per second', f'within {limit} ms' if limit else 'no limit'))
    return panels


@figure('wang-6', "Times of the GPU and of the CPU's post-processing by lambda and cache size", ALL, 3)
def wang_6(m):
    rows, index = {}, m.index('score')
    for budget in (10, 20, 40):
        for admission in (0.75, 0.85, 0.95, 1):
            plan = m.file(f'{budget}-{admission}.plan')
            m.quern('plan', index, '-q', m.log(10000, 'train'), '--budget', f'{budget}%', '--max-admission', admission, '-o', plan,
                    '--force', '--quiet')
            # Plans get at most three quarters of the memory for lists.
            row, = gpu_rows(m, index, 'wang', ('and',), 1024, *PAGERANK, '--plan', plan, '--gpu-memory', f'{budget * 4 // 3 + 6}%',
                            '--gpu-options', 'tails=cpu', '-j', 2, queries=10000)
            rows[f'{budget} %\n{admission:g}'] = {
                'GPU': row['decode_us'] + row['unite_us'] + row['finish_us'] + row['upload_us'] + row['download_us'],
                'CPU': row.get('fronts', {}).get('resume_us', 0), 'queries': row['queries']}
    return [panel({name: [(bar, row[device] / row['queries']) for bar, row in rows.items()]
                   for name, device in (('GPU processing', 'GPU'), ('CPU post-processing', 'CPU'))},
                  'cache, % of the lists, and lambda', 'µs per query', kind='stack')]


@figure('wang-7', 'Transfers by policy, simulated', NONE, 1)
def wang_7(m):
    totals = simulated_cache(m).items()
    return [panel({policy: [(share, scale * row[key]) for share, row in points] for policy, points in totals},
                  'cache, % of the lists', unit, title)
            for title, key, scale, unit in (('transfer volume', 'transfer_bytes_per_query', 1e-3, 'KB per query'),
                                            ('hit rate', 'hit_rate', 100, 'lists found in the cache, %'))]


@figure('wang-8', 'Throughput by policy', ALL, 3)
def wang_8(m):
    points = measured_cache(m)['points']
    shares = ('10%', '20%', '30%', '40%')
    rates = {(point['policy'], point['memory'], point['batch']): point['queries_per_second'] for point in points}
    panels = [panel({policy: [(share[:-1] + ' %', rates[policy, share, batch] / 1e3) for share in shares] for policy in POLICIES},
                    'GPU memory for lists', 'thousand queries per second', f'batches of {batch}', kind='bar')
              for batch in (64, 1024)]
    panels.append(panel({'Quern': [(other, 100 * max(rates['vfb', share, batch] / rates[other, share, batch] - 1
                                                     for share in shares for batch in (64, 1024))) for other in POLICIES[1:]]}, '',
                        'most that vfb is faster, %', 'vfb against', kind='bar'))
    return panels


@figure('wang-9', 'Throughput within a response time, by the model', ALL, 3)
def wang_9(m):
    splits = [split for split in measured_cache(m)['splits'] if split['model'] == 'in turn']
    panels = []
    for limit in (50, 100, 150):
        series = {policy: [(split['memory'].replace('%', ' %'), (split['queries_per_second'] or 0) / 1e3) for split in splits
                           if (split['policy'], split['limit_ms']) == (policy, limit)] for policy in POLICIES}
        panels.append(panel(series, 'GPU memory for lists', 'thousand queries per second', f'within {limit} ms', kind='bar'))
    return panels


@figure('wang-10', 'A GPU beside CPU threads, simulated with measured times', SOME, 3)
def wang_10(m):
    threads, ks = (1, 2, 4, 6, 8), (1, 10) if m.small else (1, 5, 10, 15)
    shares = [tenth / 10 for tenth in range(0, 11, 5 if m.small else 1)]
    rates, alone, both = {}, {}, {}
    for k in ks:
        common = ('and', k, *PAGERANK)
        times = {half: [measured_times(m, 'cpu', m.index('score'), half, *common)] for half in ('train', 'test')}
        for half, files in times.items():
            if m.gpu:
                files.append(measured_times(m, 'gpu', m.index('score'), half, *common, '--strategies', 'wang', '--batches', '1,256'))

        def rate(half, count, *words):
            return 1 / simulated_ms(m, times[half], '-a', 'and', '--strategy', 'wang', '-k', k, '--cpu-threads', count, *words)

        rates[k] = {count: rate('test', count, '--schedule', 'cpu') for count in threads}
        if m.gpu:
            alone[k] = rate('test', 1, '--schedule', 'gpu')
            best = {count: max(shares, key=lambda share: rate('train', count, '--schedule', 'share', '--gpu-share', share))
                    for count in threads}
            both[k] = {count: rate('test', count, '--schedule', 'share', '--gpu-share', best[count]) for count in threads}
    by_threads = {f'CPU, k = {k}': rates[k].items() for k in (1, 10)}
    panels = [panel(by_threads, 'CPU threads', 'thousand queries per second', 'throughput', log='y')]
    if m.gpu:
        by_threads.update({f'GPU, k = {k}': [(count, alone[k]) for count in threads] for k in (1, 10)})
        by_threads.update({f'combined, k = {k}': both[k].items() for k in (1, 10)})
        panels = [panel(by_threads, 'CPU threads', 'thousand queries per second', 'throughput', log='y'),
                  panel({'GPU': [(f'k = {k}', alone[k] / rates[k][8]) for k in ks],
                         'combined': [(f'k = {k}', both[k][8] / rates[k][8]) for k in ks]}, '', 'times as fast', 'beside 8 threads',
                        kind='bar')]
    return panels
