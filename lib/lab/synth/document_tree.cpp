#include "quern/lab/synth/document_tree.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <iterator>
#include <numeric>

#include "quern/lab/synth/list_generator.hpp"
#include "quern/lab/synth/term_fields.hpp"

namespace quern {

namespace {

// The variation of lengths: inheritance and variation between directories, and variation between documents of a
// directory.
constexpr float place_keeps = 0.8f, place_varies = 0.4f, document_varies = 0.45f;
/// The minimum length of a page, relative to the median.
constexpr float shortest_document = 0.15f;
constexpr float tail_share = 0.07f, tail_exponent = 0.9f, tail_limit = 40.0f;
/// A document's attraction is its length over the mean to this power.
constexpr double heaps_exponent = 0.75;
/// The variation of places' attraction that is common to all terms.
constexpr float common_preference = 1.2f;
/// The minimum share of either side of a cut; the last cuts are more even, so that leaves are well filled.
constexpr float uneven_share = 0.15f, even_share = 0.42f;
/// Cuts above this many documents weaken with size, so that differences between places stay bounded in collections of
/// any size.
constexpr float widest_full_strength = 8192, strength_decay = 0.25f;
/// A node becomes a site at random, or when it is this small; no site has more than this share of all documents.
constexpr float site_chance = 0.12f;
constexpr docid_t smallest_site = 256, largest_site_part = 16;

enum TreePurpose : std::uint64_t { cut = 1, length_of_place, length_of_document, tail, preference, strength, site };

}  // namespace

class DocumentTree::Builder {
 public:
  Builder(const DocumentTreeOptions& options, DocumentTree& tree)
      : options_(options), tree_(tree), attraction_(heaps_exponent * std::min(1.0, 2 * options.clustering)) {}

  void build() {
    const auto documents = static_cast<docid_t>(options_.documents);
    tree_.lengths_.resize(documents);
    tree_.places_.resize(documents);
    grow(0, documents, 0, false);
    for_each_leaf([&](std::size_t leaf, docid_t first, docid_t end) {
      for (docid_t document = first; document < end; ++document) draw_length(document, leaf_lengths_[leaf]);
    });
    scale_lengths();
    leaf_attractions_.resize(tree_.leaf_starts_.size());
    for_each_leaf(
        [&](std::size_t leaf, docid_t first, docid_t end) { leaf_attractions_[leaf] = weigh_leaf(first, end); });
    std::size_t node = 0, leaf = 0;
    weigh(node, leaf);
  }

 private:
  /// Calls visit(leaf's number, first document, end) in parallel.
  template <class Visit>
  void for_each_leaf(Visit&& visit) const {
    const auto& starts = tree_.leaf_starts_;
    tbb::parallel_for(std::size_t{0}, starts.size(), [&](std::size_t leaf) {
      visit(leaf, starts[leaf], leaf + 1 < starts.size() ? starts[leaf + 1] : tree_.documents_);
    });
  }

  std::uint64_t bits(TreePurpose purpose, std::uint64_t place) const {
    return noise_bits(mix_bits(options_.seed + (purpose << 56)), place);
  }

  /// Nodes in preorder.
  void grow(docid_t first, docid_t end, float place_length, bool in_site) {
    const std::size_t number = tree_.nodes_.size();
    tree_.nodes_.emplace_back();
    const docid_t size = end - first;
    if (!in_site && (size <= smallest_site ||
                     (size <= options_.documents / largest_site_part && unit_of(bits(site, number)) < site_chance))) {
      in_site = true;
      tree_.site_starts_.push_back(first);
    }
    place_length = place_keeps * place_length + place_varies * normal_of(bits(length_of_place, number));
    if (size <= max_leaf) {
      tree_.leaf_starts_.push_back(first);
      leaf_lengths_.push_back(place_length);
      return;
    }
    const float min_share = size <= 2 * max_leaf ? even_share : uneven_share;
    const float share = min_share + (1 - 2 * min_share) * unit_of(bits(cut, number));
    const docid_t middle =
        first + std::clamp<docid_t>(static_cast<docid_t>(static_cast<double>(size) * share), 1, size - 1);
    tree_.nodes_[number].middle = middle;
    // Some cuts separate related documents, others unrelated ones.
    const float scale = std::pow(std::min(1.0f, widest_full_strength / static_cast<float>(size)), strength_decay);
    tree_.nodes_[number].strength = scale * (0.4f + 1.2f * unit_of(bits(strength, number)));
    grow(first, middle, place_length, in_site);
    tree_.nodes_[number].right = static_cast<std::uint32_t>(tree_.nodes_.size());
    grow(middle, end, place_length, in_site);
  }

