#pragma once
#include "quern/core/bytes.hpp"

/// Segments of the forward file: consecutive tokens of a document, encoded together. See forward.md.
namespace quern {

/// The text streams of a document, in the order of segments, features and output.
enum class DocumentStream : std::uint8_t { title, body, url, anchor };
inline constexpr std::size_t num_document_streams = 4;
inline constexpr std::array<std::string_view, num_document_streams> document_stream_names = {"title", "body", "url",
                                                                                             "anchor"};

/// Limit of a segment's positions, each a token or a phrase end.
inline constexpr std::size_t max_segment_places = 1 << 16;
/// A segment ends after this many bytes of literals, to stay small in memory.
inline constexpr std::size_t enough_literal_bytes = 1 << 20;

/// Totals over segments.
struct SegmentCounts {
  std::array<std::uint64_t, num_document_streams> tokens{};  ///< per stream, without phrase ends
  std::uint64_t phrase_ends = 0;
  std::uint64_t literals = 0;  ///< terms without a list in the index
  std::uint64_t segments = 0;

  SegmentCounts& operator+=(const SegmentCounts& other);
  bool operator==(const SegmentCounts&) const = default;
};

/// Collects the positions of a segment and encodes it. Each distinct term is added once and gets a key for its tokens.
class SegmentBuilder {
 public:
  using Key = std::uint32_t;
  static constexpr Key phrase_end_key = 0;

  /// Adds a term by its number in the index's lexicon.
  Key add_term(term_t number);
  /// Adds a term without a list in the index. `whole_has_list`: the index that this shard belongs to has one; such
  /// literals don't fill a segment, so segments of the shard end where those of that index do.
  Key add_literal(std::string_view term, bool whole_has_list = false);
  /// Adds the next position: a term's key, or phrase_end_key. Streams must come in order.
  void add_place(DocumentStream stream, Key key) {
    places_.push_back(key);
    ++stream_places_[static_cast<std::size_t>(stream)];
    ++(key == phrase_end_key ? counts_.phrase_ends : counts_.tokens[static_cast<std::size_t>(stream)]);
  }

  std::size_t places() const { return places_.size(); }
  /// Whether the segment must be encoded before another position is added.
  bool is_full() const { return places_.size() == max_segment_places || literal_bytes_ >= enough_literal_bytes; }
  /// Appends the encoded segment to `out` and resets everything, including keys. Appends nothing if there are no
  /// positions. `index_terms` is the index's number of lists.
  void encode(std::uint64_t index_terms, Bytes& out);
  /// Totals of all segments so far, including positions not encoded yet.
  const SegmentCounts& counts() const { return counts_; }

 private:
  std::vector<std::uint32_t> ids_of_keys(Bytes& literals);

  struct KeyedTerm {
    term_t number;
    Key key;
  };
  struct KeyedLiteral {
    std::string term;
    Key key;
  };
  std::vector<KeyedTerm> terms_;
  std::vector<KeyedLiteral> literals_;
  std::vector<Key> places_;
  std::size_t literal_bytes_ = 0;
  std::array<std::uint32_t, num_document_streams> stream_places_{};
  SegmentCounts counts_;
};

/// Views of an encoded segment, whose bytes aren't trusted. A position stores the *id* of its term in the segment: 0 is
/// a phrase end, then come the index's terms by number, then the literals in byte order.
class ForwardSegment {
 public:
  /// Bytes after a segment that decoding may read.
  static constexpr std::size_t slack_bytes = 72;

  /// Reads the segment at `reader`'s position; slack_bytes after it must be readable. Throws CorruptFile, with the
  /// reader's text.
  ForwardSegment(ByteReader& reader, std::uint64_t index_terms);

  /// Positions of each stream.
  const std::array<std::uint32_t, num_document_streams>& stream_places() const { return stream_places_; }
  std::uint32_t places() const { return places_; }
  std::uint32_t num_terms() const { return num_terms_; }
  std::uint32_t num_literals() const { return num_literals_; }

