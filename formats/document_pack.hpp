#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "quern/core/bytes.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/io/checksum.hpp"
#include "quern/io/zstd_frame.hpp"

namespace quern {

/// Consecutive documents, encoded for the sections of an index: docnos and compressed texts. Threads can encode packs
/// in parallel.
class DocumentPack {
 public:
  void clear();
  void add(std::string_view docno, std::string_view url, std::string_view title);
  /// Completes the last block of texts. A pack's first document must be the first of its block.
  void end();

  std::size_t size() const { return docno_hashes_.size(); }
  /// Hash of each document's docno.
  std::span<const std::uint64_t> docno_hashes() const { return docno_hashes_; }
  ByteView docnos() const { return docnos_; }
  ByteView texts() const { return texts_; }
  /// Offsets of the blocks in the pack's docnos and texts.
  std::span<const std::size_t> docno_offsets() const { return docno_offsets_; }
  std::span<const std::size_t> text_offsets() const { return text_offsets_; }

 private:
  void put_text_block();

  std::vector<std::uint64_t> docno_hashes_;
  Bytes docnos_, texts_, text_block_;
  std::vector<std::size_t> docno_offsets_, text_offsets_;
  ZstdCompressor zstd_{3};
};

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
