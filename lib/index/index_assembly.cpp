#include "quern/index/index_assembly.hpp"

#include <tbb/parallel_for.h>
#include <tbb/parallel_sort.h>

#include <bit>
#include <cstring>
#include <numeric>

#include "quern/core/job_pipeline.hpp"
#include "quern/index/list_encoder.hpp"
#include "quern/io/checksum.hpp"
#include "quern/io/zstd_frame.hpp"

namespace quern {
namespace {

/// A batch of lists and its encoder.
struct EncodingJob {
  EncodingJob(const EncodingContext& context, const std::string& tmp_folder) : encoding(context), encoded(tmp_folder) {}

  ListBatch batch;
  ListEncoding encoding;
  EncodedBatch encoded;
};

/// Writes encoded lists.
class ListOutput {
 public:
  ListOutput(IndexWriter& writer, std::optional<ImpactSections>& impacts, IndexManifest& counts,
             std::optional<WeightSections>& weights, const std::function<ListTerm(term_t)>& term_at,
             const AssemblyPlan& plan)
      : writer_(writer),
        impacts_(impacts),
        weights_(weights),
        counts_(counts),
        term_at_(term_at),
        has_model_(plan.options.weighting.has_value()) {
    if (plan.whole != nullptr) whole_counts_ = plan.whole->counts();
  }

  void write(const EncodedBatch& batch) {
    if (weights_) weights_->add(batch);
    if (batch.piece)
      write_piece(batch);
    else
      for (const EncodedBatch::Item& item : batch.items) write_list(batch, item);
    counts_.coded.docid_bits += batch.bits.docid_bits;
    counts_.coded.freq_bits += batch.bits.freq_bits;
    counts_.postings += batch.postings;
  }

 private:
  void write_list(const EncodedBatch& batch, const EncodedBatch::Item& item) {
    EncodedList list = batch.list(item);
    const std::string_view term = name(list, item);
    if (batch.is_spooled)
      writer_.add_list(term, list, batch.parts);
    else
      writer_.add_list(term, list);
    note(list, item);
  }

  void write_piece(const EncodedBatch& batch) {
    writer_.add_part(batch.list(batch.items.front()));
    if (!pieces_.add(batch)) return;
    EncodedList list = head_of(pieces_.list());
    writer_.end_parts(name(list, pieces_.list()), list);
    note(list, pieces_.list());
  }

  /// Returns the list's term. For a shard, sets the term's counts over all shards; with a weighting model, sets cf,
  /// which does not follow from the weights, to that of the whole collection.
  std::string_view name(EncodedList& list, const EncodedBatch::Item& item) const {
    const ListTerm term = term_at_(item.term);
    if (whole_counts_) list.whole = whole_counts_(term.text);
    if (has_model_) list.cf = list.whole ? list.whole->cf : term.cf;
    if (list.whole && (list.whole->df < list.df || list.whole->cf < list.cf))
      throw InvalidArgument("the statistics have fewer postings of '{}' than the shard", term.text);
    if (list.cf < list.df) throw InvalidArgument("the term '{}' has fewer occurrences than postings", term.text);
    return term.text;
  }

  void note(const EncodedList& list, const EncodedBatch::Item& item) {
    if (impacts_) impacts_->note(list, item.words);
    if (weights_) weights_->end_list(list);
    counts_.tokens += item.cf;
  }

  IndexWriter& writer_;
  std::optional<ImpactSections>& impacts_;
  std::optional<WeightSections>& weights_;
  IndexManifest& counts_;
  const std::function<ListTerm(term_t)>& term_at_;
  bool has_model_;
  CollectionContext::Counts whole_counts_;  ///< of a shard
  PieceJoin pieces_;
};

/// Documents to pack.
struct PackJob {
  std::uint64_t first = 0, end = 0;
  DocumentPack pack;
};
constexpr std::uint64_t documents_per_job = 32 * texts_per_block;

/// Sorted documents to pack, read as rows first.
struct PackRowsJob {
  Bytes rows;
  std::uint64_t documents = 0;
  DocumentPack pack;

  /// Reads enough rows: whole blocks, except at the end. False if none are left.
  bool read(ExternalSort& sorted) {
    constexpr std::size_t enough_bytes = 1 << 20;
    rows.clear();
    for (documents = 0; documents < documents_per_job; ++documents) {
      if (documents % texts_per_block == 0 && rows.size() >= enough_bytes) break;
      if (!sorted.next_row()) break;
      const ByteView row = sorted.payload();
      rows.insert(rows.end(), row.begin(), row.end());
    }
    return documents > 0;
  }

