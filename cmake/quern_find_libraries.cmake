# The libraries that libquern links to; also read by the installed CMake package.
find_package(Threads REQUIRED)
find_package(TBB REQUIRED)
find_package(ZLIB REQUIRED)
find_package(BZip2 REQUIRED)
find_package(LibLZMA REQUIRED)
find_package(simdjson REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(brotli REQUIRED IMPORTED_TARGET libbrotlidec)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(utf8proc REQUIRED IMPORTED_TARGET libutf8proc)
find_library(STEMMER_LIBRARY stemmer REQUIRED)  # found here but linked by name, so that an installed tree contains no paths of this system
set(QUERN_DEPENDENCIES
    Threads::Threads TBB::tbb ZLIB::ZLIB BZip2::BZip2 LibLZMA::LibLZMA simdjson::simdjson nlohmann_json::nlohmann_json
    fmt::fmt PkgConfig::zstd PkgConfig::brotli PkgConfig::xxhash PkgConfig::utf8proc stemmer)
