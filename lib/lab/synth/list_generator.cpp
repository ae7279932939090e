#include "quern/lab/synth/list_generator.hpp"

#include <cmath>

namespace quern {

FreqTables::FreqTables() {
  constexpr double min_mean = 0.04, max_mean = 100;  // means minus one
  for (int level = 0; level < levels; ++level) {
    const double above_one = min_mean * std::pow(max_mean / min_mean, level / (levels - 1.0));
    const double log_q = std::log(above_one / (1 + above_one));
    // Entry i covers probabilities from i / entries to (i + 1) / entries; entry 0 begins the tail.
    for (std::uint32_t i = 0; i < entries; ++i) {
      const double chance = (i == 0 ? 1 : i + 0.5) / entries;
      tables_[static_cast<std::size_t>(level)][i] =
          static_cast<std::uint8_t>(std::min(255.0, 1 + std::log(chance) / log_q));
    }
  }
}

namespace {

/// The effect of bursts and places on the level of frequencies; the effect of the place fades from cut to cut.
constexpr float level_of_intensity = 0.6f, level_of_place = 1.2f, level_keeps = 0.85f;
/// Stronger bursts and emptier places have no further effect.
constexpr float min_intensity = 4, max_intensity = 4;
/// The effect of half an octave of a document's length, below and above the mean.
constexpr float level_if_short = 1.0f, level_if_long = 1.5f;
/// The maximum share of a document's tokens for one term.
constexpr double longest_share = 0.2;
/// Entries of the table of probabilities per factor of e in the odds.
constexpr float steps_per_nat = 48;
/// At most this many postings are placed one by one.
constexpr docid_t few = 4;
/// From this many postings on, the normal distribution approximates binomial numbers.
constexpr docid_t normal_from = 12;
/// Lists omit longer documents as often as those of this step.
constexpr std::uint32_t longest_step = 17;

enum ListPurpose : std::uint64_t { side = 0x5d1b, document = 0xd0c5, shared_pattern = 0x71f3, frequency = 0xf4e9 };

/// Binomially distributed, n draws of chance p, from the bits of (key, place). `room`, the share of documents that are
/// not drawn, reduces the variance, since no document is drawn twice.
docid_t draw_binomial(docid_t n, float p, float room, std::uint64_t key, std::uint64_t place) {
  std::uint64_t bits = noise_bits(key, place);
  if (n < normal_from) {
    const auto chance = static_cast<std::uint32_t>(p * 65536.0f);
    docid_t hits = 0;
    for (docid_t i = 0; i < n; ++i) {
      hits += (bits & 0xffff) < chance;
      bits = (i & 3) == 3 ? mix_bits(bits ^ (place + i)) : bits >> 16;
    }
    return hits;
  }
  const float mean = static_cast<float>(n) * p;
  const float spread = std::sqrt(mean * (1.0f - p) * room);
  const float drawn = mean + spread * normal_of(bits) + unit_of(mix_bits(bits));
  return drawn <= 0 ? 0 : std::min(n, static_cast<docid_t>(drawn));
}

/// All ones if `holds`: selects without the unpredictable branch that compilers make of ?:.
std::uint32_t mask_of(bool holds) { return 0u - static_cast<std::uint32_t>(holds); }

/// The template bits of a part's child, where a template may begin or end.
std::uint32_t template_below(std::uint32_t above, std::uint64_t bits, bool left) {
  constexpr std::uint64_t begins = 40, ends = 24;  // of 256
  const std::uint32_t fresh = static_cast<std::uint32_t>(bits >> (24 & ~mask_of(left))) | 1u << 31;
  const std::uint64_t turn = bits >> 56;
  return (fresh & mask_of(turn < begins)) | (above & mask_of(turn >= begins + ends));
}

docid_t slot_of(std::uint64_t bits, docid_t size) { return static_cast<docid_t>(((bits >> 32) * size) >> 32); }

}  // namespace

ListGenerator::ListGenerator(const DocumentTree& tree) : tree_(tree) {
  constexpr int even = chance_entries / 2;
  for (int i = 0; i < chance_entries; ++i) {
    const double odds = (i - even + 0.5) / steps_per_nat;
    chances_[static_cast<std::size_t>(i)] = static_cast<std::uint16_t>(65536 / (1 + std::exp(-odds)));
  }
  for (unsigned step = 0; step < DocumentTree::length_steps; ++step) {
    const double length = tree.mean_length() * std::exp2((step - 0.0 - DocumentTree::length_step_mean) / 2);
    const float longer = static_cast<float>(step) - DocumentTree::length_step_mean;
    level_of_length_[step] = static_cast<int>(longer * (longer < 0 ? level_if_short : level_if_long));
    max_freqs_[step] = static_cast<freq_t>(length * longest_share) + 1;
  }
}

void ListGenerator::generate(const TermField& term, std::uint64_t first, std::uint64_t end, const Take& take) {
  term_ = term;
  clustered_ = term.own_noise > 0;
  take_ = &take;
  range_first_ = first;
  range_end_ = end;
  left_to_take_ = end - first;
  superfluous_ = size_ = num_waiting_ = num_singles_ = 0;
  place_range({0, 0, tree_.documents(), 0, 0, 0}, static_cast<docid_t>(term.df), 0);
  place_singles();
  fill_leaves();
  flush();
}

void ListGenerator::flush() {
  const std::size_t from = std::exchange(superfluous_, 0), drawn = std::exchange(size_, 0);
  const std::size_t size = std::min<std::uint64_t>(drawn - from, left_to_take_);
  left_to_take_ -= size;
  if (size > 0) (*take_)({docids_.data() + from, size}, {freqs_.data() + from, size});
}

/// The probability of the left side, in 65,536ths.
std::uint32_t ListGenerator::chance_of(float odds) const {
  const float step = std::clamp(odds * steps_per_nat, -chance_entries / 2.0f, chance_entries / 2.0f - 1);
  return chances_[static_cast<std::size_t>(static_cast<int>(step + chance_entries / 2.0f))];
}

/// Divides few postings: draws each one's preference and chance together, from a logistic distribution of their
/// combined width. That needs neither exponentials nor unpredictable branches.
ListGenerator::Cut ListGenerator::cut_few(const Part& part, const DocumentTree::Node& node, docid_t n) const {
  const float push = node.strength * term_.shared_noise * normal_of(noise_bits(term_.shared_key, part.node));
  const std::uint64_t bits = noise_bits(term_.own_key ^ side, part.node);
  const std::uint32_t chance = chance_of((node.left_odds + push) * term_.single_narrowness);
  docid_t left = 0;
  for (docid_t i = 0; i < few; ++i) left += static_cast<docid_t>((bits >> (16 * i) & 0xffff) < chance) & (i < n);
  const docid_t left_room = node.middle - part.first, right_room = part.end - node.middle;
  left = std::clamp(left, n > right_room ? n - right_room : 0, std::min(left_room, n));
  return {0.5f * push, -0.5f * push, level_of_place * other_normal_of(bits), left, bits};
}

ListGenerator::Cut ListGenerator::cut_many(const Part& part, const DocumentTree::Node& node, docid_t n) const {
  const docid_t left = node.middle - part.first, right = part.end - node.middle;
  const std::uint64_t key = term_.own_key ^ side, own = noise_bits(term_.own_key, part.node);
  const float push = node.strength * (term_.own_noise * normal_of(own) +
                                      term_.shared_noise * normal_of(noise_bits(term_.shared_key, part.node)));
  const float density = static_cast<float>(n) / static_cast<float>(left + right);
  Cut cut = {0, 0, level_of_place * other_normal_of(own), 0, own};
  float left_share;
  if (n > (left + right) / 2) {
    // Divides the gaps by the sides' sizes, against the term's preference.
    const docid_t gaps = left + right - n;
    const float odds = static_cast<float>(right) / static_cast<float>(left) * portable_exp(push);
    left_share = odds / (1.0f + odds);
    const docid_t left_gaps = draw_binomial(gaps, 1.0f - left_share, density, key, part.node);
    cut.left = left - std::clamp(left_gaps, gaps > right ? gaps - right : 0, std::min(left, gaps));
  } else {
    const float odds = portable_exp(node.left_odds + push);
    left_share = odds / (1.0f + odds);
    cut.left = std::clamp(draw_binomial(n, left_share, 1.0f - density, key, part.node), n > right ? n - right : 0,
                          std::min(left, n));
  }
  cut.left_intensity = push * (1.0f - left_share);
  cut.right_intensity = -push * left_share;
  return cut;
}

ListGenerator::Cut ListGenerator::cut_of(const Part& part, const DocumentTree::Node& node, docid_t n) const {
  return n <= few ? cut_few(part, node, n) : cut_many(part, node, n);
}

ListGenerator::Part ListGenerator::left_of(const Part& part, const DocumentTree::Node& node, const Cut& cut) const {
  return {part.node + 1,
          part.first,
          node.middle,
          part.intensity + cut.left_intensity,
          level_keeps * part.level + cut.level,
          template_below(part.template_bits, cut.bits, true)};
}

ListGenerator::Part ListGenerator::right_of(const Part& part, const DocumentTree::Node& node, const Cut& cut) const {
  return {node.right,
          node.middle,
          part.end,
          part.intensity + cut.right_intensity,
          level_keeps * part.level - cut.level,
          template_below(part.template_bits, cut.bits, false)};
}

/// Places the part's postings within the range: descends only where the range begins and ends. `first`: the index in
/// the list of the part's first posting. Draws the leaves at both ends whole.
void ListGenerator::place_range(const Part& part, docid_t n, std::uint64_t first) {
  if (first + n <= range_first_ || first >= range_end_) return;
  const bool whole = range_first_ <= first && first + n <= range_end_;
  const DocumentTree::Node& node = tree_.nodes()[part.node];
  if (whole || node.right == 0) {
    if (first < range_first_) superfluous_ = range_first_ - first;
    return place(part, n);
  }
  const Cut cut = cut_of(part, node, n);
  place_range(left_of(part, node, cut), cut.left, first);
  place_range(right_of(part, node, cut), n - cut.left, first + cut.left);
}

void ListGenerator::place(Part part, docid_t n) {
  while (n > 1) {
    const DocumentTree::Node& node = tree_.nodes()[part.node];
    if (node.right == 0) {
      place_singles();  // they come first
      return put_off(part, n);
    }
    const Cut cut = cut_of(part, node, n);
    if (cut.left > 0) place(left_of(part, node, cut), cut.left);
    part = right_of(part, node, cut);
    n -= cut.left;
  }
  if (n == 0) return;
  singles_[num_singles_++] = part;
  if (num_singles_ == max_singles) place_singles();
}

/// Moves parts with a single posting down to a leaf, choosing sides as cut_few() would.
void ListGenerator::descend(Part& part, const DocumentTree::Node& node) const {
  const float push = node.strength * term_.shared_noise * normal_of(noise_bits(term_.shared_key, part.node));
  const std::uint64_t bits = noise_bits(term_.own_key ^ side, part.node);
  const bool left = (bits & 0xffff) < chance_of((node.left_odds + push) * term_.single_narrowness);
  const std::uint32_t to_left = mask_of(left), to_right = ~to_left;
  const float sign = static_cast<float>(static_cast<int>(to_left | 1)) * -1.0f;
  part.node = ((part.node + 1) & to_left) | (node.right & to_right);
  part.first = (part.first & to_left) | (node.middle & to_right);
  part.end = (node.middle & to_left) | (part.end & to_right);
  part.intensity += sign * 0.5f * push;
  part.level = level_keeps * part.level + sign * level_of_place * other_normal_of(bits);
  part.template_bits = template_below(part.template_bits, bits, left);
}

/// All descend together, one level at a time: their steps are independent, unlike the levels of one part.
void ListGenerator::place_singles() {
  const DocumentTree::Node* nodes = tree_.nodes().data();
  std::array<std::uint8_t, max_singles> inner;
  std::size_t size = 0;
  for (std::size_t i = 0; i < num_singles_; ++i) {
    inner[size] = static_cast<std::uint8_t>(i);
    size += nodes[singles_[i].node].right != 0;
  }
  while (size > 0) {
    std::size_t left = 0;
    for (std::size_t i = 0; i < size; ++i) {
      Part& part = singles_[inner[i]];
      descend(part, nodes[part.node]);
      inner[left] = inner[i];
      left += nodes[part.node].right != 0;
    }
    size = left;
  }
  const std::size_t placed = std::exchange(num_singles_, 0);
  for (std::size_t i = 0; i < placed; ++i) put_off(singles_[i], 1);
}

/// The level of frequencies in a leaf, without the effect of the documents' lengths.
int ListGenerator::level_in(const Part& leaf) const {
  return static_cast<int>(term_.freq_level +
                          level_of_intensity * std::clamp(leaf.intensity, -min_intensity, max_intensity) + leaf.level);
}

/// Mask of a leaf's documents that are drawn with the random numbers shared by correlated terms.
std::uint64_t ListGenerator::shared_places(docid_t first) const {
  return (term_.own_key ^ shared_pattern) * (2 * std::uint64_t{first} + 1);
}

/// Draws one document of a leaf, by attraction.
docid_t ListGenerator::document_at(docid_t first, docid_t size, std::uint64_t bits) const {
  const docid_t slot = slot_of(bits, size);
  const DocumentTree::Document place = tree_.places()[first + slot];
  const std::uint32_t own = mask_of((bits & 255) <= place.threshold);
  return (slot & own) | (place.alias & ~own);
}

/// Draws n documents of a leaf, as a mask; about half of them with the random numbers shared by correlated terms.
std::uint64_t ListGenerator::draw_documents(docid_t first, docid_t size, docid_t n) const {
  std::uint64_t mask = 0;
  std::uint64_t place = std::uint64_t{first} << 10;
  const std::uint64_t shared = clustered_ ? shared_places(first) : 0;
  docid_t left = n;
  for (std::uint64_t shared_place = shared; left > 0; ++place, shared_place = std::rotl(shared_place, 1)) {
    const std::uint64_t key = (shared_place >> 63) != 0 ? term_.shared_key : term_.own_key;
    const std::uint64_t bit = std::uint64_t{1} << document_at(first, size, noise_bits(key ^ document, place));
    left -= (mask & bit) == 0;
    mask |= bit;
  }
  return mask;
}

/// Draws documents for a leaf that is more than half full, by drawing those to omit, short ones first.
std::uint64_t ListGenerator::draw_gaps(docid_t first, docid_t size, docid_t n) const {
  std::uint64_t mask = size == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << size) - 1;
  std::uint64_t place = std::uint64_t{first} << 10;
  for (docid_t left = size - n; left > 0; ++place) {
    const std::uint64_t bits = noise_bits(term_.own_key ^ document, place);
    const docid_t slot = slot_of(bits, size);
    const std::uint32_t step = std::min<std::uint32_t>(tree_.places()[first + slot].length_step, longest_step);
    const bool spared = clustered_ && (bits & 31) * 12 < step * step;
    const std::uint64_t bit = spared ? 0 : std::uint64_t{1} << slot;
    left -= (mask & bit) != 0;
    mask &= ~bit;
  }
  return mask;
}

