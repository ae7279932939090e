#include "inspect_config.hpp"

#include <fmt/format.h>

namespace quern::tools {
namespace {

/// none, english, or the words themselves: the file that they came from may be gone.
std::string stopwords_setting(const AnalyzerOptions& analyzer) {
  if (analyzer.stopwords_name == "none" || analyzer.stopwords_name == "english") return analyzer.stopwords_name;
  return fmt::format("words:{}", fmt::join(analyzer.stopwords, ","));
}

}  // namespace

std::string config_text(const IndexManifest& manifest) {
  return fmt::format(
      "format = {}\nmax-document = {}\nstemmer = {}\nstopwords = {}\nduplicates = {}\n"
      "order = {}\nseed = {}\ncodec = {}\nblock-size = {}\nrecursion = {}\nk1 = {}\nb = {}\n",
      manifest.corpus_format, manifest.max_document_bytes, manifest.analyzer.stemmer,
      stopwords_setting(manifest.analyzer), manifest.duplicates, manifest.order, manifest.order_seed, manifest.codec,
      manifest.codec_options.block_size, manifest.codec_options.recursion, manifest.bm25.k1, manifest.bm25.b);
}

}  // namespace quern::tools
