#include "beside_files.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "quern/core/size_text.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/formats/texts_file.hpp"
#include "quern/io/checksum.hpp"

#include "stage_options.hpp"

namespace quern::tools {
namespace {

Json forward_json(const ForwardReport& report) {
  Json tokens;
  for (std::size_t stream = 0; stream < num_document_streams; ++stream)
    tokens[std::string(document_stream_names[stream])] = report.manifest.counts.tokens[stream];
  Json json = {{"documents", report.manifest.documents},
               {"tokens", tokens},
               {"phrase_ends", report.manifest.counts.phrase_ends},
               {"file_bytes", report.file_bytes}};
  if (report.anchors) json["anchors"] = *report.anchors;
  return json;
}

void say_report(const CommonOptions& options, const ForwardReport& report) {
  std::uint64_t tokens = 0;
  for (const std::uint64_t in_stream : report.manifest.counts.tokens) tokens += in_stream;
  const std::string anchors = report.anchors ? count_text(*report.anchors, "link text") + ", " : "";
  say(options,
      fmt::format("quern: wrote the forward file: {}, {}, {}{}", count_text(report.manifest.documents, "document"),
                  count_text(tokens, "token"), anchors, size_text(report.file_bytes)));
}

/// If some have the file and others lack it, the copy fails and says so.
bool some_have(std::span<const IndexPart> parts, std::string (*path)(const std::string& index_path)) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const IndexPart& part) { return has_file(path(part.index.name())); });
}

}  // namespace

void add_forward_option(CLI::App& command, bool& forward) {
  command.add_flag("--forward", forward,
                   "Also write the documents' tokens by docID: what quern features, quern rerank and "
                   "quern query --ranker read");
}

void add_to_json(const SidecarReports& reports, Json& json) {
  if (reports.forward) json["forward"] = forward_json(*reports.forward);
  if (reports.texts) json["texts"] = to_json(*reports.texts);
  if (reports.fields) json["fields"] = {{"fields", reports.fields->fields}, {"file_bytes", reports.fields->file_bytes}};
}

void say_reports(const CommonOptions& options, const SidecarReports& reports) {
  if (reports.forward) say_report(options, *reports.forward);
  if (reports.texts) say_report(options, *reports.texts);
  if (reports.fields)
    say(options, fmt::format("quern: wrote {}: {}", count_text(reports.fields->fields, "kept field"),
                             size_text(reports.fields->file_bytes)));
}

void show_reports(const CommonOptions& options, const BuildReport& index, const SidecarReports& beside,
                  const std::string& output) {
  say_report(options, index, output);
  say_reports(options, beside);
  if (!options.json) return;
  Json json = to_json(index);
  add_to_json(beside, json);
  print(json.dump(1) + "\n");
}

SidecarReports copy_beside(std::span<const IndexPart> parts, const Resources& resources, AtomicOutput& out) {
  const IndexReader index = IndexReader::open(out.file());
  const std::string hash = hash_text(index.container().content_hash());
  SidecarReports reports;
  if (some_have(parts, forward_path))
    reports.forward = copy_forward(parts, index, resources, out.add_member(forward_member));
  if (!index.manifest().field_names.kept.empty())
    reports.fields = copy_fields(parts, hash, resources, out.add_member(fields_member));
  if (some_have(parts, texts_path)) reports.texts = copy_texts(parts, hash, resources, out.add_member(texts_member));
  return reports;
}

}  // namespace quern::tools
