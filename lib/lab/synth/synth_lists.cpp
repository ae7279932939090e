#include "quern/lab/synth/synth_lists.hpp"

#include <algorithm>

namespace quern {
namespace {

/// Lists of up to so many postings are drawn in memory, whatever the budget is.
constexpr std::uint64_t drawn_in_memory = 64 << 10;

}  // namespace

SynthLists::SynthLists(const DocumentTree& tree, std::span<const TermField> fields, std::span<const docid_t> docids,
                       std::uint64_t list_bytes, std::string tmp_folder, bool in_pieces)
    : fields_(fields),
      docids_(docids),
      list_bytes_(list_bytes),
      tmp_folder_(std::move(tmp_folder)),
      documents_(tree.documents()),
      generators_([&tree] { return ListGenerator(tree); }),
      in_pieces_(in_pieces) {}

/// Sorting takes twice the memory of the postings.
std::uint64_t SynthLists::max_postings() const { return list_bytes_ / sizeof(Posting) / (docids_.empty() ? 1 : 2); }

bool SynthLists::next(ListBatch& batch) {
  if (next_ == fields_.size()) return false;
  if (in_pieces_ && fields_[next_].df > list_piece_postings) {
    batch = next_piece();
    return true;
  }
  const std::size_t from = next_;
  std::uint64_t postings = 0;
  while (next_ < fields_.size() && (next_ == from || postings + fields_[next_].df <= list_batch_postings))
    postings += fields_[next_++].df;
  if (postings > std::max(drawn_in_memory, max_postings())) {
    batch = DeferredLists([this, from] { return make_long_list(from); });
  } else {
    batch = DeferredLists([this, from, end = next_] { return make_lists(from, end); });
  }
  return true;
}

DeferredLists SynthLists::next_piece() {
  const std::size_t term = next_;
  const std::uint64_t first = next_first_;
  next_first_ += list_piece_postings;
  if (next_first_ >= fields_[term].df) {
    next_first_ = 0;
    ++next_;
  }
  return [this, term, first] { return make_piece(term, first); };
}

Lists SynthLists::make_piece(std::size_t term, std::uint64_t first) {
  const TermField& field = fields_[term];
  ListPiece piece{static_cast<term_t>(term), field.df, first, {}, {}};
  const std::uint64_t from = first > 0 ? first - 1 : 0, end = std::min(field.df, first + list_piece_postings);
  piece.docids.reserve(end - from);
  piece.freqs.reserve(end - from);
  generators_.local().generate(field, from, end,
                               [&](std::span<const docid_t> documents, std::span<const freq_t> freqs) {
                                 piece.docids.insert(piece.docids.end(), documents.begin(), documents.end());
                                 piece.freqs.insert(piece.freqs.end(), freqs.begin(), freqs.end());
                               });
  return piece;
}

Lists SynthLists::make_lists(std::size_t from, std::size_t end) {
  std::uint64_t size = 0;
  for (std::size_t term = from; term < end; ++term) size += fields_[term].df;
  std::vector<Posting> postings(size);
  Posting* to = postings.data();
  ListGenerator& generator = generators_.local();
  for (std::size_t term = from; term < end; ++term) {
    generator.generate(fields_[term], [&](std::span<const docid_t> documents, std::span<const freq_t> freqs) {
      for (std::size_t i = 0; i < documents.size(); ++i)
        *to++ = {static_cast<term_t>(term), docids_.empty() ? documents[i] : docids_[documents[i]], freqs[i]};
    });
  }
  if (docids_.empty()) return OwnedLists{std::move(postings)};
  return UnsortedLists{std::move(postings)};
}

/// In pieces of rising docIDs: where documents have other docIDs than their numbers, the list is drawn once for each
/// piece, and the postings that belong to it are sorted.
Lists SynthLists::make_long_list(std::size_t term) {
  const TermField& field = fields_[term];
  auto postings = std::make_shared<RecordSpool<SpooledPosting>>(tmp_folder_);
  std::vector<SpooledPosting> piece;
  const std::uint64_t passes = docids_.empty() ? 1 : field.df / std::max(drawn_in_memory, max_postings()) + 1;
  const docid_t width = static_cast<docid_t>(documents_ / passes + 1);
  for (std::uint64_t pass = 0; pass < passes; ++pass) {
    const std::uint64_t first = pass * width;
    const auto write = [&] {
      if (!docids_.empty())
        std::sort(piece.begin(), piece.end(), [](const auto& a, const auto& b) { return a.docid < b.docid; });
      postings->add_all(piece);
      piece.clear();
    };
    generators_.local().generate(field, [&](std::span<const docid_t> documents, std::span<const freq_t> freqs) {
      for (std::size_t i = 0; i < documents.size(); ++i) {
        const docid_t docid = docids_.empty() ? documents[i] : docids_[documents[i]];
        if (docids_.empty() || docid - first < width) piece.push_back({docid, freqs[i]});
      }
      if (docids_.empty()) write();
    });
    write();
  }
  return LongList{static_cast<term_t>(term), field.df, std::move(postings)};
}

}  // namespace quern
