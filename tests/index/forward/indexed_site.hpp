#pragma once
#include <string>
#include <utility>
#include <vector>

#include "quern/core/random.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/index/forward/build_forward.hpp"
#include "quern/io/checksum.hpp"

#include "index/pipeline/pipeline.hpp"

/// Small sites of random pages, and their indexes with forward files.
namespace quern::testing {

/// A page of a small site, with links to others.
struct ModelPage {
  std::string docno, url, title;
  std::vector<std::string> paragraphs;
  std::vector<std::pair<std::string, std::string>> links;  ///< URL and text
};

inline std::string site_word(RandomBits& random) {
  return "w" + std::to_string(random.below(random.below(2) == 0 ? 12 : 300));
}

inline std::string site_words(RandomBits& random, std::uint64_t most) {
  std::string text;
  for (std::uint64_t i = random.below(most + 1); i > 0; --i) text += site_word(random) + " ";
  return text;
}

/// Pages that link to each other, to themselves and outside; some have no URL, some share one, some are long.
inline std::vector<ModelPage> random_site(std::uint64_t seed, std::size_t count) {
  RandomBits random(seed);
  std::vector<ModelPage> pages(count);
  for (std::size_t i = 0; i < count; ++i) {
    ModelPage& page = pages[i];
    page.docno = "P-" + std::to_string(i);
    if (random.below(10) > 0)
      page.url = "http://site" + std::to_string(random.below(3)) + ".example/only" + std::to_string(i) + "/page" +
                 std::to_string(random.below(20) == 0 ? 0 : i);
    page.title = site_words(random, 6);
    for (std::uint64_t p = random.below(5); p > 0; --p)
      page.paragraphs.push_back(site_words(random, random.below(12) == 0 ? 3000 : 30));
  }
  for (ModelPage& page : pages) {
    for (std::uint64_t n = random.below(7); n > 0; --n) {
      const std::string& target = pages[random.below(count)].url;
      page.links.emplace_back(random.below(5) == 0 || target.empty() ? "http://elsewhere.example/" : target,
                              site_words(random, 3) + (random.below(4) == 0 ? "anchoronly" + std::to_string(n) : ""));
    }
  }
  return pages;
}

inline std::string as_trecweb(const std::vector<ModelPage>& pages) {
  std::string corpus;
  for (const ModelPage& page : pages) {
    corpus += "<DOC>\n<DOCNO>" + page.docno + "</DOCNO>\n<DOCHDR>\n" + page.url + "\n</DOCHDR>\n<html><title>" +
              page.title + "</title>";
    for (const std::string& paragraph : page.paragraphs) corpus += "<p>" + paragraph + "</p>";
    for (const auto& [url, text] : page.links) corpus += "<a href=\"" + url + "\">" + text + "</a> ";
    corpus += "</html>\n</DOC>\n";
  }
  return corpus;
}

/// An index of a site and its forward file.
struct IndexedSite {
  StageFile index, forward;
  ForwardReport report;
};

inline IndexedSite index_site(Pipeline& pipeline, const CollectionReader& collection, const DocumentOrder& order) {
  IndexedSite site;
  site.index = pipeline.build(collection, order, {});
  const std::string hash = hash_text(Pipeline::open_index(site.index).container().content_hash());
  site.forward = pipeline.new_file();
  site.report = build_forward(collection, {order.documents, hash}, pipeline.resources, *site.forward);
  return site;
}

inline ForwardReader open_forward(const StageFile& file) {
  return ForwardReader(ContainerReader(file, FileKind::forward));
}

}  // namespace quern::testing
