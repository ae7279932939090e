#include "quern/index/build_fields.hpp"

#include <vector>

#include "quern/core/bytes.hpp"
#include "quern/core/run_stage.hpp"
#include "quern/formats/fields_file.hpp"
#include "quern/index/build_index.hpp"
#include "quern/io/external_sort.hpp"

namespace quern {
namespace {

class FieldsBuilder {
 public:
  FieldsBuilder(const CollectionReader& collection, const DocumentOrder& order, const DocidRange& range,
                const Resources& resources)
      : collection_(collection), resources_(resources), docids_(order.documents.size(), end_docid) {
    for (docid_t docid = range.first; docid < range.end; ++docid) docids_[order.documents[docid]] = docid - range.first;
    const unsigned scores = unsigned{!order.pagerank.empty()} + unsigned{!order.global_scores.empty()};
    tables_bytes_ = docids_.size() * 4 * (2 + std::uint64_t{scores}) + collection.table_bytes();
  }

  FieldsReport run(const std::string& index_hash, File& out) {
    const std::vector<std::string>& names = collection_.manifest().field_names.kept;
    resources_.progress->start("fields", collection_.num_documents(), "documents");
    ExternalSort records(resources_.tmp_folder, (resources_.memory_bytes - tables_bytes_) / 2);
    ChunkBuffers buffers;
    for (std::size_t chunk = 0; chunk < collection_.num_chunks(); ++chunk) {
      docid_t document = collection_.first_document(chunk);
      for (const ByteView values : collection_.fields(chunk, buffers))
        if (const docid_t docid = docids_[document++]; docid != end_docid) records.add(SortKey(docid).view(), values);
      resources_.progress->add(collection_.chunk(chunk).documents);
    }
    FieldsWriter writer(out, resources_.tmp_folder, names);
    records.merge([&](std::string_view, ByteView values) { writer.add(values); });
    writer.finish(index_hash);
    resources_.progress->finish();
    return {names.size(), out.size()};
  }

 private:
  const CollectionReader& collection_;
  const Resources& resources_;
  std::vector<docid_t> docids_;  ///< of each document of the collection; end_docid outside the range
  std::uint64_t tables_bytes_ = 0;
};

}  // namespace

FieldsReport build_fields(const CollectionReader& collection, const DocumentOrder& order, const std::string& index_hash,
                          const Resources& resources, File& out, std::optional<DocidRange> range) {
  return run_stage(resources, [&] {
    const unsigned scores = unsigned{!order.pagerank.empty()} + unsigned{!order.global_scores.empty()};
    check_build_memory(collection, scores, resources);
    if (order.documents.size() != collection.num_documents())
      throw InvalidArgument(collection.name() + ": has another number of documents than the order");
    if (!collection.has_fields())
      throw InvalidArgument(collection.name() +
                            ": the collection keeps no fields; make it with: quern parse --keep-fields");
    return FieldsBuilder(collection, order, range.value_or(DocidRange{0, collection.num_documents()}), resources)
        .run(index_hash, out);
  });
}

}  // namespace quern
