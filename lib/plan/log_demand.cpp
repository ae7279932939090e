#include "quern/plan/log_demand.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include "quern/core/parallel_batch.hpp"

namespace quern {

CacheBlocks::CacheBlocks(const IndexReader& index, std::uint64_t size, const Resources& resources, bool with_impacts)
    : index_(index),
      size_(size),
      ratio_(size / index.block_size()),
      with_impacts_(with_impacts),
      threads_(resources.threads),
      pages_bytes_(resources.memory_bytes / 8) {
  if (size == 0 || size % index.block_size() != 0)
    throw InvalidArgument(
        "{}: a caching block of {} postings is not a multiple of the index's block size, {}; choose a multiple",
        index.name(), size, index.block_size());
}

std::uint64_t CacheBlocks::default_size(const IndexReader& index) {
  return std::max<std::uint64_t>(min_size, index.block_size());
}

std::uint64_t CacheBlocks::containing(const PostingList& list, docid_t docid) const {
  if (list.block_last.empty()) return 0;
  const std::size_t block = search_rows(list.block_last, 0, docid);
  return block == list.block_last.size() ? count(list) : block / ratio_;
}

std::uint64_t CacheBlocks::bytes(const PostingList& list, std::uint64_t n) const {
  if (n == 0 || !is_kept(list)) return 0;
  return front_of(list, n * ratio_, index_.block_size(), with_impacts_).size_bytes();
}

std::uint64_t CacheBlocks::kept_bytes() const {
  IndexPages pages(index_, pages_bytes_);
  const auto add = [&](const auto& range, std::uint64_t sum) {
    for (std::uint64_t block = range.begin(); block < range.end(); ++block) {
      index_.for_each_list(block, [&](std::string_view, const PostingList& list) { sum += bytes(list, count(list)); });
      pages.note_block();
    }
    return sum;
  };
  return on_threads(threads_, [&] {
    return tbb::parallel_reduce(tbb::blocked_range<std::uint64_t>(0, index_.num_lexicon_blocks()), std::uint64_t{0},
                                add, std::plus<>());
  });
}

void CacheBlocks::for_each_list(const std::function<void(const PostingList&)>& visit) const {
  IndexPages pages(index_, pages_bytes_);
  for (std::uint64_t block = 0; block < index_.num_lexicon_blocks(); ++block) {
    index_.for_each_list(block, [&](std::string_view, const PostingList& list) { visit(list); });
    pages.note_block();
  }
}

namespace {

/// Queries per call of visit().
constexpr std::size_t queries_per_visit = 4096;
/// Terminates each term of a key.
constexpr char end_of_term = '\0';
/// Escapes bytes up to itself, as the byte plus one: no term then contains a terminator, and keys sort like their
/// terms.
constexpr char escape = '\1';
/// Terminates each query's text in the log's hash.
constexpr std::uint8_t end_of_text[] = {0};

void append_term(std::string& key, std::string_view term) {
  for (const char byte : term) {
    const bool is_escaped = byte == end_of_term || byte == escape;
    if (is_escaped) key += escape;
    key += static_cast<char>(byte + (is_escaped ? 1 : 0));
  }
  key += end_of_term;
}

/// The terms in a key; a term's weight is the number of its occurrences.
QueryTerms terms_of(std::string_view key) {
  QueryTerms terms;
  std::string term;
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (key[i] == end_of_term) {
      if (!terms.empty() && terms.back().term == term)
        terms.back().weight += 1;
      else
        terms.push_back({term, 1});
      term.clear();
    } else {
      term += key[i] == escape ? static_cast<char>(key[++i] - 1) : key[i];
    }
  }
  return terms;
}

/// Visits of lists, collected in any order and returned by list; on disk if they do not fit in memory.
class VisitCounts {
 public:
  VisitCounts(const CacheBlocks& blocks, VisitKind kind, const Resources& resources)
      : blocks_(blocks),
        kind_(kind),
        resources_(resources),
        sorted_(resources.tmp_folder, resources.memory_bytes / 8) {}

