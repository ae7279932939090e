#include "quern/index/shards/copy_beside.hpp"

#include <algorithm>
#include <deque>

#include "quern/core/run_stage.hpp"
#include "quern/formats/fields_file.hpp"
#include "quern/formats/texts_file.hpp"
#include "quern/index/forward/recode_forward.hpp"

namespace quern {

std::vector<IndexPart> parts_of(const IndexShards& shards) {
  std::vector<IndexPart> parts;
  for (const IndexReader& shard : shards) parts.push_back({shard, {0, shard.num_documents()}});
  return parts;
}

TextsReport copy_texts(std::span<const IndexPart> parts, const std::string& index_hash, const Resources& resources,
                       File& out) {
  return run_stage(resources, [&] {
    std::deque<TextsReader> texts;
    std::uint64_t documents = 0, bytes = 0;
    for (const IndexPart& part : parts) {
      texts.push_back(TextsReader::open_beside(part.index));
      texts.back().container().verify(resources);
      documents += part.docids.size();
    }
    resources.progress->start("write texts", documents, "documents");
    TextsWriter writer(out, resources.tmp_folder);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      TextBuffers buffers;
      for (docid_t docid = parts[i].docids.first; docid < parts[i].docids.end; ++docid) {
        texts[i].read(docid, buffers, [&](std::string_view piece) {
          writer.add(piece);
          bytes += piece.size();
        });
        writer.end_document();
        resources.progress->add(1);
      }
      texts[i].container().release();
    }
    writer.finish(index_hash);
    resources.progress->finish();
    return TextsReport{bytes, out.size()};
  });
}

FieldsReport copy_fields(std::span<const IndexPart> parts, const std::string& index_hash, const Resources& resources,
                         File& out) {
  return run_stage(resources, [&] {
    const std::vector<std::string> names = parts.front().index.manifest().field_names.kept;
    FieldsWriter writer(out, resources.tmp_folder, names);
    Bytes row;
    for (const IndexPart& part : parts) {
      const FieldsReader fields = FieldsReader::open_beside(part.index);
      fields.container().verify(resources);
      std::vector<FieldBuffers> buffers(names.size());
      for (docid_t docid = part.docids.first; docid < part.docids.end; ++docid) {
        row.clear();
        for (std::size_t field = 0; field < names.size(); ++field)
          put_field_value(row,
                          fields.values(field, docid / fields_per_frame, buffers[field])[docid % fields_per_frame]);
        writer.add(row);
      }
    }
    writer.finish(index_hash);
    return FieldsReport{names.size(), out.size()};
  });
}

ForwardReport copy_forward(std::span<const IndexPart> parts, const IndexReader& to, const Resources& resources,
                           File& out) {
  return run_stage(resources, [&] {
    std::deque<ForwardReader> forwards;
    for (const IndexPart& part : parts) {
      forwards.push_back(ForwardReader::open(part.index));
      forwards.back().container().verify(resources);
    }
    resources.progress->start("forward file", to.num_documents(), "documents");
    ForwardRecoder recoder(to, resources, out);
    for (std::size_t i = 0; i < parts.size(); ++i) recoder.add(parts[i].index, forwards[i], parts[i].docids);
    resources.progress->finish();
    return recoder.finish();
  });
}

}  // namespace quern
