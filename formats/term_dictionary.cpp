#include "quern/formats/term_dictionary.hpp"

namespace quern {
namespace {

constexpr std::size_t flush_bytes = 64 << 10;
/// Few enough for instant opening and for the first-level cache, where most steps of a look-up then run.
constexpr std::uint64_t max_guides = 1024;

std::size_t shared_prefix(std::string_view a, std::string_view b) {
  const std::size_t limit = std::min(a.size(), b.size());
  return static_cast<std::size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(limit), b.begin()).first - a.begin());
}

/// Number of blocks for this many terms.
std::uint64_t blocks_of(std::uint64_t num_terms) {
  return num_terms / terms_per_block + (num_terms % terms_per_block != 0);
}

/// Number of terms in block `i`: all blocks except the last are full.
std::uint64_t terms_of_block(std::uint64_t i, std::uint64_t num_terms) {
  return std::min<std::uint64_t>(terms_per_block, num_terms - i * terms_per_block);
}

std::string dictionary_name(const ContainerReader& container, std::string_view name) {
  return container.name() + ": section '" + std::string(name) + "'";
}

/// Throws unless offsets ascend, stay within the section and leave enough space.
void check_offsets(const ContainerReader& container, std::string_view name, std::span<const std::uint64_t> offsets,
                   std::uint64_t size) {
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
    if (offsets[i] >= offsets[i + 1] || offsets[i + 1] > size) container.fail(name, "its block offsets do not ascend");
}

/// The first term of a block, which is stored whole.
std::string_view first_term_of(ByteView block, std::string_view what) {
  ByteReader reader(block, what);
  reader.varint();
  return reader.string();
}

}  // namespace

std::uint64_t leading_bytes(std::string_view term) {
  if (term.size() >= 8) return __builtin_bswap64(load_le<std::uint64_t>(term.data()));
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < 8; ++i) bytes = bytes << 8 | (i < term.size() ? static_cast<unsigned char>(term[i]) : 0);
  return bytes;
}

void DictionaryWriter::add(std::string_view term, ByteView payload) {
  if (count_ > 0 && term <= last_) throw Error("term dictionary: terms out of order");
  std::size_t shared = 0;
  if (at_block_start())
    put_offset(written_ + buffer_.size());
  else
    shared = shared_prefix(last_, term);
  put_varint(buffer_, shared);
  put_string(buffer_, term.substr(shared));
  put_varint(buffer_, payload.size());
  buffer_.insert(buffer_.end(), payload.begin(), payload.end());
  last_ = term;
  ++count_;
  if (buffer_.size() >= flush_bytes) {
    sink_(buffer_);
    written_ += buffer_.size();
    buffer_.clear();
  }
}

const Spool& DictionaryWriter::finish() {
  sink_(buffer_);
  written_ += buffer_.size();
  buffer_.clear();
  put_offset(written_);
  return offsets_;
}

bool DictionaryBlock::next(DictionaryEntry& entry) {
  if (left_ == 0) {
    if (!reader_.done()) reader_.fail("a block has trailing bytes after its last term");
    return false;
  }
  --left_;
  const std::uint64_t shared = reader_.varint();
  if (shared > term_.size()) reader_.fail("a term shares more bytes than its predecessor has");
  term_.resize(shared);
  term_ += reader_.string();
  entry.term = term_;
  entry.payload = reader_.take(reader_.varint());
  return true;
}

TermDictionary::TermDictionary(const ContainerReader& container, std::string_view name, std::uint64_t num_terms)
    : bytes_(container, name), size_(num_terms), what_(dictionary_name(container, name)) {
  const std::string offsets_name = std::string(name) + "_blocks";
  container.check_section(offsets_name);
  offsets_ = container.array<std::uint64_t>(offsets_name);
  container.check_count(container.find(offsets_name), blocks_of(num_terms) + 1, sizeof(std::uint64_t));
  if (offsets_.front() != 0 || offsets_.back() != bytes_.size())
    container.fail(name, "its block offsets do not match its contents");
  make_guides();
}

void TermDictionary::make_guides() {
  // Each guide maps some pages, and all of them may exceed the memory budget.
  constexpr std::size_t guides_per_release = 64;
  guide_stride_ = num_blocks() / max_guides + 1;
  for (std::uint64_t block = 0; block < num_blocks(); block += guide_stride_) {
    guides_.push_back(leading_bytes(first_term(block)));
    if (guide_stride_ > 1 && guides_.size() % guides_per_release == 0) bytes_.release();
  }
}

std::string_view TermDictionary::first_term(std::uint64_t i) const { return first_term_of(block_bytes(i), what_); }