  /// Adds the visits of a query that occurs `count` times.
  void add(const std::vector<ListVisit>& visits, std::uint64_t count) {
    Bytes payload;
    put_varint(payload, count);
    for (std::size_t i = 0; i < visits.size(); ++i) {
      const docid_t end = kind_ == VisitKind::probed && i > 0 ? visits[i - 1].end : visits[i].end;
      sorted_.add(SortKey(visits[i].term, end).view(), payload);
    }
  }

  /// Fills demand.lists and demand.visits.
  void move_to(LogDemand& demand) {
    RecordSpool<ListDemand> lists(resources_.tmp_folder);
    RecordSpool<std::uint64_t> visits(resources_.tmp_folder);
    collect(lists, visits);
    check_memory(lists.count(), visits.count());
    demand.lists.resize(lists.count());
    demand.visits.resize(visits.count());
    lists.read(0, demand.lists);
    visits.read(0, demand.visits);
  }

 private:
  void collect(RecordSpool<ListDemand>& lists, RecordSpool<std::uint64_t>& visits) {
    const IndexReader& index = blocks_.index();
    IndexPages pages(index, resources_.memory_bytes / 8);
    PostingList list;
    ListDemand row;
    std::vector<std::uint64_t> list_visits;
    const auto end_list = [&] {
      if (row.queries == 0) return;
      // So far, list_visits[b] is the number of queries that visit block b and no later one.
      for (std::size_t block = list_visits.size() - 1; block-- > 0;) list_visits[block] += list_visits[block + 1];
      lists.add(row);
      visits.add_all(list_visits);
      pages.note_query();
    };
    sorted_.merge([&](std::string_view key, ByteView payload) {
      const auto term = number_in_key<term_t>(key, 0);
      if (row.queries == 0 || term != row.term) {
        end_list();
        list = index.list(term);
        row = {term, static_cast<std::uint32_t>(blocks_.count(list)), list.df, 0, visits.count()};
        list_visits.assign(row.blocks, 0);
      }
      const std::uint64_t count = ByteReader(payload, "counted visits").varint();
      row.queries += count;
      const auto end = number_in_key<docid_t>(key, sizeof(term_t));
      if (end > 0) list_visits[std::min<std::uint64_t>(blocks_.containing(list, end - 1), row.blocks - 1)] += count;
    });
    end_list();
  }

  void check_memory(std::uint64_t lists, std::uint64_t blocks) const {
    constexpr std::uint64_t per_list = sizeof(ListDemand) + sizeof(std::uint64_t), per_block = 24;
    const std::uint64_t needed = lists * per_list + blocks * per_block;
    if (needed > resources_.memory_bytes / 4)
      throw InvalidArgument(
          "{}: the log reads {} lists with {} caching blocks; counting their visits needs {} of memory, "
          "but only a quarter of {} ({}) is available; raise it",
          blocks_.index().name(), lists, blocks, size_text(needed), option_name<"memory">,
          size_text(resources_.memory_bytes));
  }

  const CacheBlocks& blocks_;
  VisitKind kind_;
  const Resources& resources_;
  ExternalSort sorted_;
};

}  // namespace

LogQueries::LogQueries(const AnalyzerOptions& analyzer, const Resources& resources, QueryKind kind)
    : reader_(analyzer, kind),
      threads_(resources.threads),
      max_group_bytes_(resources.memory_bytes / 16),
      sorted_(resources.tmp_folder, resources.memory_bytes / 8 * 3) {}

void LogQueries::add(std::string_view text) { add(reader_.read(text), text); }

void LogQueries::add(QueryTerms vector) {
  const QueryTerms terms = reader_.use(std::move(vector));
  add(terms, text_of_terms(terms));
}

