#pragma once
#include "quern/io/byte_source.hpp"

namespace quern {

/// A damaged place in a gzip file.
struct GzipDamage {
  std::uint64_t stored_offset = 0;  ///< in the file, of the damaged member or of foreign data
  /// Bytes read from intact members since the previous damage or the start of the file.
  std::uint64_t sound_bytes = 0;
  const char* reason = nullptr;
};

/// A ByteSource that skips damage in gzip files: where a member is damaged, or other data stands between two, it
/// continues with the next member. Crawls have one member per record. Files of other formats are read as they are.
class DamageSkippingSource : public ByteSource {
 public:
  /// As ByteSource::open().
  static std::unique_ptr<DamageSkippingSource> open(const std::string& path, const ReadInterrupt* interrupt,
                                                    std::uint64_t max_window_bytes);
  /// As above for bytes in memory, with a name for messages.
  static std::unique_ptr<DamageSkippingSource> from_memory(std::string name, std::string bytes);

  /// After read() has returned 0: the damage found there, after which reading continues; empty at the end. Earlier
  /// calls may have returned bytes of the damaged member.
  virtual std::optional<GzipDamage> take_damage() = 0;
};

}  // namespace quern
