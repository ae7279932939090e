# Whether the GPU parts are built, and how. CUDA sources stand beside the C++ ones in lib/gpu/ and lib/measure/gpu/. What
# they offer to the rest of the library is declared in plain headers; without_cuda.cpp, one in each of the two folders,
# stands in for them where CUDA isn't built.
set(QUERN_WITH_CUDA ${QUERN_CUDA})
if(QUERN_CUDA STREQUAL "AUTO")
  include(CheckLanguage)
  check_language(CUDA)
  string(COMPARE NOTEQUAL "${CMAKE_CUDA_COMPILER}" "NOTFOUND" QUERN_WITH_CUDA)
endif()
if(NOT QUERN_WITH_CUDA)
  return()
endif()
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

# For layers with CUDA sources.
function(compile_cuda_sources)
  foreach(target IN LISTS ARGN)
    set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}"
                          CUDA_RUNTIME_LIBRARY Static)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${cuda_flags}>")
  endforeach()
  target_compile_definitions(quern_gpu PUBLIC QUERN_HAS_CUDA)
  target_link_libraries(quern_gpu PUBLIC CUDA::cudart_static)
endfunction()
