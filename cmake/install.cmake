# An installed tree that can be moved: headers, library, executable, CMake package.
include(CMakePackageConfigHelpers)
set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/quern")
set(lab_folders measure synth)
list(REMOVE_ITEM library_folders ${lab_folders})
foreach(folder IN LISTS library_folders)
  install(DIRECTORY "lib/${folder}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/quern" FILES_MATCHING PATTERN "*.hpp")
endforeach()
install(DIRECTORY formats DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/quern" FILES_MATCHING PATTERN "*.hpp")
install(FILES LICENSE README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY formats DESTINATION "${CMAKE_INSTALL_DOCDIR}" FILES_MATCHING PATTERN "*.md")
install(TARGETS quern_library quern_core quern_build quern_search quern_gpu EXPORT quern_targets)
install(TARGETS quern)
install(EXPORT quern_targets FILE quern-targets.cmake NAMESPACE quern:: DESTINATION "${package_folder}")
configure_package_config_file(cmake/quern-config.cmake.in "${CMAKE_BINARY_DIR}/quern-config.cmake"
                              INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/quern-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/quern-config.cmake" "${CMAKE_BINARY_DIR}/quern-config-version.cmake"
              cmake/quern_find_libraries.cmake DESTINATION "${package_folder}")
