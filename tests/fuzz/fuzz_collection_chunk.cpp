#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "quern/core/error.hpp"
#include "quern/formats/collection.hpp"

#include "ignore_corruption.hpp"

/// Changed bytes seldom survive decompression, so a valid collection of one chunk is written around three hostile
/// pieces. Bytes 0 and 1 are the numbers of documents and terms, bytes 2 to 5 the sizes of the first two pieces.
namespace {

using namespace quern;

CollectionReader collection_of(ByteView input) {
  const std::string folder = std::filesystem::temp_directory_path().string();
  File file = File::anonymous(folder);
  CollectionWriter writer(file, folder);
  PackedChunk chunk;
  chunk.row.documents = input[0];
  chunk.row.terms = input[1];
  chunk.lengths.assign(input[0], 3);
  std::size_t sizes[3] = {load_le<std::uint16_t>(input.data() + 2), load_le<std::uint16_t>(input.data() + 4), SIZE_MAX};
  ZstdCompressor zstd;
  ByteView left = input.subspan(6);
  for (std::size_t piece = 0; piece < num_fixed_pieces; ++piece) {
    const std::size_t size = std::min(sizes[piece], left.size());
    pack_piece(static_cast<ChunkPiece>(piece), left.first(size), zstd, chunk);
    left = left.subspan(size);
  }
  writer.add_chunk(chunk);
  writer.begin_lexicon();
  std::vector<term_t> terms;
  for (term_t term = 0; term < input[1]; ++term) {
    const std::uint8_t name = static_cast<std::uint8_t>(term);
    writer.add_term(as_text({&name, 1}), 1, 1);
    terms.push_back(term);
  }
  writer.begin_chunk_terms();
  writer.add_chunk_terms(terms);
  CollectionManifest manifest;
  manifest.documents = input[0];
  manifest.terms = manifest.postings = manifest.tokens = input[1];
  writer.finish(manifest);
  return CollectionReader(std::make_shared<const File>(std::move(file)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 6) return 0;
  const CollectionReader collection = collection_of({data, size});
  ChunkBuffers buffers;
  std::uint64_t sum = 0;
  const auto touch = [&](std::string_view text) {
    for (const char c : text) sum += static_cast<unsigned char>(c);
  };
  fuzz::ignore_corruption([&] {
    const auto documents = collection.documents(0, buffers);
    if (documents.size() != data[0]) std::abort();
    for (const DocumentRow& row : documents)
      for (const std::string_view text : {row.docno, row.url, row.title}) touch(text);
  });
  fuzz::ignore_corruption([&] {
    const auto documents = collection.forward(0, buffers);
    if (documents.size() != data[0]) std::abort();
    for (const ForwardRow& row : documents)
      for (const ByteView stream : {row.title, row.body, row.url})
        for (TokenCursor cursor(stream); !cursor.done();) sum += cursor.next();
  });
  fuzz::ignore_corruption([&] {
    collection.links(0, buffers, [&](std::uint32_t document, std::string_view url, std::string_view anchor) {
      if (document >= data[0]) std::abort();
      touch(url);
      touch(anchor);
    });
  });
  fuzz::ignore_corruption([&] { collection.verify_contents(default_resources()); });
  [[maybe_unused]] volatile std::uint64_t kept = sum;  // keeps the compiler from removing the reads
  return 0;
}