ByteView TermDictionary::block_bytes(std::uint64_t i) const {
  const std::uint64_t from = offsets_[i], to = offsets_[i + 1];
  if (from >= to || to > bytes_.size()) throw CorruptFile(what_ + ": block offsets do not ascend");
  return bytes_.bytes(from, to);
}

DictionaryBlock TermDictionary::block(std::uint64_t i) const {
  return DictionaryBlock(block_bytes(i), terms_of_block(i, size_), what_);
}

std::optional<std::uint64_t> TermDictionary::block_of(std::string_view term) const {
  // Guides equal to the term's leading bytes may belong to lesser or greater terms; all others decide.
  const auto [first, last] = std::equal_range(guides_.begin(), guides_.end(), leading_bytes(term));
  const auto guides_below = static_cast<std::uint64_t>(first - guides_.begin());
  // The first term of block `low` - 1 is <= term, that of `high` is not.
  const std::uint64_t low = guides_below == 0 ? 0 : (guides_below - 1) * guide_stride_ + 1;
  const std::uint64_t high =
      last == guides_.end() ? num_blocks() : static_cast<std::uint64_t>(last - guides_.begin()) * guide_stride_;
  const std::uint64_t next = first_without(low, high, [&](std::uint64_t i) { return first_term(i) <= term; });
  if (next == 0) return std::nullopt;
  return next - 1;
}

DictionaryScan::DictionaryScan(const ContainerReader& container, std::string_view name, std::uint64_t num_terms,
                               std::uint64_t blocks_at_once)
    : container_(container),
      bytes_(container.find(name)),
      offsets_(container.find(std::string(name) + "_blocks")),
      size_(num_terms),
      what_(dictionary_name(container, name)),
      num_blocks_(blocks_of(num_terms)),
      blocks_at_once_(blocks_at_once) {
  container.check_count(offsets_, num_blocks_ + 1, sizeof(std::uint64_t));
}

void DictionaryScan::read_piece() {
  const std::uint64_t count = std::min(blocks_at_once_ - blocks_left(), num_blocks_ - next_block_);
  const std::uint64_t front = piece_offsets_.empty() ? 0 : piece_offsets_[in_piece_] - piece_offsets_.front();
  piece_.erase(piece_.begin(), piece_.begin() + static_cast<std::ptrdiff_t>(front));
  piece_offsets_.erase(piece_offsets_.begin(), piece_offsets_.begin() + static_cast<std::ptrdiff_t>(in_piece_));
  in_piece_ = 0;
  // The last block ends where the next one begins.
  const std::size_t known = piece_offsets_.size();
  const std::uint64_t first = next_block_ + (known > 0 ? 1 : 0);
  piece_offsets_.resize(known + next_block_ + count + 1 - first);
  container_.file().read_at(offsets_.offset + first * 8,
                            {reinterpret_cast<std::uint8_t*>(piece_offsets_.data() + known),
                             (piece_offsets_.size() - known) * sizeof(std::uint64_t)});
  check_offsets(container_, bytes_.name, piece_offsets_, bytes_.size);
  if (next_block_ == 0 && piece_offsets_.front() != 0)
    container_.fail(bytes_.name, "its block offsets do not match its contents");
  const std::size_t kept = piece_.size();
  piece_.resize(piece_offsets_.back() - piece_offsets_.front());
  container_.file().read_at(bytes_.offset + piece_offsets_.front() + kept, std::span(piece_).subspan(kept));
  next_block_ += count;
}

ByteView DictionaryScan::piece_block(std::size_t i) const {
  const std::uint64_t from = piece_offsets_[i] - piece_offsets_.front();
  return ByteView(piece_).subspan(from, piece_offsets_[i + 1] - piece_offsets_[i]);
}

std::optional<std::string_view> DictionaryScan::bound() const {
  if (next_block_ == num_blocks_) return std::nullopt;
  return first_term_of(piece_block(piece_offsets_.size() - 2), what_);
}

bool DictionaryScan::next(DictionaryEntry& entry) {
  for (;;) {
    if (block_ && block_->next(entry)) return true;
    // Early enough for bound() to be a later term.
    if (next_block_ < num_blocks_ && blocks_left() < std::max<std::uint64_t>(1, blocks_at_once_ / 2)) read_piece();
    if (blocks_left() == 0) {
      if (!piece_offsets_.empty() && piece_offsets_.back() != bytes_.size)
        container_.fail(bytes_.name, "its block offsets do not match its contents");
      return false;
    }
    const std::uint64_t number = next_block_ - blocks_left();
    block_.emplace(piece_block(in_piece_), terms_of_block(number, size_), what_);
    ++in_piece_;
  }
}

}  // namespace quern
