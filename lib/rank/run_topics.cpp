#include "quern/rank/run_topics.hpp"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <cmath>

#include "quern/core/wall_clock.hpp"

namespace quern {
namespace {

/// Rows by topic: the topic, a zero byte, the kind, a number. The texts of a topic come first, then its lines.
constexpr char text_row = 0, run_row = 1, judgement_row = 2;
constexpr std::size_t row_end_bytes = 1 + 1 + sizeof(std::uint64_t);

/// The key of a row by the line where the run first names the topic: the topic's head comes before its lines.
using LineKey = SortKey<std::uint64_t, std::uint8_t, std::uint64_t>;
constexpr std::uint8_t head_row = 0;

std::string topic_key(std::string_view qid, char kind, std::uint64_t number) {
  return std::string(qid).append(1, '\0').append(1, kind).append(SortKey<std::uint64_t>(number).view());
}

/// A row's value: a range of lines, or the bytes of a text.
Bytes range_bytes(std::uint64_t first, std::uint64_t count) {
  Bytes bytes(2 * sizeof(std::uint64_t));
  store_le(bytes.data(), first);
  store_le(bytes.data() + sizeof first, count);
  return bytes;
}
std::uint64_t first_of(ByteView range) { return load_le<std::uint64_t>(range.data()); }
std::uint64_t count_of(ByteView range) { return load_le<std::uint64_t>(range.data() + sizeof(std::uint64_t)); }

bool has_zero_byte(std::string_view text) { return text.find('\0') != text.npos; }

/// Divisors of the memory: for the two sorts, the second of which exists while topics are visited, and for a topic.
constexpr std::uint64_t topic_sort_share = 4, line_sort_share = 16, topic_share = 8;

using Spaces = tbb::enumerable_thread_specific<Reranker::Space>;

/// Reranks a topic whose documents are divided among all threads.
void rerank_large(const Reranker& reranker, TopicResults& topic, std::size_t k, Spaces& spaces) {
  const auto queries = reranker.extractor().queries_of(topic.text, spaces.local().analyzer);
  const std::span<ScoredDocument> documents(topic.documents);
  constexpr std::size_t at_once = Reranker::documents_at_once;
  tbb::parallel_for(std::size_t{0}, (documents.size() + at_once - 1) / at_once, [&](std::size_t i) {
    const std::size_t from = i * at_once;
    reranker.score(queries, documents.subspan(from, std::min(at_once, documents.size() - from)), spaces.local(),
                   topic.model);
  });
  Reranker::keep_best(topic.documents, k);
}

}  // namespace

RunTopics::RunTopics(const IndexShards& index, IndexPages& pages, Names names, const Resources& resources)
    : index_(index),
      pages_(pages),
      names_(std::move(names)),
      memory_bytes_(resources.memory_bytes),
      texts_(resources.tmp_folder),
      results_(resources.tmp_folder),
      judged_(resources.tmp_folder),
      has_judgements_(!names_.judgements.empty()),
      by_qid_(resources.tmp_folder, resources.memory_bytes / topic_sort_share),
      by_line_(resources.tmp_folder, resources.memory_bytes / line_sort_share) {}

void RunTopics::add_topic(std::string_view id, std::string_view text) {
  // No line of a run can name it.
  if (has_zero_byte(id)) return;
  by_qid_.add(topic_key(id, text_row, num_texts_++), range_bytes(texts_.size(), text.size()));
  texts_.append(as_bytes(text));
}

void RunTopics::add_line(const RunLineText& line, std::uint64_t number) {
  if (has_zero_byte(line.qid))
    throw CorruptFile("{}, line {}: the topic's name contains a zero byte", names_.run, number);
  const auto docid = index_.find_docno(line.docno);
  pages_.note_bytes(line.docno.size());
  if (!docid)
    throw InvalidArgument("{}, line {}: document '{}' is not in {}; is the run of another index?", names_.run, number,
                          line.docno, index_.name());
  if (!std::isfinite(line.score))
    throw InvalidArgument("{}, line {}: the score {} is not finite", names_.run, number, line.score);
  add_to(run_range_, line.qid, number, results_.count(), run_row);
  results_.add({*docid, line.score});
}

void RunTopics::add_judgement(const JudgementLine& line, std::uint64_t number) {
  if (has_zero_byte(line.qid))
    throw CorruptFile("{}, line {}: the topic's name contains a zero byte", names_.judgements, number);
  const auto docid = index_.find_docno(line.docno);
  pages_.note_bytes(line.docno.size());
  if (!docid) return;  // no result can be that document
  add_to(judgement_range_, line.qid, number, judged_.count(), judgement_row);
  judged_.add({*docid, line.relevance, number});
}

void RunTopics::add_to(LineRange& range, std::string_view qid, std::uint64_t line, std::uint64_t place, char kind) {
  if (range.count == 0 || range.qid != qid) {
    end_range(range, kind);
    range = {std::string(qid), line, place, 0};
  }
  ++range.count;
}

void RunTopics::end_range(LineRange& range, char kind) {
  if (range.count > 0) by_qid_.add(topic_key(range.qid, kind, range.line), range_bytes(range.first, range.count));
  range.count = 0;
}

std::string RunTopics::text_at(std::uint64_t first, std::uint64_t count) const {
  std::string text(count, '\0');
  texts_.read_at(first, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  return text;
}

/// Takes rows sorted by topic, and sorts those of the run's topics by the line where the run first names the topic.
class RunTopics::Join {
 public:
  explicit Join(RunTopics& topics) : owner_(topics) {}

  void take(std::string_view key, ByteView row) {
    const std::size_t end = key.size() - row_end_bytes;
    const std::string_view qid = key.substr(0, end);
    if (qid != qid_ || is_first_) {
      end_topic();
      begin_topic(qid);
    }
    const char kind = key[end + 1];
    if (kind == text_row) return take_text(first_of(row), count_of(row));
    const auto line = number_in_key<std::uint64_t>(key, end + 2);
    if (kind == run_row && documents_ == 0) {
      if (!has_text_)
        throw InvalidArgument("{}, line {}: topic {} is not in {}; name the topics that the run was made with",
                              owner_.names_.run, line, qid, owner_.names_.topics);
      first_line_ = line;
    }
    if (kind == judgement_row && documents_ == 0) return;  // the run does not have the topic
    (kind == run_row ? documents_ : judgements_) += count_of(row);
    owner_.by_line_.add(LineKey(first_line_, static_cast<std::uint8_t>(kind), line).view(), row);
  }

  /// Call after the last row; returns the number of topics.
  std::uint64_t finish() {
    end_topic();
    return topics_;
  }

 private:
  void begin_topic(std::string_view qid) {
    is_first_ = false;
    qid_ = qid;
    has_text_ = false;
    documents_ = judgements_ = 0;
  }

  void take_text(std::uint64_t first, std::uint64_t count) {
    if (has_text_ && owner_.text_at(first, count) != owner_.text_at(text_begin_, text_bytes_))
      throw InvalidArgument("{}: topic {} has two texts; give each topic an id of its own", owner_.names_.topics, qid_);
    has_text_ = true;
    text_begin_ = first;
    text_bytes_ = count;
  }

  void end_topic() {
    if (documents_ == 0) return;
    ++topics_;
    Bytes row = range_bytes(text_begin_, text_bytes_);
    put_le(row, documents_);
    put_le(row, judgements_);
    put_bytes(row, qid_);
    owner_.by_line_.add(LineKey(first_line_, head_row, 0).view(), row);
  }

  RunTopics& owner_;
  bool is_first_ = true, has_text_ = false;
  std::string qid_;
  std::uint64_t text_begin_ = 0, text_bytes_ = 0, first_line_ = 0, documents_ = 0, judgements_ = 0, topics_ = 0;
};

std::uint64_t RunTopics::join() {
  end_range(run_range_, run_row);
  end_range(judgement_range_, judgement_row);
  Join join(*this);
  by_qid_.merge([&](std::string_view key, ByteView row) { join.take(key, row); });
  return join.finish();
}

/// Takes rows sorted by line and assembles topics.
class RunTopics::Visits {
 public:
  Visits(const RunTopics& topics, const std::function<void(TopicResults)>& visit) : owner_(topics), visit_(visit) {}

  void take(std::string_view key, ByteView row) {
    const auto kind = static_cast<char>(key[sizeof(std::uint64_t)]);
    if (kind == head_row) {
      end_topic();
      begin_topic(row);
      return;
    }
    if (kind == run_row)
      append(owner_.results_, row, topic_.documents);
    else
      append(owner_.judged_, row, judged_);
  }

  void end_topic() {
    if (topic_.documents.empty()) return;
    check_distinct();
    if (owner_.has_judgements_) label();
    std::vector<Judged>().swap(judged_);
    visit_(std::exchange(topic_, {}));
  }

 private:
  void begin_topic(ByteView row) {
    ByteReader reader(row, owner_.names_.run);
    const auto text_begin = reader.le<std::uint64_t>(), text_bytes = reader.le<std::uint64_t>();
    const auto documents = reader.le<std::uint64_t>(), judgements = reader.le<std::uint64_t>();
    topic_.qid = as_text(reader.take(reader.left()));
    topic_.text = owner_.text_at(text_begin, text_bytes);
    if (documents > owner_.index_.num_documents())
      throw InvalidArgument("{}: topic {} has {} results, more than {} has documents; some must be repeated",
                            owner_.names_.run, topic_.qid, documents, owner_.index_.name());
    // check_distinct() copies the docIDs, before there are relevances.
    const std::uint64_t bytes = documents * (sizeof(ScoredDocument) + sizeof(docid_t)) + judgements * sizeof(Judged);
    if (bytes > owner_.memory_bytes_ / topic_share)
      throw InvalidArgument(
          "{}: topic {} has {} results and {} judgements, which need {} of memory; {} {} allows only {}: raise it",
          owner_.names_.run, topic_.qid, documents, judgements, size_text(bytes), option_name<"memory">,
          size_text(owner_.memory_bytes_), size_text(owner_.memory_bytes_ / topic_share));
    topic_.documents.reserve(documents);
    judged_.reserve(judgements);
  }

  template <class Record>
  static void append(const RecordSpool<Record>& from, ByteView range, std::vector<Record>& to) {
    const std::size_t before = to.size();
    to.resize(before + count_of(range));
    from.read(first_of(range), std::span(to).subspan(before));
  }

  void check_distinct() const {
    std::vector<docid_t> docids;
    docids.reserve(topic_.documents.size());
    for (const ScoredDocument& document : topic_.documents) docids.push_back(document.docid);
    std::sort(docids.begin(), docids.end());
    const auto twice = std::adjacent_find(docids.begin(), docids.end());
    if (twice != docids.end())
      throw InvalidArgument("{}: topic {} has document '{}' twice; remove one of them", owner_.names_.run, topic_.qid,
                            owner_.index_.docno(*twice));
  }

  void label() {
    std::sort(judged_.begin(), judged_.end(), [](const Judged& a, const Judged& b) {
      return a.docid != b.docid ? a.docid < b.docid : a.line < b.line;
    });
    for (std::size_t i = 1; i < judged_.size(); ++i)
      if (judged_[i].docid == judged_[i - 1].docid)
        throw CorruptFile("{}, line {}: topic {} and document '{}' are judged twice", owner_.names_.judgements,
                          judged_[i].line, topic_.qid, owner_.index_.docno(judged_[i].docid));
    topic_.relevances.reserve(topic_.documents.size());
    for (const ScoredDocument& document : topic_.documents) {
      const auto found = std::lower_bound(judged_.begin(), judged_.end(), document.docid,
                                          [](const Judged& judged, docid_t docid) { return judged.docid < docid; });
      const bool is_judged = found != judged_.end() && found->docid == document.docid;
      topic_.relevances.push_back(is_judged ? found->relevance : 0);
    }
  }

  const RunTopics& owner_;
  const std::function<void(TopicResults)>& visit_;
  TopicResults topic_;
  std::vector<Judged> judged_;
};

void RunTopics::for_each(const std::function<void(TopicResults)>& visit) {
  Visits visits(*this, visit);
  by_line_.merge([&](std::string_view key, ByteView row) { visits.take(key, row); });
  visits.end_topic();
}

RerankReport rerank_topics(const Reranker& reranker, std::span<TopicResults> topics, std::size_t k,
                           const Resources& resources) {
  return run_stage(resources, [&] {
    RerankReport figures;
    for (const TopicResults& topic : topics) figures.documents += topic.documents.size();
    const auto begun = WallClock::now();
    Spaces spaces([&] { return Reranker::Space(reranker); });
    // A topic with more documents than others have per thread would keep its thread busy after the others end.
    std::vector<TopicResults*> small;
    for (TopicResults& topic : topics) {
      const std::uint64_t documents = topic.documents.size();
      if (documents <= Reranker::documents_at_once || documents * resources.threads <= figures.documents) {
        small.push_back(&topic);
        continue;
      }
      rerank_large(reranker, topic, k, spaces);
      resources.progress->add(1);
    }
    tbb::parallel_for(std::size_t{0}, small.size(), [&](std::size_t i) {
      reranker.rerank(small[i]->text, small[i]->documents, k, spaces.local(), small[i]->model);
      resources.progress->add(1);
    });
    figures.seconds = seconds_since(begun);
    return figures;
  });
}

}  // namespace quern
