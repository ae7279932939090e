# A relocatable installed tree: headers, libraries, executable, CMake package.
include(CMakePackageConfigHelpers)
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/quern")
# A build of the executable alone, as by scripts/quickstart, installs the component `program`; the next lines run first.
install(CODE "
  if(NOT CMAKE_INSTALL_COMPONENT AND NOT EXISTS \"$<TARGET_FILE:quern_shared>\")
    message(STATUS \"Installing the program alone; cmake --build ${CMAKE_BINARY_DIR} builds the library\")
    set(CMAKE_INSTALL_COMPONENT program)
  endif()")
install(DIRECTORY lib/api DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/quern" FILES_MATCHING PATTERN "*.hpp"
        PATTERN internal EXCLUDE)
install(FILES LICENSE NOTICE README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT program)
install(DIRECTORY formats DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT program FILES_MATCHING PATTERN "*.md")
install(TARGETS quern COMPONENT program)
install(TARGETS quern_shared EXPORT quern_targets)
install(EXPORT quern_targets FILE quern-targets.cmake NAMESPACE quern:: DESTINATION "${package_folder}")
# Separate, since programs that link to them need the libraries with which Quern was built.
install(TARGETS quern_core quern_formats quern_build quern_search quern_gpu quern_api EXPORT quern_static_targets)
install(EXPORT quern_static_targets FILE quern-static-targets.cmake NAMESPACE quern:: DESTINATION "${package_folder}")
configure_package_config_file(cmake/quern-config.cmake.in "${CMAKE_BINARY_DIR}/quern-config.cmake"
                              INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/quern-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/quern-config.cmake" "${CMAKE_BINARY_DIR}/quern-config-version.cmake"
              cmake/quern_find_libraries.cmake cmake/quern_find_cuda.cmake DESTINATION "${package_folder}")
