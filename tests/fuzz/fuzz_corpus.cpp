#include <array>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/corpus/parse_corpus.hpp"
#include "quern/search/query_engine.hpp"

#include "../corpus/temporary_folder.hpp"
#include "../index/pipeline/use_collection.hpp"
#include "stage_choices.hpp"
#include "work_folder.hpp"

namespace {

using namespace quern;

ParseOptions parse_choice(std::uint8_t byte, const std::string& path) {
  ParseOptions options;
  options.corpus = {path};
  const auto& formats = all_corpus_formats();
  if (byte % 8 < formats.size()) options.reader.format = formats[byte % 8]->name;
  if ((byte & 0x08) != 0) options.analyzer = make_analyzer_options("porter2", "english");
  if ((byte & 0x10) != 0) options.duplicates = Duplicates::refuse;
  // Many chunks, and documents split over several of them.
  if ((byte & 0x20) != 0) options.chunk_limits = {.terms = 3, .bytes = 64};
  if ((byte & 0x40) != 0) options.reader.max_document_bytes = 256;
  if ((byte & 0x80) != 0) options.reader.max_in_memory = 32;
  options.reader.batch_bytes = 512;
  // For some formats, bits of the input select two options.
  options.reader.skip_bad = (byte & 0x10) == 0;
  options.pages.drop_copies = (byte & 0x40) == 0;
  if (options.reader.format == "warc" && (byte & 0x20) != 0) options.pages.languages = {"deu", "eng"};
  return options;
}

std::shared_ptr<const File> parse(const ParseOptions& options, const Resources& resources) {
  File file = File::anonymous(resources.tmp_folder);
  parse_corpus(options, resources, file);
  return testing::shared(std::move(file));
}

/// Terms from the first and last blocks of the index.
std::string some_terms(const IndexReader& index) {
  std::string terms;
  std::size_t count = 0;
  const std::uint64_t blocks = index.num_lexicon_blocks();
  for (const std::uint64_t block : {std::uint64_t{0}, blocks - 1})
    if (block < blocks)
      index.for_each_list(block, [&](std::string_view term, const PostingList&) {
        if (count++ % 4 == 0) (terms += term) += ' ';
      });
  return terms;
}

/// All algorithms for any of the terms find the same results.
void query(const IndexReader& index) {
  const QueryEngine engine(index, {});
  Analyzer analyzer = engine.make_analyzer();
  const std::string text = some_terms(index);
  const auto expected = engine.search(terms_of_text(text, analyzer), algorithm_named("or"), 3);
  for (const QueryAlgorithm& algorithm : all_algorithms()) {
    const auto found = engine.search(terms_of_text(text, analyzer), algorithm, 3);
    if (algorithm.matching == Matching::any && found != expected) std::abort();
  }
}

}  // namespace

/// Three bytes choose options of parse, order and build; the rest is a corpus. For any corpus, all stages write valid
/// files, or parse throws a library error. With the highest bit of the second byte, also checks that parsing with other
/// resources gives the same bytes.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  static const testing::TemporaryFolder folder;
  const ParseOptions options =
      parse_choice(data[0], folder.write("corpus", {reinterpret_cast<const char*>(data) + 3, size - 3}));
  Resources resources = fuzz::fuzz_resources();
  std::shared_ptr<const File> file;
  try {
    file = parse(options, resources);
  } catch (const Error&) {
    return 0;
  }
  if ((data[1] & 0x80) != 0) {
    resources.threads = 3;
    resources.memory_bytes *= 4;
    if (testing::bytes_of(*parse(options, resources)) != testing::bytes_of(*file)) std::abort();
    resources = fuzz::fuzz_resources();
  }
  const CollectionReader collection(file);
  collection.container().verify(resources);
  collection.verify_contents(resources);
  const OrderOptions order_options = fuzz::order_choice(data[1] & 0x7f);
  const DocumentOrder order = testing::order_of(collection, order_options, resources);
  query(testing::index_of(collection, order, order_options, fuzz::build_choice(data[2]), resources, true));
  return 0;
}
