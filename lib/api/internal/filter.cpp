#include "quern/api/filter.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "quern/api/internal/boundary.hpp"
#include "quern/api/internal/index_impl.hpp"
#include "quern/api/internal/work_resources.hpp"
#include "quern/core/size_text.hpp"
#include "quern/formats/fields_file.hpp"
#include "quern/formats/queries/filter_expression.hpp"
#include "quern/index/make_index.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/search/document_set.hpp"

namespace quern::api {
namespace {

std::vector<DocumentSet> empty_sets(const IndexShards& shards) {
  std::vector<DocumentSet> sets;
  for (const IndexReader& shard : shards) sets.emplace_back(shard.num_documents());
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
    const IndexShards& shards = index.impl()->shards;
    std::vector<DocumentSet> passing = empty_sets(shards);
    for (const std::string_view docno : docnos)
      if (const auto docid = shards.find_docno(docno)) {
        const IndexShards::Place place = shards.place(*docid);
        passing[place.shard].add(place.docid);
      }
    return Filter(std::make_shared<Impl>(std::move(passing)));
  });
}

Filter Filter::of_docids(const Index& index, std::span<const std::uint32_t> docids) {
  return with_api_errors([&] {
    std::vector<DocumentSet> passing = empty_sets(index.impl()->shards);
    for (const std::uint32_t docid : docids) {
      const IndexShards::Place place = index.impl()->place(docid);
      passing[place.shard].add(place.docid);
    }
    return Filter(std::make_shared<Impl>(std::move(passing)));
  });
}

std::uint64_t Filter::count() const {
  std::uint64_t documents = 0;
  for (const DocumentSet& set : impl_->passing) documents += set.count();
  return documents;
}

}  // namespace quern::api
