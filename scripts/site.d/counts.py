"""Counts of the tests, as they are when the site is made, for the page that says how Quern is tested."""
import re


def lines(root, *folders):
    """Lines of source code below these folders."""
    return sum(len(path.read_text().splitlines()) for folder in folders for path in sorted((root / folder).rglob('*'))
               if path.suffix in ('.cpp', '.hpp', '.cu', '.cuh', '.py'))


def found(root, pattern, folder, names):
    """Matches of a pattern in the files of a folder."""
    return sum(len(re.findall(pattern, path.read_text(), re.M)) for path in (root / folder).rglob(names))


def table(root):
    def cases(folder):
        return sum(found(root, r'^TEST_CASE', folder, names) for names in ('*.cpp', '*.hpp', '*.cu'))
    tests, sources = lines(root, 'tests'), lines(root, 'lib', 'formats', 'tools')
    rows = [
        ('test cases in C++', cases('tests')),
        ('of these, of the command line', cases('tests/cli')),
        ('of these, of GPUs and their emulation', cases('tests/gpu')),
        ('test functions in Python', found(root, r'^ *def test_', 'tests/python', '*.py')),
        ('fuzzers', len(list((root / 'tests/fuzz').glob('fuzz_*.cpp')))),
        ('inputs of fuzzers that every build replays', sum(path.is_file() for path in (root / 'tests/fuzz/seeds').rglob('*'))),
        ('pages of formats with a worked example', sum('## Worked example' in path.read_text()
                                                       for path in (root / 'formats').rglob('*.md'))),
        ('kinds of input from bug reports', found(root, r'^\| ', 'tests/reports', 'README.md') - 2),
        ('lines of tests, beside those of the program', f'{tests:,} beside {sources:,}'),
    ]
    return '\n'.join(['## Counts', '', '| what | count |', '| --- | ---: |',
                      *(f'| {name} | {f"{count:,}" if isinstance(count, int) else count} |' for name, count in rows)])
