#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "quern/api/index_builder.hpp"
#include "quern/core/resources.hpp"
#include "quern/index/make_index.hpp"

namespace quern::api {

/// A file that is to be written, or an index's folder with its files, under whatever name.
class WrittenFile {
 public:
  explicit WrittenFile(const std::string& path);
  /// Whether a file there would be overwritten.
  bool exists() const { return !identities_.empty(); }
  /// Whether `path` is it.
  bool is(const std::string& path) const;

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> identities_;  ///< devices and inodes
};

/// A caller's options as the stages take them, without the corpus. Throws WrongUsage, InvalidArgument for unknown
/// names and numbers out of range, and what reading a file of stop words throws.
IndexSettings index_settings(const IndexOptions& options);
/// With the corpus; reads the list of files, if any.
IndexSettings index_settings(const std::vector<std::string>& corpus, const IndexOptions& options,
                             const CorpusOptions& reading, const Resources& resources);

/// Throws WrongUsage if `output` is one of the files in the corpus's folders or list, and what
/// for_each_corpus_file() throws. The command line compares the files that it names with outputs itself.
void refuse_overwritten_corpus(const ParseOptions& options, const std::string& output);

}  // namespace quern::api
