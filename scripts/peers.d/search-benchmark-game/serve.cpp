// Answers the commands of the search benchmark game: lines COMMAND<TAB>QUERY of standard input, a line of standard
// output for each. README.md describes them.
//   serve INDEX
#include <quern/api/quern.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace q = quern::api;

namespace {

constexpr std::string_view unsupported = "UNSUPPORTED";

/// What a command asks for. RESULTS_k is not in the game: it prints the results that TOP_k finds.
struct Command {
  std::uint32_t k = 0;  ///< best documents to find; 0: none
  bool counts = false;  ///< whether to count all matching documents
  bool prints = false;  ///< whether to print the documents found
};

/// The words of a query: alternatives, or words that a document must all contain.
struct Words {
  std::string text;  ///< without their signs
  bool all = false;
};

bool remove_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool remove_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

/// COUNT, TOP_k, TOP_k_COUNT or RESULTS_k, for any k.
std::optional<Command> parse_command(std::string_view name) {
  if (name == "COUNT") return Command{.counts = true};
  Command command;
  command.prints = remove_prefix(name, "RESULTS_");
  if (!command.prints) {
    if (!remove_prefix(name, "TOP_")) return std::nullopt;
    command.counts = remove_suffix(name, "_COUNT");
  }
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data(), end, command.k);
  if (parsed.ec != std::errc() || parsed.ptr != end || command.k == 0) return std::nullopt;
  return command;
}

/// Whether a byte is part of a plain word. All others, among them white space, have a meaning in the game's queries or
/// could have one.
bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         static_cast<unsigned char>(c) >= 0x80;
}

/// Words with a + each, or none with one; nullopt for any other query.
std::optional<Words> parse_words(std::string_view query) {
  Words words;
  std::size_t count = 0, required = 0;
  while (!query.empty()) {
    std::string_view word = query.substr(0, query.find(' '));
    query.remove_prefix(std::min(query.size(), word.size() + 1));
    if (word.empty()) continue;
    required += remove_prefix(word, "+");
    if (word.empty() || !std::ranges::all_of(word, is_word_byte)) return std::nullopt;
    if (word == "AND" || word == "OR" || word == "NOT") return std::nullopt;
    words.text += words.text.empty() ? "" : " ";
    words.text += word;
    ++count;
  }
  if (required != 0 && required != count) return std::nullopt;
  words.all = required != 0;
  return words;
}

class Engine {
 public:
  explicit Engine(const q::Index& index) : index_(index), searcher_(index), intersector_(index) {
    one_thread_.threads = 1;
  }

  std::string answer(std::string_view line) const {
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos) return std::string(unsupported);
    const auto command = parse_command(line.substr(0, tab));
    const auto words = parse_words(line.substr(tab + 1));
    if (!command || !words) return std::string(unsupported);
    std::vector<q::Hit> hits;
    if (command->k != 0) hits = searcher_.search(words->text, command->k, words->all ? "and" : "");
    if (command->prints) return printed(hits);
    return std::to_string(command->counts ? count(*words) : 1);
  }

 private:
  std::string printed(const std::vector<q::Hit>& hits) const {
    std::string line;
    for (const q::Hit& hit : hits) {
      char score[32];
      std::snprintf(score, sizeof score, " %.9g", static_cast<double>(hit.score));
      line += (line.empty() ? "" : "\t") + index_.docno(hit.docid) + score;
    }
    return line;
  }

  std::size_t count(const Words& words) const {
    if (words.all) return count_of_all(words.text);
    const std::vector<Term> terms = terms_of(words.text);
    if (terms.size() != 2) return count_of_any(terms);
    const std::vector<q::WeightedTerm> both = {{terms[0].text, 1}, {terms[1].text, 1}};
    return terms[0].df + terms[1].df - count_of_all(both);
  }

  std::size_t count_of_all(const q::Query& query) const {
    return intersector_.batch({&query, 1}, nullptr, one_thread_).docids.size();
  }

  struct Term {
    std::string text;
    std::uint64_t df = 0;
  };

  /// The different terms of a text that the index has, by increasing document frequency.
  std::vector<Term> terms_of(std::string_view text) const {
    std::vector<std::string> texts = index_.analyze(text);
    std::ranges::sort(texts);
    texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
    std::vector<Term> terms;
    for (std::string& term : texts)
      if (const auto info = index_.term(term)) terms.push_back({std::move(term), info->df});
    std::ranges::sort(terms, {}, &Term::df);
    return terms;
  }

  /// Marks the documents of all lists but the longest, and searches the longest for them.
  std::size_t count_of_any(const std::vector<Term>& terms) const {
    if (terms.size() < 2) return terms.empty() ? 0 : terms[0].df;
    std::vector<std::uint64_t> marked((index_.num_documents() + 63) / 64);
    for (std::size_t i = 0; i + 1 < terms.size(); ++i)
      for (const std::uint32_t docid : index_.postings(terms[i].text).docids)
        marked[docid / 64] |= std::uint64_t(1) << docid % 64;
    std::size_t documents = terms.back().df;
    auto longest = index_.posting_iterator(terms.back().text);
    for (std::size_t i = 0; i < marked.size(); ++i)
      for (std::uint64_t left = marked[i]; left != 0; left &= left - 1) {
        const auto docid = static_cast<std::uint32_t>(i * 64 + std::countr_zero(left));
        if (!longest.at_end()) longest.seek(docid);
        documents += longest.at_end() || longest.docid() != docid;
      }
    return documents;
  }

  q::Index index_;
  q::Searcher searcher_;
  q::Intersector intersector_;
  q::Work one_thread_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: serve INDEX\n", stderr);
    return 2;
  }
  try {
    std::ios::sync_with_stdio(false);
    const Engine engine(q::Index::open(argv[1]));
    for (std::string line; std::getline(std::cin, line);) {
      line = engine.answer(line) + '\n';
      std::fwrite(line.data(), 1, line.size(), stdout);
      if (std::fflush(stdout) != 0) return 1;
    }
  } catch (const q::Error& error) {
    std::fprintf(stderr, "serve: %s\n", error.what());
    return 1;
  }
  return 0;
}
