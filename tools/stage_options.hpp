#pragma once
#include <string>
#include <vector>

#include "quern/collection/parse_corpus.hpp"
#include "quern/index/build_index.hpp"
#include "quern/order/order.hpp"

#include "command.hpp"

/// The options of parse, order and build, which `quern index` has all of; and what is printed when a stage is done.
namespace quern::tools {

/// --stemmer and --stopwords as they are written.
struct AnalyzerArguments {
  std::string stemmer = "none";
  std::string stopwords = "none";
};
void add_analyzer_options(CLI::App& command, AnalyzerArguments& arguments);

/// Options of parsing as they are written; turned into ParseOptions once all are known.
struct ParseArguments {
  std::vector<std::string> corpus;
  std::string format = "auto";
  std::string max_document = "64M";
  AnalyzerArguments analyzer;
  std::string duplicates = duplicates_keep;
  std::uint64_t max_errors = ParseOptions().max_errors;
};
void add_parse_options(CLI::App& command, ParseArguments& arguments);
ParseOptions parse_options(const ParseArguments& arguments);

/// --seed; the order's name is the command's own option.
void add_order_options(CLI::App& command, OrderOptions& options);
/// --codec, --block-size, --recursion, --k1, --b.
void add_build_options(CLI::App& command, BuildOptions& options);

Json to_json(const ParseReport& report);
Json to_json(const BuildReport& report);
/// Remarks for people: counts, and the bad documents.
void say_report(const CommonOptions& options, const ParseReport& report);
void say_report(const CommonOptions& options, const BuildReport& report, const std::string& output);

}  // namespace quern::tools
