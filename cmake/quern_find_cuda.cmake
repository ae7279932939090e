# The CUDA Toolkit; also read by the installed CMake package. For projects that require CMake 3.25, its version 3.25.1 calls the
# library nvToolsExt deprecated, and fails where that is missing, as in CUDA 13.
block()
  set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
  find_package(CUDAToolkit REQUIRED)
endblock()
