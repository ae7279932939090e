#include "quern/api/internal/document_stream.hpp"

#include <charconv>
#include <cstring>
#include <variant>

namespace quern::api {

bool DocumentStream::put(std::string&& buffer) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return buffers_.size() < max_buffers || stopped_; });
  if (stopped_) return false;
  if (!buffer.empty()) buffers_.push_back(std::move(buffer));
  changed_.notify_all();
  return true;
}

void DocumentStream::finish() {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

void DocumentStream::fail(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  error_ = std::move(error);
  changed_.notify_all();
}

void DocumentStream::stop() noexcept {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

std::size_t DocumentStream::read(std::span<std::uint8_t> to) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !buffers_.empty() || finished_ || stopped_ || error_; });
  if (error_) std::rethrow_exception(error_);
  if (buffers_.empty() || stopped_) return 0;
  const std::string& buffer = buffers_.front();
  const std::size_t size = std::min(to.size(), buffer.size() - consumed_);
  std::memcpy(to.data(), buffer.data() + consumed_, size);
  consumed_ += size;
  bytes_read_ += size;
  if (consumed_ == buffer.size()) {
    buffers_.pop_front();
    consumed_ = 0;
    changed_.notify_all();
  }
  return size;
}

namespace {

/// Bytes that JSON strings can't hold as they are.
constexpr std::array<bool, 256> make_escaped_bytes() {
  std::array<bool, 256> is_escaped{};
  for (unsigned byte = 0; byte < 0x20; ++byte) is_escaped[byte] = true;
  is_escaped['"'] = is_escaped['\\'] = true;
  return is_escaped;
}
constexpr std::array<bool, 256> escaped_bytes = make_escaped_bytes();

void append_escaped(std::string& out, unsigned char byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  switch (byte) {
    case '"':
    case '\\':
      out += '\\';
      out += static_cast<char>(byte);
      break;
    case '\n':
      out += "\\n";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      out += "\\u00";
      out += digits[byte >> 4];
      out += digits[byte & 15];
  }
}

void append_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t copied = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (!escaped_bytes[byte]) continue;
    out.append(text, copied, i - copied);
    append_escaped(out, byte);
    copied = i + 1;
  }
  out.append(text, copied, text.size() - copied);
  out += '"';
}

template <class Number>
void append_number(std::string& out, Number number) {
  char digits[32];
  const std::string_view text(
      digits, static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, number).ptr - digits));
  out += text;
  if (text == "-0") out += ".0";  // without it, readers take it for an integer, which has no sign
}

void append_vector(std::string& out, std::span<const WeightedTerm> vector) {
  if (vector.empty()) return;
  std::string_view before = ",\"vector\":{";
  for (const WeightedTerm& term : vector) {
    out += before;
    append_string(out, term.term);
    out += ':';
    append_number(out, term.weight);
    before = ",";
  }
  out += '}';
}

void append_field(std::string& out, const KeptField& field) {
  out += ',';
  append_string(out, field.name);
  out += ':';
  if (const auto* text = std::get_if<std::string_view>(&field.value))
    append_string(out, *text);
  else if (const auto* number = std::get_if<double>(&field.value))
    append_number(out, *number);
  else if (const auto* integer = std::get_if<std::int64_t>(&field.value))
    append_number(out, *integer);
  else
    out += std::get<bool>(field.value) ? "true" : "false";
}

}  // namespace

void append_json_line(std::string& out, const NewDocument& document) {
  out += "{\"id\":";
  append_string(out, document.docno);
  if (!document.url.empty()) {
    out += ",\"url\":";
    append_string(out, document.url);
  }
  if (!document.title.empty()) {
    out += ",\"title\":";
    append_string(out, document.title);
  }
  out += ",\"contents\":";
  append_string(out, document.text);
  append_vector(out, document.vector);
  for (const KeptField& field : document.fields) append_field(out, field);
  out += "}\n";
}

}  // namespace quern::api
