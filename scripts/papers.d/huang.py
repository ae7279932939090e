"""Huang, Ren, Zhao, Stones, Zhang, Wang, Liu: GPU-Accelerated Block-Max Query Processing (ICA3PP 2017)."""
from figures import (ALL, BATCH, NONE, SOME, cpu_times, figure, gpu_rows, measured_times, panel, read_times, shares_below,
                     simulated_ms, stacked, streamed_ms)

ALGORITHMS = ('and', 'or', 'wand', 'bmw')
PARTITIONS = (32, 64, 128, 256, 320, 512)


def partition(threads):
    return ('--gpu-options', f'partitions={threads}')


def blocks64(m):
    return m.index(codec='newpfd', block=64)


@figure('huang-t1', "Query times by a thread block's threads and k", ALL, 3)
def huang_t1(m):
    ks = '1,10,20'
    cpu = cpu_times(m, blocks64(m), ALGORITHMS, ks)
    series = {algorithm: {f'{name}, k = {k}': [] for k in (1, 10, 20) for name in ('GPU', 'CPU')} for algorithm in ALGORITHMS}
    for threads in PARTITIONS:
        for row in gpu_rows(m, blocks64(m), 'partition', ALGORITHMS, BATCH, '-k', ks, *partition(threads)):
            series[row['algorithm']][f"GPU, k = {row['k']}"].append((threads, 1000 / row['queries_per_second']))
    for (algorithm, k), ms in cpu.items():
        series[algorithm][f'CPU, k = {k}'] = [(threads, ms) for threads in (PARTITIONS[0], PARTITIONS[-1])]
    return [panel(rows, 'threads of a thread block', 'ms per query', algorithm, log='xy') for algorithm, rows in series.items()]


def huang_times(m, algorithm, threads=64):
    """Times of one CPU thread and of `partition`, of `range` if `threads` is 0."""
    files = [measured_times(m, 'cpu', blocks64(m), 'test', algorithm, 10)]
    if m.gpu:
        files.append(measured_times(m, 'gpu', blocks64(m), 'test', algorithm, 10, '--batches', f'1,{BATCH}', '--strategies',
                                    *(('partition', *partition(threads)) if threads else ('range',))))
    return files


@figure('huang-3', "Query times by the blocks of a query's lists", SOME, 2)
def huang_3(m):
    bounds = [0, *(int(10 ** (half / 2)) for half in range(1, 13)), 10 ** 12]
    panels = []
    for algorithm in ALGORITHMS:
        cpu, *gpu = huang_times(m, algorithm)
        times = {'CPU': read_times(cpu)}
        if gpu:
            times['GPU, partition'] = read_times(gpu[0], BATCH)
            times['GPU, range'] = read_times(huang_times(m, algorithm, 0)[1], BATCH)
        series = {}
        for name, rows in times.items():
            for low, high in zip(bounds, bounds[1:]):
                some = [row for row in rows.values() if low <= int(row['blocks']) < high]
                if some:
                    series.setdefault(name, []).append((sum(int(row['blocks']) for row in some) / len(some),
                                                        sum(float(row['us']) for row in some) / len(some) / 1000))
        panels.append(panel(series, 'blocks of 64 postings, mean of a class', 'ms per query', algorithm, log='xy'))
    return panels


@figure('huang-4', "Queries by the blocks of their lists", NONE, 1)
def huang_4(m):
    blocks = [int(row['blocks']) for row in read_times(huang_times(m, 'and')[0]).values()]
    bounds = [1, 3, 10, 30, 100, 300, 1000, 3000, 10000, 30000, 50000, 100000, 300000]
    return [panel({'Quern': shares_below(blocks, bounds)}, 'blocks of 64 postings', 'queries with fewer blocks, %', log='x')]


@figure('huang-5', 'Shares of the stages of `partition`', ALL, 1)
def huang_5(m):
    panels = []
    for algorithm in ALGORITHMS:
        rows = {str(threads): gpu_rows(m, blocks64(m), 'partition', (algorithm,), BATCH, *partition(threads))[0]['stages']
                for threads in PARTITIONS[:4]}
        panels.append(panel(stacked(rows, {name: (name,) for name in ('initialization', 'scoring', 'merging')}),
                            'threads of a thread block', "share of the GPU's time, %", algorithm, kind='stack'))
    return panels


