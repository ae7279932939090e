#include "quern/api/query_file.hpp"

#include "quern/api/internal/boundary.hpp"
#include "quern/formats/queries/query_file.hpp"
#include "quern/io/byte_source.hpp"

namespace quern::api {

namespace {

std::string read_stoppable(const std::string& path, const Work& work) {
  ReadInterrupt interrupt;
  const std::stop_callback on_stop(work.stop, [&interrupt] { interrupt.stop(); });
  std::string bytes = read_whole(path, query_file_limits(), {}, &interrupt);
  WorkProgress(work).check_stop();
  return bytes;
}

}  // namespace

std::vector<FileQuery> read_queries(const std::string& path, const QueryFileOptions& options, const Work& work) {
  return with_api_errors([&] {
    QueryLayout layout(find_named(query_formats, options.queries_format, "format of queries").value);
    layout.id_field = options.id_field;
    layout.text_fields = options.text_fields;
    QueryFile file = parse_queries(read_stoppable(path, work), layout, source_name(path));
    std::vector<FileQuery> queries;
    queries.reserve(file.queries.size());
    for (quern::Query& query : file.queries) {
      FileQuery& read = queries.emplace_back(FileQuery{std::move(query.id), {}, {}});
      if (file.format != QueryFormat::vector) {
        read.text = std::move(query.text);
        continue;
      }
      for (QueryTerm& term : parse_query_vector(query.text, "the query"))
        read.terms.emplace_back(std::move(term.term), term.weight);
    }
    return queries;
  });
}

}  // namespace quern::api
