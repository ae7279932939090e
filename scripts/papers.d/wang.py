"""Wang, Yu, Stones, Ren, Wang, Liu, Ren: Efficient GPU-based Query Processing with Pruned List Caching (ICPADS 2017)."""
from figures import ALL, BATCH, NONE, SOME, figure, gpu_rows, measured_times, panel, simulated_ms, streamed_ms

POLICIES = ('vfb', 'qtf', 'qtfdf')
PAGERANK = ('--scorer', 'bm25+pagerank')


@figure('wang-3', "Visits along the most frequent term's list", NONE, 1)
def wang_3(m):
    rows = m.bench('bench', 'query', m.index('score'), '-q', m.log(50000), '--visits', '-k', '1,10', '--alpha', 0.3)['visits']
    series = {f"k = {row['k']}": [(place / 100, visits / row['curve']['queries'])
                                  for place, visits in enumerate(row['curve']['visits'])] for row in rows}
    return [panel(series, 'place in the list, from 0 to 1', "visiting frequency, share of the term's queries")]


def simulated_cache(m):
    """Totals by policy: (budget in percent, row)."""
    rows = m.bench('simulate', 'cache', m.index('score'), '--train', m.log(50000, 'train'), '-q', m.log(50000), '--policy',
                   ','.join(POLICIES), '--budget', '5%,10%,20%,30%,40%', '--idf', 'robertson')['results']
    return {policy: [(round(100 * row['budget_bytes'] / row['index_bytes']), row) for row in rows if row['policy'] == policy]
            for policy in POLICIES}


def memories(m):
    """Limits of all that a GPU keeps, as shares of the lists. Little of a small index leaves no room for lists."""
    return ('60%', '80%', '100%', '120%') if m.small else ('40%', '60%', '80%', '100%')


def measured_cache(m):
    points = m.file('points')
    bench = m.bench('bench', 'gpu-cache', m.index('score'), '--train', m.log(10000, 'train'), '-q', m.log(10000), '-a', 'and',
                    *PAGERANK, '--gpu-options', 'strategy=wang', '--part', 'memories', '--memories', ','.join(memories(m)),
                    '--calibrate', '70%,110%', '--policies', ','.join(POLICIES), '--batches', '64,1024', '--base',
                    f'memory={memories(m)[-1]},batch=1024', '--limits', '50,100,150,none', '--repeats', m.repeats, '--points', points,
                    '--force')
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


@figure('wang-5', 'Throughput by the cache\'s share of memory, by the model and measured', ALL, 3)
def wang_5(m):
    """In the engine, each of two batches has a list buffer."""
    bench, panels = measured_cache(m), []
    memory = max(point['expected']['list_bytes'] for point in bench['points'])
    for limit in (150, 0):
        series = {}
        for policy in POLICIES:
            curve = m.bench('simulate', 'throughput', f"{bench['folder']}/{policy}-1024.csv", '--memory', int(memory), '--limit',
                            limit)
            series[policy] = [(split['cache_bytes'] / memory, split['queries_per_second'] / 1e3) for split in curve['curve']]
        panels.append(panel(series, 'S_c / M', 'thousand queries per second', f'within {limit} ms' if limit else 'no limit'))
    memory, rates = memories(m)[-1], []
    for megabytes in (2, 3, 4) if m.small else (48, 64, 96, 128):
        buffer = f'{megabytes}M'
        row, = gpu_rows(m, m.index('score'), 'wang', ('and',), 16384, *PAGERANK, *planned(m, memory, '--list-buffer', buffer),
                        '--gpu-options', f'list-buffer={buffer}', queries=10000)
        rates.append((megabytes, row['queries_per_second'] / 1e3))
    panels.append(panel({'vfb': rates}, 'S_b, MB', 'thousand queries per second', f'measured, M {memory} of the lists'))
    return panels


def planned(m, memory, *words):
    """Options for a GPU with this memory, and the plan that fits there."""
    plan = m.file(''.join((memory, *map(str, words), '.plan')).replace('--', '-'))
    m.quern('plan', m.index('score'), '-q', m.log(10000, 'train'), '--gpu-memory', memory, *words, '-o', plan, '--force',
            '--quiet')
    return '--gpu-memory', memory, '--plan', plan


