#pragma once
#include <span>
#include <string_view>

namespace quern {

/// The stop words of a language, separated by spaces, as parse_stopwords() reads them.
struct StopList {
  std::string_view name;  ///< the language, as Snowball calls its stemmer
  std::string_view words;
};

/// The lists in alphabetical order, which are also the languages that have one.
std::span<const StopList> all_stop_lists();

}  // namespace quern
