#pragma once
#include <string>
#include <vector>

#include "corpus/small_collection.hpp"

namespace quern::testing {

/// A page whose body is HTML.
struct LinkedPage {
  std::string docno, url, body;
};

/// The pages in TRECWEB format.
inline std::string trecweb_of(const std::vector<LinkedPage>& pages) {
  std::string text;
  for (const LinkedPage& page : pages)
    text += "<DOC>\n<DOCNO>" + page.docno + "</DOCNO>\n<DOCHDR>\n" + page.url + "\n</DOCHDR>\n<html><body>word " +
            page.body + "</body></html>\n</DOC>\n";
  return text;
}

inline CollectionReader linked_collection(const TemporaryFolder& folder, const std::vector<LinkedPage>& pages) {
  ParseOptions options;
  options.corpus = {folder.write("pages.trecweb", trecweb_of(pages))};
  options.reader.batch_bytes = 1024;
  File file = File::anonymous(folder.path(""));
  parse_corpus(options, small_resources(folder), file);
  return CollectionReader(std::make_shared<const File>(std::move(file)));
}

}  // namespace quern::testing
