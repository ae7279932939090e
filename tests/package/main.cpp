// A program that uses the installed library: it indexes the lines of a file, prints the results of a query, and then
// answers each line of standard input, like a query server.
//   consumer LINES INDEX QUERY < QUERIES     LINES: docno<TAB>text
#include <quern/api/quern.hpp>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>

namespace q = quern::api;

namespace {

q::IndexReport index_lines(const std::string& lines, const std::string& path) {
  q::IndexOptions options;
  options.stemmer = "porter2";
  options.store_text = true;
  options.overwrite = true;
  q::IndexBuilder builder(path, options);
  std::ifstream in(lines);
  for (std::string line; std::getline(in, line);) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) continue;
    q::NewDocument document;
    document.docno = std::string_view(line).substr(0, tab);
    document.text = std::string_view(line).substr(tab + 1);
    builder.add(document);
  }
  return builder.finish();
}

/// A stored text on one line.
std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

void print(const q::Searcher& searcher, std::string_view query) {
  for (const q::Hit& hit : searcher.search(query, 3))
    std::printf("%s\t%s\t%.9g\t%s\n", std::string(query).c_str(), searcher.index().docno(hit.docid).c_str(),
                static_cast<double>(hit.score), one_line(searcher.index().text(hit.docid)).c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    const q::IndexReport report = index_lines(argv[1], argv[2]);
    const q::Index index = q::Index::open(argv[2]);
    index.verify();
    std::printf("quern %s: %llu documents, %llu terms\n", q::version(),
                static_cast<unsigned long long>(report.documents), static_cast<unsigned long long>(report.terms));
    const q::Searcher searcher(index);
    print(searcher, argv[3]);
    for (std::string query; std::getline(std::cin, query);) print(searcher, query);
  } catch (const q::Error& error) {
    std::fprintf(stderr, "%s (%s)\n", error.what(), q::name_of(error.code()));
    return 1;
  }
  return 0;
}
