# The CUDA Toolkit; also read by the installed CMake package. CMake 3.25 sets a property of a library that CUDA 13 lacks.
if(CMAKE_VERSION VERSION_LESS 3.26 AND NOT TARGET CUDA::nvToolsExt)
  add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
endif()
find_package(CUDAToolkit REQUIRED)
