# Flags of all targets. Floating-point contraction is off, so that results have the same bits everywhere.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # With this setting, ccache stores objects that use the tests' precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${CCACHE_PROGRAM}")
endif()

set(host_flags -ffp-contract=off -Wall -Wextra -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC warns about impossible overlaps and overruns in std::string and std::vector (GCC bug 105651 and similar ones).
  list(APPEND host_flags -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds -Wno-alloc-size-larger-than)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # CPUs from 2015 on; wider SIMD is chosen at run time.
  list(APPEND host_flags -march=x86-64-v3)
endif()
if(QUERN_WERROR)
  list(APPEND host_flags -Werror)
endif()
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${host_flags}>")

if(QUERN_FUZZ)
  # fuzzer-no-link instruments the library; the targets themselves link libFuzzer.
  list(APPEND QUERN_SANITIZE fuzzer-no-link address undefined)
endif()
if(QUERN_SANITIZE)
  list(JOIN QUERN_SANITIZE "," sanitizers)
  set(sanitizer_flags -fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND sanitizer_flags -Wno-maybe-uninitialized)  # false alarms in instrumented standard library code
  endif()
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${sanitizer_flags}>")
  add_link_options(-fsanitize=${sanitizers})
endif()
if(QUERN_SANITIZE OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()

# With CMAKE_UNITY_BUILD, each folder of lib and formats is compiled as one source, with its subfolders, so headers are read
# once per folder. Names in the unnamed namespaces of a folder must therefore differ.
function(compile_folders_as_one target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${CMAKE_SOURCE_DIR}")
    string(REGEX REPLACE "^(lib/[^/]+|formats)/.*" "\\1" folder "${folder}")
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    set_property(SOURCE "${source}" PROPERTY UNITY_GROUP "${folder}")
  endforeach()
endfunction()
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>")  # it mistakes unnamed namespaces in sources for ones in headers
endif()
