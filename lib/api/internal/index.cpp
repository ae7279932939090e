#include "quern/api/index.hpp"

#include <fmt/format.h>

#include "quern/api/internal/boundary.hpp"
#include "quern/api/internal/index_impl.hpp"
#include "quern/formats/fields_file.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/formats/posting_reader.hpp"
#include "quern/formats/queries/filter_expression.hpp"
#include "quern/index/make_index.hpp"
#include "quern/index/verify_index.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/io/checksum.hpp"
#include "quern/search/document_set.hpp"

namespace quern::api {

struct PostingIterator::Impl {
  std::shared_ptr<Index::Impl> index;   ///< keeps it mapped
  std::optional<PostingCursor> cursor;  ///< none: an empty list
};

PostingIterator::PostingIterator(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

bool PostingIterator::at_end() const noexcept { return !impl_->cursor || impl_->cursor->docid() == end_docid; }
std::uint32_t PostingIterator::docid() const noexcept { return impl_->cursor->docid(); }
std::uint32_t PostingIterator::frequency() {
  return with_api_errors([&] { return impl_->cursor->freq(); });
}
void PostingIterator::next() {
  with_api_errors([&] { impl_->cursor->next(); });
}
void PostingIterator::seek(std::uint32_t docid) {
  with_api_errors([&] { impl_->cursor->next_geq(docid); });
}

Index::Impl::Impl(IndexShards opened, std::string first_path)
    : shards(std::move(opened)),
      path(std::move(first_path)),
      analyzers([this] { return std::make_unique<Analyzer>(shards[0].manifest().analyzer); }) {}

IndexShards::Place Index::Impl::place(std::uint32_t docid) const {
  if (docid >= shards.num_documents())
    throw InvalidArgument("{}: no document has docID {}; docIDs are below {}", shards.name(), docid,
                          shards.num_documents());
  return shards.place(docid);
}

const IndexReader& Index::Impl::whole() const {
  if (shards.size() > 1)
    throw InvalidArgument(shards.name() + ": is in several shards; open one of them, or merge them with quern merge");
  return shards[0];
}

std::span<const TextsReader> Index::Impl::texts() {
  const std::lock_guard lock(texts_mutex_);
  if (texts_.empty()) {
    std::vector<TextsReader> opened;
    for (const IndexReader& shard : shards) opened.push_back(TextsReader::open_beside(shard));
    texts_ = std::move(opened);
  }
  return texts_;
}

Index::Index(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Index Index::open(const std::string& path) { return open_shards({path}); }

Index Index::open_shards(const std::vector<std::string>& paths) {
  return with_api_errors([&] {
    IndexShards shards = IndexShards::open(paths);
    return Index(std::make_shared<Impl>(std::move(shards), paths.front()));
  });
}

const std::string& Index::path() const noexcept { return impl_->path; }

std::uint32_t Index::num_documents() const noexcept { return impl_->shards.num_documents(); }

std::uint64_t Index::content_hash() const {
  Bytes hashes;
  for (const IndexReader& shard : impl_->shards) put_le(hashes, shard.container().content_hash());
  return xxh3(hashes);
}

IndexStatistics Index::statistics() const {
  return with_api_errors([&] {
    const IndexReader& reader = impl_->whole();
    const IndexManifest& manifest = reader.manifest();
    IndexStatistics out;
    out.documents = manifest.documents;
    out.empty_documents = manifest.empty_documents;
    out.terms = manifest.terms;
    out.postings = manifest.postings;
    out.tokens = manifest.tokens;
    out.blocks = manifest.blocks;
    if (manifest.documents > 0)
      out.average_length = static_cast<double>(manifest.tokens) / static_cast<double>(manifest.documents);
    out.file_bytes = reader.container().file_bytes();
    out.codec = manifest.codec;
    out.order = manifest.order;
    out.stemmer = manifest.analyzer.stemmer;
    out.stopwords = manifest.analyzer.stopwords_name;
    out.block_size = manifest.codec_options.block_size;
    out.k1 = manifest.bm25.k1;
    out.b = manifest.bm25.b;
    out.quantize_bits = manifest.quantize_bits;
    if (manifest.weighting)
      out.weights = weighting_text(*manifest.weighting);
    else if (manifest.impacts)
      out.impact_bits = manifest.impacts->bits;
    out.has_pagerank = !reader.pagerank().empty();
    out.has_global_scores = !reader.global_scores().empty();
    out.has_forward = has_member(reader.name(), forward_member);
    out.has_texts = has_member(reader.name(), texts_member);
    return out;
  });
}

std::string Index::manifest() const {
  return with_api_errors([&] { return impl_->whole().manifest().to_json(); });
}

std::optional<TermInfo> Index::term(std::string_view term) const {
  return with_api_errors([&]() -> std::optional<TermInfo> {
    const auto list = impl_->whole().find(term);
    if (!list) return std::nullopt;
    return TermInfo{list->df, list->cf};
  });
}

PostingArrays Index::postings(std::string_view term) const {
  return with_api_errors([&] {
    PostingArrays out;
    const auto list = impl_->whole().find(term);
    if (!list) return out;
    out.docids.reserve(list->df);
    out.frequencies.reserve(list->df);
    for_each_block(impl_->whole(), *list, [&](BlockReader& block) {
      const auto docids = block.docids();
      const auto frequencies = block.freqs();
      out.docids.insert(out.docids.end(), docids.begin(), docids.end());
      out.frequencies.insert(out.frequencies.end(), frequencies.begin(), frequencies.end());
    });
    return out;
  });
}

PostingIterator Index::posting_iterator(std::string_view term) const {
  return with_api_errors([&] {
    auto impl = std::make_shared<PostingIterator::Impl>();
    impl->index = impl_;
    if (const auto list = impl_->whole().find(term)) impl->cursor.emplace(impl_->whole(), *list);
    return PostingIterator(std::move(impl));
  });
}

void Index::for_each_term(const std::function<bool(std::string_view, const TermInfo&)>& visit) const {
  with_api_errors([&] {
    const IndexReader& reader = impl_->whole();
    bool goes_on = true;
    for (std::uint64_t block = 0; goes_on && block < reader.num_lexicon_blocks(); ++block)
      reader.for_each_list(block, [&](std::string_view term, const PostingList& list) {
        if (goes_on) goes_on = visit(term, {list.df, list.cf});
      });
  });
}

std::vector<std::string> Index::analyze(std::string_view text) const {
  return with_api_errors([&] { return impl_->analyzers.borrow()->terms(text); });
}

std::string Index::docno(std::uint32_t docid) const {
  return with_api_errors([&] {
    const IndexShards::Place place = impl_->place(docid);
    return std::string(place.index.docno(place.docid));
  });
}

std::uint32_t Index::length(std::uint32_t docid) const {
  return with_api_errors([&] {
    const IndexShards::Place place = impl_->place(docid);
    return place.index.length(place.docid);
  });
}

DocumentInfo Index::document(std::uint32_t docid) const {
  return with_api_errors([&] {
    const IndexShards::Place place = impl_->place(docid);
    IndexReader::DocumentText text = place.index.text(place.docid);
    return DocumentInfo{std::string(place.index.docno(place.docid)), std::move(text.url), std::move(text.title),
                        place.index.length(place.docid)};
  });
}

std::string Index::text(std::uint32_t docid) const {
  return with_api_errors([&] {
    const IndexShards::Place place = impl_->place(docid);
    return impl_->texts()[place.shard].text(place.docid);
  });
}

std::optional<std::uint32_t> Index::find(std::string_view docno) const {
  return with_api_errors([&] { return impl_->shards.find_docno(docno); });
}

void Index::verify(const Work& work) const {
  with_api_errors([&] {
    WorkResources resources(work, {});
    for (const IndexReader& shard : impl_->shards) verify_index_files(shard, resources);
    resources.progress().finish();
  });
}

namespace {

/// The documents by shard.
std::vector<DocumentSet> by_shard(const Index::Impl& index, std::span<const std::uint32_t> docids) {
  std::vector<DocumentSet> sets;
  for (const IndexReader& shard : index.shards) sets.emplace_back(shard.num_documents());
  for (const std::uint32_t docid : docids) {
    const IndexShards::Place place = index.place(docid);
    sets[place.shard].add(place.docid);
  }
  return sets;
}

}  // namespace

std::uint64_t Filter::Impl::bytes() const {
  std::uint64_t bytes = 0;
  for (const DocumentSet& set : passing) bytes += DocumentSet::bytes(set.num_documents());
  return bytes;
}

Filter::Filter(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Filter Filter::matching(const Index& index, std::string_view expression, const Work& work) {
  return with_api_errors([&] {
    const FilterExpression parsed = parse_filter(expression);
    const WorkResources resources(work, {});
    Resources left = *resources;
    std::vector<DocumentSet> passing;
    for (const IndexReader& shard : index.impl()->shards) {
      std::optional<FieldsReader> fields;
      if (has_member(shard.name(), fields_member)) fields.emplace(FieldsReader::open_beside(shard));
      passing.push_back(evaluate_filter(parsed, shard, fields ? &*fields : nullptr, left));
      left.memory_bytes -= DocumentSet::bytes(shard.num_documents());
    }
    return Filter(std::make_shared<Impl>(std::move(passing)));
  });
}

Filter Filter::listed(const Index& index, const std::string& path, const Work& work) {
  return with_api_errors([&] {
    WorkResources resources(work, {});
    const IndexShards& shards = index.impl()->shards;
    const auto source = ByteSource::open(path, resources);
    ListedDocuments listed = read_docno_list(*source, shards, resources);
    if (listed.unknown > 0)
      resources.progress().remark(fmt::format("{}: {} of its {} are not in the index, for example '{}'", source->name(),
                                              listed.unknown, count_text(listed.listed, "docno"),
                                              listed.first_unknown));
    return Filter(std::make_shared<Impl>(std::move(listed.documents)));
  });
}

Filter Filter::of_docnos(const Index& index, std::span<const std::string_view> docnos) {
  return with_api_errors([&] {
    std::vector<std::uint32_t> docids;
    for (const std::string_view docno : docnos)
      if (const auto docid = index.impl()->shards.find_docno(docno)) docids.push_back(*docid);
    return Filter(std::make_shared<Impl>(by_shard(*index.impl(), docids)));
  });
}

Filter Filter::of_docids(const Index& index, std::span<const std::uint32_t> docids) {
  return with_api_errors([&] { return Filter(std::make_shared<Impl>(by_shard(*index.impl(), docids))); });
}

std::uint64_t Filter::count() const {
  std::uint64_t documents = 0;
  for (const DocumentSet& set : impl_->passing) documents += set.count();
  return documents;
}

}  // namespace quern::api
