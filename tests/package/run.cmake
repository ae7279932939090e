# Installs the build tree BUILD under WORK, moves the installed tree, builds the program next to this file against it in
# several ways, and runs it and the moved quern.
cmake_minimum_required(VERSION 3.25)
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${WORK}")
run("${CMAKE_COMMAND}" --install "${BUILD}" --config "${CONFIG}" --prefix "${WORK}/installed")
file(RENAME "${WORK}/installed" "${WORK}/moved")

# Only the interface is installed.
file(GLOB_RECURSE headers RELATIVE "${WORK}/moved/include/quern" "${WORK}/moved/include/*")
foreach(header IN LISTS headers)
  if(NOT header MATCHES "^api/[a-z_]+\\.hpp$")
    message(FATAL_ERROR "include/quern/${header} is installed, but isn't a header of lib/api")
  endif()
endforeach()
# The static libraries may need only libraries that cmake/quern_find_libraries.cmake finds, whatever the build found, and
# libquern.so none at all.
string(REPLACE "," ";" allowed "${LIBRARIES}")
list(APPEND allowed CUDA::cudart_static)
file(GLOB_RECURSE targets_files "${WORK}/moved/quern-*targets*.cmake")
if(NOT targets_files)
  message(FATAL_ERROR "the installed tree has no quern-targets.cmake")
endif()
foreach(targets_file IN LISTS targets_files)
  file(READ "${targets_file}" text)
  string(REGEX MATCHALL "(INTERFACE_LINK_LIBRARIES|IMPORTED_LINK_DEPENDENT_LIBRARIES[A-Z_]*) \"[^\"]*\"" lists "${text}")
  string(REGEX REPLACE "[A-Z_]+ \"|\"|\\\\?\\$<LINK_ONLY:|>" ";" libraries "${lists}")
  foreach(library IN LISTS libraries)
    if(NOT library STREQUAL "" AND NOT library MATCHES "^quern::" AND NOT library IN_LIST allowed)
      message(FATAL_ERROR "${targets_file}: links to ${library}, which the installed package doesn't find")
    endif()
  endforeach()
endforeach()
# libquern.so exports only its interface.
file(GLOB_RECURSE shared_library "${WORK}/moved/*/libquern.so.0")
execute_process(COMMAND nm --dynamic --defined-only --demangle "${shared_library}" OUTPUT_VARIABLE symbols
                COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "\n$" "" symbols "${symbols}")
string(REPLACE ";" "," symbols "${symbols}")
string(REPLACE "\n" ";" symbols "${symbols}")
foreach(symbol IN LISTS symbols)
  if(NOT symbol MATCHES "^[0-9a-f]+ [A-Z] ((typeinfo|typeinfo name|vtable) for )?quern::api::")
    message(FATAL_ERROR "libquern.so exports what is not of quern::api: ${symbol}")
  endif()
endforeach()

# The program with each available compiler, the static libraries, and flags that change no result.
file(WRITE "${WORK}/lines.tsv" "MILL-1\tA quern is a hand mill.\nMILL-2\tWater mills grind, and windmills do.\nMILL-3\tStones of querns\n")
file(WRITE "${WORK}/queries.txt" "grinding mills\nno such word\n")
function(build name compiler)
  run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${WORK}/${name}" -G "${GENERATOR}" ${ARGN}
      "-DCMAKE_BUILD_TYPE=${CONFIG}" "-DCMAKE_CXX_COMPILER=${compiler}" "-DCMAKE_PREFIX_PATH=${WORK}/moved")
  run("${CMAKE_COMMAND}" --build "${WORK}/${name}")
  execute_process(COMMAND "${WORK}/${name}/consumer" "${WORK}/lines.tsv" "${WORK}/${name}.quern" "quern"
                  INPUT_FILE "${WORK}/queries.txt" OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
  if(NOT printed MATCHES "3 documents" OR NOT printed MATCHES "quern\tMILL-1\t[0-9.]+\t *A quern" OR
     NOT printed MATCHES "grinding mills\tMILL-2")
    message(FATAL_ERROR "${name}: the program printed\n${printed}")
  endif()
  if(DEFINED expected AND NOT printed STREQUAL expected)
    message(FATAL_ERROR "${name}: the program printed\n${printed}\nand not what another build did:\n${expected}")
  endif()
  set(expected "${printed}" PARENT_SCOPE)
endfunction()
build(shared "${COMPILER}")
build(static "${COMPILER}" -DSTATIC=ON)
build(native "${COMPILER}" -DFLAGS=-march=native)
foreach(other g++ clang++)
  find_program(found_${other} ${other})
  if(found_${other})
    build(with_${other} "${found_${other}}")
  endif()
endforeach()

# Flags that change results are refused by name.
execute_process(COMMAND "${COMPILER}" -std=c++20 -ffast-math -fsyntax-only "-I${WORK}/moved/include"
                        "${CMAKE_CURRENT_LIST_DIR}/main.cpp" RESULT_VARIABLE status ERROR_VARIABLE message)
if(status EQUAL 0 OR NOT message MATCHES "Quern refuses -ffast-math")
  message(FATAL_ERROR "-ffast-math is not refused by name: ${message}")
endif()

run("${WORK}/moved/bin/quern" --version)
foreach(file man/man1/quern.1 man/man1/quern-bench-gpu.1 bash-completion/completions/quern zsh/site-functions/_quern)
  if(NOT EXISTS "${WORK}/moved/share/${file}")
    message(FATAL_ERROR "share/${file} is not installed")
  endif()
endforeach()
