# The executable, its manual, and what is installed with it.
find_package(CLI11 REQUIRED)
find_package(Boost CONFIG REQUIRED COMPONENTS program_options)
file(GLOB_RECURSE tool_sources CONFIGURE_DEPENDS tools/*.cpp)
list(FILTER tool_sources EXCLUDE REGEX "/tools/python/")
add_executable(quern ${tool_sources})
target_include_directories(quern PRIVATE tools)
target_link_libraries(quern PRIVATE quern_api quern_lab CLI11::CLI11 Boost::program_options)
# In every build: reading CLI11 costs more than compiling what most of these files contain. Optimising them costs as much again,
# and nothing in them is slow.
set_target_properties(quern PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 24)
target_compile_options(quern PRIVATE "$<IF:$<BOOL:${QUERN_SANITIZE}>,-O0,$<$<CONFIG:Release>:-O1>>")

include(cmake/install.cmake)
include(cmake/man_pages.cmake)
