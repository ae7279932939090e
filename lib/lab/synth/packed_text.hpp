#pragma once
#include <functional>
#include <string>

#include "quern/core/resources.hpp"
#include "quern/io/file.hpp"

namespace quern {

/// Writes a text whose chunks are generated in parallel, in their order: plain, or, if `name` ends with .gz or .zst,
/// each chunk as a gzip member or a zstd frame of its own. `put_chunk` appends the chunk's text; several threads call
/// it. The bytes depend on the chunks alone.
void write_packed_text(std::uint64_t chunks,
                       const std::function<void(std::uint64_t chunk, std::string& text)>& put_chunk,
                       const std::string& name, const Resources& resources, File& out);

}  // namespace quern
