#include "query_options.hpp"

#include "quern/core/bytes.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/io/mapped_file.hpp"

namespace quern::tools {
namespace {

constexpr std::uint64_t max_query_file_bytes = std::uint64_t{8} << 30;

}  // namespace

void add_query_source_options(CLI::App& command, QuerySource& source) {
  CLI::Option* file =
      command.add_option("-q,--queries", source.file, "File of queries, plain, gzip or zstd; - is standard input")
          ->type_name("FILE");
  require_one_of(command, command.add_option("--query", source.text, "One query")->type_name("TEXT"), file);
  const std::vector<std::string> forms(query_file_forms().begin(), query_file_forms().end());
  command.add_option("--queries-format", source.form, "Format of the file")
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

void add_alpha_option(CLI::App& command, std::optional<double>& alpha) {
  command.add_option("--alpha", alpha, "Weight of PageRank in scores (default: the index's, or 0.3)")
      ->type_name("A")
      ->check(range_validator(0.0, 1.0));
}

void add_scoring_options(CLI::App& command, ScoringArguments& arguments) {
  command.add_option("--k1", arguments.k1, "BM25's k1 (default: the index's)")
      ->type_name("X")
      ->check(range_validator(0.0, 1000.0));
  command.add_option("--b", arguments.b, "BM25's b (default: the index's)")
      ->type_name("X")
      ->check(range_validator(0.0, 1.0));
  command.add_option("--idf", arguments.idf, "Formula for the inverse document frequency")
      ->type_name("NAME")
      ->check(name_validator({"lucene", "robertson"}))
      ->capture_default_str();
  command
      .add_option("--scores", arguments.scores,
                  "Precision of scores:\n  exact: 32-bit floating point\n  quantized: sums of the integers that "
                  "--quantize stored in the index")
      ->type_name("NAME")
      ->check(name_validator({"exact", "quantized"}))
      ->capture_default_str();
  command
      .add_option("--scorer", arguments.scorer,
                  "Scoring function:\n  bm25: BM25 alone\n  bm25+pagerank: A * PageRank + (1 - A) * BM25, both from 0 "
                  "to 1, for --alpha A")
      ->type_name("NAME")
      ->check(name_validator({bm25_scorer, pagerank_scorer}))
      ->capture_default_str();
  add_alpha_option(command, arguments.alpha);
  command.add_flag("--no-early-termination", arguments.no_early_termination,
                   "Read all lists to the end, even if global scores show that no more results can follow");
}

ScoringOptions scoring_options(const ScoringArguments& arguments, const IndexReader& index) {
  if (arguments.alpha && arguments.scorer != pagerank_scorer)
    throw CLI::ValidationError("--alpha", std::string("needs --scorer ") + pagerank_scorer);
  ScoringOptions options;
  options.bm25 = index.manifest().bm25;
  if (arguments.k1) options.bm25.k1 = *arguments.k1;
  if (arguments.b) options.bm25.b = *arguments.b;
  options.idf = arguments.idf == "robertson" ? Idf::robertson : Idf::lucene;
  options.scores = arguments.scores == "quantized" ? Scores::quantized : Scores::exact;
  options.scorer = scorer_named(arguments.scorer);
  if (!index.global_scores().empty() && index.manifest().scores) options.alpha = index.manifest().scores->alpha;
  if (arguments.alpha) options.alpha = *arguments.alpha;
  options.early_termination = !arguments.no_early_termination;
  return options;
}

}  // namespace quern::tools
