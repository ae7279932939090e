#include "quern/formats/rankers/json_events.hpp"

#include <nlohmann/json.hpp>

#include "quern/text/json_reader.hpp"

namespace quern {
namespace {

/// Passes the values of a JSON text to `events`.
class JsonTextEvents {
 public:
  JsonTextEvents(PieceSource& text, JsonEvents& events) : json_(text, max_json_depth), events_(events) {}

  void read() {
    do {
      if (!read_value()) continue;
      while (!open_.empty() && !json_.next_member(open_.back())) close();
      read_key();
    } while (!open_.empty());
    json_.take_end();
  }
  std::uint64_t offset() const { return json_.offset(); }

 private:
  /// False after entering an array or object.
  bool read_value() {
    const int first = json_.peek();
    if (first == '"') {
      events_.text(take_string());
    } else if (first != '{' && first != '[') {
      read_scalar();
    } else {
      open_.push_back(static_cast<char>(first));
      first == '{' ? events_.begin_object() : events_.begin_array();
      if (json_.begin(open_.back())) {
        read_key();
        return false;
      }
      close();
    }
    return true;
  }

  void close() {
    const bool is_object = open_.back() == '{';
    open_.pop_back();
    is_object ? events_.end_object() : events_.end_array();
  }

  void read_key() {
    if (open_.empty() || open_.back() != '{') return;
    events_.key(take_string());
    json_.take(':');
  }

  void read_scalar() {
    const std::string_view word = json_.take_scalar();
    if (word == "true" || word == "false") return events_.boolean(word == "true");
    if (word == "null") return events_.null();
    const bool is_named = word == "NaN" || word == "Infinity" || word == "-Infinity";
    const std::size_t sign = word.starts_with('-') ? 1 : 0;
    if (!is_named && (word.size() <= sign || !is_ascii_digit(word[sign]))) throw JsonDamage("a value is missing");
    events_.number(JsonNumber(word));
  }

  std::string take_string() {
    std::uint64_t size = 0;
    return json_.take_string(std::string::npos, size);
  }

  JsonReader json_;
  JsonEvents& events_;
  std::vector<char> open_;  ///< the brackets of open arrays and objects
};

/// Passes the events of the JSON library's UBJSON reader on.
class UbjsonEvents final : public nlohmann::json_sax<nlohmann::json> {
 public:
  UbjsonEvents(const std::string& name, JsonEvents& events) : name_(name), events_(events) {}

  bool null() override {
    check_has_bytes();
    events_.null();
    return true;
  }
  bool boolean(bool value) override {
    check_has_bytes();
    events_.boolean(value);
    return true;
  }
  bool number_integer(std::int64_t value) override { return number(JsonNumber(value)); }
  bool number_unsigned(std::uint64_t value) override { return number(JsonNumber(static_cast<std::int64_t>(value))); }
  bool number_float(double value, const std::string& text) override {
    return number(text.empty() ? JsonNumber(value) : JsonNumber(text));
  }
  bool string(std::string& value) override {
    events_.text(value);
    return true;
  }
  bool binary(nlohmann::json::binary_t&) override { fail("a value of an unknown type"); }
  bool start_object(std::size_t size) override {
    begin(size);
    events_.begin_object();
    return true;
  }
  bool key(std::string& name) override {
    events_.key(name);
    return true;
  }
  bool end_object() override {
    is_counted_.pop_back();
    events_.end_object();
    return true;
  }
  bool start_array(std::size_t size) override {
    begin(size);
    events_.begin_array();
    return true;
  }
  bool end_array() override {
    is_counted_.pop_back();
    events_.end_array();
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) override {
    fail(error.what());
  }

 private:
  /// The library's reader recurses.
  static constexpr std::size_t max_levels = 100;

  [[noreturn]] void fail(std::string_view why) const { throw CorruptFile("{}: is not UBJSON: {}", name_, why); }
  void begin(std::size_t size) {
    if (is_counted_.size() == max_levels) fail("values are nested too deeply");
    is_counted_.push_back(size != std::size_t(-1));
  }
  /// In an array of one type and a given length, a value without bytes would take unlimited time.
  void check_has_bytes() const {
    if (!is_counted_.empty() && is_counted_.back()) fail("an array of a type without a fixed size");
  }
  bool number(const JsonNumber& value) {
    events_.number(value);
    return true;
  }

  const std::string& name_;
  JsonEvents& events_;
  std::vector<bool> is_counted_;  ///< by open array or object: its length was given
};

}  // namespace

bool JsonNumber::get(float& value) const {
  if (kind_ == Kind::text) return read_number(text_, value);
  value = kind_ == Kind::real ? static_cast<float>(real_) : static_cast<float>(integer_);
  return true;
}

bool JsonNumber::get(double& value) const {
  if (kind_ == Kind::text) return read_number(text_, value);
  value = kind_ == Kind::real ? real_ : static_cast<double>(integer_);
  return true;
}

bool JsonNumber::get(std::int64_t& value) const {
  if (kind_ == Kind::integer) {
    value = integer_;
    return true;
  }
  if (kind_ == Kind::text && read_number(text_, value)) return true;
  double real = 0;
  if (!get(real) || std::abs(real) > 0x1p53 || real != std::floor(real)) return false;
  value = static_cast<std::int64_t>(real);
  return true;
}

void read_json(std::string_view text, const std::string& name, JsonEvents& events) {
  ViewPieces pieces(text);
  JsonTextEvents reader(pieces, events);
  try {
    reader.read();
  } catch (const JsonDamage& damage) {
    throw CorruptFile("{}: byte {}: is not JSON: {}", name, reader.offset(), damage.what());
  }
}

void read_ubjson(std::string_view bytes, const std::string& name, JsonEvents& events) {
  UbjsonEvents sax(name, events);
  nlohmann::json::sax_parse(bytes.begin(), bytes.end(), &sax, nlohmann::json::input_format_t::ubjson);
}

}  // namespace quern