  void make() {
    pack.clear();
    for (ByteReader reader(rows, "temporary file of documents"); !reader.done();) {
      const std::string_view docno = reader.string(), url = reader.string();
      pack.add(docno, url, reader.string());
    }
    pack.end();
  }
};

double ratio(double part, std::uint64_t whole) { return whole == 0 ? 0 : part / static_cast<double>(whole); }

}  // namespace

void IndexTables::check(const std::string& source, const Resources& resources) const {
  const std::uint64_t needed = bytes() + min_working_bytes;
  if (needed > resources.memory_bytes) {
    throw InvalidArgument("{}{}an index of {} documents needs {} of memory, but {} allows {}; raise it", source,
                          source.empty() ? "" : ": ", documents, size_text(needed), option_name<"memory">,
                          size_text(resources.memory_bytes));
  }
}

IndexAssembly::IndexAssembly(const AssemblyPlan& plan)
    : plan_(plan),
      writer_(plan.out, plan.resources.tmp_folder, plan.options.quantize_bits > 0 || plan.options.impacts) {
  plan.tables.check(plan.source, plan.resources);
}

std::size_t AssemblyPlan::jobs_in_flight() const {
  constexpr std::uint64_t job_bytes = 4 << 20;
  return std::clamp<std::uint64_t>(working_bytes() / 4 / job_bytes, 1, resources.threads * 2);
}

std::vector<float> IndexAssembly::constants(std::span<const std::uint32_t> lengths,
                                            const CollectionStatistics& statistics) const {
  const double average = statistics.average_length();
  std::vector<float> constants(lengths.size());
  tbb::parallel_for(std::size_t{0}, lengths.size(), [&](std::size_t docid) {
    constants[docid] = document_constant(lengths[docid], average, plan_.options.bm25);
  });
  return constants;
}

void IndexAssembly::write_lists(std::vector<std::uint32_t> lengths, const CollectionStatistics& statistics,
                                ListSource& lists, std::uint64_t expected_postings,
                                const std::function<ListTerm(term_t)>& term_at) {
  const BuildOptions& options = plan_.options;
  Progress& progress = *plan_.resources.progress;
  progress.start("write lists", expected_postings, "postings");
  const std::vector<float> constants = this->constants(lengths, statistics);
  const EncodingContext context{&codec_named(options.codec),
                                options.codec_options,
                                static_cast<docid_t>(plan_.tables.documents),
                                constants,
                                plan_.source,
                                options.impacts};
  lengths_ = std::move(lengths);
  counts_.statistics = statistics;
  std::optional<ImpactSections> impacts;
  if (options.quantize_bits > 0)
    impacts.emplace(options.quantize_bits, statistics, options.bm25,
                    plan_.whole != nullptr ? plan_.whole->quantize_top : std::nullopt, plan_.resources);
  std::optional<WeightSections> weights;
  if (options.impacts) weights.emplace(*options.impacts, options.codec_options.block_size, plan_.resources);

  ListOutput output{writer_, impacts, counts_, weights, term_at, plan_};
  run_jobs(
      jobs_in_flight(), [&] { return std::make_unique<EncodingJob>(context, plan_.resources.tmp_folder); },
      [&](EncodingJob& job) { return lists.next(job.batch); },
      [](EncodingJob& job) { job.encoding.encode(lists_of(std::move(job.batch)), job.encoded); },
      [&](EncodingJob& job) {
        output.write(job.encoded);
        progress.add(job.encoded.postings);
      });
  writer_.end_lists();
  progress.finish();
  if (options.weighting) counts_.tokens = std::accumulate(lengths_.begin(), lengths_.end(), std::uint64_t{0});
  if (impacts) {
    impacts->write(context, plan_.out, jobs_in_flight(), writer_);
    counts_.quantize_top = impacts->quantizer().top();
  }
  if (weights) weights->write(writer_);
  writer_.end_impacts();
}

void DocumentSort::add(docid_t docid, std::string_view docno, std::string_view url, std::string_view title) {
  row_.clear();
  put_string(row_, docno);
  put_string(row_, url);
  put_string(row_, title);
  rows_.add(SortKey(docid).view(), row_);
}

template <class ForEachPack>
void IndexAssembly::write(ForEachPack&& for_each_pack) {
  DocnoOrder by_docno(plan_.resources.tmp_folder, plan_.working_bytes() / 4);
  docid_t next = 0;
  for_each_pack([&](const DocumentPack& pack) {
    writer_.add_documents(pack);
    for (const std::uint64_t hash : pack.docno_hashes()) by_docno.add(hash, next++);
  });
  writer_.end_documents(lengths_);
  by_docno.merge([&](std::span<const docid_t> docids) { writer_.add_docids(docids); });
  counts_.empty_documents = static_cast<std::uint64_t>(std::count(lengths_.begin(), lengths_.end(), 0u));
  lengths_ = {};
}

void IndexAssembly::write_documents(DocumentSort documents) {
  write([&](const auto& put) {
    documents.rows_.begin_merge();
    run_jobs(
        plan_.jobs_in_flight(), [] { return std::make_unique<PackRowsJob>(); },
        [&](PackRowsJob& job) { return job.read(documents.rows_); }, [](PackRowsJob& job) { job.make(); },
        [&](const PackRowsJob& job) { put(job.pack); });
  });
}

void IndexAssembly::write_documents(const ForEachDocument& for_each_document) {
  write([&](const auto& put) {
    plan_.resources.progress->start("write documents", plan_.tables.documents, "documents");
    std::uint64_t next = 0;
    const auto read = [&](PackJob& job) {
      job.first = next;
      job.end = next = std::min<std::uint64_t>(next + documents_per_job, plan_.tables.documents);
      return job.first < job.end;
    };
    const auto make = [&](PackJob& job) {
      job.pack.clear();
      for_each_document(
          static_cast<docid_t>(job.first), static_cast<docid_t>(job.end),
          [&](const IndexedDocument& document) { job.pack.add(document.docno, document.url, document.title); });
      job.pack.end();
    };
    run_jobs(
        plan_.jobs_in_flight(), [] { return std::make_unique<PackJob>(); }, read, make,
        [&](const PackJob& job) {
          put(job.pack);
          plan_.resources.progress->add(job.end - job.first);
        });
    plan_.resources.progress->finish();
  });
}

BuildReport IndexAssembly::finish(IndexManifest manifest, std::span<const float> pagerank,
                                  std::span<const float> global_scores) {
  manifest.codec = plan_.options.codec;
  manifest.codec_options = plan_.options.codec_options;
  manifest.bm25 = plan_.options.bm25;
  manifest.quantize_bits = plan_.options.quantize_bits;
  manifest.has_forward = plan_.options.forward;
  manifest.has_texts = plan_.options.texts;
  manifest.documents = plan_.tables.documents;
  manifest.quantize_top = counts_.quantize_top;
  manifest.impacts = plan_.options.impacts;
  manifest.weighting = plan_.options.weighting;
  manifest.statistics = counts_.statistics;
  manifest.empty_documents = counts_.empty_documents;
  manifest.postings = counts_.postings;
  manifest.tokens = counts_.tokens;
  manifest.coded = counts_.coded;
  manifest.libraries.zstd = zstd_version();  // this program compressed the texts
  writer_.finish(std::move(manifest), pagerank, global_scores);
  // Not an IndexReader: opening one reads the whole lexicon.
  const ContainerReader written(std::make_shared<const File>(plan_.out.duplicate()), FileKind::index);
  BuildReport report;
  report.manifest = IndexManifest::from_json(written.manifest(), written.name());
  report.index_bytes = plan_.out.size();
  report.index_hash = hash_text(written.content_hash());
  return report;
}

IndexFigures index_figures(const IndexReader& index) {
  const IndexManifest& manifest = index.manifest();
  const auto size_of = [&](std::string_view section) { return index.container().find(section).size; };
  IndexFigures figures;
  figures.postings_bytes = size_of("postings") - over_read_bytes + manifest.short_list_bytes;
  figures.docid_bits_per_posting = ratio(static_cast<double>(manifest.coded.docid_bits), manifest.postings);
  figures.freq_bits_per_posting = ratio(static_cast<double>(manifest.coded.freq_bits), manifest.postings);
  figures.block_max_bytes =
      size_of("block_last") + size_of("block_offset") + size_of("block_max") + manifest.list_bound_bytes;
  figures.block_max_bits_per_posting = ratio(8.0 * static_cast<double>(figures.block_max_bytes), manifest.postings);
  if (manifest.quantize_bits > 0)
    figures.impact_bytes = size_of("impacts") - over_read_bytes + size_of("impact_start") + size_of("impact_width");
  figures.impact_bits_per_posting = ratio(8.0 * static_cast<double>(figures.impact_bytes), manifest.postings);
  figures.lexicon_bytes =
      size_of("lexicon") + size_of("lexicon_blocks") - manifest.short_list_bytes - manifest.list_bound_bytes;
  figures.lexicon_bytes_per_term = ratio(static_cast<double>(figures.lexicon_bytes), manifest.terms);
  figures.file_bytes = index.container().file().size();
  std::uint64_t small_lists = 0;
  for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block) {
    index.for_each_list(block, [&](std::string_view, const PostingList& list) {
      const auto row = static_cast<std::size_t>(std::bit_width(list.df) - 1);
      if (figures.lengths.size() <= row) figures.lengths.resize(row + 1);
      ++figures.lengths[row].lists;
      figures.lengths[row].postings += list.df;
      small_lists += list.df <= index.block_size();
    });
  }
  figures.lists_in_one_block = ratio(static_cast<double>(small_lists), manifest.terms);
  return figures;
}

