#include "quern/index/build_texts.hpp"

#include "quern/formats/fields_file.hpp"
#include "quern/formats/texts_file.hpp"
#include "quern/index/build_index.hpp"
#include "quern/io/external_sort.hpp"

namespace quern {
namespace {

/// Texts are sorted in parts of this size, small compared with merge buffers.
constexpr std::size_t sorted_part_bytes = 16 << 10;

/// The docIDs of a range of an order, by document of the collection.
class RangeDocids {
 public:
  /// `range`: nullopt for all docIDs. Throws InvalidArgument like check_build_memory(), and if the order is of another
  /// number of documents.
  RangeDocids(const CollectionReader& collection, const DocumentOrder& order, const std::optional<DocidRange>& range,
              const Resources& resources) {
    const unsigned scores = unsigned{!order.pagerank.empty()} + unsigned{!order.global_scores.empty()};
    check_build_memory(collection, scores, resources);
    if (order.documents.size() != collection.num_documents())
      throw InvalidArgument(collection.name() + ": its number of documents differs from the order's");
    docids_.assign(order.documents.size(), end_docid);
    const DocidRange docids = range.value_or(DocidRange{0, collection.num_documents()});
    for (docid_t docid = docids.first; docid < docids.end; ++docid)
      docids_[order.documents[docid]] = docid - docids.first;
    const std::uint64_t table_bytes = docids_.size() * 4 * (2 + std::uint64_t{scores}) + collection.table_bytes();
    sorting_bytes_ = (resources.memory_bytes - table_bytes) / 2;
  }

  /// end_docid for a document outside the range.
  docid_t operator[](docid_t document) const { return docids_[document]; }
  /// Memory for sorting, besides the tables.
  std::uint64_t sorting_bytes() const { return sorting_bytes_; }

 private:
  std::vector<docid_t> docids_;
  std::uint64_t sorting_bytes_ = 0;
};

class TextsBuilder {
 public:
  TextsBuilder(const CollectionReader& collection, RangeDocids docids, const Resources& resources)
      : collection_(collection), resources_(resources), docids_(std::move(docids)) {}

  TextsReport run(const std::string& index_hash, File& out) {
    const std::uint64_t text_bytes = *collection_.manifest().text_bytes;
    check_free_space(resources_.tmp_folder, text_bytes, "sorting the texts");
    resources_.progress->start("sort texts", text_bytes, "bytes");
    ExternalSort parts(resources_.tmp_folder, docids_.sorting_bytes());
    sort(parts);
    resources_.progress->finish();
    resources_.progress->start("write texts", written_, "bytes");
    write(parts, index_hash, out);
    resources_.progress->finish();
    return {written_, out.size()};
  }

 private:
  /// The parts of a text share a key and keep their order.
  void sort(ExternalSort& parts) {
    ChunkBuffers buffers;
    std::uint64_t bytes = 0;
    for (std::size_t chunk = 0; chunk < collection_.num_chunks(); ++chunk) {
      docid_t document = collection_.first_document(chunk);
      for (std::string_view text : collection_.texts(chunk, buffers)) {
        const docid_t docid = docids_[document++];
        bytes += text.size();
        resources_.progress->add(text.size());
        if (docid == end_docid) continue;
        written_ += text.size();
        const SortKey key(docid);
        do {
          const std::string_view part = text.substr(0, sorted_part_bytes);
          parts.add(key.view(), as_bytes(part));
          text.remove_prefix(part.size());
        } while (!text.empty());
      }
    }
    if (bytes != *collection_.manifest().text_bytes)
      throw CorruptFile(collection_.name() + ": its bytes of text differ from its manifest's");
  }

  void write(ExternalSort& parts, const std::string& index_hash, File& out) {
    TextsWriter writer(out, resources_.tmp_folder);
    std::optional<docid_t> open;  // none in a shard without documents
    parts.merge([&](std::string_view key, ByteView part) {
      const auto docid = number_in_key<docid_t>(key, 0);
      if (open && docid != *open) writer.end_document();
      open = docid;
      writer.add(as_text(part));
      resources_.progress->add(part.size());
    });
    if (open) writer.end_document();
    writer.finish(index_hash);
  }

  const CollectionReader& collection_;
  const Resources& resources_;
  RangeDocids docids_;
  std::uint64_t written_ = 0;  ///< bytes of the range's texts
};

}  // namespace

void check_has_texts(const CollectionReader& collection) {
  if (!collection.has_texts())
    throw InvalidArgument(collection.name() + ": the collection has no stored texts; parse the corpus with: " +
                          option_name<"parse store-text">);
}

TextsReport build_texts(const CollectionReader& collection, const DocumentOrder& order, const std::string& index_hash,
                        const Resources& resources, File& out, std::optional<DocidRange> range) {
  return run_stage(resources, [&] {
    check_has_texts(collection);
    return TextsBuilder(collection, {collection, order, range, resources}, resources).run(index_hash, out);
  });
}

FieldsReport build_fields(const CollectionReader& collection, const DocumentOrder& order, const std::string& index_hash,
                          const Resources& resources, File& out, std::optional<DocidRange> range) {
  return run_stage(resources, [&] {
    if (!collection.has_fields())
      throw InvalidArgument(collection.name() + ": the collection has no kept fields; parse the corpus with: " +
                            option_name<"parse keep-fields">);
    const RangeDocids docids(collection, order, range, resources);
    const std::vector<std::string>& names = collection.manifest().field_names.kept;
    resources.progress->start("write fields", collection.num_documents(), "documents");
    ExternalSort records(resources.tmp_folder, docids.sorting_bytes());
    ChunkBuffers buffers;
    for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk) {
      docid_t document = collection.first_document(chunk);
      for (const ByteView values : collection.fields(chunk, buffers))
        if (const docid_t docid = docids[document++]; docid != end_docid) records.add(SortKey(docid).view(), values);
      resources.progress->add(collection.chunk(chunk).documents);
    }
    FieldsWriter writer(out, resources.tmp_folder, names);
    records.merge([&](std::string_view, ByteView values) { writer.add(values); });
    writer.finish(index_hash);
    resources.progress->finish();
    return FieldsReport{names.size(), out.size()};
  });
}

}  // namespace quern
