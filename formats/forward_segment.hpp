#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/bytes.hpp"
#include "quern/core/types.hpp"

/// Segments of the forward file: tokens of one document in their order, coded together. See forward.md.
namespace quern {

/// The texts that a document has: in this order in segments, in features and in everything that is printed.
enum class DocumentStream : std::uint8_t { title, body, url, anchor };
inline constexpr std::size_t num_document_streams = 4;
inline constexpr std::array<std::string_view, num_document_streams> document_stream_names = {"title", "body", "url",
                                                                                             "anchor"};

/// A place of a stream is a token or the end of a phrase.
inline constexpr std::size_t max_segment_places = 1 << 16;
/// A segment whose literals take as many bytes is not continued, so that it stays small in memory.
inline constexpr std::size_t enough_literal_bytes = 1 << 20;

/// What segments hold, added up.
struct SegmentCounts {
  std::array<std::uint64_t, num_document_streams> tokens{};  ///< of each stream, without the ends of phrases
  std::uint64_t phrase_ends = 0;
  std::uint64_t literals = 0;  ///< terms that the index has no list of
  std::uint64_t segments = 0;

  SegmentCounts& operator+=(const SegmentCounts& other);
  bool operator==(const SegmentCounts&) const = default;
};

/// Collects the places of a segment and codes it. Each distinct term is added once, and gets a key for its tokens.
class SegmentBuilder {
 public:
  using Key = std::uint32_t;
  static constexpr Key phrase_end_key = 0;

  /// A term by its number in the index's lexicon.
  Key add_term(term_t number);
  /// A term that the index has no list of. `whole_has_list`: the index of all documents has one, of which this index is
  /// a shard; such literals do not fill a segment, so that it ends where that of the whole does.
  Key add_literal(std::string_view term, bool whole_has_list = false);
  /// The next place: the key of a term, or phrase_end_key. Streams come in their order.
  void add_place(DocumentStream stream, Key key) {
    places_.push_back(key);
    ++stream_places_[static_cast<std::size_t>(stream)];
    ++(key == phrase_end_key ? counts_.phrase_ends : counts_.tokens[static_cast<std::size_t>(stream)]);
  }

  std::size_t places() const { return places_.size(); }
  /// Whether the segment has to be coded before another place is added.
  bool is_full() const { return places_.size() == max_segment_places || literal_bytes_ >= enough_literal_bytes; }
  /// Appends the coded segment to `out` and forgets everything, keys too. `index_terms` is the number of the index's
  /// lists. Nothing is appended if there is no place.
  void encode(std::uint64_t index_terms, Bytes& out);
  /// What all segments so far hold, and the places that are not coded yet.
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

/// A coded segment, whose bytes are not trusted: views of them. A place has the *id* of its term in the segment: 0 is
/// the end of a phrase, then come the index's terms in the order of their numbers, then the literals in byte order.
class ForwardSegment {
 public:
  /// Bytes after a segment that decoding may read.
  static constexpr std::size_t slack_bytes = 72;

  /// Reads the segment at the front of `reader`, whose bytes are followed by slack_bytes that may be read. Throws
  /// CorruptFile, with the reader's text.
  ForwardSegment(ByteReader& reader, std::uint64_t index_terms);

  /// Places of each stream.
  const std::array<std::uint32_t, num_document_streams>& stream_places() const { return stream_places_; }
  std::uint32_t places() const { return places_; }
  std::uint32_t num_terms() const { return num_terms_; }
  std::uint32_t num_literals() const { return num_literals_; }

  /// Bytes that decoding it reads.
  std::uint64_t bytes() const { return lows_.size() + highs_.size() + literals_.size() + ids_.size(); }

  /// Where the search for a number ended, from which that for a greater one goes on.
  struct NumberSearch {
    std::uint64_t word = 0;             ///< of the unary part
    std::uint64_t zeros = 0, ones = 0;  ///< before it
  };
  /// The id of a term of the index; 0 if the segment doesn't have it.
  std::uint32_t id_of(term_t number) const {
    NumberSearch search;
    return id_of(number, search);
  }
  /// The same for terms one after the other: numbers of one search never fall.
  std::uint32_t id_of(term_t number, NumberSearch& search) const;
  /// The id of a term that the index has no list of; 0 if the segment doesn't have it.
  std::uint32_t id_of(std::string_view literal) const;
  /// Calls found(i, id) for those of n rising terms, of which text_of(i) is the i-th, that are literals of the segment:
  /// all of them in one pass.
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

  /// Decodes the ids of the places [from, from + n) into `out`, which has space for n and unpack_slack more
  /// (kernels.hpp); ids of damaged files may be greater than there are terms.
  void unpack(std::uint32_t from, std::uint32_t n, std::uint32_t* out) const;

  /// The terms of all ids from 1 on: numbers below the index's number of terms, rising; then the literals. Throws
  /// CorruptFile with `what` unless all of the segment is as forward.md says.
  void read_terms(std::vector<term_t>& numbers, std::vector<std::string_view>& literals, std::string_view what) const;

 private:
  /// What messages call its literals.
  static constexpr const char* literals_name = "a literal term of the forward file";

  std::uint64_t high_word(std::uint64_t i) const;

  std::uint64_t index_terms_ = 0;
  std::array<std::uint32_t, num_document_streams> stream_places_{};
  std::uint32_t places_ = 0, num_terms_ = 0, num_literals_ = 0;
  unsigned low_bits_ = 0, id_bits_ = 0;
  ByteView lows_, highs_, literals_, ids_;
};

// Sizes of a forward segment's fields (forward.md), for every device that reads segments.

/// Bits of a number without zeros in front; 0 of 0. std::bit_width() gives wrong results in kernels (CUDA 13).
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

/// Elias (1974), Fano (1971): n rising numbers below `universe` as low bits, packed, and high parts in unary. This many
/// low bits take the least space.
constexpr unsigned low_bits_of(std::uint64_t universe, std::uint64_t n) {
  return n == 0 || universe <= n ? 0 : width_of(universe / n) - 1;
}

/// Bits of the unary part: a one for each number, a zero after each high part.
constexpr std::uint64_t high_bits_of(std::uint64_t universe, std::uint64_t n, unsigned low_bits) {
  return n == 0 ? 0 : n + (universe >> low_bits) + 1;
}

/// Bits of an id, where a segment has so many terms, literals included.
constexpr unsigned id_bits_of(std::uint64_t terms) { return width_of(terms); }

}  // namespace quern
