#pragma once
#include <unordered_map>

#include "quern/formats/collection.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/formats/index_shards.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/formats/term_dictionary.hpp"
#include "quern/index/forward/build_forward.hpp"
#include "quern/io/file.hpp"

namespace quern {

/// Writes the forward file of an index made from documents of others: of shards, or of the index that a shard was cut
/// from. Segments keep their borders, which are independent of shards, and get the new index's term numbers; the bytes
/// are those of build_forward().
class ForwardRecoder {
 public:
  /// `to` is the file's index. It, `resources` and `out` must outlive this.
  ForwardRecoder(const IndexReader& to, const Resources& resources, File& out);
  /// Adds documents of another index after those added before, in parallel, within the memory budget. Throws
  /// InvalidArgument if the budget can't hold 4 bytes per term of that index, 8 per document of the new one, and 16 MB;
  /// CorruptFile for damage.
  void add(const IndexReader& from, const ForwardReader& forward, const DocidRange& docids);
  ForwardReport finish();

 private:
  struct Job;
  class Terms;

  void write(docid_t docid, const ForwardReader& forward, const Terms& terms, Job& job);

  const IndexReader& to_;
  const Resources& resources_;
  File& file_;
  ForwardWriter writer_;
  ForwardManifest manifest_;
  std::vector<std::uint32_t> out_links_, in_links_;
};

/// Maps terms of a collection to numbers in its index, which has lists only for terms of titles and bodies.
/// Thread-safe.
class IndexTerms {
 public:
  explicit IndexTerms(const CollectionReader& collection);
  /// For a shard built from the collection; `whole` holds the terms of all documents' titles and bodies. Both must
  /// outlive this. Throws InvalidArgument if the collection lacks a term of the shard.
  IndexTerms(const CollectionReader& collection, const IndexReader& shard, const StatisticsBeside& whole);
  /// Memory use in bytes.
  static std::uint64_t table_bytes(const CollectionReader& collection);

  /// Number of lists in the index.
  std::uint64_t size() const { return listed_; }
  /// A term's number in the index by its number in the collection; nullopt if the index has no list for it.
  std::optional<term_t> number(term_t in_collection) const {
    const std::uint64_t word = words_[in_collection / 64], bit = std::uint64_t{1} << in_collection % 64;
    if ((word & bit) == 0) return std::nullopt;
    return static_cast<term_t>(listed_before_[in_collection / 64] +
                               static_cast<unsigned>(__builtin_popcountll(word & (bit - 1))));
  }
  /// A term's number in the index; nullopt if the index has no list for it.
  std::optional<term_t> number(std::string_view term) const;
  /// A term by its number in the collection.
  std::string term(term_t in_collection) const;
  /// Whether the index of all documents has a list for a term without one in this shard.
  bool whole_has_list(std::string_view term) const { return whole_ != nullptr && whole_->find(term).has_value(); }

 private:
  void set_listed(std::uint64_t in_collection) { words_[in_collection / 64] |= std::uint64_t{1} << in_collection % 64; }
  void count_listed();

  TermDictionary dictionary_;
  const StatisticsBeside* whole_ = nullptr;   ///< only for shards
  std::vector<std::uint64_t> words_;          ///< a bit per term of the collection: whether it has a list
  std::vector<std::uint32_t> listed_before_;  ///< number of lists before each word
  std::uint64_t listed_ = 0;
};

/// Caches looked-up term numbers in bounded memory; one per thread.
class TermNumberCache {
 public:
  /// Returns find(term), a std::optional<term_t>, cached.
  template <class Find>
  std::optional<term_t> number(std::string_view term, Find&& find) {
    std::string key(term);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    if (known_.size() == max_terms) known_.clear();
    return known_[std::move(key)] = find(term);
  }

 private:
  static constexpr std::size_t max_terms = 1 << 14;

  std::unordered_map<std::string, std::optional<term_t>> known_;
};

}  // namespace quern
