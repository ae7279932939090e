#pragma once
#include "quern/corpus/corpus_reader.hpp"
#include "quern/formats/manifest_settings.hpp"
#include "quern/io/checksum.hpp"

namespace quern {

/// A set of digests, as 95 bits of their hashes, in open-addressing tables of 12 bytes per slot. It has 64 tables that
/// grow one by one, each by a quarter, so that growing takes little additional memory.
class DigestSet {
 public:
  /// Never takes more than `max_bytes`, not even while growing.
  explicit DigestSet(std::uint64_t max_bytes);

  enum class Added {
    yes,
    was_there,
    no_room  ///< would exceed the memory limit
  };
  Added add(const Hash128& digest);

  std::uint64_t count() const { return count_; }
  /// The maximum memory of a set of `count` digests.
  static std::uint64_t bytes_for(std::uint64_t count) { return count * 18 + (std::uint64_t{64} << 10); }

 private:
  /// Three words of the hash; the last one is odd, or zero in a free slot.
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

/// Chooses pages of a crawl by language and payload, in corpus order, before they are parsed; the choice depends only
/// on the corpus. Reads only headers, so one thread suffices.
class PageChooser {
 public:
  /// Remembers payloads within `memory_bytes`.
  PageChooser(const PageChoice& choice, std::uint64_t memory_bytes) : choice_(choice), payloads_(memory_bytes) {}

  /// Whether any choice is to be made.
  bool chooses() const { return !choice_.languages.empty() || choice_.drop_copies; }
  /// Marks the records of the batch that are left out. `next` is the following batch, null at the corpus's end: a later
  /// record may state a page's language. False if the payloads don't fit in the memory.
  bool choose(RecordBatch& batch, const RecordBatch* next);
  /// Number of distinct payloads of pages that stayed.
  std::uint64_t payloads() const { return payloads_.count(); }

 private:
  void read_labels(const RecordBatch& batch, const RecordBatch* next);
  /// The language of record `page`, from itself or from one of the next records.
  const std::string& language_of(std::size_t page) const;
  LeftOut by_language(std::size_t page) const;

  PageChoice choice_;
  DigestSet payloads_;
  std::vector<RecordLabels> labels_;  ///< of the batch's records, and of later ones that may describe them
};

}  // namespace quern