  /// Draws a relative length, as a 16.16 fixed-point number.
  void draw_length(docid_t document, float place_length) {
    float length = shortest_document +
                   portable_exp(place_length + document_varies * normal_of(bits(length_of_document, document)));
    const float u = unit_of(bits(tail, document));
    if (u < tail_share)
      length *= std::min(tail_limit, static_cast<float>(std::pow((u + 1e-6f) / tail_share, -1.0f / tail_exponent)));
    tree_.lengths_[document] = static_cast<std::uint32_t>(length * 65536.0f);
  }

  void scale_lengths() {
    // Far below 2^53, so it is exact as a double.
    const auto sum =
        static_cast<double>(std::accumulate(tree_.lengths_.begin(), tree_.lengths_.end(), std::uint64_t{0}));
    const double factor = options_.mean_length * static_cast<double>(tree_.lengths_.size()) / std::max(1.0, sum);
    tbb::parallel_for(docid_t{0}, tree_.documents_, [&](docid_t document) {
      std::uint32_t& length = tree_.lengths_[document];
      length = static_cast<std::uint32_t>(std::clamp(length * factor, 1.0, 1e9));
      const double step = length_step_mean + 2 * std::log2(length / options_.mean_length);
      tree_.places_[document].length_step = static_cast<std::uint8_t>(std::clamp(step, 0.0, length_steps - 1.0));
    });
  }

  /// Sets the nodes' left odds; returns the subtree's attraction. `next`, `next_leaf`: the numbers of its first node
  /// and leaf; advanced past the subtree.
  double weigh(std::size_t& next, std::size_t& next_leaf) {
    const std::size_t number = next++;
    Node& node = tree_.nodes_[number];
    if (node.right == 0) return leaf_attractions_[next_leaf++];
    const double left = weigh(next, next_leaf), right = weigh(next, next_leaf);
    node.left_odds = static_cast<float>(std::log(left / right)) + static_cast<float>(2 * options_.clustering) *
                                                                      common_preference * node.strength *
                                                                      normal_of(bits(preference, number));
    return left + right;
  }

  /// Makes the leaf's alias table; returns its attraction.
  double weigh_leaf(docid_t first, docid_t end) {
    const docid_t size = end - first;
    std::array<double, max_leaf> weights;
    double sum = 0;
    for (docid_t i = 0; i < size; ++i)
      sum += weights[i] = std::pow(tree_.lengths_[first + i] / options_.mean_length, attraction_);
    make_alias_table({weights.data(), size}, sum, {tree_.places_.data() + first, size});
    return sum;
  }

  /// Walker's method: documents above the mean fill up the slots of those below it.
  static void make_alias_table(std::span<double> weights, double sum, std::span<Document> slots) {
    std::array<std::uint8_t, max_leaf> small, large;
    std::size_t smalls = 0, larges = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] *= static_cast<double>(weights.size()) / sum;
      slots[i].alias = static_cast<std::uint8_t>(i);
      (weights[i] < 1 ? small[smalls++] : large[larges++]) = static_cast<std::uint8_t>(i);
    }
    while (smalls > 0 && larges > 0) {
      const std::uint8_t low = small[--smalls], high = large[larges - 1];
      slots[low].threshold = static_cast<std::uint8_t>(weights[low] * 255);
      slots[low].alias = high;
      weights[high] -= 1 - weights[low];
      if (weights[high] >= 1) continue;
      --larges;
      small[smalls++] = high;
    }
  }

  const DocumentTreeOptions& options_;
  DocumentTree& tree_;
  double attraction_;
  std::vector<float> leaf_lengths_;       ///< by leaf: draw_length()'s place_length
  std::vector<double> leaf_attractions_;  ///< by leaf
};

