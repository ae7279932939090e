#include "filter_option.hpp"

#include <fmt/format.h>

#include "quern/core/size_text.hpp"
#include "quern/index/make_index.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/search/document_filter.hpp"

#include "output_files.hpp"

namespace quern::tools {
namespace {

DocumentSet listed_documents(const std::string& path, const IndexReader& index, const Resources& resources,
                             const CommonOptions& options) {
  const auto source = ByteSource::open(path, resources);
  ListedDocuments listed = read_docno_list(*source, index, resources);
  if (listed.unknown > 0)
    say(options, fmt::format("quern: {}: the index has none of {} of its {}, for example '{}'", source->name(),
                             listed.unknown, count_text(listed.listed, "docno"), listed.first_unknown));
  return std::move(listed.documents);
}

DocumentSet matching_documents(const std::string& filter, const IndexReader& index, const Resources& resources) {
  const FilterExpression expression = parse_filter(filter);
  std::optional<FieldsReader> fields;
  if (has_file(fields_path(index.name()))) fields.emplace(FieldsReader::open_beside(index));
  return evaluate_filter(expression, index, fields ? &*fields : nullptr, resources);
}

}  // namespace

void add_filter_option(CLI::App& command, std::optional<std::string>& filter) {
  command
      .add_option(
          "--filter", filter,
          "Only documents that pass: an expression such as 'lang=en and not url^=http://a.example/', over docno, "
          "url and the fields that quern index --keep-fields kept; or @FILE, a list of docnos, one in a line")
      ->type_name("FILTER");
}

std::optional<DocumentSet> passing_documents(const std::optional<std::string>& filter, const OtherFiles& others,
                                             const IndexReader& index, Resources& resources,
                                             const CommonOptions& options) {
  if (!filter) return std::nullopt;
  const bool is_list = filter->starts_with('@');
  const std::string list = is_list ? filter->substr(1) : std::string();
  if (list == "-" && others.queries == "-")
    throw usage_error("--filter @- and queries can't both be read from standard input");
  if (is_list && WrittenFile(others.output).is(list))
    throw usage_error(fmt::format("{} is the list of --filter and the output", list));
  DocumentSet passing =
      is_list ? listed_documents(list, index, resources, options) : matching_documents(*filter, index, resources);
  if (passing.count() == 0) say(options, "quern: --filter: no document of the index passes");
  resources.memory_bytes -= DocumentSet::bytes(index.num_documents());
  return passing;
}

}  // namespace quern::tools
