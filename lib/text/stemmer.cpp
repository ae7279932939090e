#include "quern/text/stemmer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <libstemmer.h>

#include <algorithm>
#include <array>

#include "quern/core/error.hpp"

#ifndef QUERN_LIBSTEMMER_VERSION
#define QUERN_LIBSTEMMER_VERSION "unknown"
#endif

namespace quern {
namespace {

struct NamedStemmer {
  const char* name;
  const char* algorithm;  ///< libstemmer's name, or null where tokens stay as they are
};

constexpr std::array stemmers = {NamedStemmer{"none", nullptr}, NamedStemmer{"porter2", "english"}};

}  // namespace

const std::vector<std::string>& stemmer_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const NamedStemmer& stemmer : stemmers) all.emplace_back(stemmer.name);
    return all;
  }();
  return names;
}

const char* libstemmer_version() { return QUERN_LIBSTEMMER_VERSION; }

Stemmer::Stemmer(std::string_view name) {
  const auto* found =
      std::find_if(stemmers.begin(), stemmers.end(), [&](const NamedStemmer& stemmer) { return stemmer.name == name; });
  if (found == stemmers.end()) {
    throw InvalidArgument(
        fmt::format("no stemmer is called \"{}\": use one of {}", name, fmt::join(stemmer_names(), ", ")));
  }
  if (found->algorithm == nullptr) return;
  stemmer_ = sb_stemmer_new(found->algorithm, "UTF_8");
  if (stemmer_ == nullptr) throw Error(fmt::format("libstemmer can't make its stemmer \"{}\"", found->algorithm));
}

Stemmer::~Stemmer() { sb_stemmer_delete(stemmer_); }

std::string_view Stemmer::stem(std::string_view token) {
  if (stemmer_ == nullptr) return token;
  const auto* stem =
      sb_stemmer_stem(stemmer_, reinterpret_cast<const sb_symbol*>(token.data()), static_cast<int>(token.size()));
  if (stem == nullptr) throw Error("libstemmer ran out of memory");
  return {reinterpret_cast<const char*>(stem), static_cast<std::size_t>(sb_stemmer_length(stemmer_))};
}

}  // namespace quern
