#pragma once
#include <bit>

#include "quern/lab/synth/document_tree.hpp"
#include "quern/lab/synth/term_fields.hpp"

namespace quern {

/// Geometric frequencies, P(f ≥ k) = q^(k - 1), at levels with means from 1.04 to 101. The choice of the level makes
/// tails heavy.
class FreqTables {
 public:
  static constexpr int levels = 37;
  FreqTables();

  /// `bits`: 14 random bits. Level 0 has the smallest frequencies.
  freq_t draw(int level, std::uint32_t bits) const {
    const auto& table = tables_[static_cast<std::size_t>(level)];
    const freq_t freq = table[bits & (entries - 1)];
    if ((bits & (entries - 1)) != 0) [[likely]]
      return freq;
    // A geometric distribution is memoryless.
    return freq + table[(bits / entries) & (entries - 1)];
  }

 private:
  static constexpr std::uint32_t entries = 128;
  std::array<std::array<std::uint8_t, entries>, levels> tables_;
};

/// Draws posting lists over a tree of documents: exactly `df` documents, in docID order, from the term's keys alone. A
/// node's postings are divided between its children by a binomial draw whose odds are the children's shares times e^x,
/// with normal noise x of (term, node): a multiplicative cascade, which gives bursts within bursts like those of real
/// lists. Correlated terms share some of the noise. If a list covers more than half of a node, its gaps are divided
/// instead. Takes time linear in df and almost no memory. One per thread.
class ListGenerator {
 public:
  /// Receives docIDs and frequencies of consecutive ranges of a list.
  using Take = std::function<void(std::span<const docid_t>, std::span<const freq_t>)>;

  /// The tree must outlive the generator.
  explicit ListGenerator(const DocumentTree& tree);

  /// df of 1 to the number of documents.
  void generate(const TermField& term, const Take& take) { generate(term, 0, term.df, take); }
  /// Draws only the postings [first, end) of the list, in time linear in their number.
  void generate(const TermField& term, std::uint64_t first, std::uint64_t end, const Take& take);

 private:
  /// A subtree, and the state of the list there.
  struct Part {
    std::uint32_t node;
    docid_t first, end;
    float intensity;  ///< logarithm of the list's density relative to its mean
    float level;      ///< the place's contribution to the level of frequencies
    /// The random bits for all frequencies here, as in pages of one template; 0: each document has its own.
    std::uint32_t template_bits;
  };
  /// A leaf whose postings are drawn later, while the cache fetches its documents' data.
  struct LeafFill {
    docid_t first, size, n;
    int level;
    std::uint32_t template_bits;
    std::uint64_t bits;  ///< choose the document of a single posting
  };
  /// The division of a list by a cut.
  struct Cut {
    float left_intensity, right_intensity;  ///< added to the part's
    float level;                            ///< added to the level on the left, subtracted on the right
    docid_t left;                           ///< postings on the left
    std::uint64_t bits;
  };

  void place_range(const Part& part, docid_t n, std::uint64_t first);
  void place(Part part, docid_t n);
  void place_singles();
  void descend(Part& part, const DocumentTree::Node& node) const;
  Cut cut_of(const Part& part, const DocumentTree::Node& node, docid_t n) const;
  Cut cut_few(const Part& part, const DocumentTree::Node& node, docid_t n) const;
  Cut cut_many(const Part& part, const DocumentTree::Node& node, docid_t n) const;
  Part left_of(const Part& part, const DocumentTree::Node& node, const Cut& cut) const;
  Part right_of(const Part& part, const DocumentTree::Node& node, const Cut& cut) const;
  std::uint32_t chance_of(float odds) const;
  void put_off(const Part& leaf, docid_t n);
  void fill_leaves();
  void fill_one(const LeafFill& leaf);
  void fill_some(const LeafFill& leaf);
  std::uint64_t draw_documents(docid_t first, docid_t size, docid_t n) const;
  std::uint64_t draw_gaps(docid_t first, docid_t size, docid_t n) const;
  docid_t document_at(docid_t first, docid_t size, std::uint64_t bits) const;
  std::uint64_t shared_places(docid_t first) const;
  int level_in(const Part& leaf) const;
  void add(docid_t document, int level, std::uint32_t bits);
  void flush();

  static constexpr std::size_t chunk_postings = 4096, max_waiting = 16, max_singles = 16;
  static constexpr int chance_entries = 1024;

  const DocumentTree& tree_;
  FreqTables freq_tables_;
  std::array<std::uint16_t, chance_entries> chances_;         ///< in 65,536ths, by logarithmic odds
  std::array<freq_t, DocumentTree::length_steps> max_freqs_;  ///< by length
  std::array<int, DocumentTree::length_steps> level_of_length_;
  TermField term_;
  bool clustered_ = false;
  const Take* take_ = nullptr;
  std::uint64_t range_first_ = 0, range_end_ = 0;  ///< the requested range of the list
  std::size_t superfluous_ = 0;                    ///< postings of the first leaf before the range
  std::uint64_t left_to_take_ = 0;
  std::size_t num_singles_ = 0;
  std::array<Part, max_singles> singles_;  ///< parts with a single posting that is not placed yet
  std::size_t num_waiting_ = 0;
  std::array<LeafFill, max_waiting> waiting_;
  std::size_t size_ = 0;
  std::array<docid_t, chunk_postings> docids_;
  std::array<freq_t, chunk_postings> freqs_;
};

// Noise as a function of (key, place), independent of order and thread. So each list can be drawn on its own and still
// share noise with correlated lists.

/// The finalizer of SplitMix64 (see core/random.hpp).
inline std::uint64_t mix_bits(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

inline std::uint64_t noise_bits(std::uint64_t key, std::uint64_t place) {
  return mix_bits(key + place * 0x9e3779b97f4a7c15u);
}

/// Nearly normal with mean 0 and variance 1: the number of ones among 64 random bits.
inline float normal_of(std::uint64_t bits) { return static_cast<float>(std::popcount(bits) - 32) * 0.25f; }

/// A second nearly normal number from the same bits, uncorrelated with the first: the ones in the upper half minus
/// those in the lower half.
inline float other_normal_of(std::uint64_t bits) {
  return static_cast<float>(std::popcount(bits >> 32) - std::popcount(bits & 0xffffffffu)) * 0.25f;
}

/// Uniform in [0, 1).
inline float unit_of(std::uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-24f; }

/// e^x with a relative error below 3e-4, with x clamped to ±80. Gives the same bits with every compiler and library,
/// unlike std::exp.
inline float portable_exp(float x) {
  const float scaled = std::clamp(x, -80.0f, 80.0f) * 1.44269504f;
  const float floor = static_cast<float>(static_cast<std::int32_t>(scaled + 1024.0f) - 1024);
  const float rest = scaled - floor;
  const float power = 1.0f + rest * (0.69583356f + rest * (0.22606716f + rest * 0.07802454f));
  return power * std::bit_cast<float>((static_cast<std::uint32_t>(static_cast<std::int32_t>(floor) + 127)) << 23);
}

}  // namespace quern
