# The layers of the library, lowest first. A layer may use the layers before it. The table in ARCHITECTURE.md, which
# scripts/lint checks, says which folders may include each other.
include(cmake/include_tree.cmake)

# Every source below the folders, and the libraries that the layer links to. COLD layers take little of any command's time,
# so they are optimized less, to compile faster.
function(add_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 layer "COLD" "" "FOLDERS;TOP_FOLDERS;LIBRARIES")
  set(extensions cpp)
  if(QUERN_WITH_CUDA)
    list(APPEND extensions cu)
  endif()
  set(sources "")
  foreach(extension IN LISTS extensions)
    foreach(folder IN LISTS layer_FOLDERS)
      file(GLOB_RECURSE found CONFIGURE_DEPENDS "${folder}/*.${extension}")
      list(APPEND sources ${found})
    endforeach()
    foreach(folder IN LISTS layer_TOP_FOLDERS)
      file(GLOB found CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${folder}/*.${extension}")
      list(APPEND sources ${found})
    endforeach()
  endforeach()
  if(QUERN_WITH_CUDA)
    list(FILTER sources EXCLUDE REGEX "/without_cuda\\.cpp$")
  endif()
  set(target quern_${name})
  add_library(${target} STATIC ${sources})
  add_library(quern::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${include_tree}> $<INSTALL_INTERFACE:include>)
  target_compile_definitions(${target} PRIVATE QUERN_VERSION="${PROJECT_VERSION}")
  target_link_libraries(${target} PUBLIC ${layer_LIBRARIES})
  compile_folders_as_one(${target})
  if(layer_COLD)
    target_compile_options(${target} PRIVATE "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O2>")
  elseif(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC limits inlining by how much a source grows, so a folder compiled as one source would be slower.
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:--param=inline-unit-growth=400>")
  endif()
endfunction()

add_layer(core FOLDERS lib/core lib/io lib/codec lib/text LIBRARIES ${QUERN_DEPENDENCIES})
add_layer(formats COLD FOLDERS formats/tables formats/queries formats/rankers TOP_FOLDERS formats LIBRARIES quern_core)
add_layer(build
  FOLDERS lib/corpus lib/order lib/index formats/corpus formats/exchange
  LIBRARIES quern_formats)
add_layer(search FOLDERS lib/search lib/plan lib/rank lib/eval lib/tune
  LIBRARIES quern_formats)
add_layer(gpu FOLDERS lib/gpu LIBRARIES quern_search)
# Tests link the CUDA sources, compiled for an emulated GPU, in its place.
set_source_files_properties("${CMAKE_SOURCE_DIR}/lib/gpu/without_cuda.cpp" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
# The public interface and its implementation.
add_layer(api COLD FOLDERS lib/api LIBRARIES quern_gpu quern_build)
# Measurements and synthetic data for the executable and the tests, not installed.
add_layer(lab COLD FOLDERS lib/lab LIBRARIES quern_gpu quern_build)
if(QUERN_WITH_CUDA)
  add_kernel_family(quern_gpu range/range_kernels.cuh RangeKernels APART)
  add_kernel_family(quern_gpu intersect/coded_kernels.cuh IntersectLaunches)
  add_kernel_family(quern_gpu papers/ding/ding_kernels.cuh DingKernels)
  add_kernel_family(quern_gpu papers/partition/partition_kernels.cuh PartitionKernels WITHOUT rpfd_once)  # serial_coding()
  add_kernel_family(quern_gpu papers/wang/wang_kernels.cuh WangKernels)
  compile_cuda_sources(quern_gpu quern_lab)
endif()

# For other programs: libquern.so, which exports only lib/api, or the static libraries of all layers.
set_target_properties(quern_api PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
set(exported_symbols "${CMAKE_SOURCE_DIR}/cmake/exported_symbols.map")
file(WRITE "${CMAKE_BINARY_DIR}/shared.cpp" "// libquern.so is made of the layers' static libraries.\n")
add_library(quern_shared SHARED "${CMAKE_BINARY_DIR}/shared.cpp")
add_library(quern::quern ALIAS quern_shared)
set_target_properties(quern_shared PROPERTIES OUTPUT_NAME quern EXPORT_NAME quern VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS "${exported_symbols}")
target_compile_features(quern_shared INTERFACE cxx_std_20)
target_include_directories(quern_shared INTERFACE $<BUILD_INTERFACE:${include_tree}> $<INSTALL_INTERFACE:include>)
target_link_libraries(quern_shared PRIVATE "-Wl,--whole-archive" $<TARGET_FILE:quern_api> "-Wl,--no-whole-archive"
                      quern_gpu quern_build)
target_link_options(quern_shared PRIVATE "-Wl,--version-script=${exported_symbols}" -Wl,--no-undefined)
add_dependencies(quern_shared quern_api)

# The same kernels for each SIMD level.
file(GLOB kernel_sources CONFIGURE_DEPENDS lib/codec/kernels_*.cpp lib/search/kernels_*.cpp
     lib/rank/models/kernels_*.cpp)
set_property(SOURCE ${kernel_sources} PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
# The hot sources of a cold layer.
set_source_files_properties(formats/posting_reader.cpp formats/queries/run_file.cpp PROPERTIES
                            COMPILE_OPTIONS "$<$<CONFIG:Release>:-O3>")
# Feature functions for many documents at once: without this flag, which changes no result, GCC does not vectorize them.
set_source_files_properties(lib/core/weighting_model.cpp lib/rank/models/transformation.cpp
                            PROPERTIES COMPILE_OPTIONS -fno-trapping-math)
if(STREAMVBYTE_LIBRARY)
  target_compile_definitions(quern_lab PRIVATE QUERN_HAS_STREAMVBYTE)
  target_link_libraries(quern_lab PRIVATE "${STREAMVBYTE_LIBRARY}")
endif()
# The description of the build in benchmarks.
string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
set(all_flags ${CMAKE_CXX_FLAGS_${build_type}} ${host_flags} ${sanitizer_flags})
list(JOIN all_flags " " build_flags)
set_source_files_properties(lib/core/figures.cpp PROPERTIES COMPILE_DEFINITIONS
    "QUERN_BUILD=\"${CMAKE_BUILD_TYPE} ${build_flags}\"")
# The version of libstemmer in manifests: that of the Debian package, since the library does not report its own.
if(NOT QUERN_LIBSTEMMER_VERSION)
  execute_process(COMMAND dpkg-query -W "-f=\${Version}" libstemmer-dev
                  OUTPUT_VARIABLE QUERN_LIBSTEMMER_VERSION RESULT_VARIABLE no_package ERROR_QUIET)
  if(no_package OR NOT QUERN_LIBSTEMMER_VERSION)
    set(QUERN_LIBSTEMMER_VERSION unknown)
  endif()
endif()
set_source_files_properties(lib/text/analyzer.cpp PROPERTIES COMPILE_DEFINITIONS
    "QUERN_LIBSTEMMER_VERSION=\"${QUERN_LIBSTEMMER_VERSION}\"")
