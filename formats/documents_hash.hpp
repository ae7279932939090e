#pragma once
#include <cstdint>
#include <string_view>

#include "quern/core/bytes.hpp"
#include "quern/io/checksum.hpp"

namespace quern {

/// Identifies a set of documents, whatever their order and splits: the sum, modulo 2^64, of each document's XXH3-64
/// over docno, URL and title as strings and its tokens as a varint. Sums of splits and shards add up to the sum of the
/// whole.
class DocumentsHash {
 public:
  void add(std::string_view docno, std::string_view url, std::string_view title, std::uint64_t tokens) {
    row_.clear();
    put_string(row_, docno);
    put_string(row_, url);
    put_string(row_, title);
    put_varint(row_, tokens);
    sum_ += xxh3(row_);
  }
  std::uint64_t value() const { return sum_; }

 private:
  std::uint64_t sum_ = 0;
  Bytes row_;
};

}  // namespace quern
