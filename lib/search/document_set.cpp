#include "quern/search/document_set.hpp"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <bitset>

#include "quern/formats/tables/text_lines.hpp"

namespace quern {
namespace {

constexpr docid_t word_bits = 64;

/// Mask of a word's bits from document `begin` on.
std::uint64_t bits_from(docid_t begin) { return ~std::uint64_t{0} << begin % word_bits; }

/// Evaluates groups of documents, as kept fields are stored.
using Outcomes = std::bitset<fields_per_frame>;

/// Source of a comparison's values: the docnos, the URLs, or a kept field by number.
struct Source {
  enum class Kind : std::uint8_t { docno, url, field } kind = Kind::docno;
  std::size_t field = 0;
};

bool holds(FilterOperator op, int order) {
  switch (op) {
    case FilterOperator::less:
      return order < 0;
    case FilterOperator::less_or_equal:
      return order <= 0;
    case FilterOperator::greater:
      return order > 0;
    case FilterOperator::greater_or_equal:
      return order >= 0;
    default:
      return order == 0;
  }
}

bool matches_text(const FilterComparison& comparison, std::string_view text) {
  const std::vector<std::string>& texts = comparison.texts;
  if (comparison.op == FilterOperator::exists) return true;
  if (comparison.op == FilterOperator::prefix) return text.starts_with(texts.front());
  if (comparison.op != FilterOperator::equal) return holds(comparison.op, text.compare(texts.front()));
  return std::binary_search(texts.begin(), texts.end(), text, std::less<>());
}

bool matches_number(const FilterComparison& comparison, double number) {
  const std::vector<double>& numbers = comparison.numbers;
  if (comparison.op == FilterOperator::equal) return std::binary_search(numbers.begin(), numbers.end(), number);
  if (comparison.op == FilterOperator::prefix || numbers.empty()) return false;
  return holds(comparison.op, number < numbers.front() ? -1 : number > numbers.front() ? 1 : 0);
}

bool matches(const FilterComparison& comparison, const FieldValue& value) {
  if (value.kind == FieldValue::Kind::none) return false;
  if (value.kind == FieldValue::Kind::text) return matches_text(comparison, value.text);
  if (comparison.op == FilterOperator::exists) return true;
  if (value.kind == FieldValue::Kind::number) return matches_number(comparison, value.number);
  return comparison.op == FilterOperator::equal &&
         (value.kind == FieldValue::Kind::yes ? comparison.has_true : comparison.has_false);
}

class FilterEvaluation {
 public:
  FilterEvaluation(const FilterExpression& filter, const IndexReader& index, const FieldsReader* fields)
      : filter_(filter), index_(index), fields_(fields) {
    for (const FilterComparison& comparison : filter.comparisons) sources_.push_back(source_of(comparison));
  }

  /// Outcomes for [begin, end), at most a group.
  Outcomes run(docid_t begin, docid_t end) {
    std::array<Outcomes, max_filter_outcomes> stack;
    std::size_t size = 0;
    for (const FilterStep& step : filter_.steps) {
      switch (step.kind) {
        case FilterStep::Kind::compare:
          stack.at(size++) = compare(step.comparison, begin, end);
          break;
        case FilterStep::Kind::negate:
          stack.at(size - 1).flip();
          break;
        case FilterStep::Kind::both:
          --size;
          stack.at(size - 1) &= stack.at(size);
          break;
        case FilterStep::Kind::either:
          --size;
          stack.at(size - 1) |= stack.at(size);
          break;
      }
    }
    return stack.front();
  }

 private:
  Source source_of(const FilterComparison& comparison) const {
    if (comparison.field == "docno") return {Source::Kind::docno, 0};
    if (comparison.field == "url") return {Source::Kind::url, 0};
    if (fields_ != nullptr)
      if (const auto field = fields_->find(comparison.field)) return {Source::Kind::field, *field};
    // Names the file that is missing.
    if (fields_ == nullptr && !index_.manifest().field_names.kept.empty()) FieldsReader::open_beside(index_);
    std::string known = "docno, url";
    if (fields_ != nullptr)
      for (const std::string& name : fields_->manifest().names) known += ", " + name;
    throw InvalidArgument("filter, at byte {}: {} has no field '{}' (it has {}); keep fields of JSON objects with {}",
                          comparison.position, index_.name(), comparison.field, known,
                          option_name<"index keep-fields">);
  }

