#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "quern/corpus/corpus_reader.hpp"
#include "quern/formats/manifest_settings.hpp"
#include "quern/io/checksum.hpp"

namespace quern {

/// Digests that occurred, as 95 bits of their hashes, in tables of 12 bytes for each place with open addressing. It
/// grows a little at a time: 64 tables, each by a quarter, so that growing takes hardly more memory than the set has.
class DigestSet {
 public:
  /// It never takes more than `max_bytes`, not even while it grows.
  explicit DigestSet(std::uint64_t max_bytes);

  enum class Added {
    yes,
    was_there,
    no_room  ///< it would take more memory than it may
  };
  Added add(const Hash128& digest);

  std::uint64_t count() const { return count_; }
  /// What a set of so many takes at most.
  static std::uint64_t bytes_for(std::uint64_t count) { return count * 18 + (std::uint64_t{64} << 10); }

 private:
  /// Three words of the hash; the last one is odd, and zero where the place is free.
  struct Place {
    std::array<std::uint32_t, 3> words{};
    bool operator==(const Place&) const = default;
  };
  struct Table {
    std::vector<Place> places;
    std::size_t used = 0;
  };
  static Place* find(std::vector<Place>& places, const Place& sought);
  bool grow(Table& table);

  std::uint64_t left_bytes_;
  std::uint64_t count_ = 0;
  std::array<Table, 64> tables_;
};

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
