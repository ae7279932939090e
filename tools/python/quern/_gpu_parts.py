"""Takes the native module from quern-search-cuda, which has GPU parts, if it is installed beside quern-search."""

import importlib.metadata
import importlib.util


def folders():
    """Where to look for the native module before the package's own folder; ImportError if the versions differ."""
    parts = importlib.util.find_spec("quern_cuda")
    if parts is None:
        return []
    try:
        version = importlib.metadata.version("quern-search")
        gpu_version = importlib.metadata.version("quern-search-cuda")
    except importlib.metadata.PackageNotFoundError:
        return []
    if version != gpu_version:
        raise ImportError(
            f"quern-search-cuda {gpu_version} does not fit quern-search {version}: pip install quern-search-cuda=={version}, "
            "or pip uninstall quern-search-cuda to use CPUs only"
        )
    return list(parts.submodule_search_locations)