  Outcomes compare(std::uint32_t number, docid_t begin, docid_t end) {
    const FilterComparison& comparison = filter_.comparisons[number];
    const Source& source = sources_[number];
    Outcomes outcomes;
    if (source.kind == Source::Kind::docno) {
      for (docid_t docid = begin; docid < end; ++docid)
        outcomes[docid - begin] = matches_text(comparison, index_.docno(docid));
    } else if (source.kind == Source::Kind::url) {
      index_.for_each_text(begin, end, [&](docid_t docid, std::string_view url, std::string_view) {
        outcomes[docid - begin] = !url.empty() && matches_text(comparison, url);
      });
    } else {
      const auto& values = fields_->values(source.field, begin / fields_per_frame, buffers_);
      for (std::size_t i = 0; i < values.size(); ++i) outcomes[i] = matches(comparison, values[i]);
    }
    return outcomes;
  }

  const FilterExpression& filter_;
  const IndexReader& index_;
  const FieldsReader* fields_;
  std::vector<Source> sources_;
  FieldBuffers buffers_;
};

DocumentSet empty_set(const IndexReader& index, const Resources& resources) {
  const std::uint64_t bytes = DocumentSet::bytes(index.num_documents());
  if (bytes > resources.memory_bytes)
    throw InvalidArgument("{}: a filter needs {} of memory for its {} documents, but only {} is allowed; raise {}",
                          index.name(), size_text(bytes), index.num_documents(), size_text(resources.memory_bytes),
                          option_name<"memory">);
  return DocumentSet(index.num_documents());
}

}  // namespace

DocumentSet::DocumentSet(docid_t num_documents) : num_documents_(num_documents) {
  words_.resize(bytes(num_documents) / sizeof(std::uint64_t));
}

std::uint64_t DocumentSet::count(docid_t begin, docid_t end) const {
  if (begin >= end) return 0;
  const std::size_t first = begin / word_bits, last = (end - 1) / word_bits;
  std::uint64_t count = 0;
  for (std::size_t word = first; word <= last; ++word) {
    std::uint64_t bits = words_[word];
    if (word == first) bits &= bits_from(begin);
    if (word == last && end % word_bits != 0) bits &= ~bits_from(end);
    count += static_cast<std::uint64_t>(std::popcount(bits));
  }
  return count;
}

docid_t DocumentSet::next(docid_t begin, docid_t end) const {
  if (begin >= end) return end;
  const std::size_t last = (end - 1) / word_bits;
  std::size_t word = begin / word_bits;
  std::uint64_t bits = words_[word] & bits_from(begin);
  while (bits == 0 && word < last) bits = words_[++word];
  if (bits == 0) return end;
  return std::min(end, static_cast<docid_t>(word * word_bits) + static_cast<docid_t>(std::countr_zero(bits)));
}

void DocumentSet::intersect(const DocumentSet& other) {
  for (std::size_t word = 0; word < words_.size(); ++word) words_[word] &= other.words_[word];
}

void DocumentSet::unite(const DocumentSet& other) {
  for (std::size_t word = 0; word < words_.size(); ++word) words_[word] |= other.words_[word];
}

DocumentSet evaluate_filter(const FilterExpression& filter, const IndexReader& index, const FieldsReader* fields,
                            const Resources& resources) {
  return run_stage(resources, [&] {
    DocumentSet set = empty_set(index, resources);
    tbb::enumerable_thread_specific<FilterEvaluation> evaluations(
        [&] { return FilterEvaluation(filter, index, fields); });
    evaluations.local();  // rejects a bad filter even without documents
    resources.progress->start("filter", index.num_documents(), "documents");
    const std::uint64_t documents = index.num_documents();
    // No two groups write the same word of the set.
    static_assert(fields_per_frame % 64 == 0);
    tbb::parallel_for(
        std::uint64_t{0}, (documents + fields_per_frame - 1) / fields_per_frame, [&](std::uint64_t group) {
          const auto begin = static_cast<docid_t>(group * fields_per_frame);
          const auto end =
              static_cast<docid_t>(std::min<std::uint64_t>(documents, std::uint64_t{begin} + fields_per_frame));
          const Outcomes outcomes = evaluations.local().run(begin, end);
          for (docid_t docid = begin; docid < end; ++docid)
            if (outcomes[docid - begin]) set.add(docid);
          resources.progress->add(end - begin);
        });
    resources.progress->finish();
    return set;
  });
}

ListedDocuments read_docno_list(ByteSource& list, std::span<const IndexReader> shards, const Resources& resources) {
  ListedDocuments listed;
  Resources left = resources;
  for (const IndexReader& index : shards) {
    listed.documents.push_back(empty_set(index, left));
    left.memory_bytes -= DocumentSet::bytes(index.num_documents());
  }
  for_each_source_line(list, [&](std::string_view line, std::uint64_t) {
    const std::string_view docno = trim(line);
    bool found = false;
    for (std::size_t i = 0; i < shards.size(); ++i)
      shards[i].for_each_of_docno(docno, [&](docid_t docid) {
        listed.documents[i].add(docid);
        found = true;
      });
    ++listed.listed;
    if (!found && listed.unknown++ == 0) listed.first_unknown = docno;
  });
  return listed;
}

}  // namespace quern