void check_tree_options(const DocumentTreeOptions& options) {
  if (options.documents == 0)
    throw InvalidArgument("a collection needs at least one document; raise {}", option_name<"docs">);
  if (options.documents >= end_docid)
    throw InvalidArgument("{} documents are more than an index can hold", options.documents);
  check_range("clustering", options.clustering, 0, 1);
  check_range("mean length", options.mean_length, 1, max_mean_length);
}

DocumentTree::DocumentTree(const DocumentTreeOptions& options)
    : documents_(static_cast<docid_t>(options.documents)), mean_length_(options.mean_length) {
  check_tree_options(options);
  Builder(options, *this).build();
}

namespace {

/// The index of the last start that is not after the document.
std::size_t place_of(std::span<const docid_t> starts, docid_t document) {
  return static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), document) - starts.begin()) - 1;
}

}  // namespace

std::string DocumentNames::docno(docid_t document) {
  std::string docno;
  append_docno(document, docno);
  return docno;
}

void DocumentNames::append_docno(docid_t document, std::string& text) {
  constexpr std::size_t digits = 9;
  const fmt::format_int number(document);
  text += 'S';
  text.append(digits - std::min(digits, number.size()), '0');
  text.append(number.data(), number.size());
}

std::size_t DocumentNames::site(docid_t document) const { return place_of(tree_.site_starts(), document); }

std::size_t DocumentNames::leaf(docid_t document) const { return place_of(tree_.leaf_starts(), document); }

std::string DocumentNames::url(docid_t document) const {
  const std::size_t leaf = this->leaf(document);
  return fmt::format("http://s{:07}.example/d{:07}/p{:02}.html", site(document), leaf,
                     document - tree_.leaf_starts()[leaf]);
}

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

PopularityRanking::PopularityRanking(docid_t documents, std::uint64_t seed) : documents_(documents) {
  constexpr std::uint64_t purpose = 0x9097;
  shift_ = noise_bits(seed, purpose) % documents;
  // Near the golden ratio, so that close ranks are far apart; coprime, so that it is a bijection.
  factor_ = static_cast<std::uint64_t>(static_cast<double>(documents) * 0.6180339887498949) | 1;
  while (std::gcd(factor_, std::uint64_t{documents}) != 1) ++factor_;
}

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

void append_word(std::uint32_t rank, std::string& text) {
  constexpr std::string_view consonants = "bdfghklmnprstvz", vowels = "aeiou";
  constexpr std::uint64_t syllables = consonants.size() * vowels.size();
  // Words of n syllables come after all shorter ones.
  std::uint64_t left = rank, words = syllables * syllables;
  int length = 2;
  for (; left >= words; ++length, words *= syllables) left -= words;
  for (int i = 0; i < length; ++i, left /= syllables) {
    text += consonants[left % syllables / vowels.size()];
    text += vowels[left % vowels.size()];
  }
}

namespace {

constexpr docid_t chunk_texts = 256;
constexpr std::size_t title_words = 3, words_per_paragraph = 80, words_per_link = 12;
/// Thresholds out of 256 for words that repeat one of the document, of its site and of its directory.
constexpr std::uint64_t repeated = 80, of_site = 90, of_directory = 110;
/// A place uses one of this many words, beyond the most common ones.
constexpr std::uint32_t words_a_place_word = 16, common_words = 64;

const SynthCorpusOptions& checked(const SynthCorpusOptions& options) {
  check_tree_options(options.tree);
  check_range("vocabulary", options.vocabulary, 1, 1u << 31);
  return options;
}

enum TextPurpose : std::uint64_t { text = 0x7e47, place = 0x91ac };

}  // namespace

