#include "quern/index/verify_index_files.hpp"

#include "quern/formats/container.hpp"
#include "quern/formats/fields_file.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/formats/statistics_beside.hpp"
#include "quern/formats/texts_file.hpp"
#include "quern/index/beside_files.hpp"
#include "quern/index/verify_index.hpp"
#include "quern/index/verify_texts.hpp"

namespace quern {
namespace {

void verify_texts_beside(const IndexReader& index, const Resources& resources) {
  const TextsReader texts = TextsReader::open_beside(index);
  texts.container().verify(resources);
  resources.progress->start("check texts", texts.manifest().text_bytes, "bytes");
  verify_texts(texts, index, resources);
}

}  // namespace

void verify_forward(const std::string& path, const IndexReader& index, const Resources& resources) {
  const ForwardReader forward(ContainerReader::open(path, FileKind::forward, forward_version));
  forward.check_belongs_to(index);
  forward.container().verify(resources);
  resources.progress->start("check forward file", forward.num_documents(), "documents");
  forward.verify_contents(index, resources);
}

void verify_fields(const FieldsReader& fields, const Resources& resources) {
  fields.container().verify(resources);
  resources.progress->start("check fields", fields.num_documents(), "documents");
  fields.verify_contents(resources);
}

void verify_statistics(const StatisticsReader& statistics, const Resources& resources) {
  statistics.container().verify(resources);
  statistics.verify_contents();
}

void verify_index_files(const IndexReader& index, const Resources& resources) {
  index.container().verify(resources);
  resources.progress->start("check contents", index.manifest().postings, "postings");
  verify_index(index, resources);
  if (const std::string path = forward_path(index.name()); has_file(path)) verify_forward(path, index, resources);
  if (has_file(texts_path(index.name()))) verify_texts_beside(index, resources);
  if (has_file(statistics_path(index.name()))) verify_statistics(StatisticsBeside::open(index).statistics(), resources);
  if (has_file(fields_path(index.name()))) verify_fields(FieldsReader::open_beside(index), resources);
}

}  // namespace quern
