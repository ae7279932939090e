#include "quern/index/impact_sections.hpp"

#include "quern/codec/bit_packing.hpp"
#include "quern/codec/short_list.hpp"
#include "quern/core/job_pipeline.hpp"
#include "quern/index/list_source.hpp"

namespace quern {
namespace {

/// Fills `numbers` from index `first` of an array at `offset` in a file.
template <class Number>
void read_numbers(const File& file, std::uint64_t offset, std::uint64_t first, std::span<Number> numbers) {
  file.read_at(offset + first * sizeof(Number),
               {reinterpret_cast<std::uint8_t*>(numbers.data()), numbers.size_bytes()});
}

}  // namespace

ImpactSections::ImpactSections(unsigned bits, const CollectionStatistics& statistics, const Bm25Parameters& bm25,
                               std::optional<float> top, const Resources& resources)
    : bits_(bits),
      statistics_(statistics),
      bm25_(bm25),
      resources_(resources),
      rows_(resources.tmp_folder),
      given_top_(top) {}

void ImpactSections::note(const EncodedList& list, std::uint64_t words) {
  top_ = std::max(top_, weight_of(list) * list.max_impact);
  if (list.df <= max_short_list) return;
  rows_.add({words, static_cast<std::uint32_t>(list.df), list.max_impact, weight_of(list)});
  postings_ += list.df;
}

/// Consecutive blocks of a list: all, or a part of a long one.
struct ImpactSections::Part {
  Row list;
  std::uint64_t list_word = 0;  ///< the list's start among all lists' words
  bool is_first = true;
  std::uint64_t postings = 0;
  std::uint64_t first_word = 0, words = 0;  ///< in the list; the first part includes the header
  docid_t before = end_docid;               ///< the last docID before the part
};

/// Iterates over the noted lists: several short ones at a time, for jobs of enough work, and long ones in parts.
class ImpactSections::Parts {
 public:
  Parts(const RecordSpool<Row>& rows, unsigned block_size, const File& index, const IndexWriter::ListSections& sections)
      : rows_(rows),
        block_size_(block_size),
        blocks_per_part_(std::max<std::uint64_t>(1, postings_per_job / block_size)),
        index_(index),
        sections_(sections) {}

  /// Replaces `parts`. False at the end.
  bool next(std::vector<Part>& parts) {
    parts.clear();
    std::uint64_t postings = 0;
    for (const Row* row = rows_.peek(); row; row = rows_.peek()) {
      if (!parts.empty() && postings + row->df > postings_per_job) break;
      parts.push_back(next_part(*row));
      postings += parts.back().postings;
      if (next_block_ != 0) break;
    }
    return !parts.empty();
  }

 private:
  static constexpr std::uint64_t postings_per_job = 1 << 17;

  Part next_part(const Row& list) {
    const std::uint64_t blocks = (std::uint64_t{list.df} + block_size_ - 1) / block_size_;
    const std::uint64_t end_block = std::min(blocks, next_block_ + blocks_per_part_);
    Part part;
    part.list = list;
    part.list_word = list_word_;
    part.is_first = next_block_ == 0;
    part.postings = std::min<std::uint64_t>(list.df, end_block * block_size_) - next_block_ * block_size_;
    if (!part.is_first) {
      part.first_word = block_offset(next_block_);
      read_numbers(index_, sections_.block_last, list_row_ + next_block_ - 1, std::span(&part.before, 1));
    }
    const bool is_last = end_block == blocks;
    part.words = (is_last ? list.words : block_offset(end_block)) - part.first_word;
    next_block_ = end_block;
    if (is_last) end_list(list, blocks);
    return part;
  }

  void end_list(const Row& list, std::uint64_t blocks) {
    list_word_ += list.words;
    if (blocks > 1) list_row_ += blocks;
    next_block_ = 0;
    rows_.pop();
  }

  std::uint32_t block_offset(std::uint64_t block) const {
    std::uint32_t offset = 0;
    read_numbers(index_, sections_.block_offset, list_row_ + block, std::span(&offset, 1));
    return offset;
  }

  RecordSpool<Row>::Reader rows_;
  unsigned block_size_;
  std::uint64_t blocks_per_part_;
  const File& index_;
  IndexWriter::ListSections sections_;
  std::uint64_t list_word_ = 0, list_row_ = 0;  ///< start of the current list among all lists' words and rows
  std::uint64_t next_block_ = 0;                ///< of the current list
};

/// Parts that are read together, and their impacts.
class ImpactSections::Job {
 public:
  Job(const ImpactSections& sections, const EncodingContext& context, const File& index, std::uint64_t postings_offset)
      : context_(context),
        index_(index),
        postings_offset_(postings_offset),
        header_words_(context.codec->header_words(context.options)),
        quantize_(sections.quantizer()),
        scan_(*context.codec, context.options),
        block_impacts_(context.options.block_size) {}

  struct Done {
    unsigned width = 0;
    std::size_t words = 0;  ///< number of words in `impacts`
  };

  std::vector<Part> parts;
  std::vector<Done> done;  ///< result of each part
  Words impacts;
  std::uint64_t postings = 0;

