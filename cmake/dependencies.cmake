# All libraries are Debian packages; scripts/setup installs them. Nothing is downloaded here.
list(APPEND CMAKE_MODULE_PATH "${CMAKE_CURRENT_LIST_DIR}")
include("${CMAKE_CURRENT_LIST_DIR}/quern_find_libraries.cmake")
find_library(STREAMVBYTE_LIBRARY streamvbyte)  # optional: a peer for comparing our codecs
