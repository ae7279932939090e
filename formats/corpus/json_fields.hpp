#pragma once
#include "quern/text/field_value.hpp"

/// The keys of a JSON object that hold a document's fields; see jsonl.md for the rules.
namespace quern {

enum class JsonField { docno, title, text, url, weights };
inline constexpr std::size_t json_fields = 5;

/// A field's key. If an object has several, the key of the lowest rank whose value isn't null counts.
struct JsonKey {
  std::string name;
  JsonField field;
  unsigned rank;
};

/// The keys of documents' fields.
class JsonKeys {
 public:
  /// A field in `names` has only that key, and no other field has it; the rest have the known keys. Throws
  /// InvalidArgument if two fields have one name, or a kept field an invalid one. The weights have a key only if
  /// `with_weights`: `vector`, unless `names` has another.
  explicit JsonKeys(const FieldNames& names = {}, bool with_weights = false);

  const std::vector<JsonKey>& all() const { return keys_; }
  /// Keys of the kept fields; not in all().
  const std::vector<std::string>& kept() const { return kept_; }
  /// The key's index in all(); nullopt for other names.
  std::optional<std::size_t> find(std::string_view name) const;
  /// Names of a field's keys, for messages: "id, _id and docno" if the last separator is " and ".
  std::string names_of(JsonField field, std::string_view last_separator) const;
  /// Length in bytes of the longest name, kept fields included.
  std::size_t longest_name() const;

 private:
  void keep(const std::vector<std::string>& names);

  std::vector<JsonKey> keys_;
  std::vector<std::string> kept_;
};

/// Collects keys that nothing reads: they explain why a document has no text.
class UnreadKeys {
 public:
  /// Names are truncated to max_name_bytes, and only the first max_names are listed.
  static constexpr std::size_t max_name_bytes = 40, max_names = 4;

  void add(std::string_view name);
  /// A remark for the user; empty if all keys are read.
  std::string remark(const JsonKeys& keys) const;

 private:
  std::string names_;
  std::size_t count_ = 0;
};

}  // namespace quern
