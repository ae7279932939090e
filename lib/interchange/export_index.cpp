#include "quern/interchange/export_index.hpp"

#include <fmt/format.h>

#include "quern/formats/posting_reader.hpp"

namespace quern {
namespace {

void export_list(const IndexReader& index, std::string_view term, const PostingList& list, InvertedSink& sink) {
  PostingCheck check(index.num_documents());
  BlockReader reader(index, list);
  std::uint64_t postings = 0;
  for (std::size_t block = 0; block < reader.num_blocks(); ++block) {
    reader.load(block);
    const auto docids = reader.docids();
    const auto freqs = reader.freqs();
    for (std::size_t i = 0; i < docids.size(); ++i) {
      if (const char* wrong = check.wrong(docids[i], freqs[i]))
        index.container().fail("postings", fmt::format("the list of '{}' has {}", term, wrong));
      sink.add_posting(docids[i], freqs[i]);
    }
    postings += docids.size();
  }
  if (postings != list.df) index.container().fail("postings", fmt::format("the list of '{}' has another df", term));
  sink.end_list(term);
}

}  // namespace

void export_index(const IndexReader& index, InvertedSink& sink, Progress& progress) {
  const IndexManifest& manifest = index.manifest();
  sink.begin({manifest.terms, manifest.documents, manifest.statistics.documents, manifest.statistics.tokens});
  progress.start("export lists", manifest.postings, "postings");
  for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block) {
    index.for_each_list(block, [&](std::string_view term, const PostingList& list) {
      export_list(index, term, list, sink);
      progress.add(list.df);
    });
  }
  progress.finish();
  for (docid_t docid = 0; docid < index.num_documents(); ++docid)
    sink.add_document(index.docno(docid), index.length(docid));
  sink.end();
}

}  // namespace quern
