# Man pages and completions, which the executable generates from its command line; built and installed. Sanitizers would take
# minutes for them, and builds with these are not installed.
set(manual_folder "${CMAKE_BINARY_DIR}/manual")
add_custom_command(OUTPUT "${manual_folder}/written"
                   COMMAND "${CMAKE_COMMAND}" "-DQUERN=$<TARGET_FILE:quern>" "-DFOLDER=${manual_folder}"
                           -P "${CMAKE_CURRENT_LIST_DIR}/write_manual.cmake"
                   DEPENDS quern "${CMAKE_CURRENT_LIST_DIR}/write_manual.cmake"
                   COMMENT "Writing man pages and completions" VERBATIM)
if(NOT QUERN_SANITIZE)
  set(manual_by_default ALL)
endif()
add_custom_target(manual ${manual_by_default} DEPENDS "${manual_folder}/written")
install(DIRECTORY "${manual_folder}/man1" DESTINATION "${CMAKE_INSTALL_MANDIR}" COMPONENT program)
install(FILES "${manual_folder}/quern" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
        COMPONENT program)
install(FILES "${manual_folder}/_quern" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" COMPONENT program)
