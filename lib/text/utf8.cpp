#include "quern/text/utf8.hpp"

#include <iconv.h>
#include <simdjson.h>
#include <utf8proc.h>

#include <cerrno>

#include "quern/text/text_block.hpp"

namespace quern {
namespace {

constexpr std::size_t block_bytes = 64;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// Controls that repair_utf8() turns into spaces.
constexpr bool is_unwanted_control(unsigned char c) {
  return c < 0x20 && c != '\t' && c != '\n' && c != '\f' && c != '\r';
}
static_assert(is_unwanted_control(static_cast<unsigned char>(phrase_end)));

/// ASCII, and no unwanted control.
constexpr bool is_plain(char c) {
  return static_cast<signed char>(c) >= 0 && !is_unwanted_control(static_cast<unsigned char>(c));
}

/// Whether a whole block is ASCII without unwanted controls; branch-free, so that compilers vectorize it.
bool is_plain_block(const char* block) {
  unsigned char bad = 0;
  for (std::size_t i = 0; i < block_bytes; ++i) {
    const auto c = static_cast<unsigned char>(block[i]);
    const auto low_or_high = static_cast<unsigned char>(static_cast<signed char>(c) < 0x20);
    const auto wanted = static_cast<unsigned char>((c == '\t') | (c == '\n') | (c == '\f') | (c == '\r'));
    bad |= static_cast<unsigned char>(low_or_high & (wanted ^ 1));
  }
  return bad == 0;
}

/// The sequence at a byte: well-formed, or the maximal subpart of an ill-formed one.
struct Sequence {
  char32_t point;
  unsigned bytes;
  bool well_formed;
};

/// What may follow a lead byte: the number of bytes, and the range of the first, which rules out overlong forms,
/// surrogates and code points above U+10FFFF (Unicode, table 3-7).
struct Lead {
  unsigned following;
  unsigned char lowest, highest;
};

constexpr Lead lead_of(unsigned char c) {
  if (c >= 0xC2 && c <= 0xDF) return {1, 0x80, 0xBF};
  if (c == 0xE0) return {2, 0xA0, 0xBF};
  if (c == 0xED) return {2, 0x80, 0x9F};
  if (c >= 0xE1 && c <= 0xEF) return {2, 0x80, 0xBF};
  if (c == 0xF0) return {3, 0x90, 0xBF};
  if (c >= 0xF1 && c <= 0xF3) return {3, 0x80, 0xBF};
  if (c == 0xF4) return {3, 0x80, 0x8F};
  return {0, 0, 0};
}

Sequence sequence_at(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return {first, 1, true};
  Lead lead = lead_of(first);
  if (lead.following == 0) return {0xFFFD, 1, false};
  char32_t point = first & (0x3Fu >> lead.following);
  for (unsigned i = 1; i <= lead.following; ++i) {
    if (at + i >= text.size()) return {0xFFFD, i, false};
    const auto next = static_cast<unsigned char>(text[at + i]);
    if (next < lead.lowest || next > lead.highest) return {0xFFFD, i, false};
    lead.lowest = 0x80;
    lead.highest = 0xBF;
    point = point << 6 | (next & 0x3Fu);
  }
  return {point, lead.following + 1, true};
}

/// The position at or after `at` of the first ill-formed sequence or unwanted control character; text.size() if there
/// is none.
std::size_t find_unsound(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    if (at + block_bytes <= text.size() && is_plain_block(text.data() + at)) {
      at += block_bytes;
      continue;
    }
    for (const std::size_t stop = at + block_bytes; at < stop && at < text.size();) {
      if (is_plain(text[at])) {
        ++at;
        continue;
      }
      const Sequence sequence = sequence_at(text, at);
      if (!sequence.well_formed || sequence.bytes == 1) return at;
      at += sequence.bytes;
    }
  }
  return at;
}

}  // namespace

bool is_valid_utf8(std::string_view text) { return simdjson::validate_utf8(text); }

std::size_t repair_utf8(std::string_view in, std::string& out) {
  out.clear();
  Utf8Repair repair;
  repair.append(in, out);
  repair.finish(out);
  return repair.replaced();
}

void Utf8Repair::append(std::string_view piece, std::string& out) {
  while (!held_.empty() && !piece.empty()) {
    held_ += piece.front();
    if (sequence_at(held_, 0).bytes == held_.size()) {
      piece.remove_prefix(1);
      if (partial_character_bytes(held_) > 0) continue;
    } else {
      held_.pop_back();  // ill-formed: the sequence ends before this byte
    }
    append_whole(held_, out);
    held_.clear();
  }
  if (piece.empty()) return;
  held_ = piece.substr(piece.size() - partial_character_bytes(piece));
  append_whole(piece.substr(0, piece.size() - held_.size()), out);
}

