#include "quern/lab/synth/link_graph.hpp"

#include <atomic>
#include <cmath>

#include "quern/lab/synth/term_fields.hpp"

namespace quern {
namespace {

/// Of 256 links.
constexpr std::uint64_t links_in_site = 200;
/// Exponents of the target's relative rank, within its site and among all documents: a uniform number to this power.
/// The second makes in-degrees proportional to rank^-0.75, so that their distribution has the exponent 2.3.
constexpr int site_power = 3, global_power = 4;
/// Limits the draws, since a document of a small site may draw the same targets repeatedly.
constexpr std::uint64_t draws_per_link = 3;

constexpr docid_t chunk_documents = 8192;
constexpr std::uint64_t line_bytes = 22;

double power(double base, int exponent) { return exponent == 3 ? base * base * base : base * base * base * base; }

}  // namespace

LinkGraph::LinkGraph(const DocumentTree& tree, double mean_links, std::uint64_t seed)
    : tree_(tree), mean_links_(mean_links), key_(mix_bits(seed + 0x117c)), popularity_(tree.documents(), seed) {
  check_range("mean links", mean_links, 0, 1e4);
}

docid_t LinkGraph::draw_target(std::uint64_t bits, docid_t site_first, docid_t site_end) const {
  const double even = static_cast<double>(bits >> 11) * 0x1p-53;
  if ((bits & 255) < links_in_site) {
    const docid_t size = site_end - site_first;
    return site_first + std::min(size - 1, static_cast<docid_t>(size * power(even, site_power)));
  }
  const docid_t documents = tree_.documents();
  return popularity_.at(std::min(documents - 1, static_cast<docid_t>(documents * power(even, global_power))));
}

void LinkGraph::links_of(docid_t document, std::vector<docid_t>& targets) const {
  const auto sites = tree_.site_starts();
  const auto next_site = std::upper_bound(sites.begin(), sites.end(), document);
  const docid_t site_first = *(next_site - 1), site_end = next_site == sites.end() ? tree_.documents() : *next_site;
  const std::uint64_t key = noise_bits(key_, document);
  const double even = (static_cast<double>(key >> 11) + 0.5) * 0x1p-53;
  const auto wanted = static_cast<std::size_t>(
      std::min(-std::log(even) * mean_links_ + 0.5, static_cast<double>(tree_.documents() - 1)));
  targets.clear();
  std::uint64_t draws = 0;
  while (targets.size() < wanted && draws < draws_per_link * wanted) {
    for (std::size_t missing = wanted - targets.size(); missing > 0; --missing)
      targets.push_back(draw_target(noise_bits(key, ++draws), site_first, site_end));
    std::sort(targets.begin(), targets.end());
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
    const auto self = std::lower_bound(targets.begin(), targets.end(), document);
    if (self != targets.end() && *self == document) targets.erase(self);
  }
}

std::uint64_t write_links(const LinkGraph& graph, docid_t documents, const std::string& name,
                          const Resources& resources, File& out) {
  return run_stage(resources, [&]() -> std::uint64_t {
    std::atomic<std::uint64_t> links = 0;
    resources.progress->start("write links", documents, "documents");
    const auto put_chunk = [&](std::uint64_t chunk, std::string& text) {
      const std::uint64_t first = chunk * chunk_documents,
                          end = std::min<std::uint64_t>(documents, first + chunk_documents);
      std::vector<docid_t> targets;
      std::uint64_t written = 0;
      for (std::uint64_t document = first; document < end; ++document) {
        graph.links_of(static_cast<docid_t>(document), targets);
        text.reserve(text.size() + targets.size() * line_bytes);
        for (const docid_t target : targets) {
          DocumentNames::append_docno(static_cast<docid_t>(document), text);
          text += '\t';
          DocumentNames::append_docno(target, text);
          text += '\n';
        }
        written += targets.size();
      }
      links += written;
      resources.progress->add(end - first);
    };
    write_packed_text((documents + std::uint64_t{chunk_documents} - 1) / chunk_documents, put_chunk, name, resources,
                      out);
    resources.progress->finish();
    return links;
  });
}

}  // namespace quern
