#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/text/field_value.hpp"

/// Which keys of a JSON object are the fields of a document; jsonl.md has the rules.
namespace quern {

enum class JsonField { docno, title, text, url, weights };
inline constexpr std::size_t json_fields = 5;

/// A key of a field. Of several in an object, that of the lowest rank counts, unless its value is null.
struct JsonKey {
  std::string name;
  JsonField field;
  unsigned rank;
};

/// The keys of documents' fields.
class JsonKeys {
 public:
  /// A field that `names` names has that key alone, and no other field has it; the others have those that are known.
  /// Throws InvalidArgument if two fields have one name, or a kept field one that it can't have. Only `with_weights` is
  /// there a key of weights, `vector` unless it is named.
  explicit JsonKeys(const FieldNames& names = {}, bool with_weights = false);

  const std::vector<JsonKey>& all() const { return keys_; }
  /// The keys whose values are kept, none of which is in all().
  const std::vector<std::string>& kept() const { return kept_; }
  /// The key's number in all(); nothing if it has another name.
  std::optional<std::size_t> find(std::string_view name) const;
  /// The names of a field's keys, for messages: "id, _id and docno" if the last separator is " and ".
  std::string names_of(JsonField field, std::string_view last_separator) const;
  /// Bytes of the longest name, kept ones included.
  std::size_t longest_name() const;

 private:
  void keep(const std::vector<std::string>& names);

  std::vector<JsonKey> keys_;
  std::vector<std::string> kept_;
};

/// Names the keys that nothing reads: for a document without text, the reason is among them.
class UnreadKeys {
 public:
  /// A name is cut to so many bytes, and of more names than that the first are named.
  static constexpr std::size_t max_name_bytes = 40, max_names = 4;

  void add(std::string_view name);
  /// A remark for the user; empty if there are none.
  std::string remark(const JsonKeys& keys) const;

 private:
  std::string names_;
  std::size_t count_ = 0;
};

}  // namespace quern