SynthCorpus::SynthCorpus(const SynthCorpusOptions& options)
    : options_(checked(options)),
      tree_(options.tree),
      names_(tree_),
      links_(tree_, options.mean_links, options.tree.seed) {}

/// Draws by Zipf's law: the rank's logarithm is uniform. A place uses a part of each octave of ranks.
std::uint32_t SynthCorpus::draw_word(std::uint64_t bits, std::uint64_t site, std::uint64_t leaf) const {
  const double even = static_cast<double>(bits >> 11) * 0x1p-53;
  const auto rank = static_cast<std::uint32_t>(std::exp(even * std::log(options_.vocabulary + 1.0)) - 1);
  const std::uint64_t turn = bits & 255;
  if (rank < common_words || turn >= of_site + of_directory) return std::min(rank, options_.vocabulary - 1);
  const std::uint32_t octave = std::bit_floor(rank);
  const std::uint64_t start = noise_bits(turn < of_site ? site : leaf, octave);
  const auto word = static_cast<std::uint32_t>(octave + (start + rank / words_a_place_word) % octave);
  return word % options_.vocabulary;
}

std::vector<std::uint32_t> SynthCorpus::words_of(docid_t document) const {
  const std::uint64_t key = mix_bits(options_.tree.seed + text);
  const std::uint64_t site = noise_bits(key ^ place, names_.site(document));
  const std::uint64_t leaf = noise_bits(site, names_.leaf(document));
  const std::uint64_t own = noise_bits(key, document);
  std::vector<std::uint32_t> words(std::max<std::uint32_t>(title_words, tree_.lengths()[document]));
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint64_t bits = noise_bits(own, i);
    const bool again = i > 0 && (bits >> 56) < repeated;
    words[i] = again ? words[bits % i] : draw_word(bits, site, leaf);
  }
  return words;
}

void SynthCorpus::append_document(docid_t document, std::string& text) const {
  const std::vector<std::uint32_t> words = words_of(document);
  std::vector<docid_t> targets;
  links_.links_of(document, targets);
  fmt::format_to(std::back_inserter(text),
                 "<DOC>\n<DOCNO>{}</DOCNO>\n<DOCHDR>\n{}\nHTTP/1.1 200 OK\nContent-Type: text/html; "
                 "charset=utf-8\n</DOCHDR>\n<html><head><title>",
                 DocumentNames::docno(document), names_.url(document));
  for (std::size_t i = 0; i < title_words; ++i) {
    if (i > 0) text += ' ';
    append_word(words[i], text);
  }
  text += "</title></head><body>\n<p>";
  std::size_t next_link = 0;
  for (std::size_t i = title_words; i < words.size(); ++i) {
    const bool linked = i % words_per_link == 0 && next_link < targets.size();
    if (linked) text += "<a href=\"" + names_.url(targets[next_link++]) + "\">";
    append_word(words[i], text);
    if (linked) text += "</a>";
    text += i % words_per_paragraph == 0 ? "</p>\n<p>" : " ";
  }
  for (; next_link < targets.size(); ++next_link) text += "<a href=\"" + names_.url(targets[next_link]) + "\"></a>\n";
  text += "</p></body></html>\n</DOC>\n";
}

void write_corpus(const SynthCorpusOptions& options, const Resources& resources, File& out) {
  return run_stage(resources, [&] {
    const SynthCorpus corpus(options);
    resources.progress->start("write documents", corpus.documents(), "documents");
    const auto put_chunk = [&](std::uint64_t chunk, std::string& text) {
      const std::uint64_t first = chunk * chunk_texts,
                          end = std::min<std::uint64_t>(corpus.documents(), first + chunk_texts);
      for (std::uint64_t document = first; document < end; ++document)
        corpus.append_document(static_cast<docid_t>(document), text);
      resources.progress->add(end - first);
    };
    write_packed_text((corpus.documents() + std::uint64_t{chunk_texts} - 1) / chunk_texts, put_chunk, {}, resources,
                      out);
    resources.progress->finish();
  });
}

}  // namespace quern