namespace {

constexpr std::size_t docids_per_visit = 4096;
constexpr std::uint64_t max_fan_in = 256;

}  // namespace

DocnoOrder::DocnoOrder(const std::string& tmp_folder, std::uint64_t memory_bytes)
    : memory_bytes_(std::max<std::uint64_t>(memory_bytes, 1 << 20)), runs_(tmp_folder) {}

void DocnoOrder::add(std::uint64_t hash, docid_t docid) {
  // A growing array doubles, so half of the budget must stay free for the copy.
  if (rows_.size() == rows_.capacity() && rows_.size() * sizeof(Row) * 3 > memory_bytes_) spill();
  rows_.push_back({static_cast<std::uint32_t>(hash >> 32), static_cast<std::uint32_t>(hash), docid});
}

void DocnoOrder::sort_rows() { tbb::parallel_sort(rows_.begin(), rows_.end()); }

void DocnoOrder::spill() {
  sort_rows();
  runs_.bytes.append_array(std::span<const Row>(rows_));
  runs_.end_run();
  rows_.clear();
}

template <class Visit>
void DocnoOrder::merge_runs(const Spool& spool, std::span<const SpooledRuns::Run> runs, Visit&& visit) {
  struct Head {
    Row row;
    std::size_t run;
  };
  std::vector<SpoolReader> readers;
  for (const SpooledRuns::Run& run : runs) readers.emplace_back(spool, run.begin, run.end);
  const auto read = [&](Head& head) {
    SpoolReader& reader = readers[head.run];
    if (!reader.have(sizeof(Row))) return false;
    std::memcpy(&head.row, reader.data(), sizeof(Row));
    reader.skip(sizeof(Row));
    return true;
  };
  const auto later = [](const Head& a, const Head& b) { return b.row < a.row; };
  std::vector<Head> heads;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    Head head = {{}, run};
    if (read(head)) heads.push_back(head);
  }
  std::make_heap(heads.begin(), heads.end(), later);
  while (!heads.empty()) {
    std::pop_heap(heads.begin(), heads.end(), later);
    visit(heads.back().row);
    if (read(heads.back()))
      std::push_heap(heads.begin(), heads.end(), later);
    else
      heads.pop_back();
  }
}

void DocnoOrder::merge(const std::function<void(std::span<const docid_t>)>& visit) {
  std::vector<docid_t> docids;
  const auto put = [&](const Row& row) {
    docids.push_back(row.docid);
    if (docids.size() < docids_per_visit) return;
    visit(docids);
    docids.clear();
  };
  if (runs_.runs.empty()) {
    sort_rows();
    for (const Row& row : rows_) put(row);
    rows_ = {};
  } else {
    spill();
    rows_ = {};
    const auto fan_in = std::clamp<std::uint64_t>(memory_bytes_ / SpoolReader::default_buffer_bytes, 2, max_fan_in);
    runs_.merge_down_to(fan_in, [](const Spool& from, std::span<const SpooledRuns::Run> group, Spool& to) {
      merge_runs(from, group, [&](const Row& row) { to.append_array(std::span<const Row, 1>(&row, 1)); });
    });
    merge_runs(runs_.bytes, runs_.runs, put);
    runs_ = SpooledRuns(runs_.tmp_folder);
  }
  visit(docids);
}

}  // namespace quern
