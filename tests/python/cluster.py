"""Shared by the tests of shards: a corpus of 32 files, its index from one machine, and an executable that dies."""
import contextlib
import dataclasses
import hashlib
import os
import pathlib
import secrets
import shutil
import subprocess
import time

import pytest

from conftest import SAMPLE, SOURCE
from quern import shards

DYING = pathlib.Path(__file__).parent / "dying_quern"
SETTINGS = {"parse": ["--stemmer", "porter2"], "build": ["--quantize", "8"]}
WORDS = ["--stemmer", "porter2", "--order", "url", "--quantize", "8"]
TOPICS = SAMPLE / "topics.txt"


def digest(path):
    path = pathlib.Path(path)
    return hashlib.sha256((path / "index.quern" if path.is_dir() else path).read_bytes()).hexdigest()


@dataclasses.dataclass
class Whole:
    """The sample corpus in 32 files, and its index from one machine."""

    files: list
    manifest: pathlib.Path
    index: pathlib.Path
    run: pathlib.Path


@pytest.fixture(scope="session")
def whole(tmp_path_factory, command_line):
    folder = tmp_path_factory.mktemp("whole")
    files = []
    for corpus in sorted((SAMPLE / "corpus").iterdir()):
        documents = corpus.read_bytes().split(b"</DOC>\n")
        documents = [document + b"</DOC>\n" for document in documents if document.strip()]
        for i in range(8):
            files.append(folder / f"{corpus.stem}-{i}.trecweb")
            files[-1].write_bytes(b"".join(documents[len(documents) * i // 8 : len(documents) * (i + 1) // 8]))
    manifest = folder / "manifest"
    manifest.write_text("".join(f"{path.name}\n" for path in files))
    made = Whole(files, manifest, folder / "index.quern", folder / "run")
    command_line("index", SAMPLE / "corpus", *WORDS, "-o", made.index)
    command_line("query", made.index, "-q", TOPICS, "-k", 20, "-o", made.run)
    return made


@pytest.fixture
def dying(tmp_path, monkeypatch, command_line):
    """Sets QUERN to an executable that dies midway, the first time that it writes an output."""
    real = os.environ.get("QUERN") or shutil.which("quern") or SOURCE / "build/release/quern"
    marks = tmp_path / "marks"
    marks.mkdir()
    monkeypatch.setenv("DYING_QUERN", str(real))
    monkeypatch.setenv("DYING_MARKS", str(marks))
    monkeypatch.setenv("QUERN", str(DYING))
    return marks


def program(*words, check=True):
    """Runs quern.shards as a program."""
    words = ["python3", SOURCE / "tools/python/quern/shards.py", *words]
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=check)


def until_done(command, plan, attempts=60):
    """Runs a command repeatedly until the plan's results exist, as its user would. Returns its runs."""
    for ran in range(1, attempts + 1):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode == 0:
            assert all(map(os.path.exists, shards.Plan.load(plan).results)), done.stderr
            return ran
    raise AssertionError(f"not done after {attempts} times: {done.stderr[-2000:]}")


def killed_on_the_way(command, plan):
    """Kills a driver when some steps of the plan are done but no results exist. Its program must then continue."""
    steps = [step for _, steps in plan.stages for step in steps]
    driver = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while sum(step.is_done for step in steps) < len(steps) // 4:
        assert driver.poll() is None, "the driver ended before it could be killed"
        time.sleep(0.005)
    driver.kill()
    driver.wait()
    assert not any(map(os.path.exists, plan.results))


@dataclasses.dataclass
class Slurm:
    """Where jobs are submitted. The stand-in has no queue: its sbatch runs the jobs."""

    has_queue: bool

    def wait(self):
        """Waits until all jobs have ended."""
        while self.has_queue and subprocess.check_output(["squeue", "--noheader"], text=True).strip():
            time.sleep(0.3)

    @staticmethod
    @contextlib.contextmanager
    def started(folder, monkeypatch):
        """Slurm on this machine with two nodes: munged, slurmctld and two slurmd, stopped at the end of the context."""
        folder.mkdir()
        for name in ("state", "spool-n1", "spool-n2"):
            (folder / name).mkdir()
        key = folder / "key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o600)
        conf = folder / "slurm.conf"
        conf.write_text(SLURM_CONF.format(folder=folder))
        monkeypatch.setenv("SLURM_CONF", str(conf))
        munge = ["munged", "--foreground", "--force", f"--key-file={key}"]
        munge += [f"--{name}={folder}/munge.{name}" for name in ("socket", "pid-file", "log-file", "seed-file")]
        programs = []
        try:
            for command in (munge, ["slurmctld", "-D"], ["slurmd", "-D", "-N", "n1"], ["slurmd", "-D", "-N", "n2"]):
                log = (folder / f"{command[0]}.out").open("a")
                programs.append(subprocess.Popen(command, stdout=log, stderr=log))
                time.sleep(1)
            for _ in range(60):
                idle = subprocess.run(["sinfo", "-h", "-t", "idle", "-o", "%D"], capture_output=True, text=True)
                if idle.stdout == "2\n":
                    break
                time.sleep(0.5)
            else:
                pytest.skip(f"slurmd does not run here: {(folder / 'slurmd.out').read_text()[-1000:]}")
            yield Slurm(has_queue=True)
        finally:
            for running in reversed(programs):
                running.terminate()
                running.wait()


SLURM_CONF = """
ClusterName=test
SlurmctldHost=localhost
SlurmUser=root
SlurmdUser=root
AuthInfo=socket={folder}/munge.socket
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdSpoolDir={folder}/spool-%n
StateSaveLocation={folder}/state
SlurmctldPort=16817
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=16821 CPUs=2 RealMemory=1000
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=16822 CPUs=2 RealMemory=1000
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
