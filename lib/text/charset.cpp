#include "quern/text/charset.hpp"

#include <iconv.h>

#include <cerrno>

#include "quern/core/bytes.hpp"
#include "quern/text/utf8.hpp"

namespace quern {
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

/// The value of "charset=" in lower-case text, quoted or not; empty if there is none.
std::optional<std::string> charset_in(std::string_view text) {
  constexpr std::string_view word = "charset";
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

/// The charset of the first <meta> that names one, ignoring comments.
std::optional<std::string> charset_of_meta(std::string_view html) {
  const std::string head = ascii_lowered(html.substr(0, charset_prescan_bytes));
  const std::string_view text = head;
  for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at)) {
    const std::string_view rest = text.substr(at);
    const bool comment = rest.starts_with("<!--");
    const std::size_t end = comment ? rest.find("-->", 4) : rest.find('>');
    const std::string_view tag = rest.substr(0, end);
    if (tag.starts_with("<meta")) {
      if (auto charset = charset_in(tag)) return charset->starts_with("utf-16") ? "utf-8" : charset;
    }
    if (end == std::string_view::npos) break;
    at += end;
  }
  return {};
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
  return charset_of_meta(html).value_or("utf-8");
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
