#include "quern/index/forward/recode_forward.hpp"

#include <bit>

#include "quern/codec/kernels.hpp"
#include "quern/core/job_pipeline.hpp"
#include "quern/formats/joined_lexicon.hpp"
#include "quern/io/checksum.hpp"

namespace quern {
namespace {

/// Encoded bytes per job, and the size from which a document isn't held in memory as a whole.
constexpr std::uint64_t job_bytes = 1 << 20, large_document_bytes = 4 << 20;

}  // namespace

/// The source index's terms by their numbers in the new index.
class ForwardRecoder::Terms {
 public:
  Terms(const IndexReader& from, const IndexReader& to) : from_(from), to_(to) {
    numbers_.reserve(from.manifest().terms);
    LexiconCursor here(from), there(to);
    bool has_there = there.next();
    while (here.next()) {
      while (has_there && there.term() < here.term()) has_there = there.next();
      const bool is_there = has_there && there.term() == here.term();
      numbers_.push_back(is_there ? there.list().number : none);
    }
  }

  /// Adds a term to a segment, by its number in the source index or as a literal.
  SegmentBuilder::Key add(term_t number, SegmentBuilder& builder) const {
    if (numbers_[number] != none) return builder.add_term(numbers_[number]);
    return builder.add_literal(from_.term(number));
  }
  SegmentBuilder::Key add(std::string_view literal, SegmentBuilder& builder, TermNumberCache& cache) const {
    const auto number = cache.number(literal, [&](std::string_view term) -> std::optional<term_t> {
      const auto list = to_.find(term);
      return list ? std::optional<term_t>(list->number) : std::nullopt;
    });
    return number ? builder.add_term(*number) : builder.add_literal(literal);
  }

 private:
  static constexpr term_t none = ~term_t{0};

  const IndexReader& from_;
  const IndexReader& to_;
  std::vector<term_t> numbers_;
};

/// Some documents to recode.
struct ForwardRecoder::Job {
  struct Document {
    StaticNumbers numbers;
    std::size_t segments_end = 0;  ///< end in `segments`
  };
  docid_t first = 0, end = 0;  ///< range in the source file
  bool is_large = false;       ///< a single document, recoded while it is written
  std::vector<Document> documents;
  Bytes segments;

  SegmentBuilder builder;
  TermNumberCache cache;
  std::vector<term_t> numbers;
  std::vector<std::string_view> literals;
  std::vector<std::uint32_t> ids;
  std::vector<SegmentBuilder::Key> keys;  ///< key of each ID

