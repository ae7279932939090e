#include "quern/api/filter.hpp"

#include <fmt/format.h>

#include "quern/api/internal/boundary.hpp"
#include "quern/api/internal/index_impl.hpp"
#include "quern/api/internal/work_resources.hpp"
#include "quern/formats/fields_file.hpp"
#include "quern/formats/queries/filter_expression.hpp"
#include "quern/index/make_index.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/search/document_set.hpp"

namespace quern::api {
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
      if (has_file(fields_path(shard.name()))) fields.emplace(FieldsReader::open_beside(shard));
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
