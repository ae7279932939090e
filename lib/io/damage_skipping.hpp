#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "quern/io/byte_source.hpp"

namespace quern {

/// A place where a gzip file is damaged.
struct GzipDamage {
  std::uint64_t stored_offset = 0;  ///< in the file: of the member, or of what stands in place of one
  /// Of the bytes that were read since the damage before, or the file's begin: those of members before this one.
  std::uint64_t sound_bytes = 0;
  const char* reason = nullptr;
};

/// The bytes of one file as ByteSource gives them, but where a member of a gzip file is damaged, or something else
/// stands between two, reading goes on with the next member. Crawls have one for each record. Files of other kinds are
/// read as they are.
class DamageSkippingSource : public ByteSource {
 public:
  /// As ByteSource::open().
  static std::unique_ptr<DamageSkippingSource> open(const std::string& path, const ReadInterrupt* interrupt,
                                                    std::uint64_t max_window_bytes);
  /// The same bytes from memory, under a name for messages.
  static std::unique_ptr<DamageSkippingSource> of_memory(std::string name, std::string bytes);

  /// Where read() has returned 0: the damage there, behind which it goes on; nothing at the end. Bytes of the damaged
  /// member were read before it.
  virtual std::optional<GzipDamage> take_damage() = 0;
};

}  // namespace quern
