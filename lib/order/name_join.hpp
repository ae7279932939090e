#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "quern/core/types.hpp"
#include "quern/io/checksum.hpp"
#include "quern/io/external_sort.hpp"

/// Finds the documents that names belong to by sorting, for names that do not fit in memory.
namespace quern {

/// All names are added and asked for first, then all questions are answered, in another order. `Question` is what the
/// asker wants to have back with the answer.
template <class Question>
class NameJoin {
  static_assert(std::is_trivially_copyable_v<Question> && std::has_unique_object_representations_v<Question>,
                "questions are compared by their bytes");

 public:
  NameJoin(const std::string& tmp_folder, std::uint64_t memory_bytes) : rows_(tmp_folder, memory_bytes) {}

  /// Of several documents with a name, the one with the least number has it.
  void add_document(const Hash128& name, docid_t document) {
    rows_.add(SortKey(name.low, name.high, of_document, document).view(), {});
  }

  /// `payload` comes back with the answer.
  void ask(const Hash128& name, const Question& question, ByteView payload = {}) {
    const SortKey key(name.low, name.high, of_question);
    std::uint8_t row[key_bytes + sizeof question];
    std::memcpy(row, key.view().data(), key_bytes);
    std::memcpy(row + key_bytes, &question, sizeof question);
    rows_.add({reinterpret_cast<const char*>(row), sizeof row}, payload);
  }

  /// Calls visit(document, question, is_repeated, payload) for each question: end_docid if no document has the name;
  /// whether the same was asked before. To be called once.
  template <class Visit>
  void answer(Visit&& visit) {
    std::string name, question_before;
    docid_t document = end_docid;
    rows_.merge([&](std::string_view row, ByteView payload) {
      if (row.substr(0, name_bytes) != name) {
        name = row.substr(0, name_bytes);
        question_before.clear();
        document = end_docid;
      }
      if (row[name_bytes] == of_document) {
        document = std::min(document, number_in_key<docid_t>(row, key_bytes));
        return;
      }
      const std::string_view asked = row.substr(key_bytes);
      Question question;
      std::memcpy(&question, asked.data(), sizeof question);
      visit(document, question, asked == question_before, payload);
      question_before = asked;
    });
  }

 private:
  /// Documents sort before the questions that they answer.
  enum Kind : std::uint8_t { of_document, of_question };
  static constexpr std::size_t name_bytes = sizeof(Hash128), key_bytes = name_bytes + 1;

  ExternalSort rows_;
};

}  // namespace quern
