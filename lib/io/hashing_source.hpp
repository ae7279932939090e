#pragma once
#include <memory>
#include <string>

#include "quern/io/byte_source.hpp"

namespace quern {

/// Passes a source's bytes on and keeps the XXH3-64 of all that went by: names a file by its content.
class HashingSource : public ByteSource {
 public:
  explicit HashingSource(std::unique_ptr<ByteSource> source);
  ~HashingSource() override;
  HashingSource(const HashingSource&) = delete;
  HashingSource& operator=(const HashingSource&) = delete;

  std::size_t read(std::span<std::uint8_t> to) override;
  const std::string& name() const override { return source_->name(); }
  std::uint64_t compressed_bytes_read() const override { return source_->compressed_bytes_read(); }
  /// Of the bytes so far, decompressed.
  std::uint64_t hash() const;

 private:
  struct State;

  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<State> state_;
};

}  // namespace quern
