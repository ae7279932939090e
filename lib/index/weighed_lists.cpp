#include "quern/index/weighed_lists.hpp"

namespace quern {
namespace {

/// Calls visit(list) for the postings of each term; those of a term are together.
template <class Visit>
void for_each_list(std::span<Posting> postings, Visit&& visit) {
  while (!postings.empty()) {
    std::size_t df = 1;
    while (df < postings.size() && postings[df].term == postings.front().term) ++df;
    visit(postings.first(df));
    postings = postings.subspan(df);
  }
}

/// The postings of an inverter's batch in memory.
std::span<Posting> postings_of(Lists& lists) {
  if (const auto* viewed = std::get_if<ViewedLists>(&lists)) return viewed->postings;
  return std::get<UnsortedLists>(lists).postings;
}

template <class AnyPosting>
void count(std::span<const AnyPosting> postings, TermCounts& counts) {
  counts.df += postings.size();
  for (const AnyPosting& posting : postings) counts.cf += posting.freq;
}

/// Calls visit(postings) for a list on disk, some at a time.
template <class Visit>
void for_each_piece(const LongList& list, Visit&& visit) {
  constexpr std::uint64_t postings_per_read = 8192;
  std::vector<SpooledPosting> postings;
  for (std::uint64_t first = 0; first < list.size; first += postings.size()) {
    postings.resize(std::min(postings_per_read, list.size - first));
    list.postings->read(list.first + first, postings);
    visit(std::span(postings));
  }
}

/// max(1, floor(weight · scale + 1/2)), at most `greatest`; 1 if the weight is not a number.
std::int32_t quantized(double weight, double scale, double greatest) {
  const double steps = weight * scale + 0.5;
  const double at_least_one = steps >= 1.0 ? steps : 1.0;
  return static_cast<std::int32_t>(at_least_one < greatest ? at_least_one : greatest);
}

}  // namespace

template <class AnyPosting>
void PostingWeights::set(const TermCounts& counts, std::span<AnyPosting> postings) const {
  constexpr std::size_t at_once = 128;
  const ModelTerm term{weighting_.values,
                       static_cast<double>(counts.df),
                       static_cast<double>(counts.cf),
                       static_cast<double>(statistics_.documents),
                       static_cast<double>(statistics_.tokens),
                       statistics_.average_length()};
  const double scale = *settings_.scale, greatest = settings_.max_weight();
  const bool has_joined_fields = weighting_.model->factors != nullptr;
  std::array<double, at_once> freqs, lengths, weights;
  for (; !postings.empty(); postings = postings.subspan(std::min(at_once, postings.size()))) {
    const auto some = postings.first(std::min(at_once, postings.size()));
    for (std::size_t i = 0; i < some.size(); ++i) {
      freqs[i] = has_joined_fields ? FieldFactors::joined(some[i].freq) : some[i].freq;
      lengths[i] = lengths_[some[i].docid];
    }
    weighting_.model->weigh(term, std::span(freqs).first(some.size()), std::span(lengths).first(some.size()),
                            weights.data());
    for (std::size_t i = 0; i < some.size(); ++i)
      some[i].freq = static_cast<freq_t>(quantized(weights[i], scale, greatest));
  }
}

bool WeighedLists::next(ListBatch& batch) {
  if (!lists_.next(batch)) return false;
  auto lists = std::make_shared<Lists>(lists_of(std::move(batch)));
  batch = [this, lists, counts = counts_in(*lists)]() -> Lists {
    if (const auto* list = std::get_if<LongList>(lists.get())) return weighed(*list, counts);
    weigh(postings_of(*lists), counts);
    return std::move(*lists);
  };
  return true;
}

std::vector<TermCounts> WeighedLists::counts_in(Lists& lists) const {
  std::vector<TermCounts> counts;
  if (!counts_of_) return counts;
  if (const auto* list = std::get_if<LongList>(&lists)) return {counts_of_(list->term)};
  for_each_list(postings_of(lists),
                [&](std::span<const Posting> list) { counts.push_back(counts_of_(list.front().term)); });
  return counts;
}

void WeighedLists::weigh(std::span<Posting> postings, std::span<const TermCounts> counts) const {
  std::size_t number = 0;
  for_each_list(postings, [&](std::span<Posting> list) {
    TermCounts of_list;
    if (counts.empty())
      count(std::span<const Posting>(list), of_list);
    else
      of_list = counts[number++];
    weights_.set(of_list, list);
  });
}

LongList WeighedLists::weighed(const LongList& list, std::span<const TermCounts> counts) const {
  TermCounts of_list;
  if (counts.empty())
    for_each_piece(list, [&](std::span<const SpooledPosting> piece) { count(piece, of_list); });
  else
    of_list = counts.front();
  auto weights = std::make_shared<RecordSpool<SpooledPosting>>(tmp_folder_);
  for_each_piece(list, [&](std::span<SpooledPosting> piece) {
    weights_.set(of_list, piece);
    weights->add_all(piece);
  });
  return {list.term, list.size, std::move(weights)};
}

}  // namespace quern
