#include "quern/synth/synth_lists.hpp"

#include <algorithm>

namespace quern {
namespace {

constexpr std::uint64_t batch_postings = 64 << 10;

std::uint64_t pair_of(docid_t docid, freq_t freq) { return std::uint64_t{freq} << 32 | docid; }

}  // namespace

SynthLists::SynthLists(const DocumentTree& tree, std::span<const TermField> fields, std::span<const docid_t> docids,
                       std::uint64_t list_bytes, std::string tmp_folder)
    : fields_(fields),
      docids_(docids),
      list_bytes_(list_bytes),
      tmp_folder_(std::move(tmp_folder)),
      documents_(tree.documents()),
      generators_([&tree] { return ListGenerator(tree); }) {}

/// Sorting takes the postings twice.
std::uint64_t SynthLists::max_postings() const { return list_bytes_ / sizeof(Posting) / (docids_.empty() ? 1 : 2); }

bool SynthLists::next(ListBatch& batch) {
  if (next_ == fields_.size()) return false;
  const std::size_t from = next_;
  std::uint64_t postings = 0;
  while (next_ < fields_.size() && (next_ == from || postings + fields_[next_].df <= batch_postings))
    postings += fields_[next_++].df;
  if (postings > std::max(batch_postings, max_postings())) {
    batch.make = [this, from](ListBatch& made) { make_long_list(from, made); };
  } else {
    batch.make = [this, from, end = next_](ListBatch& made) { make_batch(from, end, made); };
  }
  return true;
}

void SynthLists::make_batch(std::size_t from, std::size_t end, ListBatch& batch) {
  std::uint64_t postings = 0;
  for (std::size_t term = from; term < end; ++term) postings += fields_[term].df;
  batch.owned.resize(postings);
  Posting* to = batch.owned.data();
  ListGenerator& generator = generators_.local();
  for (std::size_t term = from; term < end; ++term) {
    generator.generate(fields_[term], [&](std::span<const docid_t> documents, std::span<const freq_t> freqs) {
      for (std::size_t i = 0; i < documents.size(); ++i)
        *to++ = {static_cast<term_t>(term), docids_.empty() ? documents[i] : docids_[documents[i]], freqs[i]};
    });
  }
  batch.sorted = docids_.empty();
  batch.postings = batch.owned;
}

/// In pieces of rising docIDs: where documents have other docIDs than their numbers, the list is drawn once for each
/// piece, and what falls in it is sorted.
void SynthLists::make_long_list(std::size_t term, ListBatch& batch) {
  const TermField& field = fields_[term];
  auto file = std::make_shared<File>(File::anonymous(tmp_folder_));
  FileAppender out(*file);
  std::vector<std::uint64_t> piece;
  const std::uint64_t passes = docids_.empty() ? 1 : field.df / std::max(batch_postings, max_postings()) + 1;
  const docid_t width = static_cast<docid_t>(documents_ / passes + 1);
  for (std::uint64_t pass = 0; pass < passes; ++pass) {
    const std::uint64_t first = pass * width;
    const auto write = [&] {
      if (!docids_.empty())
        std::sort(piece.begin(), piece.end(),
                  [](auto a, auto b) { return static_cast<docid_t>(a) < static_cast<docid_t>(b); });
      out.write({reinterpret_cast<const std::uint8_t*>(piece.data()), piece.size() * sizeof(std::uint64_t)});
      piece.clear();
    };
    generators_.local().generate(field, [&](std::span<const docid_t> documents, std::span<const freq_t> freqs) {
      for (std::size_t i = 0; i < documents.size(); ++i) {
        const docid_t docid = docids_.empty() ? documents[i] : docids_[documents[i]];
        if (docids_.empty() || docid - first < width) piece.push_back(pair_of(docid, freqs[i]));
      }
      if (docids_.empty()) write();
    });
    write();
  }
  out.flush();
  batch.long_list = file;
  batch.long_term = static_cast<term_t>(term);
  batch.long_size = field.df;
}

}  // namespace quern
