"""Indexes in shards: indexes a corpus on many machines, in steps that each run the executable once.

    from quern import shards

    plan = shards.plan(shards.read_manifest("warc.paths"), "/shared/work", splits=32, count=4, merge=True)
    shards.run(plan)            # on this machine; quern.spark.run and quern.ray.run do it on a cluster
    print(plan.results)

A plan is a list of stages. The steps of a stage are independent and may run at the same time, on any machine with the
corpus and the work folder under the same paths. A step's output is named by a hash of everything that it depends on,
appears complete or not at all, and always has the same bytes. So a step whose output exists is done, running a step
twice does no harm, and running the same plan again continues where the last run stopped.

The module needs only the executable, on the PATH or named by the environment variable QUERN, and runs as a program:

    python3 -m quern.shards --help
"""

import argparse
import dataclasses
import gzip
import hashlib
import json
import os
import shlex
import shutil
import socket
import struct
import subprocess
import sys

FAN_IN = 16  # statistics merged in one step


class StepError(Exception):
    """A plan that can't be made, or a failed step: says which, where, and what to do."""


@dataclasses.dataclass(frozen=True)
class Step:
    """A run of the executable that writes one output.

    output: its path, with a name from the hash of all that determines its bytes.
    command: the executable's arguments, without -o and options that don't change the output.
    files: pairs of path and identity, for inputs that no other step wrote.
    tool: name and version of the executable that the plan was made for.
    """

    output: str
    command: tuple
    files: tuple
    tool: str

    @property
    def name(self):
        return os.path.basename(self.output)

    @property
    def is_done(self):
        return os.path.exists(self.output)


@dataclasses.dataclass(frozen=True)
class Plan:
    """Stages in order of execution: pairs of a name and a list of steps."""

    stages: tuple

    @property
    def results(self):
        """The paths that the last stage writes: shards, in order; or one index or run."""
        return [step.output for step in self.stages[-1][1]]

    def steps(self, stage):
        """The steps of a stage. Raises StepError if there is no such stage."""
        for name, steps in self.stages:
            if name == stage:
                return steps
        raise StepError(f"the plan has no stage {stage!r}; it has: {', '.join(name for name, _ in self.stages)}")

    def save(self, path):
        """Writes the plan as JSON; the file appears complete or not at all."""
        stages = [[name, [dataclasses.asdict(step) for step in steps]] for name, steps in self.stages]
        beside = f"{path}.{socket.gethostname()}.{os.getpid()}"
        with open(beside, "w") as out:
            json.dump({"kind": "plan of shards", "stages": stages}, out, indent=1)
        os.replace(beside, path)

    @staticmethod
    def load(path):
        """Reads a file written by save(). Raises StepError if it is something else, OSError if it can't be read."""
        with open(path) as file:
            try:
                stages = json.load(file)["stages"]
                return Plan(tuple((name, [_read_step(step) for step in steps]) for name, steps in stages))
            except (ValueError, KeyError, TypeError) as error:
                raise StepError(f"{path}: is not a plan of quern.shards ({error}); create one with: plan") from None


@dataclasses.dataclass(frozen=True)
class Runner:
    """Runs steps; the same object works on every machine.

    executable: path of quern; None: QUERN in the machine's environment, or quern on its PATH.
    timeout: maximum seconds of a step; None: no limit.
    options: options that don't change output, such as ("-j", "4", "--memory", "2G", "--tmp", "/local").
    """

    executable: str | None = None
    timeout: float | None = None
    options: tuple = ()

    def run(self, step):
        """Runs a step unless its output exists, and returns the output's path.

        Raises StepError with the machine, the step and the executable's message.
        """
        if step.is_done:
            return step.output
        executable = find_executable(self.executable)
        self._check(step, executable)
        os.makedirs(os.path.dirname(step.output), exist_ok=True)
        words = [executable, *step.command, "-o", step.output, *self.options]
        try:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=self.timeout)
        except subprocess.TimeoutExpired:
            why = f"took longer than {self.timeout:g} s; allow more time, or check the machine"
            raise _failed(step, why) from None
        sys.stderr.write(done.stderr)
        # Another machine may have finished the same step.
        if done.returncode != 0 and not step.is_done:
            raise _failed(step, _reason(done))
        return step.output

    def _check(self, step, executable):
        found = version_of(executable)
        if found != step.tool:
            raise _failed(step, f"{executable} is {found}, but the plan is for {step.tool}; install that")
        for path, identity in step.files:
            if _identity(path, identity.startswith("sha256")) != identity:
                raise _failed(step, f"{path} is not the file that the plan was made for; make the plan again")


