#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"
#include "quern/formats/collection.hpp"
#include "quern/formats/order_file.hpp"

#include "container_fuzzing.hpp"
#include "work_folder.hpp"

/// Collections whose decompressed chunks are fuzzed, since changed bytes seldom survive decompression. An input is a
/// list of parts as for container_around(), some of which are chunks, in order.
namespace quern::fuzz {

/// A chunk's part: the number of documents (u16), a byte that is odd if the last document continues in the next chunk,
/// the sizes (u16) of the pieces `documents` and `forward` and of the terms, then these three, and the piece `links`.
inline constexpr std::string_view chunk_part = "chunk";
inline constexpr std::size_t chunk_head_bytes = 9;

inline constexpr std::array<std::string_view, 5> collection_parts = {chunk_part, "lengths", "lexicon", "lexicon_blocks",
                                                                     "manifest"};

/// The parts of an input, each with its number and bytes.
inline std::vector<std::pair<std::size_t, ByteView>> parts_of(ByteView input, std::size_t count) {
  std::vector<std::pair<std::size_t, ByteView>> parts;
  while (input.size() >= 5) {
    const std::size_t size = std::min<std::size_t>(load_le<std::uint32_t>(input.data() + 1), input.size() - 5);
    parts.emplace_back(input[0] % count, input.subspan(5, size));
    input = input.subspan(5 + size);
  }
  return parts;
}

inline void put_part(Bytes& out, std::size_t number, ByteView bytes) {
  out.push_back(static_cast<std::uint8_t>(number));
  put_le(out, static_cast<std::uint32_t>(bytes.size()));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

class CollectionMaker {
 public:
  /// With `repaired`, lengths and manifest match the chunks' number of documents; otherwise nearly all changes of that
  /// number would be found at once.
  CollectionReader make(ByteView input, bool repaired) {
    std::array<Bytes, collection_parts.size()> sections;
    for (const auto& [part, bytes] : parts_of(input, collection_parts.size())) {
      if (collection_parts[part] == chunk_part) {
        add_chunk(bytes);
      } else {
        sections[part].assign(bytes.begin(), bytes.end());
      }
    }
    if (repaired) repair(sections[1], sections[4]);
    File file = File::anonymous(work_folder());
    ContainerWriter writer(file, FileKind::collection);
    writer.add_section("chunk_data", data_);
    for (std::size_t part = 1; part + 1 < collection_parts.size(); ++part)
      writer.add_section(collection_parts[part], sections[part]);
    writer.add_section("chunk_terms", terms_);
    writer.add_section("chunks", rows_);
    writer.add_section("manifest", sections.back());
    writer.finish();
    return CollectionReader(std::make_shared<const File>(std::move(file)));
  }

 private:
  void add_chunk(ByteView bytes) {
    if (bytes.size() < chunk_head_bytes) return;
    const auto number = [&](std::size_t at) { return load_le<std::uint16_t>(bytes.data() + at); };
    ByteView left = bytes.subspan(chunk_head_bytes);
    std::array<ByteView, 4> pieces;
    for (std::size_t i = 0; i < 3; ++i) {
      pieces[i] = left.first(std::min<std::size_t>(number(3 + 2 * i), left.size()));
      left = left.subspan(pieces[i].size());
    }
    const ByteView terms = pieces[2].first(pieces[2].size() / 4 * 4);
    PackedChunk chunk;
    for (std::size_t i = 0; i < num_fixed_pieces; ++i)
      pack_piece(static_cast<ChunkPiece>(i), i == 2 ? left : pieces[i], zstd_, chunk);
    put_le(rows_, std::uint32_t{number(0)});
    put_le(rows_, static_cast<std::uint32_t>(terms.size() / 4));
    put_le(rows_, std::uint64_t{data_.size()});
    for (const std::uint32_t size : std::span(chunk.row.sizes).first(num_fixed_pieces)) put_le(rows_, size);
    for (const std::uint32_t size : std::span(chunk.row.raw_sizes).first(num_fixed_pieces)) put_le(rows_, size);
    put_le(rows_, std::uint64_t{terms_.size()});
    const std::size_t before = terms_.size();
    zstd_.append(terms, terms_);
    put_le(rows_, static_cast<std::uint32_t>(terms_.size() - before));
    put_le(rows_, std::uint32_t{bytes[2]} % 2);
    data_.insert(data_.end(), chunk.frames.begin(), chunk.frames.end());
    documents_ += number(0);
  }

  void repair(Bytes& lengths, Bytes& manifest_bytes) const {
    lengths.resize(4 * documents_);
    CollectionManifest manifest = CollectionManifest::from_json(std::string(as_text(manifest_bytes)), "fuzz");
    manifest.documents = documents_;
    const std::string text = manifest.to_json();
    manifest_bytes.assign(text.begin(), text.end());
  }

  ZstdCompressor zstd_;
  Bytes data_, terms_, rows_;
  std::size_t documents_ = 0;
};

/// The input that represents a collection, as a seed. The pieces of its chunks must be smaller than 64 KiB.
inline Bytes parts_of_collection(const CollectionReader& collection) {
  Bytes seed;
  ZstdDecompressor zstd;
  const ByteView data = collection.container().view("chunk_data"), terms = collection.container().view("chunk_terms");
  for (std::size_t i = 0; i < collection.num_chunks(); ++i) {
    const ChunkRow& row = collection.chunk(i);
    std::array<Bytes, 4> pieces;
    std::uint64_t offset = row.offset;
    for (std::size_t piece = 0; piece < num_fixed_pieces; ++piece) {
      zstd.decompress(data.subspan(offset, row.sizes[piece]), row.raw_sizes[piece], pieces[piece == 2 ? 3 : piece],
                      "seed");
      offset += row.sizes[piece];
    }
    zstd.decompress(terms.subspan(row.terms_offset, row.terms_size), 4 * std::uint64_t{row.terms}, pieces[2], "seed");
    Bytes chunk;
    put_le(chunk, static_cast<std::uint16_t>(row.documents));
    chunk.push_back(row.unfinished);
    for (std::size_t piece = 0; piece < 3; ++piece) put_le(chunk, static_cast<std::uint16_t>(pieces[piece].size()));
    for (const Bytes& piece : pieces) chunk.insert(chunk.end(), piece.begin(), piece.end());
    put_part(seed, 0, chunk);
  }
  for (std::size_t part = 1; part < collection_parts.size(); ++part)
    put_part(seed, part, collection.container().view(collection_parts[part]));
  return seed;
}

}  // namespace quern::fuzz
