#include "quern/formats/tables/text_lines.hpp"

#include <fmt/format.h>

#include <cmath>

namespace quern {

void fail_at_line(std::string_view name, std::uint64_t line, std::string_view why) {
  throw CorruptFile(std::string(name) + ", line " + std::to_string(line) + ": " + std::string(why));
}

namespace {

template <class Number>
Number number_of(std::string_view field, const TabFields& fields) {
  Number value{};
  if (!parse_number(field, value)) fields.fail(fmt::format("has \"{:.20}\" instead of a number", field));
  return value;
}

}  // namespace

std::string_view TabFields::text() {
  if (at_end_) fail("has too few columns");
  const std::size_t tab = rest_.find('\t');
  const std::string_view field = rest_.substr(0, tab);
  at_end_ = tab == std::string_view::npos;
  rest_.remove_prefix(at_end_ ? rest_.size() : tab + 1);
  if (field.empty()) fail("has an empty column");
  return field;
}

std::uint64_t TabFields::count() { return number_of<std::uint64_t>(text(), *this); }

double TabFields::number() {
  const auto value = number_of<double>(text(), *this);
  if (!std::isfinite(value)) fail("has a number that is not finite");
  return value;
}

void TabFields::end() const {
  if (!at_end_) fail("has too many columns");
}

void TabFields::fail(std::string_view why) const { fail_at_line(name_, number_, why); }

namespace {

constexpr std::size_t buffer_bytes = 256 << 10;

}  // namespace

bool SourceBytes::fill() {
  if (buffer_.empty()) buffer_.resize(buffer_bytes);
  before_ += size_;
  at_ = 0;
  size_ = source_.read(buffer_);
  return size_ > 0;
}

std::uint32_t SourceBytes::le32() {
  std::uint32_t value = 0;
  for (unsigned shift = 0; shift < 32; shift += 8) value |= std::uint32_t{byte()} << shift;
  return value;
}

std::uint64_t SourceBytes::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const std::uint64_t bits = byte();
    if (shift == 63 && bits > 1) break;
    value |= (bits & 0x7f) << shift;
    if (bits < 0x80) return value;
  }
  fail("a number of more than 64 bits");
}

void SourceBytes::string(std::uint64_t size, std::string& out) {
  if (size > max_string_bytes) fail("a name of more than 1 MiB");
  out.clear();
  while (out.size() < size) {
    if (at_end()) fail("ends too early");
    const std::size_t some = std::min<std::size_t>(size - out.size(), size_ - at_);
    out.append(as_text(ByteView(buffer_).subspan(at_, some)));
    at_ += some;
  }
}

bool SourceBytes::line(std::string& out) {
  out.clear();
  if (at_end()) return false;
  while (!at_end()) {
    const std::string_view rest = as_text(ByteView(buffer_).subspan(at_, size_ - at_));
    const std::size_t end = rest.find('\n');
    if (out.size() + std::min(end, rest.size()) > max_string_bytes) fail("a line of more than 1 MiB");
    out.append(rest.substr(0, end));
    at_ += std::min(end, rest.size());
    if (end == std::string_view::npos) continue;
    ++at_;
    break;
  }
  if (!out.empty() && out.back() == '\r') out.pop_back();
  return true;
}

void SourceBytes::skip(std::uint64_t size) {
  while (size > 0) {
    if (at_end()) fail("ends too early");
    const std::size_t some = std::min<std::uint64_t>(size, size_ - at_);
    at_ += some;
    size -= some;
  }
}

void SourceBytes::fail_at(std::uint64_t position, std::string_view why) const {
  throw CorruptFile(name() + ", offset " + std::to_string(position) + ": " + std::string(why));
}

}  // namespace quern
