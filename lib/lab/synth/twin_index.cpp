#include "quern/lab/synth/twin_index.hpp"

#include <tbb/parallel_for.h>

#include <atomic>
#include <numeric>

#include "quern/formats/posting_reader.hpp"
#include "quern/index/index_assembly.hpp"
#include "quern/io/checksum.hpp"
#include "quern/lab/synth/document_tree.hpp"
#include "quern/lab/synth/list_generator.hpp"
#include "quern/lab/synth/term_fields.hpp"

namespace quern {
namespace {

/// A directory's documents, as in DocumentTree.
constexpr docid_t clustered_window = DocumentTree::max_leaf;
/// Of 65,536 terms of a document, those of its first parent.
constexpr std::uint64_t of_first_parent = 52429;
constexpr float weights_vary = 0.1f;
constexpr std::uint64_t distance_purpose = 0xd157, term_purpose = 0x7e43;

/// A window: documents [first, first + size) of the source, [begin, end) of the twin.
struct TwinWindow {
  docid_t number = 0, first = 0, size = 0, begin = 0, end = 0;
};

/// The documents of a twin. The source is cut into windows of neighbouring documents. A window's share of the twin's
/// documents are copies of it, one after another. A copy's document has two parents: the one at its place, from which
/// it takes most of its terms, and another of the window, at a distance drawn for the copy.
class TwinDocuments {
 public:
  TwinDocuments(const IndexReader& source, std::uint64_t documents, std::uint64_t seed)
      : source_documents_(source.num_documents()),
        documents_(static_cast<docid_t>(documents)),
        window_(is_clustered(source) ? clustered_window : source_documents_),
        key_(mix_bits(seed + distance_purpose)) {}

  docid_t documents() const { return documents_; }
  TwinWindow window_of(docid_t source_document) const {
    const docid_t number = source_document / window_, first = number * window_;
    const docid_t size = std::min(window_, source_documents_ - first);
    return {number, first, size, begin_of(first), begin_of(first + size)};
  }
  /// The distance of the parents in a copy, cyclic within the window.
  docid_t distance(const TwinWindow& window, docid_t copy) const {
    if (window.size == 1) return 0;
    return 1 + static_cast<docid_t>(noise_bits(key_ + window.number, copy) % (window.size - 1));
  }

 private:
  /// Whether neighbouring documents are similar; if not, the window is the whole source.
  static bool is_clustered(const IndexReader& source) {
    const std::string& order = source.manifest().order;
    return order != name_of_value(order_names, OrderBy::natural) &&
           order != name_of_value(order_names, OrderBy::random);
  }
  docid_t begin_of(docid_t source_document) const {
    return static_cast<docid_t>(std::uint64_t{source_document} * documents_ / source_documents_);
  }

  docid_t source_documents_, documents_, window_;
  std::uint64_t key_;
};

/// A list's postings in a window of the source, by place in the window.
struct PlacedWeight {
  docid_t place;
  freq_t weight;
};

/// Draws lists of a twin from those of its source. One per thread.
class TwinList {
 public:
  TwinList(const IndexReader& source, const TwinDocuments& documents, std::uint64_t seed)
      : source_(source), documents_(documents), seed_(seed), max_weight_(source.manifest().impacts->max_weight()) {
    for (std::size_t i = 0; i < factors_.size(); ++i)
      factors_[i] = 1 + weights_vary * normal_of(mix_bits(i + term_purpose));
  }

  /// Calls visit(docID, weight) for the postings of a term, in docID order, at least once.
  template <class Visit>
  void for_each_posting(std::string_view term, Visit&& visit) {
    const PostingList list = *source_.find(term);
    key_ = mix_bits(seed_ ^ xxh3(as_bytes(term)));
    bool any = false;
    TwinWindow window{};
    const auto draw = [&] {
      if (!postings_.empty()) any |= draw_window(window, visit);
      postings_.clear();
    };
    for_each_block(source_, list, [&](BlockReader& block) {
      const std::span<const freq_t> weights = block.freqs();
      for (unsigned i = 0; i < block.size(); ++i) {
        const docid_t docid = block.docids()[i];
        if (docid - window.first >= window.size) {
          draw();
          window = documents_.window_of(docid);
        }
        postings_.push_back({docid - window.first, weights[i]});
      }
    });
    const freq_t last_weight = postings_.back().weight;
    draw();
    if (!any) visit(std::min(window.begin, documents_.documents() - 1), last_weight);
  }

