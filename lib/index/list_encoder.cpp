#include "quern/index/list_encoder.hpp"

#include <numeric>

#include "quern/codec/short_list.hpp"

namespace quern {
namespace {

/// For codecs with two passes, lists up to this many postings keep their values between the passes.
constexpr std::uint64_t max_kept_postings = 1 << 16;
/// Words and rows of a long list to gather before writing them to its work files.
constexpr std::size_t min_spooled_values = 1 << 14;

/// Computes eight maxima in parallel, since the steps of a single one depend on each other.
float max_of(std::span<const float> values) {
  std::array<float, 8> maxima = {};
  std::size_t i = 0;
  for (; i + 8 <= values.size(); i += 8)
    for (std::size_t lane = 0; lane < 8; ++lane)
      maxima[lane] = maxima[lane] < values[i + lane] ? values[i + lane] : maxima[lane];
  for (; i < values.size(); ++i) maxima[0] = std::max(maxima[0], values[i]);
  return *std::max_element(maxima.begin(), maxima.end());
}

/// Visits the blocks of a list in memory.
auto blocks_of(std::span<const docid_t> docids, std::span<const freq_t> freqs, std::size_t block_size) {
  return [=](auto&& visit) {
    for (std::size_t from = 0; from < docids.size(); from += block_size) {
      const std::size_t n = std::min(block_size, docids.size() - from);
      visit(docids.subspan(from, n), freqs.subspan(from, n));
    }
  };
}

/// Moves the values with goes_first(value) to the front and returns their number. Branch-free, since values are
/// unpredictable (A. Alexandrescu: Lomuto's Comeback, 2020).
template <class GoesFirst>
std::size_t partition(std::span<float> values, GoesFirst&& goes_first) {
  std::size_t first = 0;
  for (float& place : values) {
    const float value = place;
    place = values[first];
    values[first] = value;
    first += goes_first(value) ? 1 : 0;
  }
  return first;
}

/// A value that about `rank` values exceed, estimated from a sample.
float pivot_of(std::span<const float> values, std::size_t rank) {
  std::array<float, 5> sample;
  for (std::size_t i = 0; i < sample.size(); ++i) sample[i] = values[values.size() * i / sample.size()];
  std::sort(sample.begin(), sample.end(), std::greater<>());
  return sample[sample.size() * (rank - 1) / values.size()];
}

}  // namespace

void EncodedBatch::clear() {
  // Release the memory of rare very long lists.
  constexpr std::size_t max_kept_bytes = 1 << 20;
  const auto empty = [](auto& array) {
    array.clear();
    if (array.capacity() * sizeof array[0] > max_kept_bytes) array.shrink_to_fit();
  };
  items.clear();
  empty(words);
  empty(block_last);
  empty(block_offset);
  empty(block_max);
  empty(short_lists);
  empty(weights);
  spooled_weights.clear();
  piece.reset();
  parts.clear();
  is_spooled = false;
  bits = {};
  postings = 0;
}

void EncodedBatch::spool_parts(std::size_t min_values) {
  const auto move = [&](auto& from, auto& to) {
    if (from.size() < min_values) return;
    to.add_all(from);
    from.clear();
  };
  move(words, parts.words);
  move(block_last, parts.block_last);
  move(block_offset, parts.block_offset);
  move(block_max, parts.block_max);
  move(weights, spooled_weights);
}

EncodedList head_of(const EncodedBatch::Item& item) {
  EncodedList list;
  list.df = item.df;
  list.cf = item.cf;
  list.kth_impact = item.kth_impact;
  list.max_impact = item.kth_impact[0];
  return list;
}

EncodedList EncodedBatch::list(const Item& item) const {
  EncodedList list = head_of(item);
  list.short_list = ByteView(short_lists).subspan(item.first_byte, item.bytes);
  if (is_spooled) return list;
  list.words = WordView(words).subspan(item.first_word, item.words);
  list.block_last = std::span<const docid_t>(block_last).subspan(item.first_row, item.rows);
  list.block_offset = std::span<const std::uint32_t>(block_offset).subspan(item.first_row, item.rows);
  list.block_max = std::span<const std::uint16_t>(block_max).subspan(item.first_row, item.rows);
  return list;
}

bool encodes_pieces(const Codec& codec, const CodecOptions& options) {
  return !codec.make_encoder(options)->needs_statistics();
}

ListEncoding::ListEncoding(const EncodingContext& context)
    : context_(context), encoder_(context.codec->make_encoder(context.options)) {}

void ListEncoding::fail_to_rise(term_t term) const {
  throw CorruptFile("{}: a document occurs twice in the list of term {}", context_.source, term);
}

ListEncoding::CodedValues ListEncoding::add_values(term_t term, std::span<const docid_t> docids,
                                                   std::span<const freq_t> freqs, docid_t before) {
  const std::size_t first = gaps_.size(), n = docids.size();
  gaps_.resize(first + n);
  freqs_less_one_.resize(first + n);
  std::uint32_t* const gaps = gaps_.data() + first;
  std::uint32_t* const less_one = freqs_less_one_.data() + first;
  gaps[0] = docids[0] - before - 1;
  std::uint32_t falls = before != end_docid && docids[0] <= before;
  for (std::size_t i = 1; i < n; ++i) {
    gaps[i] = docids[i] - docids[i - 1] - 1;
    falls |= docids[i] <= docids[i - 1];
  }
  if (falls != 0) fail_to_rise(term);
  if (context_.impacts)
    std::fill_n(less_one, n, 0);
  else
    for (std::size_t i = 0; i < n; ++i) less_one[i] = freqs[i] - 1;
  return {{gaps, n}, {less_one, n}};
}

void ListEncoding::forget_values() {
  gaps_.clear();
  freqs_less_one_.clear();
}

void ListEncoding::check_weights(term_t term, std::span<const freq_t> freqs) const {
  if (!context_.impacts) return;
  const std::uint32_t max_weight = context_.impacts->max_weight();
  for (const freq_t weight : freqs)
    if (weight > max_weight)
      throw CorruptFile("{}: the list of term {} has the weight {}, but {} bits hold at most {}", context_.source, term,
                        weight, context_.impacts->bits, max_weight);
}

float ListEncoding::add_impacts(std::span<const docid_t> docids, std::span<const freq_t> freqs) {
  // Plain loops that compilers vectorize.
  impacts_.resize(docids.size());
  float* const impacts = impacts_.data();
  if (context_.impacts) {
    const ImpactSettings settings = *context_.impacts;
    for (std::size_t i = 0; i < freqs.size(); ++i) impacts[i] = settings.impact_of(freqs[i]);
  } else {
    const float* const constants = context_.constants.data();
    for (std::size_t i = 0; i < freqs.size(); ++i) impacts[i] = impact(freqs[i], constants[docids[i]]);
  }
  const float max_impact = max_of(impacts_);
  top_.add(impacts_, max_impact);
  return max_impact;
}

void ListEncoding::encode_short_list(term_t term, std::span<const docid_t> docids, std::span<const freq_t> freqs,
                                     EncodedBatch& out) {
  EncodedBatch::Item item;
  item.term = term;
  item.df = docids.size();
  item.first_byte = out.short_lists.size();
  for (std::size_t i = 0; i < docids.size(); ++i) {
    if (i > 0 && docids[i] <= docids[i - 1]) fail_to_rise(term);
    item.cf += freqs[i];
    item.kth_impact[0] = std::max(item.kth_impact[0], impact_of(docids[i], freqs[i]));
  }
  check_weights(term, freqs);
  const CodedBits bits = put_short_list(docids, freqs, context_.num_documents, out.short_lists);
  out.bits.docid_bits += bits.docid_bits;
  out.bits.freq_bits += bits.freq_bits;
  item.bytes = out.short_lists.size() - item.first_byte;
  out.items.push_back(item);
}

void ListEncoding::put_block(const CodedValues& values, EncodedBatch::Item& item, bool has_rows, EncodedBatch& out) {
  const std::size_t offset = out.num_words() - item.first_word;
  if (offset > 0xffffffffu) fail_for_long_list();
  if (has_rows) out.block_offset.push_back(static_cast<std::uint32_t>(offset));
  encoder_->put_block(values.gaps, values.freqs_less_one, out.words);
  if (out.is_spooled) out.spool_parts(min_spooled_values);
}

void ListEncoding::put_kept_blocks(EncodedBatch::Item& item, bool has_rows, EncodedBatch& out) {
  const std::size_t block_size = context_.options.block_size;
  for (std::size_t from = 0; from < item.df; from += block_size) {
    const std::size_t n = std::min<std::size_t>(block_size, item.df - from);
    put_block({{gaps_.data() + from, n}, {freqs_less_one_.data() + from, n}}, item, has_rows, out);
  }
}

/// Visits the blocks once if the codec needs no statistics or their values fit in memory, otherwise twice.
template <class ForEachBlock>
void ListEncoding::encode_list(const Range& range, const ForEachBlock& for_each_block, EncodedBatch& out) {
  EncodedBatch::Item item;
  item.term = range.term;
  item.df = range.df;
  item.first_word = out.words.size();
  item.first_row = out.block_last.size();
  const bool has_rows = range.df > context_.options.block_size;
  const bool observe = encoder_->needs_statistics(), keep = observe && range.df <= max_kept_postings;

  encoder_->start_list();
  top_.clear();
  forget_values();
  if (!observe && range.has_list_begin) encoder_->put_header(out.words);
  docid_t before = range.before;
  for_each_block([&](std::span<const docid_t> docids, std::span<const freq_t> freqs) {
    if (!keep) forget_values();
    check_weights(range.term, freqs);
    if (context_.impacts) out.weights.insert(out.weights.end(), freqs.begin(), freqs.end());
    const CodedValues values = add_values(range.term, docids, freqs, before);
    before = docids.back();
    item.cf = std::accumulate(freqs.begin(), freqs.end(), item.cf);
    const float max_impact = add_impacts(docids, freqs);
    if (has_rows) {
      out.block_last.push_back(before);
      out.block_max.push_back(quantize_up(max_impact));
    }
    if (observe) {
      encoder_->observe(values.gaps, values.freqs_less_one);
      if (out.is_spooled) out.spool_parts(min_spooled_values);
    } else {
      put_block(values, item, has_rows, out);
    }
  });
  item.kth_impact = top_.at_ranks();

  if (observe) encoder_->put_header(out.words);
  if (keep) {
    put_kept_blocks(item, has_rows, out);
  } else if (observe) {
    before = range.before;
    for_each_block([&](std::span<const docid_t> docids, std::span<const freq_t> freqs) {
      forget_values();
      put_block(add_values(range.term, docids, freqs, before), item, has_rows, out);
      before = docids.back();
    });
  }
  const CodedBits bits = encoder_->bits();
  out.bits.docid_bits += bits.docid_bits;
  out.bits.freq_bits += bits.freq_bits;
  item.words = out.num_words() - item.first_word;
  item.rows = out.num_rows() - item.first_row;
  out.items.push_back(item);
}

void ListEncoding::part_columns(std::span<const Posting> postings) {
  docids_.resize(postings.size());
  freqs_.resize(postings.size());
  for (std::size_t i = 0; i < postings.size(); ++i) {
    docids_[i] = postings[i].docid;
    freqs_[i] = postings[i].freq;
  }
}

void ListEncoding::encode_lists(const ListColumns& columns, EncodedBatch& out) {
  std::span<const docid_t> docids = columns.docids;
  std::span<const freq_t> freqs = columns.freqs;
  for (const auto& [term, df] : columns.lists) {
    const auto list_docids = docids.first(df);
    const auto list_freqs = freqs.first(df);
    docids = docids.subspan(df);
    freqs = freqs.subspan(df);
    if (df <= max_short_list)
      encode_short_list(term, list_docids, list_freqs, out);
    else
      encode_list({term, df}, blocks_of(list_docids, list_freqs, context_.options.block_size), out);
  }
}

void ListEncoding::encode_lists(std::span<const Posting> postings, EncodedBatch& out) {
  const auto blocks = [&](std::span<const Posting> list) {
    return [this, list, block_size = std::size_t{context_.options.block_size}](auto&& visit) {
      for (std::size_t from = 0; from < list.size(); from += block_size) {
        part_columns(list.subspan(from, std::min(block_size, list.size() - from)));
        visit(docids_, freqs_);
      }
    };
  };
  while (!postings.empty()) {
    const term_t term = postings.front().term;
    std::size_t df = 1;
    while (df < postings.size() && postings[df].term == term) ++df;
    const auto list = postings.first(df);
    postings = postings.subspan(df);
    if (df <= max_short_list) {
      part_columns(list);
      encode_short_list(term, docids_, freqs_, out);
      continue;
    }
    encode_list({term, df}, blocks(list), out);
  }
}

void ListEncoding::encode_piece(const ListPiece& piece, EncodedBatch& out) {
  std::span<const docid_t> docids = piece.docids;
  std::span<const freq_t> freqs = piece.freqs;
  Range range = {piece.term, piece.df};
  if (piece.first > 0) {
    range.has_list_begin = false;
    range.before = docids.front();
    docids = docids.subspan(1);
    freqs = freqs.subspan(1);
  }
  out.postings = docids.size();
  encode_list(range, blocks_of(docids, freqs, context_.options.block_size), out);
  out.piece = {piece.first, top_};
}

void ListEncoding::encode_long_list(const LongList& list, EncodedBatch& out) {
  const std::uint64_t block_size = context_.options.block_size;
  encode_list(
      {list.term, list.size},
      [&](auto&& visit) {
        // Read many blocks at a time, since each read is a system call.
        const std::uint64_t postings_per_read = block_size * 64;
        std::vector<SpooledPosting> postings;
        for (std::uint64_t from = 0; from < list.size; from += postings_per_read) {
          postings.resize(std::min(postings_per_read, list.size - from));
          list.postings->read(list.first + from, postings);
          for (std::size_t at = 0; at < postings.size(); at += block_size) {
            docids_.clear();
            freqs_.clear();
            for (std::size_t i = at; i < std::min<std::size_t>(at + block_size, postings.size()); ++i) {
              docids_.push_back(postings[i].docid);
              freqs_.push_back(postings[i].freq);
            }
            visit(docids_, freqs_);
          }
        }
      },
      out);
}

void ListEncoding::encode(Lists&& lists, EncodedBatch& out) {
  out.clear();
  if (const auto* list = std::get_if<LongList>(&lists)) {
    out.postings = list->size;
    out.is_spooled = true;
    encode_long_list(*list, out);
    out.spool_parts(0);
    return;
  }
  if (const auto* piece = std::get_if<ListPiece>(&lists)) return encode_piece(*piece, out);
  if (const auto* columns = std::get_if<ListColumns>(&lists)) {
    out.postings = columns->docids.size();
    return encode_lists(*columns, out);
  }
  if (auto* unsorted = std::get_if<UnsortedLists>(&lists)) {
    sort_postings(unsorted->postings, scratch_, 1);
    lists = OwnedLists{std::move(unsorted->postings)};
  }
  const auto* viewed = std::get_if<ViewedLists>(&lists);
  const std::span<const Posting> postings = viewed ? viewed->postings : std::get<OwnedLists>(lists).postings;
  out.postings = postings.size();
  encode_lists(postings, out);
}

void put_greatest_first(std::span<float> values, std::size_t count) {
  // Give up after many bad pivots; std::nth_element() handles any values.
  constexpr std::size_t few = 16;
  constexpr unsigned max_rounds = 32;
  for (unsigned round = 0; round < max_rounds && values.size() > few; ++round) {
    const float pivot = pivot_of(values, count);
    const std::size_t greater = partition(values, [&](float value) { return value > pivot; });
    if (count <= greater) {
      values = values.first(greater);
      continue;
    }
    values = values.subspan(greater);
    count -= greater;
    const std::size_t equal = partition(values, [&](float value) { return !(value < pivot); });
    if (count <= equal) return;
    values = values.subspan(equal);
    count -= equal;
  }
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count) - 1, values.end(),
                   std::greater<>());
}

}  // namespace quern