  /// Recodes a segment and appends it to `segments`.
  void recode(const ForwardSegment& segment, const Terms& terms, std::uint64_t index_terms, const std::string& what) {
    segment.read_terms(numbers, literals, what);
    keys.assign(1, SegmentBuilder::phrase_end_key);
    for (const term_t number : numbers) keys.push_back(terms.add(number, builder));
    for (const std::string_view literal : literals) keys.push_back(terms.add(literal, builder, cache));
    ids.resize(segment.places() + unpack_slack);
    segment.unpack(0, segment.places(), ids.data());
    std::uint32_t at = 0;
    for (std::size_t stream = 0; stream < num_document_streams; ++stream)
      for (const std::uint32_t stream_end = at + segment.stream_places()[stream]; at < stream_end; ++at) {
        if (ids[at] >= keys.size()) throw CorruptFile(what + ": an unknown term");
        builder.add_place(static_cast<DocumentStream>(stream), keys[ids[at]]);
      }
    builder.encode(index_terms, segments);
  }
};

ForwardRecoder::ForwardRecoder(const IndexReader& to, const Resources& resources, File& out)
    : to_(to), resources_(resources), file_(out), writer_(out, resources.tmp_folder) {}

void ForwardRecoder::write(docid_t docid, const ForwardReader& forward, const Terms& terms, Job& job) {
  writer_.begin_document(forward.numbers(docid));
  forward.for_each_segment(docid, [&](const ForwardSegment& segment) {
    job.segments.clear();
    job.recode(segment, terms, to_.manifest().terms, forward.place(docid));
    writer_.add_segments(job.segments);
  });
}

void ForwardRecoder::add(const IndexReader& from, const ForwardReader& forward, const DocidRange& docids) {
  return run_stage(resources_, [&] {
    const std::uint64_t table_bytes = from.manifest().terms * sizeof(term_t) + to_.manifest().documents * 8;
    // A job holds its documents, their terms and positions, and the encoded result.
    constexpr std::uint64_t bytes_per_job = 4 * large_document_bytes;
    if (table_bytes + bytes_per_job > resources_.memory_bytes)
      throw InvalidArgument("{}: needs {} of memory for terms and links, but {} allows {}; raise it", forward.name(),
                            size_text(table_bytes + bytes_per_job), option_name<"memory">,
                            size_text(resources_.memory_bytes));
    const Terms terms(from, to_);
    from.container().release();
    docid_t next = docids.first;
    const auto read = [&](Job& job) {
      if (next == docids.end) return false;
      const std::uint64_t begin = forward.document_range(next).from;
      job.first = next;
      do ++next;
      while (next < docids.end && forward.document_range(next).to - begin <= job_bytes);
      job.end = next;
      const ForwardReader::Range last = forward.document_range(job.end - 1);
      job.is_large = last.to - last.from > large_document_bytes;
      return true;
    };
    const auto work = [&](Job& job) {
      job.documents.clear();
      job.segments.clear();
      if (job.is_large) return;
      for (docid_t docid = job.first; docid < job.end; ++docid) {
        const StaticNumbers numbers = forward.for_each_segment(docid, [&](const ForwardSegment& segment) {
          job.recode(segment, terms, to_.manifest().terms, forward.place(docid));
        });
        job.documents.push_back({numbers, job.segments.size()});
      }
    };
    const auto put = [&](Job& job) {
      if (job.is_large) write(job.first, forward, terms, job);
      std::size_t begin = 0;
      for (const Job::Document& document : job.documents) {
        writer_.begin_document(document.numbers);
        writer_.add_segments(ByteView(job.segments).subspan(begin, document.segments_end - begin));
        begin = document.segments_end;
      }
      for (docid_t docid = job.first; docid < job.end; ++docid) {
        out_links_.push_back(forward.out_links(docid));
        in_links_.push_back(forward.in_links(docid));
      }
      resources_.progress->add(job.end - job.first);
      manifest_.counts += job.builder.counts();
      job.builder = {};
      forward.container().release();
    };
    const std::uint64_t fitting = (resources_.memory_bytes - table_bytes) / bytes_per_job;
    run_jobs(
        std::clamp<std::uint64_t>(fitting, 1, 2 * resources_.threads), [] { return std::make_unique<Job>(); }, read,
        work, put);
    manifest_.documents += docids.size();
  });
}

ForwardReport ForwardRecoder::finish() {
  manifest_.index_hash = hash_text(to_.container().content_hash());
  manifest_.index_terms = to_.manifest().terms;
  writer_.finish(manifest_, out_links_, in_links_);
  return ForwardReport{manifest_, file_.size(), std::nullopt};
}

IndexTerms::IndexTerms(const CollectionReader& collection)
    : dictionary_(collection.lexicon_container(), "lexicon", collection.manifest().terms),
      words_(collection.manifest().terms / 64 + 1),
      listed_before_(words_.size()) {
  DictionaryScan scan = collection.lexicon();
  DictionaryEntry entry;
  for (std::uint64_t number = 0; scan.next(entry); ++number)
    if (TermCounts::parse(entry.payload, scan.what()).df > 0) set_listed(number);
  count_listed();
}

IndexTerms::IndexTerms(const CollectionReader& collection, const IndexReader& shard, const StatisticsBeside& whole)
    : dictionary_(collection.lexicon_container(), "lexicon", collection.manifest().terms),
      whole_(&whole),
      words_(collection.manifest().terms / 64 + 1),
      listed_before_(words_.size()) {
  DictionaryScan scan = collection.lexicon();
  DictionaryEntry entry;
  std::uint64_t next = 0;  // number of the entry after the current one
  for (std::uint64_t block = 0; block < shard.num_lexicon_blocks(); ++block) {
    shard.for_each_list(block, [&](std::string_view term, const PostingList&) {
      while (next == 0 || entry.term < term) {
        if (!scan.next(entry))
          throw InvalidArgument(collection.name() + ": lacks terms of " + shard.name() +
                                "; name the collection that the shard was built from");
        ++next;
      }
      if (entry.term != term)
        throw InvalidArgument(collection.name() + ": lacks terms of " + shard.name() +
                              "; name the collection that the shard was built from");
      set_listed(next - 1);
    });
  }
  count_listed();
}

void IndexTerms::count_listed() {
  for (std::size_t word = 0; word < words_.size(); ++word) {
    listed_before_[word] = static_cast<std::uint32_t>(listed_);
    listed_ += static_cast<std::uint64_t>(std::popcount(words_[word]));
  }
}

std::uint64_t IndexTerms::table_bytes(const CollectionReader& collection) {
  return (collection.manifest().terms / 64 + 1) * (sizeof(std::uint64_t) + sizeof(std::uint32_t));
}

std::optional<term_t> IndexTerms::number(std::string_view term) const {
  const auto block = dictionary_.block_of(term);
  if (!block) return std::nullopt;
  std::uint64_t before = *block * terms_per_block;
  if (!dictionary_.block(*block).find(term, [&before](ByteView) { ++before; })) return std::nullopt;
  return number(static_cast<term_t>(before));
}

std::string IndexTerms::term(term_t in_collection) const {
  DictionaryBlock block = dictionary_.block(in_collection / terms_per_block);
  DictionaryEntry entry;
  for (std::uint32_t i = 0; i <= in_collection % terms_per_block; ++i)
    if (!block.next(entry)) throw CorruptFile(dictionary_.what() + ": ends too early");
  return std::string(entry.term);
}

}  // namespace quern
