#include <cstdlib>

#include "quern/core/error.hpp"
#include "quern/formats/collection.hpp"
#include "quern/formats/texts_file.hpp"
#include "quern/index/build_texts.hpp"

#include "container_fuzzing.hpp"
#include "ignore_corruption.hpp"
#include "work_folder.hpp"

namespace {

using namespace quern;

void touch(std::string_view text, std::uint64_t& sum) {
  for (const char c : text) sum += static_cast<unsigned char>(c);
}

void read_chunk(const CollectionReader& collection, std::size_t chunk, ChunkBuffers& buffers, std::uint64_t& sum) {
  const auto survive = [](const auto& read) {
    try {
      read();
    } catch (const CorruptFile&) {
    }
  };
  survive([&] {
    for (const DocumentRow& row : collection.documents(chunk, buffers))
      for (const std::string_view text : {row.docno, row.url, row.title}) touch(text, sum);
  });
  survive([&] {
    for (const ForwardRow& row : collection.forward(chunk, buffers))
      for (const ByteView stream : {row.title, row.body, row.url})
        for (TokenCursor cursor(stream); !cursor.done();) sum += cursor.next();
    if (collection.manifest().impacts)
      for (const ForwardRow& row : collection.forward(chunk, buffers))
        for (WeightCursor cursor(row.body); cursor.next();) sum += cursor.weight();
    for (const term_t term : buffers.terms)
      if (term >= collection.manifest().terms) std::abort();
  });
  survive([&] {
    collection.links(chunk, buffers, [&](std::uint32_t document, std::string_view url, std::string_view anchor) {
      if (document >= collection.chunk(chunk).documents) std::abort();
      touch(url, sum);
      touch(anchor, sum);
    });
  });
  survive([&] {
    if (!collection.has_fields()) return;
    const auto fields = collection.fields(chunk, buffers);
    if (fields.size() != collection.chunk(chunk).documents) std::abort();
    for (const ByteView values : fields) touch(as_text(values), sum);
  });
  if (!collection.has_texts()) return;
  survive([&] {
    const auto texts = collection.texts(chunk, buffers);
    if (texts.size() != collection.num_rows(chunk)) std::abort();
    for (const std::string_view text : texts) touch(text, sum);
  });
}

/// The texts of an index in the collection's order, which must be valid.
void write_texts(const CollectionReader& collection) {
  DocumentOrder order;
  for (docid_t document = 0; document < collection.num_documents(); ++document) order.documents.push_back(document);
  const Resources resources = fuzz::fuzz_resources();
  File file = File::anonymous(resources.tmp_folder);
  build_texts(collection, order, "0123456789abcdef", resources, file);
  const TextsReader texts(ContainerReader(std::make_shared<const File>(std::move(file)), FileKind::texts));
  try {
    texts.verify_contents(resources);
  } catch (const CorruptFile&) {
    std::abort();
  }
}

}  // namespace

/// Reading a collection stays in bounds for any contents of its sections.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::uint64_t sum = 0;
  try {
    const CollectionReader collection = fuzz::collection_around({data, size});
    ChunkBuffers buffers;
    for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk) read_chunk(collection, chunk, buffers, sum);
    if (collection.lengths().size() != collection.num_documents()) std::abort();
    try {
      DictionaryScan scan = collection.lexicon();
      for (DictionaryEntry entry; scan.next(entry);) touch(entry.term, sum);
    } catch (const CorruptFile&) {
    }
    fuzz::ignore_corruption([&] { collection.verify_contents(default_resources()); });
    if (collection.has_texts()) write_texts(collection);
  } catch (const Error&) {
  }
  [[maybe_unused]] volatile std::uint64_t kept = sum;  // keeps the compiler from removing the reads
  return 0;
}
