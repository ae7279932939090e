#include "quern/index/make_index.hpp"

namespace quern {

IndexReports make_index(const IndexSettings& settings, const Resources& resources, AtomicOutput& out,
                        const StageReports& on_stage) {
  IndexReports reports;
  auto file = std::make_shared<File>(File::anonymous(resources.tmp_folder));
  reports.parse = parse_corpus(settings.parse, resources, *file);
  if (on_stage.parsed) on_stage.parsed(reports.parse);
  const CollectionReader collection(file);
  check_build_memory(collection, 0, resources);
  const BesideChoice beside{settings.forward, settings.parse.store_text};
  beside.check_memory(collection, resources);
  OrderOptions order_options = settings.order;
  order_options.scores.bm25 = settings.build.bm25;
  order_options.by = settings.by.value_or(automatic_order(collection.manifest()));
  const DocumentOrder order = make_order(collection, order_options, settings.pagerank, resources, &reports.pagerank);
  if (on_stage.ranked) on_stage.ranked(reports.pagerank);
  BuildOptions build = settings.build;
  build.forward = beside.forward;
  build.texts = beside.texts;
  reports.build = build_index(collection, order, order_options, build, resources, out.file());
  reports.beside = beside.write(collection, order, reports.build.index_hash, resources, out);
  return reports;
}

void BesideChoice::check_memory(const CollectionReader& collection, const Resources& resources) const {
  if (forward) check_forward_memory(collection, resources);
}

SidecarReports BesideChoice::write(const CollectionReader& collection, const DocumentOrder& order,
                                   const std::string& index_hash, const Resources& resources, AtomicOutput& folder,
                                   const ForwardShard* shard) const {
  SidecarReports reports;
  const std::optional<DocidRange> range = shard == nullptr ? std::nullopt : std::optional(shard->docids);
  if (forward)
    reports.forward =
        build_forward(collection, {order.documents, index_hash, shard}, resources, folder.add_member(forward_member));
  if (collection.has_fields())
    reports.fields = build_fields(collection, order, index_hash, resources, folder.add_member(fields_member), range);
  if (texts)
    reports.texts = build_texts(collection, order, index_hash, resources, folder.add_member(texts_member), range);
  return reports;
}

}  // namespace quern