@figure('wang-6', "Times of the GPU and of the CPU's post-processing by lambda and memory", ALL, 2)
def wang_6(m):
    series = {'GPU processing': [], 'CPU post-processing': []}
    for memory in memories(m)[1::2]:
        for admission in (0.75, 0.85, 0.95, 1):
            row, = gpu_rows(m, m.index('score'), 'wang', ('and',), 1024, *PAGERANK, *planned(m, memory, '--max-admission', admission),
                            '--gpu-options', 'tails=cpu', '-j', 2, queries=10000)
            times = (row['total_us'], row.get('fronts', {}).get('resume_us', 0))
            for name, us in zip(series, times):
                series[name].append((f'{memory}\n{admission:g}', us / row['queries']))
    return [panel(series, 'GPU memory, % of the lists, and lambda', 'µs per query', kind='stack')]


@figure('wang-7', 'Transfers by policy, simulated', NONE, 1)
def wang_7(m):
    totals = simulated_cache(m).items()
    return [panel({policy: [(share, scale * row[key]) for share, row in points] for policy, points in totals},
                  'cache, % of the lists', unit, title)
            for title, key, scale, unit in (('transfer volume', 'transfer_bytes_per_query', 1e-3, 'KB per query'),
                                            ('hit rate', 'hit_rate', 100, 'lists found in the cache, %'))]


@figure('wang-8', 'Throughput by policy', ALL, 3)
def wang_8(m):
    points, shares = measured_cache(m)['points'], memories(m)
    rates = {(point['policy'], point['memory'], point['batch']): point['queries_per_second'] for point in points}
    panels = [panel({policy: [(share[:-1] + ' %', rates[policy, share, batch] / 1e3) for share in shares] for policy in POLICIES},
                    'GPU memory, % of the lists', 'thousand queries per second', f'batches of {batch}', kind='bar')
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
        panels.append(panel(series, 'GPU memory, % of the lists', 'thousand queries per second', f'within {limit} ms', kind='bar'))
    return panels


@figure('wang-10', 'A GPU with memory for a part of the lists beside CPU threads', ALL, 3)
def wang_10(m):
    """Shares of the GPU are the best ones of a simulation with measured times of the training half."""
    threads, ks = (1, 2, 4, 6, 8), (1, 10) if m.small else (1, 5, 10, 15)
    shares = [tenth / 10 for tenth in range(1, 10, 4 if m.small else 1)]
    memory = planned(m, memories(m)[-1])
    on_gpu = ('--gpu-options', 'strategy=wang', *memory)
    panels = {'cpu': {}, 'gpu': {}, 'both': {}}
    for k in ks:
        common = ('train', 'and', k, *PAGERANK)
        times = [measured_times(m, 'cpu', m.index('score'), *common),
                 measured_times(m, 'gpu', m.index('score'), *common, '--strategies', 'wang', *memory, '--batches',
                                f'1,{BATCH}')]

        def simulated(count, *words):
            return simulated_ms(m, times, '-a', 'and', '--strategy', 'wang', '-k', k, '--cpu-threads', count, *words)

        def rate(device, count, expected, *words):
            ms = streamed_ms(m, m.index('score'), 'and', k, expected, *PAGERANK, '--device', device, '--cpu-threads', count, *words)
            panels[device].setdefault(f'k = {k}', []).append((count, 1 / ms))

        for count in threads:
            sharing = {share: ('--schedule', 'share', '--gpu-share', share) for share in shares}
            expected = {share: simulated(count, *words) for share, words in sharing.items()}
            best = min(shares, key=expected.__getitem__)
            rate('cpu', count, simulated(count, '--schedule', 'cpu'))
            rate('both', count, expected[best], *sharing[best], *on_gpu)
        rate('gpu', 1, simulated(1, '--schedule', 'gpu'), *on_gpu)
    rates = {device: {name: dict(points) for name, points in series.items()} for device, series in panels.items()}
    names = [f'k = {k}' for k in ks]
    by_threads = {f'{text}, {name}': panels[device][name] for name in ('k = 1', 'k = 10')
                  for device, text in (('cpu', 'CPU'), ('both', 'combined'))}
    by_threads.update({f'GPU, {name}': [(count, rates['gpu'][name][1]) for count in threads] for name in ('k = 1', 'k = 10')})
    return [panel(by_threads, 'CPU threads', 'thousand queries per second', 'throughput', log='y'),
            panel({'GPU': [(name, rates['gpu'][name][1] / rates['cpu'][name][8]) for name in names],
                   'combined': [(name, rates['both'][name][8] / rates['cpu'][name][8]) for name in names]}, '', 'times as fast',
                  'beside 8 threads', kind='bar')]
