#include "quern/index/make_index.hpp"

#include <memory>

#include "quern/formats/collection.hpp"

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
  reports.build = build_index(collection, order, order_options, settings.build, resources, out.file());
  reports.beside = beside.write(collection, order, reports.build.index_hash, resources, out);
  return reports;
}

}  // namespace quern
