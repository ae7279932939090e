"""scripts/private-libraries takes the licences of the packages that contain the libraries, and of compiled headers.

    python3 tests/package/test_private_libraries.py
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / 'scripts/private-libraries'
SKIPPED = 4  # as quern_tests
LIBRARY = 'libprivate.so.1'
# Packages of every Debian stand for those of libraries.
STAND_IN = '''#!/usr/bin/env python3
import fnmatch, pathlib, sys
found = [line for line in pathlib.Path(sys.argv[0] + '.txt').read_text().splitlines()
         if any(fnmatch.fnmatchcase(line.split(': ')[1], pattern) for pattern in sys.argv[2:])]
for line in found: print(line)
sys.exit(len(found) < len(sys.argv[2:]))
'''


class Machine:
    """A machine whose executables need one library, and whose packages contain `listed`."""

    def __init__(self, folder, path, listed):
        self.folder = folder
        self.stored = folder / path.lstrip('/')
        self.stored.parent.mkdir(parents=True)
        self.stored.write_text('a library')
        self.executable = folder / 'executable'
        self.executable.write_text('')
        self.write('dpkg-query', STAND_IN)
        self.write('ldd', f'#!/bin/sh\necho "\t{LIBRARY} => {path} (0x0)"\n')
        self.write('cp', '#!/bin/sh\nshift $(($# - 2))\n'
                         f'if [ "$1" = {path} ]; then exec /bin/cp {self.stored} "$2"; else exec /bin/cp "$1" "$2"; fi\n')
        (folder / 'dpkg-query.txt').write_text(listed)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)

    def collect(self):
        environment = {**os.environ, 'PATH': f'{self.folder}:{os.environ["PATH"]}'}
        return subprocess.run([SCRIPT, self.folder / 'libraries', self.folder / 'licenses', self.executable],
                              capture_output=True, text=True, env=environment)


def check(path, listed, expected, executable=b''):
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(Path(folder), path, listed)
        machine.executable.write_bytes(executable)
        outcome = machine.collect()
        licenses = sorted(file.name for file in (machine.folder / 'licenses').iterdir())
        if expected is None:
            assert outcome.returncode == 1 and f'no Debian package has {path}, so' in outcome.stderr, outcome
        else:
            assert outcome.returncode == 0 and licenses == expected, (outcome, licenses)
            assert (machine.folder / 'libraries' / LIBRARY).read_text() == 'a library'
            for name in licenses:
                assert (machine.folder / 'licenses' / name).read_bytes() == Path(f'/usr/share/doc/{name}/copyright').read_bytes()


def main():
    if not Path('/usr/share/doc/bash/copyright').exists():
        print('skipped: this is not Debian')
        return SKIPPED
    here, other = f'/usr/lib/here/{LIBRARY}', f'/usr/lib32/{LIBRARY}'
    check(here, f'dash: {other}\nbash:amd64: {here}\n', ['bash'])
    check(here, f'bash:amd64: {here[4:]}\n', ['bash'])  # listed below /lib
    check(here[4:], f'bash:amd64: {here}\n', ['bash'])  # found below /lib
    check(here, f'bash:amd64, bash:i386: {here}\n', ['bash'])
    check(here, f'bash:amd64, dash: {here}\n', ['bash', 'dash'])
    check(here, f'diversion by dpkg from: {here}\ndiversion by dpkg to: {here}.old\nbash: {here}\n', ['bash'])
    check(here, f'dash: {other}\n', None)
    for package, name in ('libcli11-dev', b'N3CLI'), ('nlohmann-json3-dev', b'N8nlohmann'):
        if Path(f'/usr/share/doc/{package}/copyright').exists():
            check(here, f'bash: {here}\n', ['bash', package], b'\0' + name + b'5ErrorE\0')


if __name__ == '__main__':
    sys.exit(main())
