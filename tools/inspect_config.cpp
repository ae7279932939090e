#include "inspect_config.hpp"

#include <fmt/format.h>

namespace quern::tools {
namespace {

/// none, english, or the words themselves: the file that they came from may be gone.
std::string stopwords_setting(const AnalyzerOptions& analyzer) {
  if (analyzer.stopwords_name == "none" || analyzer.stopwords_name == "english") return analyzer.stopwords_name;
  return fmt::format("words:{}", fmt::join(analyzer.stopwords, ","));
}

/// A file that PageRank came from is named by its hash alone: its path is not stored.
std::string score_settings(const DocumentScoreSettings& scores) {
  std::string text = fmt::format("alpha = {}\npagerank-scale = {}\n", scores.alpha, scores.pagerank_scale);
  const bool links = scores.origin.from == pagerank_from_link_file;
  if (links || scores.origin.from == pagerank_from_score_file)
    text += fmt::format("# and the {} with hash {}: {} = FILE\n", scores.origin.from, scores.origin.file_hash,
                        links ? "links" : "pagerank");
  return text;
}

}  // namespace

std::string config_text(const IndexManifest& manifest) {
  std::string text = fmt::format(
      "format = {}\nmax-document = {}\nstemmer = {}\nstopwords = {}\nduplicates = {}\n"
      "order = {}\nseed = {}\ncodec = {}\nblock-size = {}\nrecursion = {}\nk1 = {}\nb = {}\n",
      manifest.corpus_format, manifest.max_document_bytes, manifest.analyzer.stemmer,
      stopwords_setting(manifest.analyzer), name_of_value(duplicates_names, manifest.duplicates), manifest.order,
      manifest.order_seed, manifest.codec, manifest.codec_options.block_size, manifest.codec_options.recursion,
      manifest.bm25.k1, manifest.bm25.b);
  if (manifest.quantize_bits > 0) text += fmt::format("quantize = {}\n", manifest.quantize_bits);
  if (manifest.scores) text += score_settings(*manifest.scores);
  return text;
}

}  // namespace quern::tools
