#include "quern/api/internal/stage_reports.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

#include "quern/api/internal/boundary.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/text/analyzer.hpp"

namespace quern::api {
namespace {

/// One remark for each of the first files of many, with describe(file), and one for the rest.
template <class File, class Describe>
void remark_on_files(const std::vector<File>& files, std::uint64_t count, std::string_view others,
                     const TakeRemark& take, Describe&& describe) {
  constexpr std::size_t max_named = 10;
  for (const File& file : std::span(files).first(std::min(max_named, files.size()))) take("skipped " + describe(file));
  if (count > max_named)
    take(
        fmt::format("skipped {} more {} ({} lists the first hundred)", count - max_named, others, option_name<"json">));
}

void remark_on_computed(const PagerankReport& report, const TakeRemark& take) {
  remark_on(report.links, report.origin.source == PagerankSource::link_file, take);
  take(fmt::format("computed PageRank in {}; {} without outgoing links", count_text(report.iterations, "iteration"),
                   count_text(report.dangling, "document")));
  if (!report.converged)
    take(fmt::format("warning: PageRank has not converged: it changed by {:.1e} in the last iteration",
                     report.last_change));
}

void remark_on_read(const PagerankReport& report, const TakeRemark& take) {
  take(fmt::format("read PageRank of {} from the file", count_text(report.scores, "document")));
  if (report.missing > 0)
    take(fmt::format("warning: {} without a score in the file get 0", count_text(report.missing, "document")));
  if (report.unknown > 0)
    take(fmt::format("warning: {} with unknown documents in the file", count_text(report.unknown, "line")));
}

void add_figures(const SidecarReports& reports, ManifestJson& json) {
  if (const auto& forward = reports.forward) {
    const ForwardManifest& manifest = forward->manifest;
    ManifestJson tokens = ManifestJson::object();
    for (std::size_t stream = 0; stream < num_document_streams; ++stream)
      tokens[std::string(document_stream_names[stream])] = manifest.counts.tokens[stream];
    json["forward"] = {{"documents", manifest.documents},
                       {"tokens", tokens},
                       {"phrase_ends", manifest.counts.phrase_ends},
                       {"file_bytes", forward->file_bytes}};
    if (forward->anchors) json["forward"]["anchors"] = *forward->anchors;
  }
  if (reports.texts)
    json["texts"] = {{"text_bytes", reports.texts->text_bytes}, {"file_bytes", reports.texts->file_bytes}};
  if (reports.fields) json["fields"] = {{"fields", reports.fields->fields}, {"file_bytes", reports.fields->file_bytes}};
}

}  // namespace

void remark_on(const ParseReport& report, const TakeRemark& take) {
  constexpr std::size_t max_named = 10;
  for (std::size_t i = 0; i < std::min(max_named, report.bad_documents.size()); ++i)
    take("bad document: " + report.bad_documents[i]);
  if (report.bad > max_named)
    take(
        fmt::format("{} more bad documents ({} lists the first hundred)", report.bad - max_named, option_name<"json">));
  remark_on_files(report.skipped_files, report.num_skipped_files, "files", take,
                  [](const SkippedFile& file) { return file.path + ": it is " + file.why; });
  remark_on_files(report.passed_over, report.num_passed_over, "pipes, sockets or devices", take,
                  [](const std::string& path) { return path + ": a pipe, socket or device"; });
  if (report.other_language + report.no_language > 0)
    take(fmt::format("skipped {} in other languages, and {} that state none", count_text(report.other_language, "page"),
                     report.no_language));
  if (report.copies > 0) take(fmt::format("skipped {} of earlier pages", count_text(report.copies, "copy", "copies")));
  if (report.duplicates > 0)
    take(fmt::format("warning: {} with a docno that occurred before", count_text(report.duplicates, "document")));
  if (report.repaired_utf8 > 0)
    take(fmt::format("replaced {}, the first in {}; if a file isn't in UTF-8, convert it first, for example with iconv",
                     count_text(report.repaired_utf8, "invalid UTF-8 sequence"), report.first_repaired));
  if (report.cut_terms > 0)
    take(fmt::format("cut {} to {} bytes", count_text(report.cut_terms, "term"), max_term_bytes));
  take(
      fmt::format("parsed {} of records ({}): {} read, {} indexed, {} empty, {} skipped, {} bad; {} with those of URLs "
                  "and links, {}",
                  size_text(report.bytes), fmt::join(report.formats, ", "), report.read, report.indexed, report.empty,
                  report.skipped, report.bad, count_text(report.terms, "term"), count_text(report.tokens, "token")));
  if (report.num_skipped_files > 0)
    take(fmt::format("warning: {} of the corpus's {} files were skipped; none of their documents are indexed",
                     report.num_skipped_files, report.num_files));
}

void remark_on(const LinkCounts& counts, bool from_file, const TakeRemark& take) {
  const std::string nowhere = from_file ? fmt::format("{} with an unknown document", counts.unknown)
                                        : fmt::format("{} leave the collection", counts.leaving);
  take(fmt::format("{}{}: {} distinct between documents, {}, {} to their own page, {} repeated",
                   count_text(counts.links, "link"), from_file ? " in the file" : "", counts.edges, nowhere,
                   counts.self, counts.duplicates));
}

void remark_on(const PagerankReport& report, const TakeRemark& take) {
  const PagerankSource source = report.origin.source;
  if (source == PagerankSource::links || source == PagerankSource::link_file) remark_on_computed(report, take);
  if (source == PagerankSource::score_file) remark_on_read(report, take);
  if (source == PagerankSource::uniform) take("no links between documents");
  if (report.all_the_same) take("all documents have the same PageRank");
}

void remark_on(const BuildReport& report, const std::string& path, const TakeRemark& take) {
  const IndexManifest& manifest = report.manifest;
  take(fmt::format("built {}: {}, {}, {}, {} in {} order ({}, blocks of {})", path,
                   count_text(manifest.documents, "document"), count_text(manifest.terms, "term"),
                   count_text(manifest.postings, "posting"), size_text(report.index_bytes), manifest.order,
                   manifest.codec, manifest.codec_options.block_size));
}

void remark_on(const SidecarReports& reports, const TakeRemark& take) {
  if (const auto& forward = reports.forward) {
    const auto& tokens = forward->manifest.counts.tokens;
    const std::string anchors = forward->anchors ? count_text(*forward->anchors, "link text") + ", " : "";
    take(fmt::format("wrote the forward file: {}, {}, {}{}", count_text(forward->manifest.documents, "document"),
                     count_text(std::accumulate(tokens.begin(), tokens.end(), std::uint64_t{0}), "token"), anchors,
                     size_text(forward->file_bytes)));
  }
  if (const auto& texts = reports.texts)
    take(fmt::format("stored {} of text in {}", size_text(texts->text_bytes), size_text(texts->file_bytes)));
  if (const auto& fields = reports.fields)
    take(fmt::format("wrote {}: {}", count_text(fields->fields, "kept field"), size_text(fields->file_bytes)));
}

ManifestJson figures_of(const ParseReport& report) {
  std::vector<std::string> skipped_files;
  for (const SkippedFile& file : report.skipped_files) skipped_files.push_back(file.path);
  return {{"read", report.read},
          {"indexed", report.indexed},
          {"empty", report.empty},
          {"skipped", report.skipped},
          {"bad", report.bad},
          {"other_language", report.other_language},
          {"no_language", report.no_language},
          {"copies", report.copies},
          {"duplicates", report.duplicates},
          {"repaired_utf8", report.repaired_utf8},
          {"cut_terms", report.cut_terms},
          {"bytes", report.bytes},
          {"terms", report.terms},
          {"tokens", report.tokens},
          {"postings", report.postings},
          {"links", report.links},
          {"text_bytes", report.text_bytes},
          {"formats", report.formats},
          {"bad_documents", spelled(report.bad_documents)},
          {"num_skipped_files", report.num_skipped_files},
          {"skipped_files", skipped_files},
          {"num_passed_over", report.num_passed_over},
          {"passed_over", report.passed_over}};
}

ManifestJson figures_of(const LinkCounts& counts) {
  return {{"links", counts.links},     {"edges", counts.edges},     {"self", counts.self},
          {"leaving", counts.leaving}, {"unknown", counts.unknown}, {"duplicates", counts.duplicates}};
}

ManifestJson figures_of(const PagerankReport& report) {
  const PagerankSource source = report.origin.source;
  if (source == PagerankSource::unknown) return {{"from", nullptr}};
  ManifestJson json = {{"from", name_of_value(pagerank_sources, source)}, {"all_the_same", report.all_the_same}};
  if (!report.origin.file_hash.empty()) json["file_hash"] = report.origin.file_hash;
  if (source == PagerankSource::score_file) {
    json.update({{"scores", report.scores}, {"unknown", report.unknown}, {"missing", report.missing}});
    return json;
  }
  json["links"] = figures_of(report.links);
  if (report.iterations > 0)
    json.update({{"dangling", report.dangling},
                 {"iterations", report.iterations},
                 {"last_change", report.last_change},
                 {"converged", report.converged}});
  return json;
}

ManifestJson figures_of(const BuildReport& report, const SidecarReports& beside) {
  const IndexManifest& manifest = report.manifest;
  ManifestJson json = {{"documents", manifest.documents},   {"terms", manifest.terms},
                       {"postings", manifest.postings},     {"tokens", manifest.tokens},
                       {"codec", manifest.codec},           {"block_size", manifest.codec_options.block_size},
                       {"order", manifest.order},           {"quantize_bits", manifest.quantize_bits},
                       {"index_bytes", report.index_bytes}, {"spilled_runs", report.spilled_runs}};
  add_figures(beside, json);
  return json;
}

ManifestJson figures_of(const PlanManifest& manifest) {
  ManifestJson json = {{"policy", manifest.policy},
                       {"budget_bytes", manifest.budget_bytes},
                       {"max_admission", manifest.max_admission},
                       {"count", manifest.count},
                       {"k", manifest.k},
                       {"scorer", manifest.scorer},
                       {"alpha", manifest.alpha},
                       {"k1", manifest.bm25.k1},
                       {"b", manifest.bm25.b},
                       {"idf", manifest.idf},
                       {"scores", manifest.scores},
                       {"early_termination", manifest.early_termination},
                       {"round", manifest.round},
                       {"block", manifest.block},
                       {"queries", manifest.queries},
                       {"distinct_queries", manifest.distinct_queries},
                       {"unknown_queries", manifest.unknown_queries},
                       {"empty_queries", manifest.empty_queries},
                       {"log_hash", manifest.log_hash},
                       {"cached_lists", manifest.lists},
                       {"cached_blocks", manifest.cached_blocks},
                       {"cached_bytes", manifest.cached_bytes},
                       {"index_bytes", manifest.index_bytes},
                       {"index_hash", manifest.index_hash}};
  if (manifest.budget_rows) json["budget_rows"] = *manifest.budget_rows;
  return json;
}

ManifestJson figures_of(const IndexReports& reports) {
  ManifestJson json = {{"parse", figures_of(reports.parse)},
                       {"pagerank", figures_of(reports.pagerank)},
                       {"build", figures_of(reports.build, {})}};
  add_figures(reports.beside, json);
  return json;
}

}  // namespace quern::api
