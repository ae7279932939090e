# Writes what cmake/man_pages.cmake installs to FOLDER: man1/quern-COMMAND.1 for each command that QUERN has, and its
# completions for bash (quern) and zsh (_quern).
function(write file)
  execute_process(COMMAND "${QUERN}" ${ARGN} OUTPUT_FILE "${FOLDER}/${file}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}/man1")
execute_process(COMMAND "${QUERN}" help --commands OUTPUT_VARIABLE commands OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" commands "${commands}")
foreach(command IN LISTS commands)
  string(REPLACE " " "-" page "${command}")
  string(REPLACE " " ";" words "${command}")
  list(REMOVE_AT words 0)
  write("man1/${page}.1" help --man ${words})
endforeach()
write(quern completion bash)
write(_quern completion zsh)
file(TOUCH "${FOLDER}/written")