 private:
  /// Whether there was a posting.
  template <class Visit>
  bool draw_window(const TwinWindow& window, Visit& visit) {
    bool any = false;
    docid_t copy = 0;
    for (std::uint64_t base = window.begin; base < window.end; base += window.size)
      any |= draw_copy(static_cast<docid_t>(base),
                       static_cast<docid_t>(std::min<std::uint64_t>(window.size, window.end - base)), window.size,
                       documents_.distance(window, copy++), visit);
    return any;
  }

  /// Merges the postings of the first parents with those of the second, which are the same ones, rotated.
  template <class Visit>
  bool draw_copy(docid_t base, docid_t end, docid_t size, docid_t distance, Visit& visit) {
    const std::size_t all = postings_.size();
    const auto rotated = static_cast<std::size_t>(
        std::lower_bound(postings_.begin(), postings_.end(), distance,
                         [](const PlacedWeight& posting, docid_t place) { return posting.place < place; }) -
        postings_.begin());
    std::size_t first = 0, second = 0;
    bool any = false;
    for (;;) {
      const std::size_t other = rotated + second < all ? rotated + second : rotated + second - all;
      const docid_t first_place = first < all ? postings_[first].place : size;
      const docid_t second_place =
          second < all ? postings_[other].place + (postings_[other].place < distance ? size : 0) - distance : size;
      const docid_t place = std::min(first_place, second_place);
      if (place >= end) return any;
      const std::uint64_t bits = noise_bits(key_, base + place);
      const bool from_first = (bits & 0xffff) < of_first_parent;
      if ((from_first ? first_place : second_place) == place) {
        visit(base + place, varied(postings_[from_first ? first : other].weight, bits >> 16));
        any = true;
      }
      first += first_place == place;
      second += second_place == place;
    }
  }

  freq_t varied(freq_t weight, std::uint64_t bits) const {
    const float varied = static_cast<float>(weight) * factors_[bits % factors_.size()] + 0.5f;
    return std::clamp<freq_t>(static_cast<freq_t>(varied), 1, max_weight_);
  }

  const IndexReader& source_;
  const TwinDocuments& documents_;
  std::uint64_t seed_, key_ = 0;
  freq_t max_weight_;
  std::array<float, 256> factors_;
  std::vector<PlacedWeight> postings_;
};

/// Returns the lists in the order of their terms; the encoding threads draw them.
class TwinLists : public ListSource {
 public:
  /// Lists of more than `list_bytes` go through a work file. References must outlive the object.
  TwinLists(const IndexReader& source, const DfTable& table, const TwinDocuments& documents, std::uint64_t seed,
            std::uint64_t list_bytes, std::string tmp_folder)
      : source_(source),
        terms_(table.terms),
        documents_(documents),
        seed_(seed),
        list_bytes_(list_bytes),
        tmp_folder_(std::move(tmp_folder)) {}

  bool next(ListBatch& batch) override {
    if (next_ == terms_.size()) return false;
    const std::size_t from = next_;
    std::uint64_t postings = 0;
    while (next_ < terms_.size() && (next_ == from || postings + terms_[next_].df <= list_batch_postings))
      postings += terms_[next_++].df;
    if (postings * sizeof(SpooledPosting) > list_bytes_)
      batch = DeferredLists([this, from] { return make_long_list(from); });
    else
      batch = DeferredLists([this, from, end = next_, postings] { return make_lists(from, end, postings); });
    return true;
  }

 private:
  Lists make_lists(std::size_t from, std::size_t end, std::uint64_t postings) const {
    TwinList list(source_, documents_, seed_);
    ListColumns columns;
    columns.docids.reserve(postings);
    columns.freqs.reserve(postings);
    for (std::size_t term = from; term < end; ++term) {
      const std::size_t begin = columns.docids.size();
      list.for_each_posting(terms_[term].term, [&](docid_t docid, freq_t weight) {
        columns.docids.push_back(docid);
        columns.freqs.push_back(weight);
      });
      columns.lists.push_back({static_cast<term_t>(term), columns.docids.size() - begin});
    }
    return columns;
  }