void Utf8Repair::finish(std::string& out) {
  append_whole(held_, out);
  held_.clear();
}

void Utf8Repair::append_whole(std::string_view in, std::string& out) {
  if (in.empty()) return;
  if (at_start_ && in.substr(0, byte_order_mark.size()) == byte_order_mark) in.remove_prefix(byte_order_mark.size());
  at_start_ = false;
  out.reserve(out.size() + in.size());
  for (std::size_t at = 0; at < in.size();) {
    const std::size_t unsound = find_unsound(in, at);
    out.append(in, at, unsound - at);
    at = unsound;
    if (at == in.size()) return;
    const Sequence sequence = sequence_at(in, at);
    out += sequence.well_formed ? std::string_view(" ") : replacement_character;
    if (!sequence.well_formed) ++replaced_;
    at += sequence.bytes;
  }
}

std::string_view Utf8Repair::repaired(std::string_view piece, std::string& buffer) {
  const bool is_whole = held_.empty() && partial_character_bytes(piece) == 0;
  const bool has_mark = at_start_ && piece.starts_with(byte_order_mark[0]);
  if (is_whole && !has_mark && find_unsound(piece, 0) == piece.size()) {
    at_start_ = at_start_ && piece.empty();
    return piece;
  }
  buffer.clear();
  append(piece, buffer);
  return buffer;
}

std::size_t partial_character_bytes(std::string_view text) {
  constexpr std::size_t max_bytes = 3;
  for (std::size_t bytes = 1; bytes <= std::min(max_bytes, text.size()); ++bytes) {
    const std::size_t at = text.size() - bytes;
    const unsigned following = lead_of(static_cast<unsigned char>(text[at])).following;
    if (following > 0) return following >= bytes && sequence_at(text, at).bytes == bytes ? bytes : 0;
  }
  return 0;
}

DecodedPoint decode_utf8(std::string_view text) {
  const Sequence sequence = sequence_at(text, 0);
  return {sequence.point, sequence.bytes};
}

void append_utf8(char32_t point, std::string& out) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(point), bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

namespace {

constexpr std::size_t max_charset_name = 40;

/// Turns a charset's name as pages write it into the one that CharsetConverter uses.
std::string canonical(std::string_view written) {
  struct Alias {
    std::string_view written, meant;
  };
  // The WHATWG Encoding Standard's meaning of the most frequent names.
  constexpr std::array<Alias, 9> aliases = {{{"iso-8859-1", "windows-1252"},
                                             {"iso8859-1", "windows-1252"},
                                             {"latin1", "windows-1252"},
                                             {"us-ascii", "windows-1252"},
                                             {"ascii", "windows-1252"},
                                             {"utf8", "utf-8"},
                                             {"gb2312", "gbk"},
                                             {"x-sjis", "shift_jis"},
                                             {"iso-8859-9", "windows-1254"}}};
  const std::string name = ascii_lowered(written);
  const auto* found =
      std::find_if(aliases.begin(), aliases.end(), [&](const Alias& alias) { return alias.written == name; });
  return found == aliases.end() ? name : std::string(found->meant);
}

/// The value of "charset=", or another `word`, in lower-case text, quoted or not; empty if there is none.
std::optional<std::string> charset_in(std::string_view text, std::string_view word = "charset") {
  const auto skip_blanks = [&](std::size_t at) {
    while (at < text.size() && is_html_blank(text[at])) ++at;
    return at;
  };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    std::size_t begin = skip_blanks(at + word.size());
    if (begin >= text.size() || text[begin] != '=') continue;
    begin = skip_blanks(begin + 1);
    if (begin < text.size() && (text[begin] == '"' || text[begin] == '\'')) ++begin;
    const auto ends = [](char c) {
      return is_html_blank(c) || c == '"' || c == '\'' || c == ';' || c == '>' || c == '/';
    };
    std::size_t end = begin;
    while (end < text.size() && !ends(text[end])) ++end;
    if (end > begin && end - begin <= max_charset_name) return canonical(text.substr(begin, end - begin));
  }
  return {};
}