  /// Computes the impacts of the parts.
  void run() {
    done.clear();
    impacts.clear();
    postings = 0;
    read_words();
    WordView words = words_;
    for (const Part& part : parts) {
      const std::size_t before = impacts.size();
      const std::uint64_t size = words_of(part);
      const unsigned width = add_impacts(part, words.first(size));
      done.push_back({width, impacts.size() - before});
      postings += part.postings;
      words = words.subspan(size);
    }
  }

 private:
  /// Words of a part including the list's header.
  std::uint64_t words_of(const Part& part) const { return part.words + (part.is_first ? 0 : header_words_); }

  /// Reads the parts' words, each after its list's header.
  void read_words() {
    std::uint64_t size = 0;
    for (const Part& part : parts) size += words_of(part);
    words_.assign(size + over_read_bytes / sizeof(std::uint32_t), 0);
    std::span<std::uint32_t> to(words_.data(), size);
    const auto read = [&](std::uint64_t first, std::uint64_t count) {
      read_numbers(index_, postings_offset_, first, to.first(count));
      to = to.subspan(count);
    };
    if (!parts.front().is_first) read(parts.front().list_word, header_words_);
    // The rest is contiguous.
    read(parts.front().list_word + parts.front().first_word, to.size());
  }

  /// Appends the part's impacts and returns their width in bits.
  unsigned add_impacts(const Part& part, WordView words) {
    const float weight = part.list.weight;
    const auto width = impact_width_of(quantize_(weight * part.list.max_impact));
    scan_.start(words, part.postings, part.before);
    while (scan_.next()) {
      const auto docids = scan_.docids();
      const auto freqs = scan_.freqs();
      for (std::size_t i = 0; i < docids.size(); ++i)
        block_impacts_[i] = quantize_(weight * impact(freqs[i], context_.constants[docids[i]]));
      put_impacts({block_impacts_.data(), docids.size()}, width, impacts);
    }
    return width;
  }

  const EncodingContext& context_;
  const File& index_;
  std::uint64_t postings_offset_;
  std::size_t header_words_;
  ImpactQuantizer quantize_;
  Words words_;
  BlockScan scan_;
  std::vector<std::uint32_t> block_impacts_;
};

void ImpactSections::write(const EncodingContext& context, const File& index, std::size_t jobs_in_flight,
                           IndexWriter& writer) {
  resources_.progress->start("write impacts", postings_, "postings");
  const IndexWriter::ListSections& sections = writer.list_sections();
  Parts parts(rows_, context.options.block_size, index, sections);
  run_jobs(
      jobs_in_flight, [&] { return std::make_unique<Job>(*this, context, index, sections.postings); },
      [&](Job& job) { return parts.next(job.parts); }, [](Job& job) { job.run(); },
      [&](Job& job) {
        WordView impacts = job.impacts;
        for (std::size_t i = 0; i < job.parts.size(); ++i) {
          if (job.parts[i].is_first) writer.begin_impacts(job.done[i].width);
          writer.add_impacts(impacts.first(job.done[i].words));
          impacts = impacts.subspan(job.done[i].words);
        }
        resources_.progress->add(job.postings);
      });
  resources_.progress->finish();
}

WeightSections::WeightSections(const ImpactSettings& settings, unsigned block_size, const Resources& resources)
    : settings_(settings),
      block_size_(block_size),
      resources_(resources),
      weights_(resources.tmp_folder),
      rows_(resources.tmp_folder) {}

void WeightSections::add(const EncodedBatch& batch) {
  batch.spooled_weights.bytes().for_each_piece([&](ByteView piece) {
    weights_.add_all({reinterpret_cast<const std::uint16_t*>(piece.data()), piece.size() / sizeof(std::uint16_t)});
  });
  weights_.add_all(batch.weights);
}

void WeightSections::end_list(const EncodedList& list) {
  if (list.df <= max_short_list) return;
  // Exact, since the impact is.
  const auto max_weight = static_cast<std::uint32_t>(list.max_impact * settings_.unit());
  rows_.add({static_cast<std::uint32_t>(list.df), max_weight});
}

void WeightSections::write(IndexWriter& writer) const {
  constexpr std::size_t words_per_write = 1 << 15;
  resources_.progress->start("write impacts", weights_.count(), "postings");
  std::vector<std::uint16_t> stored;
  std::vector<std::uint32_t> block;
  Words words;
  std::uint64_t first = 0;
  rows_.for_each([&](const Row& list) {
    const unsigned width = impact_width_of(list.max_weight);
    writer.begin_impacts(width);
    for (std::uint64_t left = list.df; left > 0; left -= block.size()) {
      stored.resize(std::min<std::uint64_t>(left, block_size_));
      weights_.read(first, stored);
      first += stored.size();
      block.assign(stored.begin(), stored.end());
      put_impacts(block, width, words);
      if (words.size() < words_per_write && left > block.size()) continue;
      writer.add_impacts(words);
      words.clear();
    }
    resources_.progress->add(list.df);
  });
  resources_.progress->finish();
}

}  // namespace quern
