#pragma once
#include <unordered_set>

#include "quern/text/tokenizer.hpp"

struct sb_stemmer;

/// Turns text into terms: tokens, without stop words, stemmed (formats/analyzer.md). An index stores all options of its
/// analyzer, so queries go through the same steps as its documents did.
namespace quern {

/// The stop words of a language, with the tokens of contractions ("don", "ll"): sorted, without duplicates. Throws
/// InvalidArgument, with all names, for a language without a list.
std::vector<std::string> stop_list(std::string_view language);
/// The languages that have both a stemmer and a list of stop words, after "none".
const std::vector<std::string>& language_names();

/// Tokens of a stop word list with one word per line and comments after #; sorted, without duplicates. A line with
/// several tokens ("don't") gives each of them.
std::vector<std::string> parse_stopwords(std::string_view text);

/// Files of stop words are read whole; larger ones are refused. Their words take up to some 100 times as much memory.
inline constexpr std::uint64_t max_stopword_bytes = 1 << 20;
/// parse_stopwords() of a file. Throws IoError if it can't be read, and InvalidArgument if it is too large.
std::vector<std::string> read_stopwords(const std::string& path);

/// Names of stemmers, the default ("none") first: "porter2" and all of libstemmer's.
const std::vector<std::string>& stemmer_names();

/// The version of libstemmer at build time: that of its Debian package, such as "2.2.0-2", or "unknown", since the
/// library itself does not report one.
const char* libstemmer_version();

/// Reduces words to stems. Create one per thread.
class Stemmer {
 public:
  /// Throws InvalidArgument, with all names, for an unknown name.
  explicit Stemmer(std::string_view name);
  ~Stemmer();
  Stemmer(const Stemmer&) = delete;
  Stemmer& operator=(const Stemmer&) = delete;

  /// True if stem() returns every token unchanged.
  bool changes_nothing() const { return stemmer_ == nullptr; }
  /// The stem of a folded token, of 1 to max_term_bytes bytes; valid until the next call. If token_padding_bytes after
  /// the token are readable, so are those after the stem.
  std::string_view stem(std::string_view token);

 private:
  sb_stemmer* stemmer_ = nullptr;
  std::array<char, max_term_bytes + token_padding_bytes> stem_{};  ///< the last result
};

struct AnalyzerOptions {
  std::string stemmer = "none";         ///< one of stemmer_names()
  std::vector<std::string> stopwords;   ///< tokens to drop, sorted, without duplicates
  std::string stopwords_name = "none";  ///< their name in messages: "none", a language or "file"
  /// Splits text at white space only, without any other change: for indexes whose corpus supplied the terms.
  bool keeps_words = false;
  bool operator==(const AnalyzerOptions&) const = default;
};

/// Makes options from their command-line form; `stopwords` is "none", a language, the path of a file, or the words
/// themselves, as in "words:the,of". An empty stemmer or list is that of `language`, one of language_names(); without
/// a language, there is none. Snowball's "english" gets its other name, "porter2". Throws InvalidArgument for an
/// unknown name, IoError for a file that can't be read.
AnalyzerOptions make_analyzer_options(const std::string& stemmer, const std::string& stopwords,
                                      const std::string& language = {});

/// The options as one line of JSON, including the stop words; equal options give equal bytes.
std::string analyzer_to_json(const AnalyzerOptions& options);

/// Reads analyzer_to_json()'s text. Throws CorruptFile, with `what`, if it is malformed, and UnsupportedVersion if it
/// names a stemmer that this program does not have.
AnalyzerOptions analyzer_from_json(std::string_view json, std::string_view what);

/// Version of the rules of formats/analyzer.md. Increase it when a text may give other terms than before, even with the
/// same versions of the libraries.
inline constexpr unsigned analyzer_version = 3;

/// Versions of the code that makes terms and files, since other versions may make other ones (formats/analyzer.md).
/// Zero or empty means unknown or unused.
struct TextLibraries {
  unsigned analyzer = 0;   ///< analyzer_version
  std::string unicode;     ///< version of the standard that utf8proc implements, as in "15.0.0"
  std::string utf8proc;    ///< version at run time
  std::string libstemmer;  ///< version at build time (the library reports none); empty without a stemmer
  std::string zstd;        ///< version at run time; compresses the file's texts
  bool operator==(const TextLibraries&) const = default;
};

/// The versions that this program uses.
TextLibraries text_libraries(const AnalyzerOptions& options);

/// Turns text into terms. Create one per thread.
class Analyzer {
 public:
  /// Throws InvalidArgument for an unknown stemmer.
  explicit Analyzer(const AnalyzerOptions& options);

  /// Calls on_term(std::string_view) for each term of `utf8` (well-formed: see repair_utf8) and on_phrase_end() for
  /// each `phrase_end`, in order. A term's bytes are valid until the next term, and token_padding_bytes after them are
  /// readable. Terms have 1 to max_term_bytes bytes. Not for analyzers with keeps_words, which serve queries only.
  template <class OnTerm, class OnPhraseEnd>
  void analyze(std::string_view utf8, OnTerm&& on_term, OnPhraseEnd&& on_phrase_end) {
    analyze_any(utf8, on_term, on_phrase_end);
  }
  /// As above for a text in pieces, which may end anywhere.
  template <class OnTerm, class OnPhraseEnd>
  void analyze(PieceSource& utf8, OnTerm&& on_term, OnPhraseEnd&& on_phrase_end) {
    analyze_any(utf8, on_term, on_phrase_end);
  }

  /// The terms of any text, even if it is not UTF-8: for queries.
  std::vector<std::string> terms(std::string_view text);

  /// Tokens longer than max_term_bytes so far.
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