def run(plan, runner=Runner()):
    """Runs all steps on this machine, one by one. Returns plan.results. Raises StepError."""
    for _, steps in plan.stages:
        for step in steps:
            runner.run(step)
    return plan.results


def plan(files, work, *, splits=1, count=1, parse=(), order=("--by", "url"), build=(), merge=False, by_content=False,
         executable=None):
    """A plan that indexes a corpus in shards.

    files: paths of the corpus's files, in order. work: folder for all outputs; steps create it if it is missing.
    splits: number of parts of the corpus, each parsed by one step: whole files, or, if there are more splits than files,
    about this many ranges of files, which must not be compressed and are read once to find the ranges. count: shards.
    parse, order, build: further options of these commands, as lists of words.
    merge: also merge the shards into one index.
    by_content: identify files by their bytes, which are read for this, instead of path, size and time.

    The index is that of `quern index` on one machine: `--duplicates refuse` and `--max-errors` hold for all splits
    together, and `--drop-copies`, which needs all pages at once, is refused with more than one split.

    Raises StepError if a file is missing or can't be cut into ranges.
    """
    files = [os.path.abspath(path) for path in files]
    if not files or splits < 1:
        raise StepError(f"{len(files)} files can't be cut into {splits} splits; use at least 1 of each")
    if count < 1:
        raise StepError(f"{count} shards can't be built; use at least 1 shard")
    make = _Maker(work, executable, by_content)
    if splits <= len(files):
        cuts = [len(files) * i // splits for i in range(splits + 1)]
        words = ["parse", *parse, *(["--allow-empty"] if splits > 1 else [])]
        parts = [make.step("collection", words, files[a:b]) for a, b in zip(cuts, cuts[1:])]
    else:
        parts = [make.step("collection", ["parse", *parse, "--range", bytes_of], [file])
                 for file, bytes_of in _ranges(files, splits, parse, find_executable(executable))]
    if len(parts) > 1 and "--drop-copies" in parse:
        raise StepError("--drop-copies compares the pages of one split only; use 1 split, or omit it")
    stages = [("parse", parts)]
    stages += make.sums("statistics", ["statistics"], parts)
    statistics = stages[-1][1][0]
    if _values(build, "--quantize") and not _values(build, "--weights"):
        settings = [*_values(build, "--k1"), *_values(build, "--b")]
        stages += make.sums("scales", ["statistics", "--scales", statistics, *settings], parts)
        build = [*build, "--scales", stages[-1][1][0]]
    docids = make.step("order", ["order", *parts, *order, "--shards", str(count)])
    stages.append(("order", [docids]))
    words = ["build", *parts, *build, "--order", docids, "--statistics", statistics]
    shards = [make.step("shard", [*words, "--shard", f"{i}/{count}"]) for i in range(1, count + 1)]
    stages.append(("build", shards))
    if merge:
        stages.append(("merge", [make.step("index", ["merge", *shards])]))
    return Plan(tuple(stages))


def plan_queries(shards, queries, work, *, query=(), by_content=False, executable=None):
    """A plan that writes the TREC run of a query file over all shards of an index.

    shards: their paths, in any order. query: further options of `quern query`, as a list of words.
    Raises StepError if a shard is missing or belongs to another index.
    """
    make = _Maker(work, executable, by_content)
    queries = os.path.abspath(queries)
    runs = []
    for shard in in_order(shards):
        words = ["query", os.path.abspath(shard), *query]
        runs.append(make.step("run-of-shard", [*words, "-q"], [queries], [os.path.join(shard, "index.quern")]))
    query = list(query)
    results = query[query.index("-k") + 1] if "-k" in query[:-1] else "10"
    merged = make.step("run", ["merge-runs", *runs, "-k", results, "-q"], [queries])
    return Plan((("query", runs), ("merge-runs", [merged])))


class _Maker:
    """Creates steps whose output names are hashes of everything that determines the output."""

    def __init__(self, work, executable, by_content):
        self.work = os.path.abspath(work)
        self.tool = version_of(find_executable(executable))
        self.by_content = by_content

    def step(self, kind, words, files=(), beside=()):
        """A step that runs `words`: options, and steps whose outputs it reads, followed by `files`.

        beside: further inputs that `words` does not name. Files that options name are inputs, too.
        """
        named = [word for word in words if isinstance(word, str) and os.path.isfile(word)]
        read = [(path, _identity(path, self.by_content)) for path in [*files, *beside, *named]]
        described = [word if isinstance(word, str) else word.name for word in words]
        names = [identity if self.by_content else [path, identity] for path, identity in read]
        digest = hashlib.sha256(json.dumps([self.tool, kind, described, names]).encode()).hexdigest()[:24]
        command = [word if isinstance(word, str) else word.output for word in words]
        return Step(os.path.join(self.work, f"{kind}-{digest}"), (*command, *files), tuple(read), self.tool)

    def sums(self, kind, words, parts):
        """Stages that compute statistics of each part, and merge them in a tree."""
        steps = [self.step(kind, [*words, part]) for part in parts]
        stages = [(f"{kind}-1", steps)]
        while len(steps) > 1:
            groups = [steps[i : i + FAN_IN] for i in range(0, len(steps), FAN_IN)]
            steps = [self.step(kind, [*words, *group]) for group in groups]
            stages.append((f"{kind}-{len(stages) + 1}", steps))
        return stages


def _values(words, option):
    """The option and its value, as words; empty if it is missing."""
    words = list(words)
    for i, word in enumerate(words):
        if word == option:
            return words[i : i + 2]
        if word.startswith(option + "="):
            return [word]
    return []


def _ranges(files, splits, parse, executable):
    """Ranges of all files: pairs of a file and the value of `--range`."""
    sizes = [_size(file) for file in files]
    settings = [*_values(parse, "--format"), *_values(parse, "--max-document")]
    for file, size in zip(files, sizes):
        count = max(1, splits * size // max(1, sum(sizes)))
        words = [executable, "ranges", file, "-n", str(count), *settings, "--quiet"]
        found = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if found.returncode != 0:
            raise StepError(_reason(found))
        for line in found.stdout.split():
            yield file, line


def _size(path):
    try:
        return os.stat(path).st_size
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path, error):
    return StepError(f"{path}: {error.strerror}; on a cluster, all machines must see it under this path")


def _identity(path, by_content):
    """A value that changes when a file changes. Raises StepError if the file can't be read."""
    try:
        if by_content:
            with open(path, "rb") as file:
                return "sha256 " + hashlib.file_digest(file, "sha256").hexdigest()
        state = os.stat(path)
    except OSError as error:
        raise _unreadable(path, error) from None
    return f"{state.st_size} bytes, time {state.st_mtime_ns}"


def _read_step(fields):
    files = tuple((path, identity) for path, identity in fields["files"])
    return Step(fields["output"], tuple(fields["command"]), files, fields["tool"])


def _failed(step, why):
    return StepError(f"{step.command[0]} for {step.name} on {socket.gethostname()}: {why}")


def _reason(done):
    """The executable's error message."""
    if done.returncode < 0:
        return f"quern was terminated by signal {-done.returncode}; run again"
    errors = [line for line in done.stderr.splitlines() if "error: " in line]
    return errors[-1].split("error: ", 1)[1] if errors else f"exit status {done.returncode}: {done.stderr.strip()[-500:]}"


def find_executable(named=None):
    """The path of quern. Raises StepError if this machine doesn't have it."""
    found = shutil.which(named or os.environ.get("QUERN") or "quern")
    if not found:
        looked = named or os.environ.get("QUERN") or "quern on the PATH"
        raise StepError(f"{socket.gethostname()} has no executable {looked}; install it, or set QUERN to its path")
    return found


def version_of(executable):
    """Name and version of an executable."""
    outcome = subprocess.run([executable, "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if outcome.returncode != 0 or not outcome.stdout.startswith("quern "):
        raise StepError(f"{executable}: does not run as quern: {outcome.stderr.strip()[-500:]}")
    return outcome.stdout.splitlines()[0]


def read_manifest(path, root=None):
    """The paths in a manifest, plain or gzip, one per line; relative ones are in `root`, or else next to the manifest."""
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt") as file:
        lines = [line.strip() for line in file]
    folder = root or os.path.dirname(os.path.abspath(path))
    return [os.path.join(folder, line) for line in lines if line]


def manifest_of(index):
    """The manifest of an index or a shard, a dict (formats/index.md). Raises StepError if it is missing."""
    path = os.path.join(index, "index.quern")
    try:
        with open(path, "rb") as file:
            magic, table, rows = struct.unpack_from("<5s19xQI", file.read(64))
            if magic != b"QUERN":
                raise StepError(f"{path}: is not a Quern file")
            for row in range(rows):
                file.seek(table + 64 * row)
                name, offset, size = struct.unpack("<24sQQ", file.read(40))
                if name.rstrip(b"\0") == b"manifest":
                    file.seek(offset)
                    return json.loads(file.read(size))
    except OSError as error:
        raise _unreadable(path, error) from None
    except (struct.error, ValueError):
        pass
    raise StepError(f"{path}: is damaged; `quern verify` says where")


def in_order(shards):
    """The paths of an index's shards, sorted by shard number.

    Raises StepError if a shard is missing, is named twice, is not a shard, or belongs to another index.
    """
    found = {}
    first = None
    for path in map(os.fspath, shards):
        shard = manifest_of(path).get("shard")
        if shard is None:
            raise StepError(f"{path}: is a whole index, not a shard; name files written by `quern build --shard`")
        first = first or (path, shard)
        if {**shard, "number": 0} != {**first[1], "number": 0}:
            raise StepError(f"{path}: is a shard of a different index, or of another build, than {first[0]}")
        if shard["number"] in found:
            raise StepError(f"{path}: is shard {shard['number']}, as is {found[shard['number']]}; name each shard once")
        found[shard["number"]] = path
    count = first[1]["count"] if first else 0
    missing = [number for number in range(1, count + 1) if number not in found]
    if missing or not found:
        raise StepError(f"shards are missing: {', '.join(map(str, missing)) or 'all'} of {count}; name all of them")
    return [found[number] for number in sorted(found)]


def add_runner_options(parser):
    """The common options of programs that run steps."""
    parser.add_argument("--quern", metavar="FILE", help="the executable (default: QUERN, else quern on the PATH)")
    parser.add_argument("--timeout", type=float, metavar="S", help="time limit of a step, in seconds (default: none)")
    parser.add_argument("--options", default="", metavar="WORDS",
                        help="options for all commands that don't change outputs, such as '-j 4 --memory 2G --tmp /local'")


def runner_of(options):
    return Runner(options.quern, options.timeout, tuple(shlex.split(options.options)))


def _task(text):
    """I/N: the I-th of N tasks, from 0."""
    number, _, count = text.partition("/")
    if not (number.isdigit() and count.isdigit() and int(number) < int(count)):
        raise argparse.ArgumentTypeError(f"{text!r} is not I/N with I from 0 to N - 1")
    return int(number), int(count)


def _parser():
    parser = argparse.ArgumentParser(prog="quern.shards", description="Plans and runs the steps of an index in shards.")
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name, text):
        return commands.add_parser(name, help=text, description=text)

    made = command("plan", "plan an index in shards")
    made.add_argument("manifest", help="a file of paths, one per line, plain or gzip")
    made.add_argument("--root", metavar="FOLDER", help="where relative paths start (default: next to the manifest)")
    made.add_argument("--splits", type=int, default=1, metavar="N", help="parts of the corpus (default: 1)")
    made.add_argument("--shards", type=int, default=1, metavar="N", help="shards of the index (default: 1)")
    made.add_argument("--merge", action="store_true", help="also merge the shards into one index")
    for name, default in (("parse", ""), ("order", "--by url"), ("build", "")):
        text = f"further options of quern {name}" + (f" (default: '{default}')" if default else "")
        made.add_argument(f"--{name}", default=default, metavar="WORDS", help=text)
    asked = command("plan-queries", "plan a run over all shards")
    asked.add_argument("shard", nargs="+")
    asked.add_argument("-q", "--queries", required=True, metavar="FILE")
    asked.add_argument("--query", default="", metavar="WORDS", help="further options of quern query")
    for planned in (made, asked):
        planned.add_argument("--work", required=True, metavar="FOLDER", help="folder for outputs, visible to all machines")
        planned.add_argument("-o", "--output", required=True, metavar="PLAN", help="the plan to write, or to replace")
        planned.add_argument("--by-content", action="store_true", help="identify files by content, not size and time")
        planned.add_argument("--quern", metavar="FILE", help="the executable (default: QUERN, else quern on the PATH)")
    for name, text in (("stages", "print each stage, its number of steps, and how many of them are done"),
                       ("results", "print the paths that the last stage writes")):
        command(name, text).add_argument("plan")
    ran = command("run", "run steps one after the other on this machine")
    ran.add_argument("plan")
    ran.add_argument("--stage", metavar="NAME", help="run only this stage (default: all)")
    ran.add_argument("--task", type=_task, default=(0, 1), metavar="I/N",
                     help="with --stage: every N-th step, from number I on, counted from 0 (default: all)")
    add_runner_options(ran)
    return parser


def _make_plan(options):
    if options.command == "plan":
        words = {name: shlex.split(getattr(options, name)) for name in ("parse", "order", "build")}
        made = plan(read_manifest(options.manifest, options.root), options.work, splits=options.splits,
                    count=options.shards, merge=options.merge, by_content=options.by_content,
                    executable=options.quern, **words)
    else:
        made = plan_queries(options.shard, options.queries, options.work, query=shlex.split(options.query),
                            by_content=options.by_content, executable=options.quern)
    made.save(options.output)


def _run_part(options):
    made = Plan.load(options.plan)
    if options.stage is None:
        run(made, runner_of(options))
        return
    number, count = options.task
    for step in made.steps(options.stage)[number::count]:
        runner_of(options).run(step)


def main():
    """The program. If something failed, exits with 1 and one line on standard error."""
    options = _parser().parse_args()
    try:
        if options.command.startswith("plan"):
            _make_plan(options)
        elif options.command == "stages":
            for name, steps in Plan.load(options.plan).stages:
                print(name, len(steps), sum(step.is_done for step in steps))
        elif options.command == "results":
            print("\n".join(Plan.load(options.plan).results))
        else:
            _run_part(options)
    except (StepError, OSError) as error:
        sys.exit(f"quern.shards: error: {error}")


if __name__ == "__main__":
    main()
