# Sources use #include "quern/core/error.hpp", as programs with the installed library do. In the build tree, these paths are
# links to the folders of lib/ and to formats/.
set(include_tree "${CMAKE_BINARY_DIR}/include")
file(MAKE_DIRECTORY "${include_tree}/quern")
file(GLOB library_folders RELATIVE "${CMAKE_SOURCE_DIR}/lib" CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/lib/*")
foreach(folder IN LISTS library_folders)
  file(CREATE_LINK "${CMAKE_SOURCE_DIR}/lib/${folder}" "${include_tree}/quern/${folder}" SYMBOLIC)
endforeach()
file(CREATE_LINK "${CMAKE_SOURCE_DIR}/formats" "${include_tree}/quern/formats" SYMBOLIC)
