#include "quern/index/shards/statistics.hpp"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <set>

#include "quern/corpus/forward_postings.hpp"
#include "quern/formats/index_writer.hpp"
#include "quern/formats/joined_lexicon.hpp"
#include "quern/formats/manifest_settings.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/order/page_names.hpp"

namespace quern {
namespace {

/// Throws unless all statistics were made like the first.
void check_alike(const std::vector<StatisticsReader>& inputs) {
  const StatisticsReader& first = inputs.front();
  const ManifestJson settings = parse_settings(first.manifest().collection);
  for (const StatisticsReader& other : inputs) {
    const CollectionManifest& collection = other.manifest().collection;
    if (parse_settings(collection) != settings)
      throw InvalidArgument("{}: its collections were parsed with different options than those of {}", other.name(),
                            first.name());
    if (collection.libraries != first.manifest().collection.libraries)
      throw InvalidArgument("{}: its collections were parsed with different library versions than those of {}",
                            other.name(), first.name());
  }
}

/// The splits of all, in ascending order. Equal ones count each: a corpus may have a file twice.
std::vector<CollectionSplit> all_splits(const std::vector<StatisticsReader>& inputs) {
  std::vector<CollectionSplit> splits;
  for (const StatisticsReader& input : inputs)
    splits.insert(splits.end(), input.splits().begin(), input.splits().end());
  std::sort(splits.begin(), splits.end());
  return splits;
}

void merge_terms(const std::vector<StatisticsReader>& inputs, std::uint64_t memory_bytes, Progress& progress,
                 StatisticsWriter& writer) {
  const std::uint64_t blocks = TermSums::blocks_at_once(inputs.size(), memory_bytes);
  std::vector<DictionaryScan> scans;
  for (const StatisticsReader& input : inputs) scans.push_back(input.terms(blocks));
  TermSums sums(std::move(scans));
  std::uint64_t entries = 0;
  while (sums.next()) {
    writer.add_term(sums.term(), sums.counts());
    if (sums.entries() == entries) continue;
    progress.add(sums.entries() - entries);
    entries = sums.entries();
  }
}

void merge_docnos(const std::vector<StatisticsReader>& inputs, std::uint64_t memory_bytes, StatisticsWriter& writer) {
  const std::uint64_t blocks = DictionaryMerge::blocks_at_once(inputs.size(), memory_bytes);
  std::vector<DictionaryScan> scans;
  for (const StatisticsReader& input : inputs) scans.push_back(input.docnos(blocks));
  DictionaryMerge merge(std::move(scans));
  DocnoCounts keys(writer);
  while (merge.next()) {
    ByteReader payload(merge.payload(), inputs[merge.source()].name());
    keys.add(merge.term(), payload.varint());
  }
  keys.end();
}

/// The weight of each term of the collection; 0 without postings.
std::vector<float> term_weights(const CollectionReader& collection, const StatisticsReader& statistics,
                                const Bm25Parameters& bm25) {
  std::vector<float> weights(collection.manifest().terms);
  DictionaryScan lexicon = collection.lexicon();
  DictionaryScan whole = statistics.terms();
  DictionaryEntry in_whole;
  bool has_more = whole.next(in_whole);
  DictionaryEntry entry;
  for (std::uint64_t term = 0; lexicon.next(entry); ++term) {
    if (TermCounts::parse(entry.payload, lexicon.what()).df == 0) continue;
    while (has_more && in_whole.term < entry.term) has_more = whole.next(in_whole);
    if (!has_more || in_whole.term != entry.term)
      throw CorruptFile("{}: lacks the term '{}' of one of its splits", statistics.name(), entry.term);
    const TermCounts counts = TermCounts::parse(in_whole.payload, statistics.name());
    weights[term] = quantized_weight(counts.df, statistics.manifest().statistics(), bm25);
  }
  return weights;
}

}  // namespace

void write_statistics(const CollectionReader& collection, const Resources& resources, File& out) {
  return run_stage(resources, [&] {
    const CollectionManifest& from = collection.manifest();
    resources.progress->start("count terms", from.documents, "documents");
    StatisticsManifest manifest;
    manifest.collection = from;
    StatisticsWriter writer(out, resources.tmp_folder);
    DictionaryScan lexicon = collection.lexicon();
    for (DictionaryEntry entry; lexicon.next(entry);)
      if (const auto counts = TermCounts::parse(entry.payload, lexicon.what()); counts.df > 0)
        writer.add_term(entry.term, counts);
    writer.begin_docnos();
    ExternalSort docnos(resources.tmp_folder, resources.memory_bytes / 2);
    DocumentsHash hash;
    for_each_document(collection, [&](docid_t, const DocumentRow& row) {
      docnos.add(docno_key(row.docno), {});
      hash.add(row.docno, row.url, row.title, row.tokens);
      resources.progress->add(1);
    });
    manifest.documents_hash = hash.value();
    DocnoCounts keys(writer);
    docnos.merge([&](std::string_view key, ByteView) { keys.add(key, 1); });
    keys.end();
    const CollectionSplit split{collection.content_hash(), from.documents};
    writer.finish(std::move(manifest), std::span(&split, 1));
    resources.progress->finish();
  });
}

StatisticsManifest merge_statistics(const std::vector<StatisticsReader>& inputs, const Resources& resources,
                                    File& out) {
  return run_stage(resources, [&] {
    if (inputs.empty()) throw InvalidArgument("no statistics to merge");
    StatisticsManifest sum;
    sum.collection = inputs.front().manifest().collection;
    CollectionManifest& counts = sum.collection;
    counts.documents = counts.empty_documents = 0;
    check_alike(inputs);
    std::uint64_t terms = 0;
    for (const StatisticsReader& input : inputs) {
      if (&input != &inputs.front()) counts.add_optional_counts(input.manifest().collection, input.name());
      counts.documents += input.manifest().collection.documents;
      counts.empty_documents += input.manifest().collection.empty_documents;
      sum.documents_hash += input.manifest().documents_hash;
      terms += input.manifest().collection.terms;
      if (counts.documents >= end_docid)
        throw InvalidArgument("the splits up to {} have more than 2^32 - 2 documents", input.name());
    }
    const std::vector<CollectionSplit> splits = all_splits(inputs);
    resources.progress->start("merge statistics", terms, "terms");
    StatisticsWriter writer(out, resources.tmp_folder);
    merge_terms(inputs, resources.memory_bytes / 2, *resources.progress, writer);
    writer.begin_docnos();
    merge_docnos(inputs, resources.memory_bytes / 2, writer);
    writer.finish(sum, splits);
    resources.progress->finish();
    const ContainerReader written(std::make_shared<const File>(out.duplicate()), FileKind::statistics);
    return StatisticsManifest::from_json(written.manifest(), written.name());
  });
}

std::vector<std::string> repeated_docnos(const StatisticsReader& statistics,
                                         const std::vector<CollectionReader>& collections, std::size_t max_count) {
  std::set<std::string> keys;
  DictionaryScan scan = statistics.docnos();
  for (DictionaryEntry entry; keys.size() < max_count && scan.next(entry);) {
    ByteReader payload(entry.payload, statistics.name());
    if (payload.varint() > 1) keys.emplace(entry.term);
  }
  std::set<std::string> names;
  for (const CollectionReader& collection : collections)
    for_each_document(collection, [&](docid_t, const DocumentRow& row) {
      if (keys.contains(docno_key(row.docno))) names.emplace(row.docno);
    });
  return {names.begin(), names.end()};
}

void refuse_duplicates(const CollectionReader& collections, const Resources& resources) {
  if (collections.num_parts() == 1 || collections.manifest().duplicates == Duplicates::keep) return;
  run_stage(resources, [&] {
    ExternalSort docnos(resources.tmp_folder, resources.memory_bytes / 2);
    for_each_document(collections,
                      [&](docid_t, const DocumentRow& row) { docnos.add(docno_key(row.docno), as_bytes(row.docno)); });
    std::string last;  // empty at first
    docnos.merge([&](std::string_view key, ByteView docno) {
      if (key == last)
        throw InvalidArgument("{}: more than one document has the docno '{}'; fix the corpus, or parse it with {} keep",
                              collections.name(), as_text(docno), option_name<"duplicates">);
      last = key;
    });
  });
}

TermSums::TermSums(std::vector<DictionaryScan> scans) {
  sources_.reserve(scans.size());
  for (DictionaryScan& scan : scans) {
    // A scan must not move after it has begun.
    sources_.push_back({std::move(scan), {}});
    sources_.back().advance();
  }
}

std::uint64_t TermSums::blocks_at_once(std::size_t scans, std::uint64_t memory_bytes) {
  // For terms of ordinary length: the terms, their table rows and slots, and their positions in the order. Ranges of a
  // quarter of the blocks take longer, since each ends with the dictionary of the densest terms.
  constexpr std::uint64_t block_bytes = 4096, max_blocks = 64;
  return std::clamp<std::uint64_t>(memory_bytes / (std::max<std::size_t>(scans, 1) * block_bytes),
                                   DictionaryScan::min_blocks_with_bound, max_blocks);
}

const TermSums::Source* TermSums::find_bound() {
  const Source* first = nullptr;
  for (const Source& source : sources_) {
    if (source.has_ended) continue;
    const auto bound = source.scan.bound();
    if (!bound || (first != nullptr && *bound >= bound_)) continue;
    bound_ = *bound;
    first = &source;
  }
  return first;
}

bool TermSums::read_some(Source& source, const std::string* bound) {
  constexpr std::size_t max_entries = 32, max_bytes = 64 << 10;
  const std::uint64_t bound_prefix = bound == nullptr ? 0 : leading_bytes(*bound);
  read_.clear();
  read_bytes_.clear();
  for (; !source.has_ended && read_.size() < max_entries && read_bytes_.size() < max_bytes; source.advance()) {
    const std::string_view term = source.entry.term;
    if (term.size() > TermTable::max_term_bytes) throw CorruptFile(source.scan.what() + ": a term is too long");
    const std::size_t begin = read_bytes_.size();
    read_bytes_.resize(begin + term.size() + TermKey::prefix_bytes);
    std::copy(term.begin(), term.end(), read_bytes_.begin() + static_cast<std::ptrdiff_t>(begin));
    const TermKey key = padded_term_key({read_bytes_.data() + begin, term.size()});
    if (bound != nullptr) {
      const std::uint64_t prefix = __builtin_bswap64(key.prefix[0]);  // leading_bytes(), already in the key
      if (prefix > bound_prefix || (prefix == bound_prefix && term >= *bound)) return false;
    }
    read_.push_back({key, begin, TermCounts::parse(source.entry.payload, source.scan.what())});
    table_.fetch_slot(key.hash);
  }
  return !source.has_ended;
}

void TermSums::add(Source& source, const std::string* bound) {
  for (bool has_more = true; has_more;) {
    has_more = read_some(source, bound);
    for (const Read& entry : read_) {
      const std::uint32_t number = table_.fetch_row(entry.key.hash);
      if (number < counts_.size()) __builtin_prefetch(&counts_[number]);
    }
    for (Read& entry : read_) {
      entry.key.term = {read_bytes_.data() + entry.begin, entry.key.term.size()};
      const std::uint32_t number = table_.add(entry.key);
      if (number == counts_.size()) counts_.emplace_back();
      counts_[number] += entry.counts;
    }
    entries_ += read_.size();
  }
}

void TermSums::add_range() {
  table_.clear();
  counts_.clear();
  const Source* const first = find_bound();
  for (Source& source : sources_) add(source, first == nullptr ? nullptr : &bound_);
  // The bound is a later term of its dictionary, so there must be terms before it.
  if (first != nullptr && table_.size() == 0) throw CorruptFile(first->scan.what() + ": terms do not ascend");
}

void TermSums::sort_terms() {
  order_.clear();
  for (std::uint32_t number = 0; number < table_.size(); ++number)
    order_.push_back({leading_bytes(table_.term(number)), number});
  std::sort(order_.begin(), order_.end(), [&](const Place& a, const Place& b) {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    return table_.term(a.number) < table_.term(b.number);
  });
}

bool TermSums::next() {
  if (at_ + 1 < order_.size()) {
    ++at_;
    return true;
  }
  add_range();
  sort_terms();
  at_ = 0;
  return !order_.empty();
}

Scales find_scales(const CollectionReader& collection, const StatisticsReader& statistics, const Bm25Parameters& bm25,
                   const Resources& resources) {
  return run_stage(resources, [&] {
    check_bm25(bm25);
    if (collection.manifest().impacts)
      throw InvalidArgument(collection.name() +
                            ": holds term weights, which need no scale; build its shards without scales");
    const CollectionSplit split{collection.content_hash(), collection.num_documents()};
    if (!std::binary_search(statistics.splits().begin(), statistics.splits().end(), split))
      throw InvalidArgument("{}: is not among the splits of the statistics {}", collection.name(), statistics.name());
    const std::vector<float> weights = term_weights(collection, statistics, bm25);
    const double average = statistics.manifest().statistics().average_length();
    std::vector<float> constants;
    for (const std::uint32_t length : collection.lengths())
      constants.push_back(document_constant(length, average, bm25));
    resources.progress->start("find the scale", collection.num_documents(), "documents");
    const auto top_of = [&](docid_t document, std::span<const Posting> postings) {
      float top = 0;
      for (const Posting& posting : postings)
        top = std::max(top, weights[posting.term] * impact(posting.freq, constants[document]));
      return top;
    };
    struct Reading {
      ForwardPostings forward;
      float top = 0;
    };
    tbb::enumerable_thread_specific<Reading> readings;
    tbb::parallel_for(std::size_t{0}, collection.num_chunks(), [&](std::size_t chunk) {
      Reading& reading = readings.local();
      reading.forward.for_each_document(collection, chunk, [&](docid_t document, std::span<const Posting> postings) {
        reading.top = std::max(reading.top, top_of(document, postings));
      });
      resources.progress->add(collection.chunk(chunk).documents);
    });
    Scales scales{bm25, 0, hash_text(statistics.container().content_hash()), {split}};
    ForwardPostings forward;
    for (const SplitDocument& split_document : collection.split_documents())
      forward.read_split(collection, split_document, split_document.document, [&](std::span<const Posting> postings) {
        scales.top = std::max(scales.top, top_of(split_document.document, postings));
      });
    for (const Reading& reading : readings) scales.top = std::max(scales.top, reading.top);
    resources.progress->finish();
    return scales;
  });
}

Scales merge_scales(const std::vector<Scales>& inputs, const std::vector<std::string>& names) {
  if (inputs.empty()) throw InvalidArgument("no scales to merge");
  Scales sum = inputs.front();
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const Scales& input = inputs[i];
    if (input.statistics_hash != sum.statistics_hash)
      throw InvalidArgument("{}: was computed with different statistics than {}", names[i], names[0]);
    if (input.bm25 != sum.bm25)
      throw InvalidArgument("{}: was computed with a different k1 or b than {}", names[i], names[0]);
    sum.top = std::max(sum.top, input.top);
    sum.splits.insert(sum.splits.end(), input.splits.begin(), input.splits.end());
    std::sort(sum.splits.begin(), sum.splits.end());
  }
  return sum;
}

}  // namespace quern
