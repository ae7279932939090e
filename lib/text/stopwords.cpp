#include "quern/text/stopwords.hpp"

#include <algorithm>

#include "quern/io/file.hpp"
#include "quern/text/tokenizer.hpp"
#include "quern/text/utf8.hpp"

namespace quern {
namespace {

constexpr std::string_view english_words =
    "a an the this that these those "
    "i me my mine myself we us our ours ourselves you your yours yourself yourselves "
    "he him his himself she her hers herself it its itself they them their theirs themselves "
    "who whom whose which what when where why how "
    "am is are was were be been being have has had having do does did doing "
    "will would shall should can could may might must "
    "and or but nor so yet if because as until while although though than whether "
    "of at by for with about against between into through during before after above below to from up down in out "
    "on off over under upon within without among across along toward towards since per via "
    "again further then once here there all any both each few more most other some such no not only own same too "
    "very just also ever every either neither "
    "s t d ll m re ve don didn doesn isn aren wasn weren hasn haven hadn won wouldn shouldn couldn mustn ain";

}  // namespace

const std::vector<std::string>& english_stopwords() {
  static const std::vector<std::string> words = parse_stopwords(english_words);
  return words;
}

std::vector<std::string> parse_stopwords(std::string_view text) {
  std::string line;
  std::vector<std::string> words;
  TokenBuffer buffer;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view whole = text.substr(at, end - at);
    repair_utf8(whole.substr(0, whole.find('#')), line);
    tokenize(
        line, buffer, [&](std::string_view token) { words.emplace_back(token); }, [] {});
    at = end + 1;
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

std::vector<std::string> read_stopwords(const std::string& path) {
  const File file = File::open_for_reading(path);
  Bytes bytes;
  constexpr std::size_t step_bytes = 64 << 10;
  for (std::size_t size = 0;;) {
    bytes.resize(size + step_bytes);
    const std::size_t read = file.read_some(size, std::span(bytes).subspan(size));
    size += read;
    if (read == 0) {
      return parse_stopwords({reinterpret_cast<const char*>(bytes.data()), size});
    }
  }
}

}  // namespace quern
