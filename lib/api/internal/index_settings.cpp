#include "quern/api/internal/index_settings.hpp"

#include "quern/api/internal/option_names.hpp"
#include "quern/core/error.hpp"
#include "quern/core/named.hpp"
#include "quern/core/option_name.hpp"
#include "quern/text/analyzer.hpp"

namespace quern::api {
IndexSettings index_settings(const IndexOptions& options) {
  IndexSettings settings;
  settings.parse.analyzer = make_analyzer_options(options.stemmer, options.stopwords);
  settings.parse.max_errors = options.max_errors;
  settings.parse.duplicates = options.refuse_duplicates ? Duplicates::refuse : Duplicates::keep;
  settings.parse.store_text = options.store_text;
  if (options.order != "auto") settings.by = find_named(order_names, options.order, "docID order").value;
  settings.order.seed = options.seed;
  settings.order.scores.alpha = options.alpha;
  settings.order.scores.pagerank_scale = find_named(pagerank_scales, options.pagerank_scale, "scale of PageRank").value;
  settings.pagerank = pagerank_input(options.pagerank, options.links);
  settings.build.codec = options.codec;
  settings.build.codec_options.block_size = options.block_size;
  settings.build.codec_options.recursion = options.recursion;
  settings.build.bm25 = {options.k1, options.b};
  settings.build.quantize_bits = options.quantize_bits;
  if (options.impact_bits != 0) {
    settings.parse.impacts = ImpactSettings{options.impact_bits, options.impact_scale};
    settings.build.impacts = settings.parse.impacts;
  } else if (options.impact_scale) {
    throw InvalidArgument(std::string(option_name<"impact-scale">) + " needs " + option_name<"impacts">);
  }
  settings.forward = options.forward;
  check_build_options(settings.build);
  return settings;
}

IndexReport index_report(const IndexReports& reports) {
  IndexReport out;
  out.documents = reports.parse.indexed;
  out.empty = reports.parse.empty;
  out.skipped = reports.parse.skipped;
  out.bad = reports.parse.bad;
  out.left_out = reports.parse.other_language + reports.parse.no_language + reports.parse.copies;
  out.duplicates = reports.parse.duplicates;
  out.terms = reports.parse.terms;
  out.tokens = reports.parse.tokens;
  out.postings = reports.parse.postings;
  out.index_bytes = reports.build.index_bytes;
  for (const std::string& bad : reports.parse.bad_documents) out.bad_documents.push_back(with_program_names(bad));
  return out;
}

}  // namespace quern::api
