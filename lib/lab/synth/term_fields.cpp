#include "quern/lab/synth/term_fields.hpp"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <numeric>
#include <optional>

#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"
#include "quern/core/job_pipeline.hpp"
#include "quern/io/checksum.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/io/zstd_frame.hpp"
#include "quern/lab/synth/list_generator.hpp"

namespace quern {
namespace {

constexpr std::uint64_t topics = 48;
/// Standard deviation of a cut's log-odds at clustering 1: for a term in all documents, the increase for each halving
/// of its share of the documents, and the maximum; then the share of the variance that correlated terms have in common.
constexpr float noise_min = 0.75f, noise_of_rarity = 0.46f, noise_max = 9.0f, shared_variance = 0.7f;
/// Levels of frequencies: the mean, the standard deviation between terms, and the effect of a term's density.
constexpr float freq_level_mean = 14, freq_level_varies = 3, freq_level_of_density = 3;
/// Standard deviation of the logistic distribution.
constexpr float logistic_deviation = 1.8138f;

enum TermPurpose : std::uint64_t { own = 1, topic_choice, topic_key, level };

std::optional<term_t> find_term(const DfTable& table, const std::string& term) {
  const auto at = std::lower_bound(table.terms.begin(), table.terms.end(), term,
                                   [](const DfEntry& entry, const std::string& wanted) { return entry.term < wanted; });
  if (at == table.terms.end() || at->term != term) return std::nullopt;
  return static_cast<term_t>(at - table.terms.begin());
}

/// The distinct terms of a query that are in the table.
std::vector<term_t> known_terms(const DfTable& table, const std::vector<std::string>& query) {
  std::vector<term_t> terms;
  for (const std::string& term : query)
    if (const auto found = find_term(table, term)) terms.push_back(*found);
  std::sort(terms.begin(), terms.end());
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  return terms;
}

/// For each term, the term that it follows, or itself.
std::vector<term_t> leaders(const DfTable& table, const VisitQueries& for_each_query, const Resources& resources) {
  std::vector<term_t> leaders(table.terms.size());
  std::iota(leaders.begin(), leaders.end(), term_t{0});
  if (!for_each_query) return leaders;
  std::vector<std::uint32_t> query_counts(leaders.size());
  ExternalSort pairs(resources.tmp_folder, resources.memory_bytes / 8);  // follower and possible leader
  for_each_query([&](const std::vector<std::string>& query) {
    const std::vector<term_t> terms = known_terms(table, query);
    for (const term_t term : terms) ++query_counts[term];
    for (const term_t a : terms)
      for (const term_t b : terms)
        if (std::pair(table.terms[a].df, a) < std::pair(table.terms[b].df, b)) pairs.add(SortKey(a, b).view(), {});
  });
  std::vector<double> best(leaders.size());
  std::pair<term_t, term_t> last;
  std::uint64_t count = 0;
  const auto end_pair = [&] {
    if (count == 0) return;
    const auto [follower, leader] = last;
    const double score = static_cast<double>(count) / std::sqrt(static_cast<double>(query_counts[leader]));
    if (score > best[follower]) {
      best[follower] = score;
      leaders[follower] = leader;
    }
    count = 0;
  };
  pairs.merge([&](std::string_view key, ByteView) {
    const std::pair pair(number_in_key<term_t>(key, 0), number_in_key<term_t>(key, sizeof(term_t)));
    if (pair != last) end_pair();
    last = pair;
    ++count;
  });
  end_pair();
  return leaders;
}

void set_strength(TermField& field, float density, double clustering) {
  const float noise =
      static_cast<float>(clustering) * std::min(noise_max, noise_min - noise_of_rarity * std::log2(density));
  field.shared_noise = noise * std::sqrt(shared_variance);
  field.own_noise = noise * std::sqrt(1 - shared_variance);
  const float own = field.own_noise / logistic_deviation;
  field.single_narrowness = 1 / std::sqrt(1 + own * own);
  field.freq_level = freq_level_mean + freq_level_of_density * density;
}

}  // namespace

std::vector<TermField> term_fields(const DfTable& table, double clustering, std::uint64_t seed,
                                   const VisitQueries& for_each_query, const Resources& resources) {
  const auto key = [&](TermPurpose purpose, std::uint64_t bits) {
    return noise_bits(mix_bits(seed + (purpose << 56)), bits);
  };
  std::vector<TermField> fields(table.terms.size());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::uint64_t hash = xxh3(as_bytes(table.terms[i].term));
    fields[i].df = table.terms[i].df;
    fields[i].own_key = key(own, hash);
    fields[i].shared_key = key(topic_key, key(topic_choice, hash) % topics);
    set_strength(fields[i], static_cast<float>(table.terms[i].df) / static_cast<float>(table.documents), clustering);
    fields[i].freq_level += freq_level_varies * normal_of(key(level, hash));
  }
  const std::vector<term_t> leaders = quern::leaders(table, for_each_query, resources);
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (leaders[i] != i) fields[i].shared_key = fields[leaders[i]].own_key;
  return fields;
}

namespace {

bool ends_with(const std::string& name, std::string_view ending) {
  return name.size() >= ending.size() && name.compare(name.size() - ending.size(), ending.size(), ending) == 0;
}

/// One gzip member (RFC 1952).
Bytes gzip_member(std::string& text) {
  constexpr int level = 6, gzip_window = MAX_WBITS + 16, memory_level = 8;
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, gzip_window, memory_level, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  Bytes out(deflateBound(&stream, text.size()) + 32);
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw Error("zlib can't compress");
  return out;
}

/// A chunk to be written.
struct TextJob {
  std::uint64_t chunk = 0;
  std::string text;
  Bytes packed;
  ZstdCompressor compressor{3};
};

}  // namespace

void write_packed_text(std::uint64_t chunks,
                       const std::function<void(std::uint64_t chunk, std::string& text)>& put_chunk,
                       const std::string& name, const Resources& resources, File& out) {
  const bool gzip = ends_with(name, ".gz"), zstd = ends_with(name, ".zst");
  FileAppender appender(out);
  std::uint64_t next_chunk = 0;
  const auto next = [&](TextJob& job) {
    job.chunk = next_chunk++;
    return job.chunk < chunks;
  };
  const auto make = [&](TextJob& job) {
    job.text.clear();
    put_chunk(job.chunk, job.text);
    job.packed.clear();
    if (gzip) {
      job.packed = gzip_member(job.text);
    } else if (zstd) {
      job.compressor.append(as_bytes(job.text), job.packed);
    } else {
      put_bytes(job.packed, job.text);
    }
  };
  run_jobs(
      resources.threads * 2, [] { return std::make_unique<TextJob>(); }, next, make,
      [&](const TextJob& job) { appender.write(job.packed); });
  appender.flush();
}

}  // namespace quern
