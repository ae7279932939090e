#pragma once
#include <memory>
#include <string>
#include <vector>

#include "quern/corpus/parse_corpus.hpp"
#include "quern/formats/collection.hpp"

#include "corpus/temporary_folder.hpp"

namespace quern::testing {

struct Page {
  std::string docno, url, title, text;
};

inline std::string json_lines(const std::vector<Page>& pages) {
  std::string lines;
  for (const Page& page : pages) {
    lines += "{\"docno\": \"" + page.docno + "\", \"url\": \"" + page.url + "\", \"title\": \"" + page.title +
             "\", \"contents\": \"" + page.text + "\"}\n";
  }
  return lines;
}

/// Resources of a test: little memory, and temporary files in the test's folder.
inline Resources small_resources(const TemporaryFolder& folder, unsigned threads = 2,
                                 std::uint64_t memory_bytes = 64 << 20) {
  Resources resources = default_resources();
  resources.threads = threads;
  resources.memory_bytes = memory_bytes;
  resources.tmp_folder = folder.path("");
  return resources;
}

/// Parses pages to a collection file, in batches of about `batch_bytes`.
inline File parse_pages(const TemporaryFolder& folder, const std::vector<Page>& pages, const Resources& resources,
                        ParseReport* report = nullptr, std::uint64_t batch_bytes = 4096) {
  ParseOptions options;
  options.corpus = {folder.write("pages.jsonl", json_lines(pages))};
  options.reader.batch_bytes = batch_bytes;
  File file = File::anonymous(folder.path(""));
  const ParseReport met = parse_corpus(options, resources, file);
  if (report) *report = met;
  return file;
}

inline CollectionReader collection_of(const TemporaryFolder& folder, const std::vector<Page>& pages,
                                      std::uint64_t batch_bytes = 4096) {
  return CollectionReader(
      std::make_shared<const File>(parse_pages(folder, pages, small_resources(folder), nullptr, batch_bytes)));
}

}  // namespace quern::testing
