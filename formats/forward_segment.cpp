#include "quern/formats/forward_segment.hpp"

#include <bit>

#include "quern/codec/bit_packing.hpp"
#include "quern/codec/kernels.hpp"

namespace quern {
namespace {

/// Appends n values of `width` bits, low bits first.
void append_packed(std::span<const std::uint32_t> values, unsigned width, Bytes& out) {
  const std::uint64_t bits = values.size() * std::uint64_t{width};
  std::vector<std::uint32_t> words(words_of_bits(bits) + pack_slack_words);
  pack(values.data(), static_cast<unsigned>(values.size()), width, words.data(), 0);
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(words.data());
  out.insert(out.end(), bytes, bytes + bytes_of_bits(bits));
}

/// Reads a value of `width` bits at any bit; 8 more bytes must be readable.
std::uint32_t value_at(const std::uint8_t* bytes, std::uint64_t bit, unsigned width) {
  return static_cast<std::uint32_t>(load_le<std::uint64_t>(bytes + bit / 8) >> bit % 8) & low_mask(width);
}

/// Position of the word's n-th one bit (from 0), which must exist.
unsigned nth_one(std::uint64_t word, unsigned n) {
  for (; n > 0; --n) word &= word - 1;
  return static_cast<unsigned>(std::countr_zero(word));
}

}  // namespace

SegmentCounts& SegmentCounts::operator+=(const SegmentCounts& other) {
  for (std::size_t stream = 0; stream < num_document_streams; ++stream) tokens[stream] += other.tokens[stream];
  phrase_ends += other.phrase_ends;
  literals += other.literals;
  segments += other.segments;
  return *this;
}

SegmentBuilder::Key SegmentBuilder::add_term(term_t number) {
  const auto key = static_cast<Key>(terms_.size() + literals_.size() + 1);
  terms_.push_back({number, key});
  return key;
}

SegmentBuilder::Key SegmentBuilder::add_literal(std::string_view term, bool whole_has_list) {
  const auto key = static_cast<Key>(terms_.size() + literals_.size() + 1);
  literals_.push_back({std::string(term), key});
  if (!whole_has_list) literal_bytes_ += term.size();
  return key;
}

std::vector<std::uint32_t> SegmentBuilder::ids_of_keys(Bytes& literals) {
  std::sort(terms_.begin(), terms_.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  std::sort(literals_.begin(), literals_.end(), [](const auto& a, const auto& b) { return a.term < b.term; });
  std::vector<std::uint32_t> ids(terms_.size() + literals_.size() + 1);
  std::uint32_t id = 1;
  for (const KeyedTerm& term : terms_) ids[term.key] = id++;
  for (const KeyedLiteral& literal : literals_) {
    ids[literal.key] = id++;
    put_string(literals, literal.term);
  }
  return ids;
}

void SegmentBuilder::encode(std::uint64_t index_terms, Bytes& out) {
  if (!places_.empty()) {
    Bytes literals;
    const std::vector<std::uint32_t> ids = ids_of_keys(literals);
    for (const std::uint32_t places : stream_places_) put_varint(out, places);
    put_varint(out, terms_.size());
    put_varint(out, literals_.size());
    put_varint(out, literals.size());

    const unsigned low_bits = low_bits_of(index_terms, terms_.size());
    std::vector<std::uint32_t> lows;
    lows.reserve(terms_.size());
    Bytes highs(bytes_of_bits(high_bits_of(index_terms, terms_.size(), low_bits)));
    for (std::uint64_t i = 0; i < terms_.size(); ++i) {
      lows.push_back(terms_[i].number & low_mask(low_bits));
      const std::uint64_t bit = (terms_[i].number >> low_bits) + i;
      highs[bit / 8] |= static_cast<std::uint8_t>(1u << bit % 8);
    }
    append_packed(lows, low_bits, out);
    out.insert(out.end(), highs.begin(), highs.end());
    out.insert(out.end(), literals.begin(), literals.end());
    for (Key& place : places_) place = ids[place];
    append_packed(places_, id_bits_of(terms_.size() + literals_.size()), out);
    counts_.literals += literals_.size();
    ++counts_.segments;
  }
  terms_.clear();
  literals_.clear();
  literal_bytes_ = 0;
  places_.clear();
  stream_places_ = {};
}

ForwardSegment::ForwardSegment(ByteReader& reader, std::uint64_t index_terms) : index_terms_(index_terms) {
  std::uint64_t places = 0;
  for (std::uint32_t& stream_size : stream_places_) {
    stream_size = reader.varint32();
    places += stream_size;
  }
  num_terms_ = reader.varint32();
  num_literals_ = reader.varint32();
  if (places == 0 || places > max_segment_places) reader.fail("a segment has an impossible number of places");
  if (std::uint64_t{num_terms_} + num_literals_ > places || num_terms_ > index_terms)
    reader.fail("a segment has more terms than places");
  const std::uint32_t literal_bytes = reader.varint32();
  places_ = static_cast<std::uint32_t>(places);
  low_bits_ = low_bits_of(index_terms, num_terms_);
  id_bits_ = id_bits_of(std::uint64_t{num_terms_} + num_literals_);
  lows_ = reader.take(bytes_of_bits(std::uint64_t{num_terms_} * low_bits_));
  highs_ = reader.take(bytes_of_bits(high_bits_of(index_terms, num_terms_, low_bits_)));
  literals_ = reader.take(literal_bytes);
  ids_ = reader.take(bytes_of_bits(places * id_bits_));
}

/// 64 bits of the unary part; zeros after its end.
std::uint64_t ForwardSegment::high_word(std::uint64_t i) const {
  const std::uint64_t left = highs_.size() - i * 8;
  const auto word = load_le<std::uint64_t>(highs_.data() + i * 8);
  return left >= 8 ? word : word & ((std::uint64_t{1} << left * 8) - 1);
}

std::uint32_t ForwardSegment::id_of(term_t number, NumberSearch& search) const {
  const std::uint64_t high = number >> low_bits_;
  const std::uint64_t words = (highs_.size() + 7) / 8;
  // The ones of a high part follow the zero that ends the previous high part.
  auto [word, zeros, ones] = search;
  std::uint64_t bits = 0;
  for (; word < words; ++word) {
    bits = high_word(word);
    const auto ones_here = static_cast<unsigned>(std::popcount(bits));
    if (zeros + (64 - ones_here) >= high) break;
    zeros += 64 - ones_here;
    ones += ones_here;
  }
  search = {word, zeros, ones};
  if (word == words) return 0;
  unsigned bit = 0;
  if (high > zeros) {
    bit = nth_one(~bits, static_cast<unsigned>(high - zeros - 1)) + 1;
    ones += static_cast<unsigned>(std::popcount(bits & ((std::uint64_t{1} << (bit - 1)) - 1)));
  }
  const std::uint32_t low = number & low_mask(low_bits_);
  for (;; ++bit) {
    if (bit == 64) {
      if (++word == words) return 0;
      bits = high_word(word);
      bit = 0;
    }
    if ((bits >> bit & 1) == 0 || ones >= num_terms_) return 0;
    const std::uint32_t found = value_at(lows_.data(), ones * low_bits_, low_bits_);
    if (found == low) return static_cast<std::uint32_t>(ones) + 1;
    if (found > low) return 0;
    ++ones;
  }
}

std::uint32_t ForwardSegment::id_of(std::string_view literal) const {
  ByteReader reader(literals_, literals_name);
  for (std::uint32_t i = 0; i < num_literals_; ++i)
    if (const std::string_view found = reader.string(); found >= literal)
      return found == literal ? num_terms_ + i + 1 : 0;
  return 0;
}

void ForwardSegment::unpack(std::uint32_t from, std::uint32_t n, std::uint32_t* out) const {
  // Kernels read words at aligned addresses; ids begin at any bit.
  const std::uint8_t* const bytes = ids_.data();
  const auto past_word = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(bytes) % sizeof(std::uint32_t));
  kernels().unpack(reinterpret_cast<const std::uint32_t*>(bytes - past_word),
                   past_word * 8 + std::uint64_t{from} * id_bits_, id_bits_, n, out);
}

void ForwardSegment::read_terms(std::vector<term_t>& numbers, std::vector<std::string_view>& literals,
                                std::string_view what) const {
  const auto fail = [what](const char* why) { throw CorruptFile(std::string(what) + ": " + why); };
  numbers.clear();
  for (std::uint64_t word = 0; word * 8 < highs_.size(); ++word) {
    for (std::uint64_t bits = high_word(word); bits != 0; bits &= bits - 1) {
      if (numbers.size() == num_terms_) fail("a segment has more terms than its header says");
      const std::uint64_t high = word * 64 + static_cast<unsigned>(std::countr_zero(bits)) - numbers.size();
      const std::uint64_t number = high << low_bits_ | value_at(lows_.data(), numbers.size() * low_bits_, low_bits_);
      if (number >= index_terms_) fail("a term is not in the index");
      if (!numbers.empty() && number <= numbers.back()) fail("terms do not ascend");
      numbers.push_back(static_cast<term_t>(number));
    }
  }
  if (numbers.size() != num_terms_) fail("a segment has fewer terms than its header says");
  literals.clear();
  ByteReader reader(literals_, what);
  for (std::uint32_t i = 0; i < num_literals_; ++i) {
    const std::string_view term = reader.string();
    if (term.empty() || (i > 0 && term <= literals.back())) fail("literal terms do not ascend");
    literals.push_back(term);
  }
  if (!reader.done()) fail("has trailing bytes after its literal terms");
}

}  // namespace quern
