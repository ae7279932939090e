#include "quern/text/tokenizer.hpp"

#include <utf8proc.h>

#include <cstring>

namespace quern {
namespace {

/// Bytes of a run that are folded. Enough for max_term_bytes of folded text, since folding and composing shrink text to
/// a third at most (the Kelvin sign, Hangul letters); few enough that a run of a million marks is cheap to sort.
constexpr std::size_t folded_prefix_bytes = 3 * (max_term_bytes + 1);

constexpr char32_t zero_width_space = 0x200B;

bool is_token_point(char32_t point) {
  const utf8proc_property_t& property = *utf8proc_get_property(static_cast<utf8proc_int32_t>(point));
  if (property.ignorable) return point != zero_width_space;
  switch (property.category) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
      return true;
    default:
      return false;
  }
}

}  // namespace

TokenBuffer::TokenBuffer() : points_(2 * folded_prefix_bytes) {}

std::size_t TokenBuffer::token_character(std::string_view text, std::size_t at, std::size_t& skip) {
  const DecodedPoint decoded = decode_utf8(text.substr(at));
  skip = decoded.bytes;
  return is_token_point(decoded.point) ? decoded.bytes : 0;
}

std::size_t TokenBuffer::run_end(std::string_view text, std::size_t at) {
  std::size_t skip = 0;
  while (at < text.size()) {
    const std::uint8_t kind = tokenizing::classes[static_cast<unsigned char>(text[at])];
    if (kind > tokenizing::beyond_ascii)
      ++at;
    else if (kind < tokenizing::beyond_ascii || token_character(text, at, skip) == 0)
      break;
    else
      at += skip;
  }
  return at;
}

void TokenBuffer::fold(std::string_view run) {
  const std::string_view prefix = cut_at_character(run, folded_prefix_bytes);
  const auto options =
      static_cast<utf8proc_option_t>(UTF8PROC_CASEFOLD | UTF8PROC_IGNORE | UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  const auto decompose = [&] {
    return utf8proc_decompose(reinterpret_cast<const utf8proc_uint8_t*>(prefix.data()),
                              static_cast<utf8proc_ssize_t>(prefix.size()), points_.data(),
                              static_cast<utf8proc_ssize_t>(points_.size() - 1), options);
  };
  utf8proc_ssize_t count = decompose();
  if (count >= static_cast<utf8proc_ssize_t>(points_.size())) {
    points_.resize(static_cast<std::size_t>(count) + 1);
    count = decompose();
  }
  // Encodes the code points in place; the extra element leaves room for a final zero.
  const utf8proc_ssize_t size = count < 0 ? count : utf8proc_reencode(points_.data(), count, options);
  if (size < 0) throw Error(std::string("can't fold a word's case: ") + utf8proc_errmsg(size));
  const std::string_view folded(reinterpret_cast<const char*>(points_.data()), static_cast<std::size_t>(size));
  size_ = cut_at_character(folded, max_term_bytes).size();
  std::memcpy(bytes_.data(), folded.data(), size_);
  cut_terms_ += size_ < folded.size() || prefix.size() < run.size();
}

void OpenRun::take_front(std::string_view& piece, std::string& joint) {
  constexpr std::size_t max_bytes = 1 << 10;
  const auto ends_runs = [](char c) {
    return tokenizing::classes[static_cast<unsigned char>(c)] < tokenizing::beyond_ascii;
  };
  std::size_t size = 0;
  while (size < std::min(max_bytes, piece.size()))
    if (ends_runs(piece[size++])) break;
  joint.append(piece, 0, size);
  piece.remove_prefix(size);
}

std::string_view OpenRun::without_partial_character(std::string_view text) {
  text.remove_suffix(partial_character_bytes(text));
  return text;
}

bool OpenRun::is_decided(std::size_t run_bytes) { return run_bytes > folded_prefix_bytes; }

}  // namespace quern
