#include "quern/formats/corpus/document_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "quern/core/bytes.hpp"
#include "quern/core/quantized.hpp"
#include "quern/text/quoted_start.hpp"
#include "quern/text/tokenizer.hpp"

namespace quern {
namespace {

/// Hashes that are kept in memory.
constexpr std::size_t max_kept_terms = 1 << 16;
/// Of work files' sorting.
constexpr std::uint64_t sorting_bytes = 2 << 20;

}  // namespace

DocumentWeights::DocumentWeights(const RecordScratch& scratch, DocumentText& out)
    : scratch_(scratch), settings_(*scratch.impacts), out_(out) {
  out_.weights.clear();
}

void DocumentWeights::add(std::string_view term, std::uint64_t term_bytes, double weight) {
  if (!problem_.why.empty()) return;
  if (term_bytes == 0) return note_problem(term, "is empty");
  if (term_bytes > max_term_bytes)
    return note_problem(term, fmt::format("has {} bytes; a term has at most {}", term_bytes, max_term_bytes));
  note_term(term);
  if (weight == 0) return;
  const std::uint32_t whole = whole_weight(term, weight);
  if (whole == 0) return;
  sum_ += whole;
  out_.weights.append(term, whole);
}

std::uint32_t DocumentWeights::whole_weight(std::string_view term, double weight) {
  const auto refuse = [&](std::string_view why, bool needs_options) {
    note_problem(term, fmt::format("has the weight {}: {}", weight, why), needs_options);
    return 0;
  };
  if (!(weight > 0)) return refuse("weights can't be negative", false);
  const double scaled = settings_.scale ? std::max(1.0, std::floor(weight * *settings_.scale + 0.5)) : weight;
  if (scaled > settings_.max_weight())
    return refuse(
        fmt::format("with --impacts {} the largest is {}; allow more bits, up to {}, or give a{} --impact-scale",
                    settings_.bits, settings_.max_weight(), max_quantize_bits, settings_.scale ? " smaller" : "n"),
        true);
  if (scaled != std::floor(scaled))
    return refuse("is not whole; give --impact-scale X to store weight * X, rounded", true);
  return static_cast<std::uint32_t>(scaled);
}

void DocumentWeights::note_problem(std::string_view term, const std::string& why, bool needs_options) {
  if (!problem_.why.empty()) return;
  problem_ = {fmt::format("its term {} {}", quoted_start(term), why), needs_options};
}

void DocumentWeights::note_term(std::string_view term) {
  const Hash128 hash = xxh3_128(as_bytes(term));
  if (!sorted_) {
    terms_.push_back(hash);
    if (terms_.size() < max_kept_terms) return;
    sorted_.emplace(scratch_.tmp_folder, sorting_bytes);
    for (const Hash128& kept : terms_) sorted_->add(SortKey(kept.low, kept.high).view(), {});
    terms_ = {};
    return;
  }
  sorted_->add(SortKey(hash.low, hash.high).view(), {});
}

bool DocumentWeights::has_repeated_term() {
  if (!sorted_) {
    std::sort(terms_.begin(), terms_.end());
    return std::adjacent_find(terms_.begin(), terms_.end()) != terms_.end();
  }
  bool is_repeated = false;
  std::string last;  // empty before the first
  sorted_->merge([&](std::string_view hash, ByteView) {
    is_repeated = is_repeated || hash == last;
    last = hash;
  });
  return is_repeated;
}

WeightsProblem DocumentWeights::finish() {
  if (!problem_.why.empty()) return problem_;
  if (has_repeated_term()) return {"it gives a term two weights"};
  if (sum_ > std::numeric_limits<std::uint32_t>::max()) return {"its weights add up to more than 2^32 - 1"};
  return {};
}

}  // namespace quern