/// The charset of the first <meta> that names one, ignoring comments; else that of an XML declaration.
std::optional<std::string> charset_of_tag(std::string_view html) {
  std::optional<std::string> declared;
  const std::string head = ascii_lowered(html.substr(0, charset_prescan_bytes));
  const std::string_view text = head;
  for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at)) {
    const std::string_view rest = text.substr(at);
    const bool comment = rest.starts_with("<!--");
    const std::size_t end = comment ? rest.find("-->", 4) : rest.find('>');
    const std::string_view tag = rest.substr(0, end);
    const bool is_declaration = tag.starts_with("<?xml");
    if (is_declaration || tag.starts_with("<meta")) {
      auto charset = charset_in(tag, is_declaration ? "encoding" : "charset");
      if (charset && charset->starts_with("utf-16")) charset = "utf-8";
      if (charset && !is_declaration) return charset;
      if (charset) declared = charset;
    }
    if (end == std::string_view::npos) break;
    at += end;
  }
  return declared;
}

std::optional<std::string> charset_of_mark(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) return "utf-8";
  if (text.starts_with("\xFE\xFF")) return "utf-16be";
  if (text.starts_with("\xFF\xFE")) return "utf-16le";
  return {};
}

/// Rejects names with a special meaning to iconv: "" (the locale's charset), "//IGNORE".
bool is_charset_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == ':';
  };
  return !name.empty() && name.size() <= max_charset_name && std::all_of(name.begin(), name.end(), allowed);
}

/// Bytes to skip after an invalid one: a whole code unit, to stay aligned.
std::size_t unit_bytes(std::string_view charset) {
  if (charset.starts_with("utf-16")) return 2;
  return charset.starts_with("utf-32") ? 4 : 1;
}

}  // namespace

std::string html_charset(std::string_view http_content_type, std::string_view html) {
  if (auto charset = charset_of_mark(html)) return *charset;
  if (auto charset = charset_in(ascii_lowered(http_content_type))) return *charset;
  return charset_of_tag(html).value_or("utf-8");
}

/// An iconv descriptor for conversion to UTF-8.
struct CharsetConverter::Descriptor {
  enum class End { all_converted, partial_character, invalid_bytes };

  explicit Descriptor(iconv_t iconv_descriptor) : descriptor(iconv_descriptor) {}
  ~Descriptor() { iconv_close(descriptor); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  /// Converts as much of `in` as possible and removes it from `in`; appends to `out`.
  End convert(std::string_view& in, std::string& out) const {
    std::array<char, 16 << 10> buffer;
    while (!in.empty()) {
      char* from = const_cast<char*>(in.data());
      char* to = buffer.data();
      std::size_t left = in.size(), room = buffer.size();
      const std::size_t result = iconv(descriptor, &from, &left, &to, &room);
      const int reason = errno;
      out.append(buffer.data(), buffer.size() - room);
      in.remove_prefix(in.size() - left);
      if (result != static_cast<std::size_t>(-1) || reason == E2BIG) continue;
      return reason == EINVAL ? End::partial_character : End::invalid_bytes;
    }
    return End::all_converted;
  }

  iconv_t descriptor;
};

CharsetConverter::CharsetConverter(std::string_view charset) : charset_(canonical(charset)) {
  if (charset_ == "utf-8" || !is_charset_name(charset_)) return;
  const iconv_t descriptor = iconv_open("UTF-8", charset_.c_str());
  if (descriptor != reinterpret_cast<iconv_t>(-1)) descriptor_ = std::make_unique<Descriptor>(descriptor);
}

CharsetConverter::~CharsetConverter() = default;

void CharsetConverter::append(std::string_view piece, std::string& out) {
  if (held_.empty()) {
    convert(piece, false, out);
  } else {
    const std::string joint = std::exchange(held_, {}).append(piece);
    convert(joint, false, out);
  }
}

void CharsetConverter::finish(std::string& out) { convert(std::exchange(held_, {}), true, out); }

void CharsetConverter::convert(std::string_view bytes, bool ends, std::string& out) {
  constexpr std::size_t mark_bytes = 2;  // of UTF-16; UTF-8 is never converted
  if (at_start_) {
    if (bytes.size() < mark_bytes && !ends) {
      held_ = bytes;
      return;
    }
    at_start_ = false;
    if (charset_of_mark(bytes) == charset_) bytes.remove_prefix(mark_bytes);
  }
  for (;;) {
    const Descriptor::End end = descriptor_->convert(bytes, out);
    if (end == Descriptor::End::all_converted) return;
    if (end == Descriptor::End::partial_character && !ends) {
      held_ = bytes;
      return;
    }
    out += replacement_character;
    bytes.remove_prefix(std::min(unit_bytes(charset_), bytes.size()));
  }
}

}  // namespace quern
