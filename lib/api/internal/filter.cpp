#include "quern/api/filter.hpp"

#include <optional>
#include <utility>

#include "quern/api/internal/boundary.hpp"
#include "quern/api/internal/index_impl.hpp"
#include "quern/api/internal/work_resources.hpp"
#include "quern/formats/fields_file.hpp"
#include "quern/formats/queries/filter_expression.hpp"
#include "quern/index/make_index.hpp"
#include "quern/search/document_set.hpp"

namespace quern::api {

Filter::Filter(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Filter Filter::matching(const Index& index, std::string_view expression, const Work& work) {
  return with_api_errors([&] {
    const IndexReader& reader = index.impl()->reader;
    const FilterExpression parsed = parse_filter(expression);
    std::optional<FieldsReader> fields;
    if (has_file(fields_path(reader.name()))) fields.emplace(FieldsReader::open_beside(reader));
    const WorkResources resources(work, {});
    return Filter(
        std::make_shared<Impl>(Impl{evaluate_filter(parsed, reader, fields ? &*fields : nullptr, resources)}));
  });
}

Filter Filter::of_docnos(const Index& index, std::span<const std::string_view> docnos) {
  return with_api_errors([&] {
    const IndexReader& reader = index.impl()->reader;
    DocumentSet passing(reader.num_documents());
    for (const std::string_view docno : docnos)
      if (const auto docid = reader.find_docno(docno)) passing.add(*docid);
    return Filter(std::make_shared<Impl>(Impl{std::move(passing)}));
  });
}

Filter Filter::of_docids(const Index& index, std::span<const std::uint32_t> docids) {
  return with_api_errors([&] {
    DocumentSet passing(index.impl()->reader.num_documents());
    for (const std::uint32_t docid : docids) {
      index.impl()->check(docid);
      passing.add(docid);
    }
    return Filter(std::make_shared<Impl>(Impl{std::move(passing)}));
  });
}

std::uint64_t Filter::count() const { return impl_->passing.count(); }

}  // namespace quern::api
