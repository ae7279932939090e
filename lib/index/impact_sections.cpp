#include "quern/index/impact_sections.hpp"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_pipeline.h>

#include <algorithm>

#include "quern/codec/impact_packing.hpp"
#include "quern/codec/short_list.hpp"
#include "quern/index/list_scan.hpp"

namespace quern {

ImpactSections::ImpactSections(unsigned bits, const CollectionStatistics& statistics, const Bm25Parameters& bm25,
                               const Resources& resources)
    : bits_(bits), statistics_(statistics), bm25_(bm25), resources_(resources), rows_(resources.tmp_folder) {}

void ImpactSections::note(const EncodedList& list) {
  top_ = std::max(top_, quantized_weight(list.df, statistics_, bm25_) * list.max_impact);
  if (list.df <= max_short_list) return;
  rows_.add({list.words.size(), static_cast<std::uint32_t>(list.df), list.max_impact});
  postings_ += list.df;
}

/// Hands out the noted lists: short ones together, so that one read fetches many.
class ImpactSections::Jobs {
 public:
  explicit Jobs(const RecordSpool<Row>& rows) : rows_(rows) {}

  bool next(Job& job) {
    job.first_word = next_word_;
    std::uint64_t postings = 0;
    for (; const Row* row = rows_.peek(); rows_.pop()) {
      if (!job.lists.empty() && postings + row->df > postings_per_job) break;
      postings += row->df;
      job.words += row->words;
      job.lists.push_back(*row);
    }
    next_word_ += job.words;
    return !job.lists.empty();
  }

 private:
  static constexpr std::uint64_t postings_per_job = 1 << 17;

  RecordSpool<Row>::Reader rows_;
  std::uint64_t next_word_ = 0;
};

/// Computes the impacts of a job's lists. One per thread.
class ImpactSections::Work {
 public:
  Work(const ImpactSections& sections, const EncodingContext& context, const File& index, std::uint64_t postings_offset)
      : sections_(sections),
        context_(context),
        index_(index),
        postings_offset_(postings_offset),
        quantize_(sections.quantizer()),
        scan_(*context.codec, context.options),
        impacts_(context.options.block_size) {}

  void run(const Job& job, Done& done) {
    words_.assign(job.words + over_read_bytes / sizeof(std::uint32_t), 0);
    index_.read_at(postings_offset_ + job.first_word * sizeof(std::uint32_t),
                   {reinterpret_cast<std::uint8_t*>(words_.data()), job.words * sizeof(std::uint32_t)});
    WordView words(words_.data(), job.words);
    for (const Row& list : job.lists) {
      const std::size_t before = done.impacts.size();
      const unsigned width = add_list(list, words.first(list.words), done.impacts);
      done.lists.emplace_back(width, done.impacts.size() - before);
      done.postings += list.df;
      words = words.subspan(list.words);
    }
  }

 private:
  /// Appends the list's impacts; returns their width in bits.
  unsigned add_list(const Row& list, WordView words, Words& out) {
    const float weight = quantized_weight(list.df, sections_.statistics_, sections_.bm25_);
    const auto width = impact_width_of(quantize_(weight * list.max_impact));
    scan_.start(words, list.df);
    while (scan_.next()) {
      const auto docids = scan_.docids();
      const auto freqs = scan_.freqs();
      for (std::size_t i = 0; i < docids.size(); ++i)
        impacts_[i] = quantize_(weight * impact(freqs[i], context_.constants[docids[i]]));
      put_impacts({impacts_.data(), docids.size()}, width, out);
    }
    return width;
  }

  const ImpactSections& sections_;
  const EncodingContext& context_;
  const File& index_;
  std::uint64_t postings_offset_;
  ImpactQuantizer quantize_;
  Words words_;
  BlockScan scan_;
  std::vector<std::uint32_t> impacts_;
};

void ImpactSections::write(const EncodingContext& context, const File& index, std::size_t jobs_in_flight,
                           IndexImpactWriter& writer) {
  resources_.progress->start("impacts", postings_, "postings");
  Jobs jobs(rows_);
  tbb::enumerable_thread_specific<Work> works([&] { return Work(*this, context, index, writer.postings_offset()); });
  using JobPointer = std::shared_ptr<Job>;
  using DonePointer = std::shared_ptr<Done>;
  const auto next = [&](tbb::flow_control& control) {
    auto job = std::make_shared<Job>();
    if (!jobs.next(*job)) control.stop();
    return job;
  };
  const auto make = [&](const JobPointer& job) {
    auto done = std::make_shared<Done>();
    works.local().run(*job, *done);
    return done;
  };
  const auto put = [&](const DonePointer& done) {
    std::size_t from = 0;
    for (const auto& [width, words] : done->lists) {
      writer.add_impacts(width, WordView(done->impacts).subspan(from, words));
      from += words;
    }
    resources_.progress->add(done->postings);
  };
  tbb::parallel_pipeline(jobs_in_flight,
                         tbb::make_filter<void, JobPointer>(tbb::filter_mode::serial_in_order, next) &
                             tbb::make_filter<JobPointer, DonePointer>(tbb::filter_mode::parallel, make) &
                             tbb::make_filter<DonePointer, void>(tbb::filter_mode::serial_in_order, put));
  resources_.progress->finish();
}

}  // namespace quern
