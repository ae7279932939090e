#pragma once
#include <memory>
#include <string>
#include <vector>

#include "quern/corpus/parse_corpus.hpp"
#include "quern/formats/fields_file.hpp"
#include "quern/formats/texts_file.hpp"
#include "quern/index/build_index.hpp"
#include "quern/index/build_texts.hpp"
#include "quern/order/order.hpp"

#include "corpus/temporary_folder.hpp"
#include "formats/container_writing.hpp"

/// The stages from a corpus to an index, without the command line.
namespace quern::testing {

/// An unnamed file of a stage.
using StageFile = std::shared_ptr<File>;

class Pipeline {
 public:
  explicit Pipeline(const ChunkLimits& limits = {}) : chunk_limits(limits) {
    resources.threads = 2;
    resources.tmp_folder = folder.path("");
    resources.progress = &progress_;
  }

  StageFile parse(const std::string& corpus) const {
    ParseOptions options;
    options.corpus = {folder.write("corpus", corpus)};
    options.reader.batch_bytes = batch_bytes;
    options.chunk_limits = chunk_limits;
    options.store_text = store_text;
    options.reader.field_names.kept = kept_fields;
    StageFile file = new_file();
    parse_corpus(options, resources, *file);
    return file;
  }

  DocumentOrder order(const CollectionReader& collection, OrderBy by = OrderBy::natural, std::uint64_t seed = 1) const {
    OrderOptions options;
    options.by = by;
    options.seed = seed;
    return make_order(collection, options, {}, resources);
  }

  StageFile build(const CollectionReader& collection, const DocumentOrder& order, const BuildOptions& options) {
    StageFile file = new_file();
    report = build_index(collection, order, {}, options, resources, *file);
    return file;
  }

  /// Builds the texts of the last built index, from the same collection and order.
  StageFile texts(const CollectionReader& collection, const DocumentOrder& order) const {
    StageFile file = new_file();
    build_texts(collection, order, report.index_hash, resources, *file);
    return file;
  }

  /// Builds the kept fields of the last built index.
  StageFile fields(const CollectionReader& collection, const DocumentOrder& order) const {
    StageFile file = new_file();
    build_fields(collection, order, report.index_hash, resources, *file);
    return file;
  }

  static TextsReader open_texts(const StageFile& file) { return TextsReader(ContainerReader(file, FileKind::texts)); }

  static IndexReader open_index(const StageFile& file) { return IndexReader(ContainerReader(file, FileKind::index)); }

  StageFile new_file() const { return std::make_shared<File>(File::anonymous(resources.tmp_folder)); }

  TemporaryFolder folder;
  Resources resources;
  std::uint64_t batch_bytes = 4096;  ///< small, so that small corpora give many chunks
  ChunkLimits chunk_limits;
  bool store_text = false;
  std::vector<std::string> kept_fields;
  BuildReport report;  ///< of the last index

 private:
  NoProgress progress_;
};

/// Every codec with every block size, and rpfd with every recursion.
inline std::vector<BuildOptions> all_codings() {
  std::vector<BuildOptions> all;
  for (const Codec* codec : all_codecs()) {
    for (const unsigned block_size : {64u, 128u, 256u, 512u}) {
      for (unsigned recursion = 0; recursion <= (codec->name == "rpfd" ? 4u : 0u); ++recursion) {
        BuildOptions& options = all.emplace_back();
        options.codec = codec->name;
        options.codec_options = {block_size, recursion};
      }
    }
  }
  return all;
}

inline std::string coding_text(const BuildOptions& options) {
  return options.codec + ", blocks of " + std::to_string(options.codec_options.block_size) + ", recursion " +
         std::to_string(options.codec_options.recursion);
}

}  // namespace quern::testing
