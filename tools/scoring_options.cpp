#include "scoring_options.hpp"

namespace quern::tools {

void add_alpha_option(CLI::App& command, std::optional<double>& alpha) {
  command
      .add_option("--alpha", alpha, "PageRank's share of scores (default: that of the index's global scores, or 0.3)")
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
  command.add_option("--idf", arguments.idf, "Inverse document frequency: lucene, robertson")
      ->type_name("NAME")
      ->check(name_validator({"lucene", "robertson"}))
      ->capture_default_str();
  command
      .add_option("--scores", arguments.scores,
                  "exact, or quantized: sums of the integers of an index built with --quantize")
      ->type_name("NAME")
      ->check(name_validator({"exact", "quantized"}))
      ->capture_default_str();
  command
      .add_option("--scorer", arguments.scorer,
                  "bm25, or bm25+pagerank: A * PageRank + (1 - A) * BM25, both from 0 to 1, for --alpha A")
      ->type_name("NAME")
      ->check(name_validator({bm25_scorer, pagerank_scorer}))
      ->capture_default_str();
  add_alpha_option(command, arguments.alpha);
  command.add_flag("--no-early-termination", arguments.no_early_termination,
                   "Read all lists to their end, also where global scores say that there are no more results");
}

ScoringOptions scoring_options(const ScoringArguments& arguments, const IndexReader& index) {
  if (arguments.alpha && arguments.scorer != pagerank_scorer)
    throw CLI::ValidationError("--alpha", std::string("is of --scorer ") + pagerank_scorer);
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
