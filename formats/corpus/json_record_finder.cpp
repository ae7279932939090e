#include "quern/formats/corpus/json_record_finder.hpp"

#include "quern/text/text_block.hpp"

namespace quern {
namespace {

/// Whether `c` is white space or part of a byte order mark.
bool is_blank(char c) { return is_ascii_space(c) || c == '\xEF' || c == '\xBB' || c == '\xBF'; }

/// Text between objects: white space, a comma, and the brackets of an enclosing array.
class Separators {
 public:
  /// Whether `c` may come next.
  bool take(char c) {
    switch (c) {
      case ',':
        return std::exchange(comma_may_follow_, false);
      case '[':
        return !std::exchange(in_array_, true);
      case ']':
        comma_may_follow_ = false;
        return std::exchange(in_array_, false);
      default:
        return is_blank(c);
    }
  }
  void take_object() { comma_may_follow_ = true; }

  static bool is_one(char c) { return is_blank(c) || c == ',' || c == '[' || c == ']'; }

 private:
  bool in_array_ = false;
  bool comma_may_follow_ = false;
};

class JsonRecordFinder : public RecordFinder {
 public:
  using RecordFinder::RecordFinder;

 protected:
  Step scan(std::string_view window, std::size_t from, bool last) override {
    return in_record() ? find_end(window, from, last) : find_begin(window, from);
  }

 private:
  Step find_begin(std::string_view window, std::size_t at) {
    if (in_junk_) {
      at = window.find('\n', at);
      if (at == std::string_view::npos) return {Step::ran_out, window.size(), 0, nullptr};
      in_junk_ = false;
    }
    for (; at < window.size() && Separators::is_one(window[at]); ++at) {
      if (separators_.take(window[at]) || junk_reported_) continue;
      junk_reported_ = true;
      return {Step::junk, at, at + 1, "a stray bracket or comma outside any JSON object or array"};
    }
    if (at == window.size()) return {Step::ran_out, at, 0, nullptr};
    if (window[at] != '{') {
      in_junk_ = true;
      return {Step::junk, at, at, "no JSON object starts here"};
    }
    separators_.take_object();
    junk_reported_ = false;
    depth_ = 1;
    in_string_ = is_line_start_ = false;
    previous_ = '{';
    return {Step::begins, at, at + 1, nullptr};
  }

  Step find_end(std::string_view window, std::size_t at, bool last) {
    while (at < window.size()) {
      if (in_string_) {
        at = find_any_of<'"', '\\', '\n'>(window, at);
        if (at == window.size()) break;
        if (window[at] == '\\') {
          if (at + 1 == window.size() && !last) return {Step::ran_out, at, 0, nullptr};
          at += window.substr(at + 1, 1) == "\n" ? 1 : 2;
          continue;
        }
        // JSON strings can't contain line ends: one that seems to is damaged, and must not swallow the next record.
        in_string_ = false;
        is_line_start_ = window[at] == '\n';
        ++at;
        continue;
      }
      const char c = window[at];
      if (c == '{' && is_line_start_ && !may_open_object()) return {Step::ends, at, 0, nullptr};
      ++at;
      if (is_ascii_space(c)) {
        is_line_start_ = is_line_start_ || c == '\n';
        continue;
      }
      if ((c == '}' || c == ']') && --depth_ == 0) return {Step::ends, at, 0, nullptr};
      if (c == '{' || c == '[') ++depth_;
      in_string_ = c == '"';
      is_line_start_ = false;
      previous_ = c;
    }
    return {Step::ran_out, std::min(at, window.size()), 0, nullptr};
  }

  /// Whether JSON allows an object here. The outermost level is an object, so it must be a member's value.
  bool may_open_object() const { return previous_ == ':' || (depth_ > 1 && (previous_ == ',' || previous_ == '[')); }

  Separators separators_;
  bool in_junk_ = false;
  bool junk_reported_ = false;  ///< a surplus separator was reported since the last object
  bool in_string_ = false;
  bool is_line_start_ = false;  ///< only white space since the line began
  char previous_ = 0;           ///< last byte outside strings that isn't white space
  std::uint64_t depth_ = 0;
};

}  // namespace

std::unique_ptr<RecordFinder> make_json_record_finder(const RecordLimits& limits) {
  return std::make_unique<JsonRecordFinder>(limits);
}

}  // namespace quern
