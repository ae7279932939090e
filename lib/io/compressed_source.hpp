#pragma once
#include <memory>

#include "quern/io/raw_source.hpp"

namespace quern {

/// The content of a gzip file (RFC 1952): all its members, one after another.
std::unique_ptr<ByteSource> make_gzip_source(std::unique_ptr<RawSource> stored);

/// The content of a zstd file (RFC 8878): all its frames, one after another.
std::unique_ptr<ByteSource> make_zstd_source(std::unique_ptr<RawSource> stored);

}  // namespace quern
