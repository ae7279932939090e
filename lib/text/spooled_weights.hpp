#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "quern/io/spool.hpp"

namespace quern {

/// The terms of a document whose weights the corpus gives, in their order, in a work file where they are many. Throws
/// IoError if the work file can't be created, written or read.
class SpooledWeights {
 public:
  explicit SpooledWeights(const std::string& tmp_folder = ".") : bytes_(tmp_folder) {}

  void append(std::string_view term, std::uint32_t weight);
  std::uint64_t count() const { return count_; }
  void clear();

  /// Calls visit(std::string_view term, std::uint32_t weight) for each; the view is valid until it returns.
  template <class Visit>
  void for_each(Visit&& visit) const {
    SpoolReader reader(bytes_, 0, bytes_.size());
    std::string term;
    for (std::uint64_t i = 0; i < count_; ++i) {
      reader.string(term);
      visit(std::string_view(term), static_cast<std::uint32_t>(reader.varint()));
    }
  }

 private:
  Spool bytes_;   ///< of each term: size, bytes, weight
  Bytes record_;  ///< what is being appended
  std::uint64_t count_ = 0;
};

}  // namespace quern
