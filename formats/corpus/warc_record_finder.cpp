#include <algorithm>
#include <string>

#include "quern/core/bytes.hpp"
#include "quern/formats/corpus/http_body.hpp"
#include "quern/formats/corpus/record_finder.hpp"
#include "quern/formats/corpus/warc_header.hpp"

namespace quern {
namespace {

/// Limit of white space between a block and the next record.
constexpr std::size_t max_gap = 64;

/// Bytes after a block that show whether the next record follows.
constexpr std::size_t max_after_block = max_gap + max_warc_version_line;

/// Limit of a header line's bytes.
constexpr std::size_t max_header_line = 64 << 10;

/// Whether `after` is the end of the file or the start of a record.
bool is_record_end(std::string_view after) {
  std::size_t at = 0;
  while (at < std::min(after.size(), max_gap) && is_ascii_space(after[at])) ++at;
  return at == after.size() || at == max_gap || begins_with_warc_record(after.substr(at));
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
    block,  ///< after a header whose Content-Length may be right
    lost    ///< the next version line ends the record
  };

  /// Only line ends should separate records. Other lines are reported once and skipped.
  Step find_record(std::string_view window, std::size_t at, bool last) {
    for (;;) {
      if (in_junk_line_) {
        at = std::min(window.find('\n', at), window.size());
        in_junk_line_ = at == window.size();
      }
      while (at < window.size() && is_ascii_space(window[at])) ++at;
      if (at == window.size() || (!last && window.size() - at < max_warc_version_line))
        return {Step::ran_out, at, 0, nullptr};
      if (begins_with_warc_record(window.substr(at))) {
        is_junk_told_ = false;
        has_length_ = false;
        place_ = Place::header;
        return {Step::begins, at, at + warc_version_start.size(), nullptr};
      }
      in_junk_line_ = true;
      if (!is_junk_told_) {
        is_junk_told_ = true;
        return {Step::junk, at, at, "no WARC record begins here"};
      }
    }
  }

  Step read_header(std::string_view window, std::size_t at, bool last) {
    for (;;) {
      const std::size_t line_end = window.find('\n', at);
      if (line_end == std::string_view::npos || line_end - at > max_header_line) {
        if (line_end == std::string_view::npos && !last && window.size() - at <= max_header_line)
          return {Step::ran_out, at, 0, nullptr};
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
    has_length_ = parse_number(value, promised_bytes_);
  }

  Step enter_block(std::string_view window, std::size_t at, bool last) {
    place_ = Place::lost;
    const std::uint64_t header_bytes = record_bytes_before(at), max_bytes = limits().max_record_bytes;
    // Checking a length beyond the limit would need that much memory: ignore it.
    if (has_length_ && header_bytes <= max_bytes && promised_bytes_ <= max_bytes - header_bytes) {
      place_ = Place::block;
      promised_end_ = header_bytes + promised_bytes_;
    }
    return scan(window, at, last);
  }

  Step jump_over_block(std::string_view window, std::size_t from, bool last) {
    const std::uint64_t end = window_place(promised_end_);
    const bool shows_end = last || window.size() >= end + max_after_block;
    if (!shows_end && promised_end_ <= limits().max_in_memory) return {Step::ran_out, from, 0, nullptr};
    if (shows_end ? end <= window.size() && is_record_end(window.substr(end)) : is_record_end_ahead(end))
      return {Step::ends, end, 0, nullptr};
    place_ = Place::lost;
    return find_version_line(window, from, last);
  }

  bool is_record_end_ahead(std::uint64_t end) const {
    // Include the record's last byte: the file may end before it.
    const std::string after = peek(end - 1, 1 + max_after_block);
    return !after.empty() && is_record_end(std::string_view(after).substr(1));
  }

  static Step find_version_line(std::string_view window, std::size_t from, bool last) {
    const std::string marker = "\n" + std::string(warc_version_start);
    std::size_t at = from - std::min<std::size_t>(from, 1);
    for (;; ++at) {
      at = window.find(marker, at);
      if (at == std::string_view::npos) {
        // All but one byte of the marker may be at the window's end; the byte before `at` is checked again.
        const std::size_t kept = marker.size() - 2;
        return {Step::ran_out, last ? window.size() : std::max(from, window.size() - std::min(window.size(), kept)), 0,
                nullptr};
      }
      if (!last && window.size() - at <= max_warc_version_line) return {Step::ran_out, at + 1, 0, nullptr};
      if (begins_with_warc_record(window.substr(at + 1))) return {Step::ends, at + 1, 0, nullptr};
    }
  }

  bool in_junk_line_ = false;
  bool is_junk_told_ = false;
  bool has_length_ = false;
  Place place_ = Place::header;
  std::uint64_t promised_bytes_ = 0;
  std::uint64_t promised_end_ = 0;  ///< offset from the record's start
};

}  // namespace

std::unique_ptr<RecordFinder> make_warc_record_finder(const RecordLimits& limits) {
  return std::make_unique<WarcRecordFinder>(limits);
}

}  // namespace quern
