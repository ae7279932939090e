#pragma once
#include "quern/api/index_builder.hpp"
#include "quern/index/make_index.hpp"

namespace quern::api {

/// An output file, or an index's folder with its files. Recognizes it under any name.
class WrittenFile {
 public:
  explicit WrittenFile(const std::string& path);
  /// Whether the output exists.
  bool exists() const { return !identities_.empty(); }
  /// Whether `path` is the output.
  bool is(const std::string& path) const;

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> identities_;  ///< devices and inodes
};

/// Converts a caller's options, without the corpus, for the stages. Throws WrongUsage; InvalidArgument for unknown
/// names and numbers out of range; and as reading a file of stop words does.
IndexSettings index_settings(const IndexOptions& options);
/// Also sets the corpus; reads the list of files, if any.
IndexSettings index_settings(const std::vector<std::string>& corpus, const IndexOptions& options,
                             const CorpusOptions& reading, const Resources& resources);

/// Throws WrongUsage if `output` is one of the files in the corpus's folders or list; also as for_each_corpus_file()
/// does. The command line compares files that it names with outputs itself.
void refuse_overwritten_corpus(const ParseOptions& options, const std::string& output);

}  // namespace quern::api
