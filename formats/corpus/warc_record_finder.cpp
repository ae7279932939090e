#include "quern/formats/corpus/warc_record_finder.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "quern/core/ascii_text.hpp"
#include "quern/formats/corpus/http_message.hpp"

namespace quern {
namespace {

/// A version line is shorter than this.
constexpr std::size_t max_version_line = 16;

/// So much white space is looked over behind a block for the next record.
constexpr std::size_t max_gap = 64;

/// A header line that is longer is none.
constexpr std::size_t max_header_line = 64 << 10;

constexpr std::string_view version_start = "WARC/";

/// Whether the next record, or nothing at all, follows what ends here.
bool is_record_end(std::string_view behind) {
  std::size_t at = 0;
  while (at < std::min(behind.size(), max_gap) && is_ascii_space(behind[at])) ++at;
  return at == behind.size() || at == max_gap || begins_with_warc_record(behind.substr(at));
}

class WarcRecordFinder : public RecordFinder {
 public:
  using RecordFinder::RecordFinder;

 protected:
  Step scan(std::string_view window, std::size_t from, bool last) override {
    if (!in_record()) return find_record(window, from, last);
    switch (place_) {
      case Place::header:
        return read_header(window, from, last);
      case Place::block:
        return jump_over_block(window, from, last);
      case Place::lost:
        break;
    }
    return find_version_line(window, from, last);
  }

 private:
  enum class Place {
    header,
    block,  ///< behind a header whose Content-Length may be right
    lost    ///< the next version line ends the record
  };

  /// Between records there should be line ends only. Lines that are something else are told once and passed over.
  Step find_record(std::string_view window, std::size_t at, bool last) {
    for (;;) {
      if (in_junk_line_) {
        at = std::min(window.find('\n', at), window.size());
        in_junk_line_ = at == window.size();
      }
      while (at < window.size() && is_ascii_space(window[at])) ++at;
      if (at == window.size() || (!last && window.size() - at < max_version_line)) {
        return {Step::ran_out, at, 0, nullptr};
      }
      if (begins_with_warc_record(window.substr(at))) {
        is_junk_told_ = false;
        has_length_ = false;
        place_ = Place::header;
        return {Step::begins, at, at + version_start.size(), nullptr};
      }
      in_junk_line_ = true;
      if (!is_junk_told_) {
        is_junk_told_ = true;
        return {Step::junk, at, at, "no WARC record begins here, where one should"};
      }
    }
  }

  Step read_header(std::string_view window, std::size_t at, bool last) {
    for (;;) {
      const std::size_t line_end = window.find('\n', at);
      if (line_end == std::string_view::npos || line_end - at > max_header_line) {
        if (line_end == std::string_view::npos && !last && window.size() - at <= max_header_line) {
          return {Step::ran_out, at, 0, nullptr};
        }
        place_ = Place::lost;
        return find_version_line(window, at, last);
      }
      std::string_view rest = window.substr(at);
      const std::string_view line = take_line(rest);
      if (begins_with_warc_record(line)) return {Step::ends, at, 0, nullptr};
      at = line_end + 1;
      if (line.empty()) return enter_block(window, at, last);
      note_length(line);
    }
  }

  void note_length(std::string_view line) {
    std::string_view name, value;
    if (!split_header(line, name, value) || !equals_ignoring_case(name, "content-length")) return;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), promised_bytes_);
    has_length_ = error == std::errc() && end == value.data() + value.size();
  }

  Step enter_block(std::string_view window, std::size_t at, bool last) {
    place_ = Place::lost;
    if (has_length_ && !passing_over()) {
      const std::uint64_t header_length = at - record_begin();
      // A length beyond the limit can't be checked without holding so much: it is not believed.
      if (header_length <= max_record_bytes() && promised_bytes_ <= max_record_bytes() - header_length) {
        place_ = Place::block;
        promised_end_ = header_length + promised_bytes_;
      }
    }
    return scan(window, at, last);
  }

  Step jump_over_block(std::string_view window, std::size_t from, bool last) {
    const std::size_t end = record_begin() + promised_end_;
    if (!last && window.size() < end + max_gap + max_version_line) return {Step::ran_out, from, 0, nullptr};
    if (end <= window.size() && is_record_end(window.substr(end))) return {Step::ends, end, 0, nullptr};
    place_ = Place::lost;
    return find_version_line(window, from, last);
  }

  static Step find_version_line(std::string_view window, std::size_t from, bool last) {
    const std::string marker = "\n" + std::string(version_start);
    std::size_t at = from - std::min<std::size_t>(from, 1);
    for (;; ++at) {
      at = window.find(marker, at);
      if (at == std::string_view::npos) {
        // One byte less than the marker may stand at the window's end; the byte before `at` is looked at again.
        const std::size_t kept = marker.size() - 2;
        return {Step::ran_out, last ? window.size() : std::max(from, window.size() - std::min(window.size(), kept)), 0,
                nullptr};
      }
      if (!last && window.size() - at <= max_version_line) return {Step::ran_out, at + 1, 0, nullptr};
      if (begins_with_warc_record(window.substr(at + 1))) return {Step::ends, at + 1, 0, nullptr};
    }
  }

  bool in_junk_line_ = false;
  bool is_junk_told_ = false;
  bool has_length_ = false;
  Place place_ = Place::header;
  std::uint64_t promised_bytes_ = 0;
  std::size_t promised_end_ = 0;  ///< counted from the record's begin
};

}  // namespace

bool begins_with_warc_record(std::string_view text) {
  if (text.substr(0, version_start.size()) != version_start) return false;
  const std::string_view version = text.substr(version_start.size(), max_version_line - version_start.size());
  std::size_t at = 0;
  while (at < version.size() && is_ascii_digit(version[at])) ++at;
  if (at == 0 || at == version.size() || version[at] != '.') return false;
  const std::size_t minor = ++at;
  while (at < version.size() && is_ascii_digit(version[at])) ++at;
  return at > minor && (at == version.size() || version[at] == '\r' || version[at] == '\n');
}

std::unique_ptr<RecordFinder> make_warc_record_finder(std::uint64_t max_record_bytes) {
  return std::make_unique<WarcRecordFinder>(max_record_bytes);
}

}  // namespace quern
