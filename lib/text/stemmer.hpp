#pragma once
#include <string>
#include <string_view>
#include <vector>

struct sb_stemmer;

namespace quern {

/// Names that --stemmer takes, the default ("none") first. The one place to add a stemmer is the table in stemmer.cpp.
const std::vector<std::string>& stemmer_names();

/// The version of libstemmer that this program was built with: that of its Debian package, as in "2.2.0-2", or
/// "unknown". The library itself does not say.
const char* libstemmer_version();

/// Reduces words to stems; one a thread.
class Stemmer {
 public:
  /// Throws InvalidArgument, with the names there are, where no stemmer is called so.
  explicit Stemmer(std::string_view name);
  ~Stemmer();
  Stemmer(const Stemmer&) = delete;
  Stemmer& operator=(const Stemmer&) = delete;

  /// True where stem() gives each token back as it is.
  bool changes_nothing() const { return stemmer_ == nullptr; }
  /// The stem of a folded token, never empty and never longer than the token; holds until the next call.
  std::string_view stem(std::string_view token);

 private:
  sb_stemmer* stemmer_ = nullptr;
};

}  // namespace quern