void ListGenerator::put_off(const Part& leaf, docid_t n) {
  LeafFill& waiting = waiting_[num_waiting_++];
  waiting = {leaf.first, leaf.end - leaf.first, n, level_in(leaf), leaf.template_bits, 0};
  const DocumentTree::Document* documents = tree_.places().data() + leaf.first;
  if (n == 1) {
    const bool shared = clustered_ && (shared_places(leaf.first) >> 63) != 0;
    waiting.bits = noise_bits((shared ? term_.shared_key : term_.own_key) ^ document, std::uint64_t{leaf.first} << 10);
    __builtin_prefetch(documents + slot_of(waiting.bits, waiting.size));
  } else {
    for (docid_t i = 0; i < waiting.size; i += 64 / sizeof *documents) __builtin_prefetch(documents + i);
  }
  if (num_waiting_ == max_waiting) fill_leaves();
}

void ListGenerator::fill_leaves() {
  for (std::size_t i = 0; i < num_waiting_; ++i)
    if (waiting_[i].n == 1)
      fill_one(waiting_[i]);
    else
      fill_some(waiting_[i]);
  num_waiting_ = 0;
}

void ListGenerator::fill_one(const LeafFill& leaf) {
  const auto bits = leaf.template_bits != 0 ? leaf.template_bits : static_cast<std::uint32_t>(leaf.bits >> 8);
  add(leaf.first + document_at(leaf.first, leaf.size, leaf.bits), leaf.level, bits);
}

void ListGenerator::fill_some(const LeafFill& leaf) {
  std::uint64_t mask =
      2 * leaf.n > leaf.size ? draw_gaps(leaf.first, leaf.size, leaf.n) : draw_documents(leaf.first, leaf.size, leaf.n);
  std::uint64_t bits = 0;
  for (unsigned i = 0; mask != 0; ++i, mask &= mask - 1) {
    bits = (i & 3) == 0 ? noise_bits(term_.own_key ^ frequency, (std::uint64_t{leaf.first} << 6) + i) : bits >> 16;
    add(leaf.first + static_cast<docid_t>(std::countr_zero(mask)), leaf.level,
        leaf.template_bits != 0 ? leaf.template_bits : static_cast<std::uint32_t>(bits));
  }
}

void ListGenerator::add(docid_t document, int level, std::uint32_t bits) {
  const std::uint8_t step = tree_.places()[document].length_step;
  const freq_t freq = freq_tables_.draw(std::clamp(level + level_of_length_[step], 0, FreqTables::levels - 1), bits);
  docids_[size_] = document;
  freqs_[size_] = std::min(freq, max_freqs_[step]);
  if (++size_ == chunk_postings) flush();
}

}  // namespace quern
