#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "quern/core/types.hpp"

namespace quern {

/// Remembers the numbers of terms that were asked for, within a bounded memory; one per thread.
class TermNumberCache {
 public:
  /// What find(term), a std::optional<term_t>, returns.
  template <class Find>
  std::optional<term_t> number(std::string_view term, Find&& find) {
    std::string key(term);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    if (known_.size() == max_terms) known_.clear();
    return known_[std::move(key)] = find(term);
  }

 private:
  static constexpr std::size_t max_terms = 1 << 14;

  std::unordered_map<std::string, std::optional<term_t>> known_;
};

}  // namespace quern