void LogQueries::add(const QueryTerms& terms, std::string_view text) {
  const std::uint64_t place = queries_++;
  hash_.add(as_bytes(text));
  hash_.add(end_of_text);
  if (terms.empty()) return;
  std::string key;
  for (const QueryTerm& term : terms)
    for (double occurrence = 0; occurrence < term.weight; ++occurrence) append_term(key, term.term);
  Bytes payload;
  put_varint(payload, place);
  on_threads(threads_, [&] { sorted_.add(key, payload); });
}

std::uint64_t LogQueries::for_each(const std::function<void(std::span<const LogQuery>)>& visit) {
  std::vector<LogQuery> group;
  std::string last;
  std::uint64_t distinct = 0, group_bytes = 0;
  const auto end_group = [&] {
    if (!group.empty()) visit(group);
    group.clear();
    group_bytes = 0;
  };
  sorted_.merge([&](std::string_view key, ByteView payload) {
    if (group_bytes > max_group_bytes_) end_group();
    const bool is_new = distinct == 0 || key != last;
    if (is_new || group.empty()) {
      LogQuery query{terms_of(key), {}};
      const std::uint64_t bytes = key.size() + query.terms.size() * (sizeof(QueryTerm) + sizeof(ListVisit));
      if (group.size() == queries_per_visit || group_bytes + bytes > max_group_bytes_) end_group();
      group.push_back(std::move(query));
      group_bytes += bytes;
    }
    if (is_new) {
      last = key;
      ++distinct;
    }
    group.back().places.push_back(ByteReader(payload, "sorted queries").varint());
    group_bytes += 2 * sizeof(std::uint64_t);  // vectors grow by doubling
  });
  end_group();
  return distinct;
}

std::uint64_t round_of(const IndexReader& index, std::uint64_t round) {
  return round == 0 ? CacheBlocks::default_size(index) : round;
}

std::uint64_t visit_log(const QueryEngine& engine, LogQueries& log, std::size_t k, std::uint64_t round,
                        const std::function<void(const LogQuery&, const std::vector<ListVisit>&)>& take,
                        const Resources& resources) {
  return run_stage(resources, [&] {
    IndexPages pages(engine.index(), resources.memory_bytes / 8);
    resources.progress->start("count visits", log.queries(), "queries");
    const std::uint64_t distinct = log.for_each([&](std::span<const LogQuery> queries) {
      answer_in_batches<std::vector<ListVisit>>(
          queries.size(), resources.threads, resources.memory_bytes / 16,
          [&](std::size_t i, std::vector<ListVisit>& visits) {
            visits = engine.visits(queries[i].terms, k, round_of(engine.index(), round));
          },
          visit_bytes,
          [&](std::size_t i, const std::vector<ListVisit>& visits) {
            take(queries[i], visits);
            pages.note_query();
            resources.progress->add(queries[i].places.size());
          });
    });
    resources.progress->finish();
    return distinct;
  });
}

LogDemand measure_demand(const QueryEngine& engine, const CacheBlocks& blocks, LogQueries& log,
                         const DemandOptions& options, const Resources& resources) {
  return run_stage(resources, [&] {
    LogDemand demand;
    demand.queries = log.queries();
    demand.log_hash = log.hash();
    VisitCounts counts(blocks, options.kind, resources);
    std::uint64_t with_terms = 0;
    const auto add = [&](const LogQuery& query, const std::vector<ListVisit>& visits) {
      const std::uint64_t count = query.places.size();
      with_terms += count;
      if (visits.empty())
        demand.unknown += count;
      else if (visits.back().end == 0)
        demand.empty += count;
      else
        counts.add(visits, count);
    };
    demand.distinct = visit_log(engine, log, options.k, options.round, add, resources);
    demand.unknown += demand.queries - with_terms;
    counts.move_to(demand);
    if (demand.lists.empty())
      throw InvalidArgument(engine.index().name() +
                            ": no query of the log has results; use a log of queries for this index");
    return demand;
  });
}

}  // namespace quern
