#include "quern/index/list_source.hpp"

#include <tbb/parallel_for.h>

#include <bit>

namespace quern {
namespace {

constexpr unsigned max_digit_bits = 11;
constexpr std::size_t min_part = 1 << 14;

/// Divides `bits` into the fewest digits of about equal width.
unsigned digit_bits(unsigned bits) {
  const unsigned passes = (bits + max_digit_bits - 1) / max_digit_bits;
  return (bits + passes - 1) / passes;
}

/// One stable pass over the digit returned by `digit_of`. for_each(part, visit) visits a part's postings in order.
template <class ForEach, class DigitOf>
void distribute(std::vector<Posting>& to, unsigned bits, std::size_t parts, ForEach&& for_each, DigitOf&& digit_of) {
  const std::size_t digits = std::size_t{1} << bits;
  std::vector<std::vector<std::size_t>> places(parts, std::vector<std::size_t>(digits, 0));
  tbb::parallel_for(std::size_t{0}, parts, [&](std::size_t part) {
    std::size_t* const counts = places[part].data();
    for_each(part, [&](const Posting& posting) { ++counts[digit_of(posting)]; });
  });
  std::size_t place = 0;
  for (std::size_t digit = 0; digit < digits; ++digit)
    for (auto& counts : places) place += std::exchange(counts[digit], place);
  tbb::parallel_for(std::size_t{0}, parts, [&](std::size_t part) {
    std::size_t* const next = places[part].data();
    Posting* const out = to.data();
    for_each(part, [&](const Posting& posting) { out[next[digit_of(posting)]++] = posting; });
  });
}

/// One stable pass over the postings of `from`, in their order.
template <class DigitOf>
void distribute_all(const std::vector<Posting>& from, std::vector<Posting>& to, unsigned bits, std::size_t parts,
                    DigitOf&& digit_of) {
  const auto for_each = [&](std::size_t part, auto&& visit) {
    const Posting *const begin = from.data() + from.size() * part / parts, *const end = from.data() + from.size() *
                                                                                                          (part + 1) /
                                                                                                          parts;
    for (const Posting* posting = begin; posting != end; ++posting) visit(*posting);
  };
  distribute(to, bits, parts, for_each, digit_of);
}

/// The digits of a number, from the lowest.
struct Digits {
  explicit Digits(std::uint32_t greatest)
      : total(static_cast<unsigned>(std::bit_width(greatest))),
        bits(digit_bits(total)),
        mask((std::uint32_t{1} << bits) - 1) {}
  unsigned total, bits;
  std::uint32_t mask;
};

/// Sorts stably by the number returned by `key_of`.
template <class KeyOf>
void sort_by(std::vector<Posting>& postings, std::vector<Posting>& scratch, std::size_t parts, KeyOf&& key_of) {
  std::uint32_t seen = 0;
  bool sorted = true;
  for (std::size_t i = 0; i < postings.size(); ++i) {
    seen |= key_of(postings[i]);
    sorted &= i == 0 || key_of(postings[i - 1]) <= key_of(postings[i]);
  }
  if (sorted) return;
  const Digits digits(seen);
  for (unsigned shift = 0; shift < digits.total; shift += digits.bits) {
    distribute_all(postings, scratch, digits.bits, parts,
                   [&](const Posting& posting) { return key_of(posting) >> shift & digits.mask; });
    postings.swap(scratch);
  }
}

/// Consecutive postings of a document.
struct DocumentRun {
  std::size_t begin, end;
  docid_t docid;
};

/// The runs of postings, one per document.
struct DocumentRuns {
  std::vector<DocumentRun> runs;
  std::uint32_t terms_seen = 0;  ///< bitwise OR of their terms

  /// False if runs are too short on average for sorting them to pay off. The least average also bounds their memory.
  static constexpr std::size_t min_average_postings = 32;
  bool find(std::span<const Posting> postings, std::size_t begin, std::size_t end) {
    const std::size_t max_runs = (end - begin) / min_average_postings + 1;
    for (std::size_t i = begin; i < end; ++i) {
      terms_seen |= postings[i].term;
      if (!runs.empty() && runs.back().docid == postings[i].docid) continue;
      if (runs.size() == max_runs) return false;
      if (!runs.empty()) runs.back().end = i;
      runs.push_back({i, end, postings[i].docid});
    }
    return true;
  }
};

/// The runs in docID order; empty if they are short.
DocumentRuns document_runs(std::span<const Posting> postings, std::size_t parts) {
  std::vector<DocumentRuns> part_runs(parts);
  std::vector<char> found(parts);
  tbb::parallel_for(std::size_t{0}, parts, [&](std::size_t part) {
    found[part] = part_runs[part].find(postings, postings.size() * part / parts, postings.size() * (part + 1) / parts);
  });
  DocumentRuns all;
  if (std::count(found.begin(), found.end(), 0) > 0) return all;
  for (const DocumentRuns& part : part_runs) {
    all.runs.insert(all.runs.end(), part.runs.begin(), part.runs.end());
    all.terms_seen |= part.terms_seen;
  }
  const auto by_docid = [](const DocumentRun& a, const DocumentRun& b) { return a.docid < b.docid; };
  std::stable_sort(all.runs.begin(), all.runs.end(), by_docid);
  return all;
}

/// Sorts postings by term, with the runs in docID order: the first pass reads run by run, so no passes over docID
/// digits are needed.
void sort_runs(const DocumentRuns& documents, std::vector<Posting>& postings, std::vector<Posting>& scratch,
               std::size_t parts) {
  const std::vector<DocumentRun>& runs = documents.runs;
  const auto for_each = [&](std::size_t part, auto&& visit) {
    for (std::size_t run = runs.size() * part / parts; run < runs.size() * (part + 1) / parts; ++run)
      for (std::size_t i = runs[run].begin; i < runs[run].end; ++i) visit(postings[i]);
  };
  const Digits digits(std::max(documents.terms_seen, std::uint32_t{1}));
  const auto digit_at = [&](unsigned shift) {
    return [mask = digits.mask, shift](const Posting& posting) { return posting.term >> shift & mask; };
  };
  distribute(scratch, digits.bits, parts, for_each, digit_at(0));
  postings.swap(scratch);
  for (unsigned shift = digits.bits; shift < digits.total; shift += digits.bits) {
    distribute_all(postings, scratch, digits.bits, parts, digit_at(shift));
    postings.swap(scratch);
  }
}

}  // namespace

void sort_postings(std::vector<Posting>& postings, std::vector<Posting>& scratch, unsigned threads) {
  scratch.resize(postings.size());
  const std::size_t parts = std::clamp<std::size_t>(postings.size() / min_part, 1, threads);
  if (const DocumentRuns runs = document_runs(postings, parts); !runs.runs.empty()) {
    sort_runs(runs, postings, scratch, parts);
    return;
  }
  sort_by(postings, scratch, parts, [](const Posting& posting) { return posting.docid; });
  sort_by(postings, scratch, parts, [](const Posting& posting) { return posting.term; });
}

}  // namespace quern
