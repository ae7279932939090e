# Whether and how the GPU parts are built. CUDA sources are next to the C++ ones in lib/gpu/ and lib/lab/gpu/. Plain headers
# declare their interface to the rest of the library; without_cuda.cpp, one in each of the two folders, replaces them in
# builds without CUDA.
set(QUERN_WITH_CUDA ${QUERN_CUDA})
if(QUERN_CUDA STREQUAL "AUTO")
  include(CheckLanguage)
  check_language(CUDA)
  string(COMPARE NOTEQUAL "${CMAKE_CUDA_COMPILER}" "NOTFOUND" QUERN_WITH_CUDA)
endif()
if(NOT QUERN_WITH_CUDA)
  return()
endif()
option(QUERN_CUDA_LINEINFO "Source lines in the kernels, for profilers: more than doubles the executable" OFF)
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  # Machine code for Ampere and Hopper, and Hopper's PTX for later GPUs.
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90 CACHE STRING "GPU architectures to build for")
endif()
if(CCACHE_PROGRAM AND NOT DEFINED CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()
enable_language(CUDA)
include(cmake/quern_find_cuda.cmake)
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)  # CMake 3.25 does not know C++20 for nvcc
endif()

# No fused multiply-add, so that scores have the same bits as on the CPU.
list(JOIN host_flags "," nvcc_host_flags)
set(cuda_flags --expt-relaxed-constexpr -fmad=false -Xcompiler=${nvcc_host_flags})
if(QUERN_CUDA_LINEINFO)
  list(APPEND cuda_flags -lineinfo)
endif()
if(QUERN_WERROR)
  list(APPEND cuda_flags -Werror=all-warnings)
endif()

# The codings, from their list; read again when it changes.
set(coding_header "${CMAKE_SOURCE_DIR}/lib/gpu/device/index_view.hpp")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${coding_header}")
file(READ "${coding_header}" coding_text)
string(REGEX MATCHALL "each\\([a-z0-9_]+\\)" gpu_codings "${coding_text}")
list(TRANSFORM gpu_codings REPLACE "each\\((.*)\\)" "\\1")

# Kernels that decode lists are templates over the coding, with a struct of launches for each family. Adds a source with
# all codings to a target, or with APART a source for each, so that kernels that take minutes compile in parallel.
function(add_kernel_family target header family)
  cmake_parse_arguments(PARSE_ARGV 3 arg "APART" "" "WITHOUT")
  set(include "#include \"quern/gpu/${header}\"\n")
  set(all "${include}")
  foreach(coding IN LISTS gpu_codings)
    if(coding IN_LIST arg_WITHOUT)
      continue()
    endif()
    set(kernels "template struct quern::gpu::${family}<quern::gpu::Coding::${coding}>;\n")
    string(APPEND all "${kernels}")
    if(arg_APART)
      add_cuda_source(${target} "${family}_${coding}" "${include}${kernels}")
    endif()
  endforeach()
  if(NOT arg_APART)
    add_cuda_source(${target} "${family}" "${all}")
  endif()
endfunction()

# Adds a source made here to a target.
function(add_cuda_source target name text)
  set(source "${CMAKE_BINARY_DIR}/cuda/${name}.cu")
  file(CONFIGURE OUTPUT "${source}" CONTENT "${text}" @ONLY)
  target_sources(${target} PRIVATE "${source}")
endfunction()

# CMake 3.25's unity builds leave CUDA sources out.
function(compile_cuda_sources_as_one target)
  get_target_property(sources ${target} SOURCES)
  set(cuda_sources ${sources})
  list(FILTER cuda_sources INCLUDE REGEX "^${CMAKE_SOURCE_DIR}/lib/.*\\.cu$")
  list(REMOVE_ITEM sources ${cuda_sources})
  set_target_properties(${target} PROPERTIES SOURCES "${sources}")
  list(TRANSFORM cuda_sources REPLACE "(.+)" "#include \"\\1\"\n")
  list(JOIN cuda_sources "" text)
  add_cuda_source(${target} ${target} "${text}")
endfunction()

# For layers with CUDA sources.
function(compile_cuda_sources)
  foreach(target IN LISTS ARGN)
    if(CMAKE_UNITY_BUILD)
      compile_cuda_sources_as_one(${target})
    endif()
    set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}"
                          CUDA_RUNTIME_LIBRARY Static)
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${cuda_flags}>")
  endforeach()
  target_compile_definitions(quern_gpu PUBLIC QUERN_HAS_CUDA)
  target_link_libraries(quern_gpu PUBLIC CUDA::cudart_static)
endfunction()
