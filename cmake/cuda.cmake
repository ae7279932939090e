# The GPU parts: CUDA sources beside the C++ ones in lib/gpu/. What they offer to the rest of the library is declared in
# plain headers; without_cuda.cpp stands in for all of it where CUDA isn't built.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  # Machine code for Ampere and Hopper, and Hopper's PTX for what comes after.
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90 CACHE STRING "GPU architectures to build for")
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)  # CMake 3.25 knows no C++20 for nvcc
endif()

# No fused multiply-add: scores are the same bits as on the CPU.
list(JOIN host_flags "," nvcc_host_flags)
set(cuda_flags --expt-relaxed-constexpr -fmad=false -lineinfo -Xcompiler=${nvcc_host_flags})
if(QUERN_WERROR)
  list(APPEND cuda_flags -Werror=all-warnings)
endif()

file(GLOB cuda_sources CONFIGURE_DEPENDS lib/gpu/*.cu)
target_sources(quern_library PRIVATE ${cuda_sources})
set_source_files_properties(lib/gpu/without_cuda.cpp PROPERTIES HEADER_FILE_ONLY ON)
set_target_properties(quern_library PROPERTIES CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}" CUDA_RUNTIME_LIBRARY Static)
target_compile_options(quern_library PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${cuda_flags}>")
target_compile_definitions(quern_library PUBLIC QUERN_HAS_CUDA)
target_link_libraries(quern_library PUBLIC CUDA::cudart_static)
