#include "query_source.hpp"

#include "quern/core/bytes.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/io/mapped_file.hpp"

namespace quern::tools {
namespace {

constexpr std::uint64_t max_query_file_bytes = std::uint64_t{8} << 30;

}  // namespace

void add_query_source_options(CLI::App& command, QuerySource& source) {
  auto* group = command.add_option_group("queries", "Where the queries come from");
  group->add_option("-q,--queries", source.file, "File of queries, plain, gzip or zstd; - is standard input")
      ->type_name("FILE");
  group->add_option("--query", source.text, "One query")->type_name("TEXT");
  group->require_option(1);
  const std::vector<std::string> forms(query_file_forms().begin(), query_file_forms().end());
  command.add_option("--queries-format", source.form, "Form of the file: " + joined(forms))
      ->type_name("NAME")
      ->check(name_validator(forms))
      ->capture_default_str();
}

std::string source_name(const std::string& path) { return path == "-" ? "standard input" : path; }

std::vector<Query> read_query_file(const std::string& path, const std::string& form) {
  return parse_queries(read_whole(path, max_query_file_bytes), form, source_name(path)).queries;
}

std::vector<Query> read_queries(const QuerySource& source) {
  if (source.file.empty()) return {{"1", source.text}};
  return read_query_file(source.file, source.form);
}

QueryLogFile::QueryLogFile(const std::string& path, std::string form, const Resources& resources)
    : name_(source_name(path)), form_(std::move(form)), text_(spool_whole(path, resources)) {}

std::string_view QueryLogFile::for_each(const QueryVisitor& visit) const {
  return for_each_query(as_text(text_.bytes()), form_, name_, visit,
                        [](std::string_view piece) { release_pages(as_bytes(piece)); });
}

TextOutput::TextOutput(const std::string& path, bool force) {
  if (path.empty()) return;
  file_.reset(new AtomicOutput(AtomicOutput::file(path, force)));
  out_.emplace(file_->file());
}

void TextOutput::write(std::string_view text) {
  if (out_) {
    out_->write(as_bytes(text));
  } else {
    print(text);
  }
}

void TextOutput::finish() {
  if (!out_) return flush_output();
  out_->flush();
  file_->commit();
}

}  // namespace quern::tools
