#pragma once
#include <cstdint>
#include <vector>

#include "quern/corpus/corpus_reader.hpp"
#include "quern/corpus/digest_set.hpp"
#include "quern/formats/manifest_settings.hpp"

namespace quern {

/// Chooses pages of a crawl by language and payload, in the order of the corpus, before they are parsed: what is chosen
/// depends on the corpus alone. Reads nothing but headers, so one thread does it for all.
class PageChooser {
 public:
  /// Remembers payloads within `memory_bytes`.
  PageChooser(const PageChoice& choice, std::uint64_t memory_bytes) : choice_(choice), payloads_(memory_bytes) {}

  /// Whether there is anything to choose by.
  bool chooses() const { return !choice_.languages.empty() || choice_.drop_copies; }
  /// Marks the records of the batch that are left out. `next` is the batch that follows, null at the corpus's end: a
  /// page's language may be said in a record behind it. False if the payloads don't fit into the memory.
  bool choose(RecordBatch& batch, const RecordBatch* next);
  /// Different payloads of pages that stayed.
  std::uint64_t payloads() const { return payloads_.count(); }

 private:
  void read_labels(const RecordBatch& batch, const RecordBatch* next);
  /// Of record `page`, as itself says, or one of the next records.
  const std::string& language_of(std::size_t page) const;
  LeftOut by_language(std::size_t page) const;

  PageChoice choice_;
  DigestSet payloads_;
  std::vector<RecordLabels> labels_;  ///< of the batch's records, and of those behind it that may describe them
};

}  // namespace quern