def distributed(m, algorithm, threads, *words):
    strategy = 'partition' if threads else 'range'
    return simulated_ms(m, huang_times(m, algorithm, threads), '-a', algorithm, '--strategy', strategy, *words)


def lbd(m, algorithm, threads, most):
    return distributed(m, algorithm, threads, '--schedule', 'lbd', '--max-blocks', most)


def thresholds(m):
    """Numbers of blocks from which queries go to the CPU, up to that of the largest query."""
    greatest = max(int(row['blocks']) for row in read_times(huang_times(m, 'and')[0]).values())
    return [step for step in (10, 30, 100, 300, 1000, 3000, 10000, 30000, 100000, 300000) if step <= greatest]


@figure('huang-6', 'Query times by the threshold of LBD, simulated with measured times', ALL, 2)
def huang_6(m):
    names = {**{threads: f'{threads} threads' for threads in PARTITIONS[:4]}, 0: 'range'}
    return [panel({name: [(most, lbd(m, algorithm, threads, most)) for most in thresholds(m)] for threads, name in names.items()},
                  'threshold S, blocks', 'ms per query', algorithm, log='xy') for algorithm in ALGORITHMS]


def shared_ms(m, algorithm, threads, schedule):
    """Milliseconds per query of a CPU thread and a GPU; the threshold of lbd is the best of a simulation."""
    words = ['--schedule', schedule]
    if schedule == 'lbd':
        words += ['--max-blocks', min(thresholds(m), key=lambda most: lbd(m, algorithm, threads, most))]
    return streamed_ms(m, blocks64(m), algorithm, 10, distributed(m, algorithm, threads, *words), '--device', 'both',
                       '--cpu-threads', 1, '--gpu-options', f'strategy=partition,partitions={threads}', *words)


@figure('huang-t2', 'LBD and SD by threads', ALL, 3)
def huang_t2(m):
    return [panel({name: [(threads, shared_ms(m, algorithm, threads, name.lower())) for threads in PARTITIONS[:4]]
                   for name in ('SD', 'LBD')}, 'threads of a thread block', 'ms per query', algorithm, log='xy')
            for algorithm in ALGORITHMS]


def on_gpus(m, algorithm, threads, gpus):
    """Milliseconds per query, simulated if the machine has too few GPUs."""
    if gpus <= m.gpus:
        row, = gpu_rows(m, blocks64(m), 'partition', (algorithm,), BATCH, *partition(threads), '--gpus', gpus)
        return 1000 / row['queries_per_second']
    return distributed(m, algorithm, threads, '--schedule', 'gpu', '--gpus', gpus)


@figure('huang-t3', 'One and four GPUs', ALL, 2)
def huang_t3(m):
    four = '4 GPUs' if m.gpus >= 4 else '4 GPUs, simulated'
    return [panel({name: [(threads, on_gpus(m, algorithm, threads, gpus)) for threads in (64, 128, 256)]
                   for name, gpus in (('1 GPU', 1), (four, 4))}, 'threads of a thread block', 'ms per query', algorithm, log='xy')
            for algorithm in ALGORITHMS]


@figure('huang-7', 'Query times by processors', ALL, 2)
def huang_7(m):
    cpu = cpu_times(m, blocks64(m), ALGORITHMS)
    series = {'CPU': [(algorithm, cpu[algorithm, 10]) for algorithm in ALGORITHMS],
              'GPU': [(algorithm, on_gpus(m, algorithm, 64, 1)) for algorithm in ALGORITHMS],
              'SD': [(algorithm, shared_ms(m, algorithm, 64, 'sd')) for algorithm in ALGORITHMS],
              'LBD': [(algorithm, shared_ms(m, algorithm, 64, 'lbd')) for algorithm in ALGORITHMS],
              '4 GPUs': [(algorithm, on_gpus(m, algorithm, 64, 4)) for algorithm in ALGORITHMS]}
    return [panel(series, '', 'ms per query', kind='bar', log='y')]
