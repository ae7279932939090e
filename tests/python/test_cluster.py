"""Indexes in shards with MPI, Slurm, Spark and Ray, whose tasks die at random, have the bytes of one machine."""
import importlib.util
import os
import shutil
import subprocess
import sys
import threading

import pytest

from cluster import SETTINGS, SOURCE, TOPICS, Slurm, digest, dying, killed_on_the_way, until_done  # noqa: F401
from cluster import whole  # noqa: F401
from quern import shards

SCRIPTS = SOURCE / "scripts/cluster"
TIMEOUT = ["--timeout", "5"]  # some steps stall
PATIENT = shards.Runner(timeout=5)


def needs(*modules, programs=()):
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    missing += [name for name in programs if shutil.which(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


@pytest.fixture
def plan(whole, tmp_path, request):
    """A plan with the test's number of splits, saved next to its outputs."""
    made = shards.plan(whole.files, tmp_path / "work", splits=request.param, count=4, merge=True, **SETTINGS)
    made.save(tmp_path / "plan")
    return made


def run_of(plan, tmp_path):
    """A plan of the topics over the shards of a plan that has run."""
    made = [step.output for step in plan.steps("build")]
    asked = shards.plan_queries(made, TOPICS, tmp_path / "work", query=["-k", "20"])
    asked.save(tmp_path / "queries")
    return asked


def nothing_left(*command):
    """Whether a script finds nothing to do for a finished plan, and says so."""
    outcome = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    return "nothing is left to do" in outcome.stdout


@needs(programs=["mpirun"])
@pytest.mark.parametrize("plan", [2, 7, 32], indirect=True)
def test_mpi(plan, whole, tmp_path, dying):
    options = ["--", "-n", "3", "--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]
    assert until_done([SCRIPTS / "mpi", tmp_path / "plan", *TIMEOUT, *options], tmp_path / "plan") > 1
    assert digest(plan.results[0]) == digest(whole.index)
    asked = run_of(plan, tmp_path)
    until_done([SCRIPTS / "mpi", tmp_path / "queries", *TIMEOUT, *options], tmp_path / "queries")
    assert digest(asked.results[0]) == digest(whole.run)
    assert nothing_left(SCRIPTS / "mpi", tmp_path / "queries")


@pytest.fixture(params=["slurmd", "stand-in"])
def slurm(request, tmp_path, monkeypatch):
    """Slurm on this machine, and a stand-in for sbatch that runs the job script for each task of the array."""
    if request.param == "stand-in":
        monkeypatch.setenv("PATH", f"{SOURCE / 'tests/python/stand_in'}:{os.environ['PATH']}")
        monkeypatch.setenv("STAND_IN_JOBS", str(tmp_path / "jobs"))
        yield Slurm(has_queue=False)
        return
    missing = [name for name in ("munged", "slurmctld", "slurmd") if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"needs root, and {', '.join(missing) or 'nothing else'}")
    with Slurm.started(tmp_path / "slurm", monkeypatch) as started:
        yield started


@pytest.mark.parametrize("plan", [7], indirect=True)
def test_slurm(plan, whole, tmp_path, dying, slurm):
    folder = tmp_path / "logs"
    folder.mkdir()

    def until_submissions_do(plan, name):
        for _ in range(30):
            command = [SCRIPTS / "slurm", "--tasks", "3", tmp_path / name, *TIMEOUT]
            outcome = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
            slurm.wait()
            if all(map(os.path.exists, plan.results)):
                return
        raise AssertionError(f"not done: {outcome.stdout}")

    until_submissions_do(plan, "plan")
    assert digest(plan.results[0]) == digest(whole.index)
    asked = run_of(plan, tmp_path)
    until_submissions_do(asked, "queries")
    assert digest(asked.results[0]) == digest(whole.run)
    assert nothing_left(SCRIPTS / "slurm", tmp_path / "queries")


@pytest.fixture
def spark_here(tmp_path, monkeypatch):
    """Settings for Spark programs on this machine, and a master with two workers in separate processes."""
    import pyspark

    monkeypatch.setenv("SPARK_HOME", os.path.dirname(pyspark.__file__))
    monkeypatch.setenv("SPARK_WORKER_DIR", str(tmp_path / "spark"))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    return "local-cluster[2,1,1024]"


@pytest.fixture
def context(spark_here):
    """Spark with two workers, each with an executor."""
    import pyspark

    settings = pyspark.SparkConf().setMaster(spark_here).setAppName("quern")
    settings.set("spark.task.maxFailures", "10").set("spark.ui.enabled", "false")
    made = pyspark.SparkContext(conf=settings)
    yield made
    made.stop()


@needs("pyspark", programs=["java"])
@pytest.mark.parametrize("plan", [7], indirect=True)
def test_spark(plan, whole, tmp_path, dying, context):
    from quern import spark

    assert digest(spark.run(context, plan, PATIENT)[0]) == digest(whole.index)
    assert digest(spark.run(context, run_of(plan, tmp_path), PATIENT)[0]) == digest(whole.run)
    os.remove(plan.steps("parse")[0].output)
    with pytest.raises(shards.StepError, match="has no executable /nowhere/quern; install it"):
        spark.run(context, plan, shards.Runner(executable="/nowhere/quern"))


@needs("pyspark", programs=["java"])
@pytest.mark.parametrize("plan", [32], indirect=True)
def test_a_driver_of_spark_is_killed(plan, whole, tmp_path, spark_here):
    command = [sys.executable, "-m", "quern.spark", tmp_path / "plan", "--master", spark_here]
    killed_on_the_way(command, plan)
    assert until_done(command, tmp_path / "plan", attempts=1) == 1
    assert digest(plan.results[0]) == digest(whole.index)


@pytest.fixture
def nodes():
    """A Ray cluster with three nodes on this machine."""
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    for _ in range(2):
        cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, logging_level="error")
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@needs("ray")
@pytest.mark.parametrize("plan", [7], indirect=True)
def test_ray(plan, whole, tmp_path, dying, nodes):
    from quern.ray import run

    assert digest(run(plan, PATIENT, attempts=10)[0]) == digest(whole.index)
    assert digest(run(run_of(plan, tmp_path), PATIENT, attempts=10)[0]) == digest(whole.run)
    os.remove(plan.steps("parse")[0].output)
    with pytest.raises(shards.StepError, match="has no executable /nowhere/quern"):
        run(plan, shards.Runner(executable="/nowhere/quern"), attempts=2)


@needs("ray")
@pytest.mark.parametrize("plan", [32], indirect=True)
def test_ray_loses_a_node(plan, whole, nodes):
    import ray

    from quern.ray import run

    lost = threading.Timer(1.0, lambda: nodes.remove_node(nodes.list_all_nodes()[-1], allow_graceful=False))
    lost.start()
    assert digest(run(plan, PATIENT, attempts=10)[0]) == digest(whole.index)
    lost.join()
    assert sum(node["Alive"] for node in ray.nodes()) == 2


@needs("ray")
@pytest.mark.parametrize("plan", [32], indirect=True)
def test_a_driver_of_ray_is_killed(plan, whole, tmp_path, nodes):
    command = [sys.executable, "-m", "quern.ray", tmp_path / "plan", "--address", nodes.address]
    killed_on_the_way(command, plan)
    assert until_done(command, tmp_path / "plan", attempts=1) == 1
    assert digest(plan.results[0]) == digest(whole.index)