  Lists make_long_list(std::size_t term) const {
    constexpr std::size_t at_once = 4096;
    auto postings = std::make_shared<RecordSpool<SpooledPosting>>(tmp_folder_);
    std::vector<SpooledPosting> chunk;
    std::uint64_t df = 0;
    TwinList(source_, documents_, seed_).for_each_posting(terms_[term].term, [&](docid_t docid, freq_t weight) {
      chunk.push_back({docid, weight});
      ++df;
      if (chunk.size() < at_once) return;
      postings->add_all(chunk);
      chunk.clear();
    });
    postings->add_all(chunk);
    return LongList{static_cast<term_t>(term), df, std::move(postings)};
  }

  const IndexReader& source_;
  std::span<const DfEntry> terms_;
  const TwinDocuments& documents_;
  std::uint64_t seed_, list_bytes_;
  std::string tmp_folder_;
  std::size_t next_ = 0;
};

/// The sum of each document's weights, as all lists have them.
std::vector<std::uint32_t> twin_lengths(const IndexReader& source, const DfTable& table, const TwinDocuments& documents,
                                        std::uint64_t seed, Progress& progress) {
  std::vector<std::atomic<std::uint32_t>> sums(documents.documents());
  progress.start("draw lengths", table.postings(), "postings");
  tbb::parallel_for(std::size_t{0}, table.terms.size(), [&](std::size_t term) {
    TwinList(source, documents, seed).for_each_posting(table.terms[term].term, [&](docid_t docid, freq_t weight) {
      sums[docid].fetch_add(weight, std::memory_order_relaxed);
    });
    progress.add(table.terms[term].df);
  });
  progress.finish();
  return {sums.begin(), sums.end()};
}

IndexManifest twin_manifest(const IndexReader& source, const TwinOptions& options) {
  IndexManifest manifest;
  manifest.analyzer = source.manifest().analyzer;
  manifest.corpus_format = "synth";
  manifest.order = source.manifest().order;
  manifest.order_seed = options.seed;
  Bytes bytes;
  put_le(bytes, source.container().content_hash());
  put_varint(bytes, options.documents);
  put_varint(bytes, options.seed);
  manifest.collection_hash = hash_text(xxh3(bytes));
  return manifest;
}

BuildReport write_twin(const IndexReader& source, const TwinOptions& options, const Resources& resources, File& out) {
  const DfTable table = scaled_to(df_table_of(source, resources), options.documents);
  check_free_space(resources.tmp_folder, table.postings() * 2 + options.documents * std::uint64_t{48}, "the index");
  IndexAssembly assembly({{options.documents, 1, table.memory_bytes()}, options.build, resources, out, source.name()});
  const TwinDocuments twin(source, options.documents, options.seed);
  std::vector<std::uint32_t> lengths = twin_lengths(source, table, twin, options.seed, *resources.progress);
  const CollectionStatistics statistics{options.documents,
                                        std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0})};
  TwinLists lists(source, table, twin, options.seed, assembly.working_bytes() / 4 / assembly.jobs_in_flight(),
                  resources.tmp_folder);
  assembly.write_lists(std::move(lengths), statistics, lists, table.postings(),
                       [&](term_t term) -> std::string_view { return table.terms[term].term; });
  assembly.write_documents([&](docid_t first, docid_t end, const IndexAssembly::DocumentVisit& visit) {
    for (docid_t docid = first; docid < end; ++docid) visit({DocumentNames::docno(docid), {}, {}});
  });
  return assembly.finish(twin_manifest(source, options));
}

}  // namespace

BuildReport synthesize_twin(const IndexReader& source, const TwinOptions& options, const Resources& resources,
                            File& out) {
  return run_stage(resources, [&] {
    if (!source.manifest().impacts || source.num_documents() == 0)
      throw InvalidArgument("{} has no documents with given weights to imitate", source.name());
    TwinOptions own = options;
    own.build.impacts = source.manifest().impacts;
    check_build_options(own.build);
    check_range("documents", own.documents, std::uint64_t{1}, std::uint64_t{end_docid - 1});
    return write_twin(source, own, resources, out);
  });
}

}  // namespace quern
