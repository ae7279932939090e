#include "figures.hpp"

#include "quern/gpu/device/device_info.hpp"
#include "quern/gpu/query_backend.hpp"
#include "quern/index/index_assembly.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/io/checksum.hpp"
#include "quern/plan/cost_model.hpp"

namespace quern::tools {

std::string json_text(std::string_view text) { return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace); }

Json times_json(const LatencySummary& times) {
  return {{"mean_us", times.mean_us}, {"p50_us", times.p50_us},   {"p90_us", times.p90_us}, {"p95_us", times.p95_us},
          {"p99_us", times.p99_us},   {"p999_us", times.p999_us}, {"max_us", times.max_us}};
}

namespace {

/// A number by its format, text as it is, and a dash for nothing.
std::string cell_text(const Figure& figure) {
  const Json& value = figure.value;
  if (value.is_null()) return "-";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer() && std::string_view(figure.format) == "{}") return value.dump();
  return fmt::format(fmt::runtime(figure.format), figure.scale * value.get<double>());
}

}  // namespace

Row time_figures(const LatencySummary& times, const std::vector<const char*>& heads, const char* format, double scale,
                 const std::string& path) {
  Row row;
  const Json json = times_json(times);
  for (const auto& [key, us] : json.items())
    row.push_back({path + key, us, row.size() < heads.size() ? heads[row.size()] : "", format, scale});
  return row;
}

Row stream_counts(const ScheduleFigures& figures, const std::string& path) {
  return {{path + "queries", figures.queries},
          {path + "on_cpu", figures.on_cpu},
          {path + "on_gpu", figures.on_gpu},
          {path + "batches", figures.batches},
          {path + "seconds", figures.seconds},
          {path + "missed", figures.missed, "missed"},
          {path + "gpu_share", ratio(figures.on_gpu, figures.queries), "on GPU", "{:.1f} %", 100}};
}

std::string FigureTable::take_text() {
  std::vector<std::vector<std::string>> lines;
  for (const Row& row : rows_) {
    std::vector<std::string> heads, cells;
    for (const Figure& figure : row) {
      if (figure.head.empty()) continue;
      heads.push_back(figure.head);
      cells.push_back(cell_text(figure));
    }
    if (heads != heads_) {
      heads_ = heads;
      widths_.assign(heads.size(), 0);
      lines.push_back(heads);
    }
    lines.push_back(cells);
  }
  rows_.clear();
  for (const auto& line : lines)
    for (std::size_t i = 0; i < std::min(line.size(), widths_.size()); ++i)
      widths_[i] = std::max({widths_[i], line[i].size(), heads_[i].size()});
  std::string text;
  for (const auto& line : lines) {
    text += fmt::format("{:<{}}", line.front(), widths_.front());
    for (std::size_t i = 1; i < line.size(); ++i) text += fmt::format("  {:>{}}", line[i], widths_[i]);
    text += '\n';
  }
  return text;
}

namespace {

Json json_of_shards(const std::string& name, std::span<const IndexReader> shards) {
  const IndexManifest& manifest = shards.front().manifest();
  std::uint64_t documents = 0, postings = 0, docid_bits = 0, freq_bits = 0, block_max_bytes = 0, file_bytes = 0;
  for (const IndexReader& shard : shards) {
    const IndexFigures figures = index_figures(shard);
    documents += shard.manifest().documents;
    postings += shard.manifest().postings;
    docid_bits += shard.manifest().coded.docid_bits;
    freq_bits += shard.manifest().coded.freq_bits;
    block_max_bytes += figures.block_max_bytes;
    file_bytes += figures.file_bytes;
  }
  Json json = {{"index", name},
               {"documents", documents},
               {"terms", manifest.terms},
               {"postings", postings},
               {"order", manifest.order},
               {"codec", manifest.codec},
               {"block_size", manifest.codec_options.block_size},
               {"recursion", manifest.codec_options.recursion},
               {"docid_bits_per_posting", ratio(docid_bits, postings)},
               {"freq_bits_per_posting", ratio(freq_bits, postings)},
               {"block_max_bits_per_posting", ratio(8 * block_max_bytes, postings)},
               {"file_bytes", file_bytes}};
  if (shards.size() == 1) return json;
  json.erase("terms");  // which several shards may have
  json["shards"] = shards.size();
  return json;
}

}  // namespace

Json index_json(const IndexReader& index) { return json_of_shards(index.name(), {&index, 1}); }
Json index_json(const IndexShards& index) { return json_of_shards(index.name(), index); }

Json depths_json(const QueryStatistics& counts) {
  Json rows = Json::array();
  for (const ListDepth& depth : counts.depths) {
    if (depth.lists == 0) continue;
    rows.push_back({{"lists", depth.lists},
                    {"postings", depth.postings},
                    {"postings_read", depth.read},
                    {"mean_share_read", depth.mean_share()}});
  }
  return rows;
}

