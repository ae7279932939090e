#include "quern/index/index_assembly.hpp"

#include <fmt/format.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_pipeline.h>

#include <algorithm>

#include "quern/core/bytes.hpp"
#include "quern/core/size_text.hpp"
#include "quern/index/impact_sections.hpp"
#include "quern/index/list_encoder.hpp"

namespace quern {
IndexAssembly::IndexAssembly(std::uint64_t documents, const BuildOptions& options, const Resources& resources,
                             File& out)
    : documents_(documents),
      options_(options),
      resources_(resources),
      out_(out),
      writer_(out, resources.tmp_folder, options.quantize_bits > 0) {
  check_memory();
}

void IndexAssembly::check_memory() const {
  const std::uint64_t needed = table_bytes() + (16 << 20);
  if (needed > resources_.memory_bytes) {
    throw InvalidArgument(fmt::format("an index of {} documents needs {} of memory, but --memory allows {}; raise it",
                                      documents_, size_text(needed), size_text(resources_.memory_bytes)));
  }
}

std::size_t IndexAssembly::jobs_in_flight() const {
  constexpr std::uint64_t job_bytes = 4 << 20;
  return std::clamp<std::uint64_t>(working_bytes() / 4 / job_bytes, 1, resources_.threads * 2);
}

void IndexAssembly::set_lengths(std::vector<std::uint32_t> lengths, const CollectionStatistics& statistics) {
  lengths_ = std::move(lengths);
  statistics_ = statistics;
}

std::vector<float> IndexAssembly::constants() const {
  const double average = statistics_.average_length();
  std::vector<float> constants(lengths_.size());
  std::transform(lengths_.begin(), lengths_.end(), constants.begin(),
                 [&](std::uint32_t length) { return document_constant(length, average, options_.bm25); });
  return constants;
}

void IndexAssembly::add_lists(ListSource& lists, std::uint64_t expected_postings,
                              const std::function<std::string_view(term_t)>& term_at) {
  resources_.progress->start("lists", expected_postings, "postings");
  const std::vector<float> constants = this->constants();
  const EncodingContext context{&codec_named(options_.codec), options_.codec_options, static_cast<docid_t>(documents_),
                                constants};
  std::optional<ImpactSections> impacts;
  if (options_.quantize_bits > 0) impacts.emplace(options_.quantize_bits, statistics_, options_.bm25, resources_);
  tbb::enumerable_thread_specific<ListEncoding> encodings(context);
  const auto next = [&](tbb::flow_control& control) -> std::shared_ptr<ListBatch> {
    auto batch = std::make_shared<ListBatch>();
    if (!lists.next(*batch)) control.stop();
    return batch;
  };
  const auto encode = [&](const std::shared_ptr<ListBatch>& batch) {
    auto encoded = std::make_shared<EncodedBatch>();
    encodings.local().encode(lists_of(std::move(*batch)), *encoded);
    return encoded;
  };
  const auto write = [&](const std::shared_ptr<EncodedBatch>& batch) {
    for (const EncodedBatch::Item& item : batch->items) {
      const EncodedList list = batch->list(item);
      writer_.add_list(term_at(item.term), list);
      if (impacts) impacts->note(list);
      tokens_ += item.cf;
    }
    bits_.docid_bits += batch->bits.docid_bits;
    bits_.freq_bits += batch->bits.freq_bits;
    postings_ += batch->postings;
    resources_.progress->add(batch->postings);
  };
  using BatchPointer = std::shared_ptr<ListBatch>;
  using EncodedPointer = std::shared_ptr<EncodedBatch>;
  tbb::parallel_pipeline(jobs_in_flight(),
                         tbb::make_filter<void, BatchPointer>(tbb::filter_mode::serial_in_order, next) &
                             tbb::make_filter<BatchPointer, EncodedPointer>(tbb::filter_mode::parallel, encode) &
                             tbb::make_filter<EncodedPointer, void>(tbb::filter_mode::serial_in_order, write));
  writer_.end_lists();
  resources_.progress->finish();
  if (impacts) {
    impacts->write(context, out_, jobs_in_flight(), writer_);
    quantize_top_ = impacts->quantizer().top();
  }
  writer_.begin_documents();
}

void IndexAssembly::add_document(docid_t docid, std::string_view docno, std::string_view url, std::string_view title) {
  if (!document_rows_) {
    document_rows_.emplace(resources_.tmp_folder, working_bytes() / 2);
    docno_hashes_.emplace(resources_.tmp_folder, working_bytes() / 4);
  }
  Bytes payload;
  put_string(payload, docno);
  put_string(payload, url);
  put_string(payload, title);
  document_rows_->add(SortKey(docid).view(), payload);
  docno_hashes_->add(SortKey(docno_hash(docno), docid).view(), {});
}

void IndexAssembly::write_document(docid_t docid, const IndexedDocument& document) {
  writer_.add_document(document.docno, document.url, document.title);
  if (!docno_hashes_) docno_hashes_.emplace(resources_.tmp_folder, working_bytes() / 4);
  docno_hashes_->add(SortKey(docno_hash(document.docno), docid).view(), {});
}

void IndexAssembly::end_documents() {
  if (document_rows_) {
    document_rows_->merge([&](std::string_view, ByteView bytes) {
      ByteReader reader(bytes, "work file of documents");
      const std::string_view docno = reader.string(), url = reader.string();
      writer_.add_document(docno, url, reader.string());
    });
    document_rows_.reset();
  }
  writer_.end_documents(lengths_);
  writer_.begin_docno_lookup();
  if (docno_hashes_) {
    std::vector<docid_t> docids;
    docids.reserve(4096);
    docno_hashes_->merge([&](std::string_view key, ByteView) {
      docids.push_back(__builtin_bswap32(load_le<docid_t>(key.data() + sizeof(std::uint64_t))));
      if (docids.size() < docids.capacity()) return;
      writer_.add_docno_lookup(docids);
      docids.clear();
    });
    writer_.add_docno_lookup(docids);
  }
  writer_.end_docno_lookup();
}

BuildReport IndexAssembly::finish(IndexManifest manifest) {
  manifest.codec = options_.codec;
  manifest.codec_options = options_.codec_options;
  manifest.bm25 = options_.bm25;
  manifest.quantize_bits = options_.quantize_bits;
  manifest.quantize_top = quantize_top_;
  manifest.statistics = statistics_;
  manifest.documents = documents_;
  manifest.empty_documents = static_cast<std::uint64_t>(std::count(lengths_.begin(), lengths_.end(), 0u));
  manifest.postings = postings_;
  manifest.tokens = tokens_;
  manifest.coded = bits_;
  writer_.finish(std::move(manifest));
  const IndexReader written(
      ContainerReader(std::make_shared<const File>(out_.duplicate()), FileKind::index, index_version));
  BuildReport report;
  report.manifest = written.manifest();
  report.index_bytes = out_.size();
  return report;
}

}  // namespace quern
