#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// Which keys of a JSON object are the fields of a document; jsonl.md has the rules.
namespace quern {

enum class JsonField { docno, title, text, url };
inline constexpr std::size_t json_fields = 4;

/// A key of a field. Of several in an object, that of the lowest rank counts, unless its value is null.
struct JsonKey {
  std::string_view name;
  JsonField field;
  unsigned rank;
};

inline constexpr std::array<JsonKey, 11> json_keys = {{
    {"id", JsonField::docno, 0},
    {"_id", JsonField::docno, 1},
    {"docno", JsonField::docno, 2},
    {"docid", JsonField::docno, 3},
    {"doc_id", JsonField::docno, 4},
    {"title", JsonField::title, 0},
    {"contents", JsonField::text, 0},
    {"text", JsonField::text, 1},
    {"content", JsonField::text, 2},
    {"body", JsonField::text, 3},
    {"url", JsonField::url, 0},
}};

/// The key's number in json_keys; nothing if it has another name.
std::optional<std::size_t> find_json_key(std::string_view name);

/// Names the keys that nothing reads: for a document without text, the reason is among them.
class UnreadKeys {
 public:
  /// A name is cut to so many bytes, and of more names than that the first are named.
  static constexpr std::size_t max_name_bytes = 40, max_names = 4;

  void add(std::string_view name);
  /// A remark for the user; empty if there are none.
  std::string remark() const;

 private:
  std::string names_;
  std::size_t count_ = 0;
};

}  // namespace quern
