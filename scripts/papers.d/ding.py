"""Ding, He, Yan, Suel: Using Graphics Processors for High Performance IR Query Processing (WWW 2009)."""
from figures import ALL, NONE, SOME, cpu_times, figure, gpu_rows, measured_times, panel, stacked

METHODS = {'Rice': ('rice', None), 'a width per block': ('newpfd', None), **{f'recursion {r}': ('rpfd', r) for r in range(5)}}


def decoded_on_cpu(m):
    """Rows of bench codec by (codec, recursion), for each class of lengths; the class of all lists is None."""
    bench = m.bench('bench', 'codec', m.index(), '--codec', 'newpfd,rpfd,rice', '--lengths', 'all,doubling', '--recursion',
                    '0,1,2,3,4', '--block-size', '128,512', '--postings', 1000000, '--no-peers', '--repeats', m.repeats)
    wanted = {'newpfd': 128, 'rpfd': 512, 'rice': 512}
    return {group.get('greatest_length') and group['greatest_length'] + 1:
            {(row['codec'], row.get('recursion') if row['codec'] == 'rpfd' else None): row for row in group['codecs']
             if row['block_size'] == wanted[row['codec']]} for group in bench['groups']}


def cpu_rate(row):
    return max(level['docids_per_second'] for level in row['decoding'].values()) / 1e6


def coded(m, codec='rpfd'):
    return m.index(codec=codec, block=m.large_block)


def decoded_on_gpu(m, codec, lengths):
    return m.bench('bench', 'gpu-decode', coded(m, codec), '--lengths', lengths, '--repeats', m.repeats)['groups']


@figure('ding-3', 'Compressed size by method', NONE, 1)
def ding_3(m):
    rows = decoded_on_cpu(m)[None]
    return [panel({'Quern': [(name, rows[method]['docid_bytes_per_posting']) for name, method in METHODS.items()]}, '',
                  'bytes per docID', kind='bar')]


@figure('ding-t1', 'Decoding rates', SOME, 1)
def ding_t1(m):
    codecs = {'Rice': ('rice', None), 'PForDelta': ('rpfd', 1)}
    rows = decoded_on_cpu(m)[None]
    series = {'CPU': [(name, cpu_rate(rows[method])) for name, method in codecs.items()]}
    if m.gpu:
        groups = {name: decoded_on_gpu(m, method[0], 'all')[0] for name, method in codecs.items()}
        for name, key in (('GPU', 'docids'), ('GPU, a list at a time', 'single_docids')):
            series[name] = [(codec, group[f'{key}_per_second'] / 1e6) for codec, group in groups.items()]
    return [panel(series, '', 'million docIDs per second', kind='bar', log='y')]


@figure('ding-4', 'Decoding rate of PForDelta by list length', SOME, 1)
def ding_4(m):
    series = {'CPU': [(to, cpu_rate(rows['rpfd', 1])) for to, rows in decoded_on_cpu(m).items() if to]}
    if m.gpu:
        groups = [group for group in decoded_on_gpu(m, 'rpfd', 'doubling') if group['greatest_length']]
        for name, key in (('GPU+LPS', 'docids'), ('GPU', 'distances'), ('GPU+LPS, a list at a time', 'single_docids')):
            series[name] = [(group['greatest_length'] + 1, group[f'{key}_per_second'] / 1e6) for group in groups]
    return [panel(series, 'list length, upper bound of its class', 'million integers per second', log='xy')]


@figure('ding-6', 'Parallel Merge Find by levels of recursion', ALL, 1)
def ding_6(m):
    def lookups(*words):
        rows = m.bench('bench', 'gpu-decode', '--lookups', *words, '--repeats', m.repeats)['lookups']
        return {f'{level} levels': [(row['in'], 1000 * row['us'][level] / row['elements']) for row in rows]
                for level in range(5)}

    unit = 'ns per element of the shorter list'
    return [panel(lookups('5000,50000,500000,4000000,16000000'), 'elements of each list', unit, 'equal lengths', log='xy'),
            panel(lookups('200000', '--longer', '1,4,16,64'), 'elements of the longer list', unit, '200,000 in a longer list',
                  log='xy')]


@figure('ding-t2', 'Milliseconds per query, one at a time', SOME, 1)
def ding_t2(m):
    algorithms = ('and', 'or', 'and-or')
    series = {'CPU': [(name, ms) for (name, _), ms in cpu_times(m, coded(m), algorithms).items()]}
    for strategy in ('ding', 'range') if m.gpu else ():
        series[f'GPU, {strategy}'] = [(row['algorithm'], row['wall']['mean_us'] / 1000)
                                      for row in gpu_rows(m, coded(m), strategy, algorithms, 1)]
    return [panel(series, '', 'ms per query', kind='bar', log='y')]


@figure('ding-t3', 'Shares of the steps of a GPU query', ALL, 1)
def ding_t3(m):
    rows = {f"{strategy}, {row['algorithm']}": row for strategy in ('ding', 'range')
            for row in gpu_rows(m, coded(m), strategy, ('and', 'or'), 1)}
    return [panel(stacked(rows, {'copy': ('upload_us', 'download_us'), 'initialize': (), 'decode': ('decode_us',),
                                 'intersect or add up': ('unite_us',), 'score, choose': ('finish_us',)}),
                  '', "share of the GPU's time, %", kind='stack')]


@figure('ding-7', 'Responses to a stream of `and` queries by schedule, simulated with measured times', SOME, 2)
def ding_7(m):
    names = {'cpu': 'CPU only', 'gpu': 'GPU only', 'better': 'CPU+GPU serialized', 'ding': 'CPU+GPU parallel'}
    if not m.gpu:
        names = {'cpu': names['cpu']}
    times = {half: [measured_times(m, 'cpu', coded(m), half, 'and', 10)] for half in ('train', 'test')}
    if m.gpu:
        for half, files in times.items():
            files.append(measured_times(m, 'gpu', coded(m), half, 'and', 10, '--batches', 1))
    costs = m.file('ding.costs')
    m.quern('bench', 'cost', *times['train'], '--test', *times['test'], '-o', costs, '--force', '--quiet')

    def simulated(schedules, *words):
        return m.bench('simulate', 'schedule', *times['test'], '-a', 'and', '--costs', costs, '--max-batch', 1, '--gpu-batches', 1,
                       '--cpu-threads', 1, '--deadline', 5 if m.small else 500, '--schedule', ','.join(schedules), *words)

    highest = {row['schedule']: row['rate'] for row in simulated(names)['highest_rates']}
    series = {}
    for schedule, name in names.items():
        if not highest[schedule]:
            continue  # a query alone misses the deadline
        rates = [highest[schedule] * share for share in (0.01, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)]
        runs = simulated([schedule], '--rate', ','.join(f'{rate:.3f}' for rate in rates))['runs']
        series[name] = [(run['rate'], run['mean_us'] / 1000) for run in runs if not run['missed']]
    return [panel(series, 'queries that arrive per second', 'mean response, ms', 'responses', log='xy'),
            panel({'Quern': [(names[schedule], rate) for schedule, rate in highest.items()]}, '',
                  'queries per second without a missed deadline', 'highest rates', kind='bar', log='y')]
