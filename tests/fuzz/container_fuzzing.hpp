#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include "quern/core/bytes.hpp"
#include "quern/formats/collection.hpp"
#include "quern/formats/container.hpp"
#include "quern/formats/index_file.hpp"

/// Containers around fuzzed sections. Checksums would reject nearly all changes, so the fuzzer changes sections: an
/// input is a list of sections, around which a valid container is written.
namespace quern::fuzz {

/// For each section, an input contains its index in the kind's list of names, its size in bytes (u32), and the bytes.
/// If a section occurs twice, the first one counts.
template <std::size_t count>
std::shared_ptr<const File> container_around(ByteView input, FileKind kind,
                                             const std::array<std::string_view, count>& names) {
  std::array<ByteView, count> sections;
  std::array<bool, count> met = {};
  while (input.size() >= 5) {
    const std::size_t name = input[0] % count;
    const std::size_t size = std::min<std::size_t>(load_le<std::uint32_t>(input.data() + 1), input.size() - 5);
    if (!met[name]) sections[name] = input.subspan(5, size);
    met[name] = true;
    input = input.subspan(5 + size);
  }
  File file = File::anonymous(std::filesystem::temp_directory_path().string());
  ContainerWriter writer(file, kind);
  for (std::size_t i = 0; i < count; ++i)
    if (met[i]) writer.add_section(names[i], sections[i]);
  writer.finish();
  return std::make_shared<const File>(std::move(file));
}

/// The input for container_around() that represents a container, as a seed.
template <std::size_t count>
Bytes seed_of(const ContainerReader& container, const std::array<std::string_view, count>& names) {
  Bytes seed;
  for (std::size_t i = 0; i < count; ++i) {
    if (!container.has(names[i])) continue;
    const ByteView bytes = container.view(names[i]);
    seed.push_back(static_cast<std::uint8_t>(i));
    put_le(seed, static_cast<std::uint32_t>(bytes.size()));
    seed.insert(seed.end(), bytes.begin(), bytes.end());
  }
  return seed;
}

inline constexpr std::array<std::string_view, 4> order_sections = {"documents", "pagerank", "global_scores",
                                                                   "manifest"};
inline constexpr std::array<std::string_view, 4> plan_sections = {"terms", "blocks", "bytes", "manifest"};
inline constexpr std::array<std::string_view, 5> forward_sections = {"documents", "document_offsets", "out_links",
                                                                     "in_links", "manifest"};
inline constexpr std::array<std::string_view, 3> texts_sections = {"texts", "text_frames", "manifest"};
inline constexpr std::array<std::string_view, 4> fields_sections = {"fields", "field_offsets", "field_sizes",
                                                                    "manifest"};
inline constexpr std::array<std::string_view, 9> collection_sections = {"chunk_data",     "lengths",     "lexicon",
                                                                        "lexicon_blocks", "chunk_terms", "chunks",
                                                                        "manifest",       "text_rows",   "field_rows"};
inline constexpr std::array<std::string_view, 18> index_sections = {
    "postings", "lexicon",       "lexicon_blocks", "block_last", "block_offset", "block_max",
    "docnos",   "docno_offsets", "docno_lookup",   "texts",      "text_offsets", "lengths",
    "pagerank", "global_scores", "manifest",       "impacts",    "impact_start", "impact_width"};

inline constexpr std::array<std::string_view, 6> statistics_sections = {"terms",         "terms_blocks", "docnos",
                                                                        "docnos_blocks", "splits",       "manifest"};
inline constexpr std::array<std::string_view, 2> scales_sections = {"splits", "manifest"};

/// The index that an input of sections represents. Throws like IndexReader.
inline IndexReader index_around(ByteView input) {
  return IndexReader(ContainerReader(container_around(input, FileKind::index, index_sections), FileKind::index));
}

/// The collection that an input of sections represents. Throws like CollectionReader.
inline CollectionReader collection_around(ByteView input) {
  return CollectionReader(container_around(input, FileKind::collection, collection_sections));
}

}  // namespace quern::fuzz