namespace {

/// The lists that were resident when batches needed them, those that were copied, and GPU memory by use.
Json gpu_lists_json(const gpu::ListCacheCounts& lists, double copy_us) {
  const auto share = [](std::uint64_t part, std::uint64_t all) {
    return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
  };
  return {{"needed", lists.lists},
          {"resident", lists.resident_lists},
          {"hit_rate", share(lists.resident_lists, lists.lists)},
          {"needed_bytes", lists.bytes},
          {"copied_bytes", lists.copied_bytes},
          {"direct_bytes", lists.direct_bytes},
          {"hit_rate_bytes", 1 - share(lists.copied_bytes, lists.bytes)},
          {"evicted", lists.evicted_lists},
          {"read_in_place", lists.in_place_lists},
          {"read_in_place_bytes", lists.in_place_bytes},
          {"copy_us", copy_us}};
}

/// The peaks of a GPU's memory by use, which need not coincide, and of all together, beside their limit.
Json gpu_memory_json(const GpuWorkStatistics& statistics) {
  Json json;
  for (std::size_t use = 0; use < statistics.memory.size(); ++use)
    json[std::string(gpu::memory_uses[use].name)] = statistics.memory[use];
  json["all"] = statistics.peak_bytes;
  json["limit"] = statistics.limit_bytes;
  return json;
}

}  // namespace

Json gpu_json(const GpuStatistics& statistics) {
  const gpu::BatchTimes& times = statistics.device;
  Json json = {
      {"batches", statistics.batches},     {"windows", statistics.windows},       {"on_cpu", statistics.on_cpu},
      {"run_again", statistics.run_again}, {"prepare_us", statistics.prepare_us}, {"upload_us", times.upload_us},
      {"decode_us", times.decode_us},      {"unite_us", times.unite_us},          {"finish_us", times.finish_us},
      {"download_us", times.download_us},  {"total_us", times.total_us}};
  const double kernels_us = times.kernels_us();
  const auto share = [&](double us) { return kernels_us > 0 ? us / kernels_us : 0; };
  json["stages"] = {{"initialization", share(times.decode_us)},
                    {"scoring", share(times.unite_us)},
                    {"merging", share(times.finish_us)}};
  json["memory"] = gpu_memory_json(statistics);
  if (statistics.entries.lists > 0)
    json["decoded_lists"] = {{"needed", statistics.entries.lists}, {"kept", statistics.entries.kept_lists}};
  if (statistics.lists.lists > 0) {
    json["lists"] = gpu_lists_json(statistics.lists, statistics.copy_lists_us);
    json["fronts"] = {{"cut_lists", statistics.lists.cut_lists},
                      {"cut_bytes", statistics.lists.cut_bytes},
                      {"ended_on_front", statistics.ended_on_front},
                      {"resumed_on_cpu", statistics.resumed},
                      {"resume_us", statistics.resume_us}};
  }
  return json;
}

Json gpu_statistics_json(const GpuIntersectionStatistics& statistics) {
  const auto batches = static_cast<double>(std::max<std::uint64_t>(statistics.batches, 1));
  Json json = {{"batches", statistics.batches},
               {"windows", statistics.windows},
               {"on_cpu", statistics.on_cpu},
               {"unpacked_lists", statistics.unpacked.lists},
               {"unpacked_postings", statistics.unpacked.postings},
               {"unpacked_bytes", statistics.unpacked.bytes},
               {"mean_response_us", statistics.response_us / batches},
               {"longest_response_us", statistics.longest_response_us},
               {"prepare_us", statistics.prepare_us},
               {"upload_us", statistics.device.upload_us},
               {"unpack_us", statistics.device.unpack_us},
               {"directory_us", statistics.device.directory_us},
               {"intersect_us", statistics.device.intersect_us},
               {"pack_us", statistics.device.pack_us},
               {"download_us", statistics.device.download_us},
               {"memory", gpu_memory_json(statistics)}};
  if (statistics.lists.lists > 0) json["lists"] = gpu_lists_json(statistics.lists, statistics.copy_lists_us);
  return json;
}

namespace {

ReadLimits table_limits() { return ReadLimits(256 << 20, 1 << 20); }

/// Costs of one origin with these.
CostTable read_costs(const std::string& path, std::vector<TimesOrigin> origins) {
  CostTable table = parse_cost_table(read_whole(path, table_limits()), path);
  origins.push_back(table);
  check_same_origin(origins);
  return table;
}

}  // namespace

std::vector<QueryTimeTable> read_times(const std::vector<std::string>& paths) {
  std::vector<QueryTimeTable> times;
  for (const std::string& path : paths) times.push_back(parse_query_times(read_whole(path, table_limits()), path));
  return times;
}

CostTable read_costs(const std::string& path, const std::vector<QueryTimeTable>& times) {
  return read_costs(path, std::vector<TimesOrigin>(times.begin(), times.end()));
}

CostTable read_costs(const std::string& path, const TimesOrigin& here) {
  return read_costs(path, std::vector<TimesOrigin>{here});
}

TimesOrigin origin_here(const IndexReader& index, std::optional<unsigned> gpu) {
  TimesOrigin here;
  here.name = index.name();
  here.index_hash = hash_text(index.container().content_hash());
  here.cpu = processor_name();
  if (!gpu) return here;
  require_gpu(*gpu);
  here.gpu = list_gpus().at(*gpu).name;
  return here;
}

}  // namespace quern::tools
