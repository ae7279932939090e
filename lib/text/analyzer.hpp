#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "quern/text/tokenizer.hpp"

struct sb_stemmer;

/// From text to terms: tokens, without stop words, stemmed (formats/analyzer.md). An index stores all options of its
/// analyzer, so that its queries become terms as its documents did.
namespace quern {

/// Function words of English and the tokens of their contractions ("don", "ll"), sorted.
const std::vector<std::string>& english_stopwords();

/// Tokens of a list of stop words with one word per line and comments from # on; sorted, each once. A line of several
/// tokens ("don't") gives each of them.
std::vector<std::string> parse_stopwords(std::string_view text);

/// parse_stopwords of a file. Throws IoError if it can't be read.
std::vector<std::string> read_stopwords(const std::string& path);

/// Names that --stemmer takes, the default ("none") first. The one place to add a stemmer is the table in analyzer.cpp.
const std::vector<std::string>& stemmer_names();

/// The version of libstemmer that this program was built with: that of its Debian package, as in "2.2.0-2", or
/// "unknown". The library itself does not say.
const char* libstemmer_version();

/// Reduces words to stems; one per thread.
class Stemmer {
 public:
  /// Throws InvalidArgument, with all names, if no stemmer has that name.
  explicit Stemmer(std::string_view name);
  ~Stemmer();
  Stemmer(const Stemmer&) = delete;
  Stemmer& operator=(const Stemmer&) = delete;

  /// True if stem() gives each token back as it is.
  bool changes_nothing() const { return stemmer_ == nullptr; }
  /// The stem of a folded token, never empty and never longer than the token; valid until the next call, with
  /// token_padding_bytes more that may be read if so many of the token's may.
  std::string_view stem(std::string_view token);

 private:
  sb_stemmer* stemmer_ = nullptr;
  std::array<char, max_term_bytes + token_padding_bytes> stem_{};  ///< the last one
};

struct AnalyzerOptions {
  std::string stemmer = "none";         ///< one of stemmer_names()
  std::vector<std::string> stopwords;   ///< tokens to drop, sorted, each once
  std::string stopwords_name = "none";  ///< their name in messages: "none", "english" or "file"
  /// Terms are what stands between white space, as it is: for indexes whose terms the corpus gave.
  bool keeps_words = false;
  bool operator==(const AnalyzerOptions&) const = default;
};

/// Options as the command line gives them; `stopwords` is "none", "english", the path of a
/// file, or the words themselves, as in "words:the,of". Throws
/// InvalidArgument for an unknown stemmer, IoError for a file that can't be read.
AnalyzerOptions make_analyzer_options(const std::string& stemmer, const std::string& stopwords);

/// The options as one line of JSON, stop words included; the same options give the same bytes.
std::string analyzer_to_json(const AnalyzerOptions& options);

/// Reads analyzer_to_json's text. Throws CorruptFile, with `what`, if it isn't such a text, and UnsupportedVersion
/// where it names a stemmer that this program lacks.
AnalyzerOptions analyzer_from_json(std::string_view json, std::string_view what);

/// Version of the rules of formats/analyzer.md. It rises when a text may give other terms than before, whatever the
/// versions of the libraries.
inline constexpr unsigned analyzer_version = 2;

/// Versions of what makes terms and files, since other versions may make others (formats/analyzer.md). Zero or empty:
/// unknown, as in files of older programs, or not used.
struct TextLibraries {
  unsigned analyzer = 0;   ///< analyzer_version
  std::string unicode;     ///< version of the standard that utf8proc implements, as in "15.0.0"
  std::string utf8proc;    ///< version at run time
  std::string libstemmer;  ///< version at build time (the library does not say it); empty without a stemmer
  std::string libxml2;     ///< of files of earlier programs, which read HTML pages with it
  std::string zstd;        ///< version at run time: it compresses the file's texts
  bool operator==(const TextLibraries&) const = default;
};

/// Those with which this program makes terms and collections.
TextLibraries text_libraries(const AnalyzerOptions& options);

/// Turns text into terms; one per thread.
class Analyzer {
 public:
  /// Throws InvalidArgument for an unknown stemmer.
  explicit Analyzer(const AnalyzerOptions& options);

  /// Not of an analyzer that keeps words, which only queries go through.
  /// Calls on_term(std::string_view) for each term of `utf8` (well-formed: see repair_utf8) and on_phrase_end() for
  /// each `phrase_end`, in order. A term's bytes are valid until the next, with token_padding_bytes more that may be
  /// read. Terms have 1 to max_term_bytes bytes.
  template <class OnTerm, class OnPhraseEnd>
  void analyze(std::string_view utf8, OnTerm&& on_term, OnPhraseEnd&& on_phrase_end) {
    analyze_any(utf8, on_term, on_phrase_end);
  }
  /// The same for a text in pieces, wherever they end.
  template <class OnTerm, class OnPhraseEnd>
  void analyze(PieceSource& utf8, OnTerm&& on_term, OnPhraseEnd&& on_phrase_end) {
    analyze_any(utf8, on_term, on_phrase_end);
  }

  /// The terms of any text, which need not be UTF-8: for queries.
  std::vector<std::string> terms(std::string_view text);

  /// Tokens that were longer than max_term_bytes so far.
  std::uint64_t cut_terms() const { return buffer_.cut_terms(); }

 private:
  struct HashToken {
    using is_transparent = void;
    std::size_t operator()(std::string_view token) const { return std::hash<std::string_view>{}(token); }
  };

  template <class Text, class OnTerm, class OnPhraseEnd>
  void analyze_any(Text& utf8, OnTerm&& on_term, OnPhraseEnd&& on_phrase_end) {
    if (plain_) {
      tokenize(utf8, buffer_, on_term, on_phrase_end);
      return;
    }
    const auto keep = [&](std::string_view token) {
      if (stopwords_.find(token) == stopwords_.end()) on_term(stemmer_.stem(token));
    };
    tokenize(utf8, buffer_, keep, on_phrase_end);
  }

  TokenBuffer buffer_;
  Stemmer stemmer_;
  std::unordered_set<std::string, HashToken, std::equal_to<>> stopwords_;
  bool plain_, keeps_words_;
};

}  // namespace quern
