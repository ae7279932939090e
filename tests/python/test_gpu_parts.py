"""Which native module the package uses: its own, or that of quern-search-cuda of the same version."""
import os
import pathlib
import shutil
import subprocess
import sys

import numpy
import pytest

import quern


def import_quern(folder, versions):
    """Imports a copy of the package in a folder, beside distributions of these versions; prints the native module's file.

    No other distributions are there (-S), so that it doesn't matter what is installed.
    """
    package = folder / "quern"
    if not package.exists():
        source, no_python = pathlib.Path(quern.__file__).parent, shutil.ignore_patterns("*.py", "*.pyi", "__pycache__")
        shutil.copytree(source, package, copy_function=os.symlink)
        shutil.copytree(source, folder / "quern_cuda", copy_function=os.symlink, ignore=no_python)
        (folder / "numpy").symlink_to(pathlib.Path(numpy.__file__).parent)
    for name, version in versions.items():
        metadata = folder / f"{name.replace('-', '_')}-{version}.dist-info" / "METADATA"
        metadata.parent.mkdir()
        metadata.write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    program = "import quern\nprint(quern._quern.__file__)\nprint(quern._quern.__name__)"
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run([sys.executable, "-S", "-c", program], cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("versions", [{}, {"quern-search": "0.1.0"}, {"quern-search-cuda": "0.1.0"}])
def test_own_module(tmp_path, versions):
    done = import_quern(tmp_path, versions)
    assert done.stderr == ""
    assert pathlib.Path(done.stdout.splitlines()[0]).parent == tmp_path / "quern"


def test_module_with_gpu_parts(tmp_path):
    done = import_quern(tmp_path, {"quern-search": "0.1.0", "quern-search-cuda": "0.1.0"})
    path, name = done.stdout.splitlines()
    assert pathlib.Path(path).parent == tmp_path / "quern_cuda"
    assert name == "quern._quern"


def test_other_version_is_refused(tmp_path):
    done = import_quern(tmp_path, {"quern-search": "0.2.0", "quern-search-cuda": "0.1.0"})
    assert done.returncode != 0
    assert "quern-search-cuda 0.1.0 does not fit quern-search 0.2.0: pip install quern-search-cuda==0.2.0" in done.stderr


@pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="this machine has a GPU")
def test_errors_name_missing_gpu_parts(sample_path):
    with pytest.raises(quern.GpuError) as raised:
        quern.open(sample_path).batch({"1": "mill"}, device="gpu")
    assert str(raised.value) in (
        "this program was built without CUDA; pip install 'quern-search[cuda]', or use device cpu",
        "this machine has no GPU that CUDA can use; use device cpu",
    )
