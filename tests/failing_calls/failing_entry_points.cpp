#include "failing_calls/failing_entry_points.hpp"

#include <filesystem>

#include "cli/small_corpus.hpp"

namespace quern::testing {
namespace {

std::string lines_with_weights() {
  std::string lines;
  for (int i = 0; i < 40; ++i)
    lines += "{\"id\": " + std::to_string(i) +
             ", \"vector\": {\"mill\": 1.5, \"a-term-that-is-too-long-for-a-small-text\": " + std::to_string(i + 1) +
             "}}\n";
  return lines;
}

}  // namespace

Workplace::Workplace(unsigned threads) {
  std::filesystem::current_path(folder_.path(""));
  resources.threads = threads;
  resources.tmp_folder = ".";
  resources.progress = nullptr;
  pages = folder_.write("pages.trecweb", small_trecweb);
  objects = folder_.write("objects.jsonl",
                          "{\"id\": \"M-5\", \"title\": \"A title\", \"contents\": \"A mill that water turns\", "
                          "\"lang\": \"a-language-with-a-name-that-is-too-long-for-a-small-text\"}\n");
  weights = folder_.write("weights.jsonl", lines_with_weights());
}

std::set<std::string> Workplace::leftovers() const {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path("")))
    if (const std::string name = entry.path().filename(); name.starts_with(".")) names.insert(name);
  return names;
}

std::vector<EntryPoint> all_calls(const Workplace& place) {
  std::vector<EntryPoint> all;
  for (const auto& calls : {stage_calls(place), query_calls(place), shard_calls(place), text_calls(place)})
    all.insert(all.end(), calls.begin(), calls.end());
  return all;
}

}  // namespace quern::testing
