#!/usr/bin/env python3
"""Runs the commands of pages as their readers would, one page after another in a folder with links to the repository's folders.

    run_pages.py QUERN PAGE ...              all blocks marked sh, a shell for each page
    run_pages.py --python QUERN PAGE ...     all blocks marked python, a program for each page

A line that ends in "# needs X" is left out where X is missing.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NEEDS = {'a GPU': 'nvidia-smi -L', 'LightGBM': 'python3 -c "import lightgbm"',
         'matplotlib': 'python3 -c "import matplotlib" || /usr/bin/python3 -c "import matplotlib"',
         'a crawl': 'false', 'a network': 'false'}


def is_there(what):
    return subprocess.run(NEEDS[what], shell=True, capture_output=True).returncode == 0


def program_of(page, language):
    """The blocks of a page in this language, without lines that need what is missing; and the number of these lines."""
    blocks = re.findall(rf'^```{language}\n(.*?)^```$', page.read_text(), re.M | re.S)
    lines = ''.join(blocks).replace('\\\n', ' ').splitlines(keepends=True)
    needed = [re.search(r' # needs (.+)$', line) for line in lines]
    kept = [line for line, needs in zip(lines, needed) if not needs or is_there(needs[1])]
    return ''.join(kept), len(lines) - len(kept)


def run(page, language, quern, folder):
    """Whether all commands of a page succeed."""
    program, left_out = program_of(page, language)
    command = ['bash', '-exo', 'pipefail', '-c', f'PATH={quern.parent}:$PATH\n{program}']
    outcome = subprocess.run(command if language == 'sh' else [sys.executable, '-c', program], cwd=folder, text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    name = page.relative_to(ROOT)
    print(f'{name}: {len(program.splitlines())} lines run, {left_out} left out, status {outcome.returncode}')
    if outcome.returncode != 0 or not program:
        print(outcome.stdout or f'{name}: no block is marked {language}')
        return False
    return True


def main(arguments):
    language = 'python' if arguments[0] == '--python' else 'sh'
    quern, *pages = [Path(argument).resolve() for argument in arguments[language == 'python':]]
    with tempfile.TemporaryDirectory() as folder:
        for part in ('sample_data', 'scripts', 'tools'):
            (Path(folder) / part).symlink_to(ROOT / part)
        return all([run(page, language, quern, folder) for page in pages])


if __name__ == '__main__':
    sys.exit(not main(sys.argv[1:]))
