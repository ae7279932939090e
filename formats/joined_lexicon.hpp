#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quern/core/types.hpp"
#include "quern/formats/container.hpp"

namespace quern {

/// The numbers that the terms of a collection's lexicon have among those of several, by their numbers in their own.
struct JoinedTerms {
  std::size_t collection = 0;  ///< which of the several
  std::vector<term_t> numbers;
};

/// The lexicons of several collections as one, in work files. Many threads may read it at once.
class JoinedLexicon {
 public:
  /// A lexicon to join: a collection's file and its number of terms. A null file stands for a lexicon that is left out.
  struct Source {
    const ContainerReader* container = nullptr;
    std::uint64_t terms = 0;
  };
  /// Counts of equal terms are added up. Throws InvalidArgument if there are more than 2^32 - 2 terms in all.
  JoinedLexicon(std::span<const Source> sources, const std::string& tmp_folder, std::uint64_t memory_bytes);

  /// A file with the sections "lexicon" and "lexicon_blocks" of a collection.
  const ContainerReader& container() const { return *container_; }
  std::uint64_t terms() const { return terms_; }
  /// The terms of one of the collections: read from the work file, unless others have them at the moment.
  std::shared_ptr<const JoinedTerms> terms_of(std::size_t collection) const;

 private:
  void join(std::span<const Source> sources, const std::string& tmp_folder, std::uint64_t memory_bytes);

  std::optional<ContainerReader> container_;
  std::uint64_t terms_ = 0;
  File numbers_;                        ///< those of all collections, one after another
  std::vector<std::uint64_t> offsets_;  ///< of each collection's numbers, in numbers; then their end
  mutable std::mutex taking_;
  mutable std::vector<std::weak_ptr<const JoinedTerms>> taken_;  ///< of each collection, while somebody has them
};

}  // namespace quern