  /// Bytes that decoding reads.
  std::uint64_t bytes() const { return lows_.size() + highs_.size() + literals_.size() + ids_.size(); }

  /// State of a search for ascending numbers.
  struct NumberSearch {
    std::uint64_t word = 0;             ///< of the unary part
    std::uint64_t zeros = 0, ones = 0;  ///< before it
  };
  /// The ID of a term of the index; 0 if the segment doesn't contain it.
  std::uint32_t id_of(term_t number) const {
    NumberSearch search;
    return id_of(number, search);
  }
  /// The ID for successive terms: `number` must not decrease within a search.
  std::uint32_t id_of(term_t number, NumberSearch& search) const;
  /// The ID of a term without a list in the index; 0 if the segment doesn't contain it.
  std::uint32_t id_of(std::string_view literal) const;
  /// Calls found(i, id) for each of n ascending terms, text_of(i), that is a literal of the segment. Takes a single
  /// pass.
  template <class TextOf, class Found>
  void find_literals(std::size_t n, TextOf&& text_of, Found&& found) const {
    ByteReader reader(literals_, literals_name);
    std::size_t i = 0;
    for (std::uint32_t at = 0; at < num_literals_ && i < n; ++at) {
      const std::string_view literal = reader.string();
      while (i < n && text_of(i) < literal) ++i;
      if (i < n && text_of(i) == literal) found(i++, num_terms_ + at + 1);
    }
  }

  /// Decodes the IDs of the positions [from, from + n) into `out`, which needs space for n + unpack_slack values
  /// (kernels.hpp). IDs of damaged files may exceed the number of terms.
  void unpack(std::uint32_t from, std::uint32_t n, std::uint32_t* out) const;

  /// The terms of all IDs from 1: ascending numbers of index terms, then literals. Throws CorruptFile with `what` if
  /// the segment violates forward.md.
  void read_terms(std::vector<term_t>& numbers, std::vector<std::string_view>& literals, std::string_view what) const;

 private:
  /// Name of the literals in messages.
  static constexpr const char* literals_name = "a literal term of the forward file";

  std::uint64_t high_word(std::uint64_t i) const;

  std::uint64_t index_terms_ = 0;
  std::array<std::uint32_t, num_document_streams> stream_places_{};
  std::uint32_t places_ = 0, num_terms_ = 0, num_literals_ = 0;
  unsigned low_bits_ = 0, id_bits_ = 0;
  ByteView lows_, highs_, literals_, ids_;
};

// Field sizes of a forward segment (forward.md), for CPU and GPU.

/// Bits of a number without leading zeros; 0 for 0. std::bit_width() gives wrong results in kernels (CUDA 13).
constexpr unsigned width_of(std::uint64_t number) {
  unsigned width = 0;
  for (unsigned step = 32; step > 0; step /= 2) {
    if (number >> step == 0) continue;
    number >>= step;
    width += step;
  }
  return width + static_cast<unsigned>(number);
}

constexpr std::uint64_t bytes_of_bits(std::uint64_t bits) { return (bits + 7) / 8; }

/// Low bits that need the least space in Elias-Fano coding (Elias 1974, Fano 1971) of n ascending numbers below
/// `universe`: packed low bits and unary high parts.
constexpr unsigned low_bits_of(std::uint64_t universe, std::uint64_t n) {
  return n == 0 || universe <= n ? 0 : width_of(universe / n) - 1;
}

/// Bits of the unary part: a one per number, a zero after each high part.
constexpr std::uint64_t high_bits_of(std::uint64_t universe, std::uint64_t n, unsigned low_bits) {
  return n == 0 ? 0 : n + (universe >> low_bits) + 1;
}

/// Bits of an ID in a segment with this many terms, literals included.
constexpr unsigned id_bits_of(std::uint64_t terms) { return width_of(terms); }

}  // namespace quern
