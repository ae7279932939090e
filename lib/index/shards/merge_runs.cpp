#include "quern/index/shards/merge_runs.hpp"

#include <sys/stat.h>

#include <bit>
#include <cstring>
#include <map>

#include "quern/formats/queries/run_file.hpp"
#include "quern/io/external_sort.hpp"

namespace quern {
namespace {

/// A query in a list of ids: the options' list, or a run.
struct QueryPlace {
  std::uint32_t list = 0, query = 0;  ///< both from 0
  std::uint64_t line = 0;             ///< its first one
};

/// The queries of all lists in an order consistent with each list, as far as possible: a query that an earlier list
/// lacks follows its predecessor. Ids are sorted outside memory.
class QueryOrder {
 public:
  /// Errors of the n-th list call it names[n].
  QueryOrder(std::vector<std::string> names, const Resources& resources)
      : names_(std::move(names)), resources_(resources), ids_(resources.tmp_folder, resources.memory_bytes / 4) {}

  /// Adds the next query of a list; lists come one after the other.
  void add(std::size_t list, std::string_view qid, std::uint64_t line) {
    if (list != last_.list) last_ = {static_cast<std::uint32_t>(list), 0, 0};
    last_.line = line;
    ids_.add(qid, {reinterpret_cast<const std::uint8_t*>(&last_), sizeof last_});
    ++last_.query;
  }

  /// Finds the order, after the last add(). With `first_is_complete`, a query that the first list lacks is an error.
  void find(bool first_is_complete) {
    ExternalSort places(resources_.tmp_folder, resources_.memory_bytes / 4);
    number_queries(places, first_is_complete);
    check_memory();
    constexpr std::uint32_t unplaced = ~std::uint32_t{0};
    const std::uint32_t head = count_;
    next_.assign(std::size_t{count_} + 1, unplaced);
    next_[head] = head;
    std::uint32_t before = head, list = 0;
    places.merge([&](std::string_view place, ByteView payload) {
      std::uint32_t number = 0;
      std::memcpy(&number, payload.data(), sizeof number);
      const auto place_list = number_in_key<std::uint32_t>(place, 0);
      if (place_list != list) before = head;
      list = place_list;
      if (next_[number] == unplaced) next_[number] = std::exchange(next_[before], number);
      before = number;
      numbers_.add(number);
    });
    positions_.resize(count_);
    std::uint32_t position = 0;
    for (std::uint32_t at = next_[head]; at != head; at = next_[at]) positions_[at] = position++;
    next_ = {};
  }

  std::uint64_t count() const { return count_; }

  /// The positions of the lists' queries, in the order of add().
  class Positions {
   public:
    explicit Positions(const QueryOrder& order) : order_(order), numbers_(order.numbers_) {}
    /// Throws InvalidArgument if a list has more queries than before.
    std::uint32_t next(const std::string& name) {
      const std::uint32_t* const number = numbers_.peek();
      if (number == nullptr) throw InvalidArgument(name + ": has changed while it was read; try again");
      const std::uint32_t position = order_.positions_[*number];
      numbers_.pop();
      return position;
    }

   private:
    const QueryOrder& order_;
    RecordSpool<std::uint32_t>::Reader numbers_;
  };

 private:
  /// Numbers the distinct ids, and adds each query's number under its list and place there.
  void number_queries(ExternalSort& places, bool first_is_complete) {
    std::string qid;
    QueryPlace previous;
    bool is_first = true;
    ids_.merge([&](std::string_view id, ByteView payload) {
      QueryPlace place;
      std::memcpy(&place, payload.data(), sizeof place);
      const bool is_new = is_first || id != qid;
      if (is_new && !is_first) ++count_;
      if (!is_new && place.list == previous.list) refuse_repeated(place, id);
      if (is_new && first_is_complete && place.list > 0)
        throw InvalidArgument("{}: has a query {} that is not among the queries", place_text(place), id);
      if (is_new) qid = id;
      is_first = false;
      previous = place;
      places.add(SortKey(place.list, place.query).view(),
                 {reinterpret_cast<const std::uint8_t*>(&count_), sizeof count_});
    });
    if (!is_first) ++count_;
  }

  void check_memory() const {
    const std::uint64_t needed = std::uint64_t{count_} * (sizeof next_[0] + sizeof positions_[0]);
    if (needed > resources_.memory_bytes / 2)
      throw InvalidArgument("the order of {} takes {}; set {} to at least {}", count_text(count_, "query", "queries"),
                            size_text(needed), option_name<"memory">, size_text(2 * needed));
  }

  std::string place_text(const QueryPlace& place) const {
    return place.line == 0 ? names_[place.list] : fmt::format("{}, line {}", names_[place.list], place.line);
  }
  [[noreturn]] void refuse_repeated(const QueryPlace& place, std::string_view qid) const {
    throw InvalidArgument(
        "{}: query {} begins a second time: its results are not contiguous and ranked, or two queries have this id; "
        "give each query an id of its own",
        place_text(place), qid);
  }

  std::vector<std::string> names_;
  const Resources& resources_;
  ExternalSort ids_;
  QueryPlace last_;
  std::uint32_t count_ = 0;  ///< distinct ids
  /// The number after each number in the order; the last entry is the beginning and the end of the list.
  std::vector<std::uint32_t> next_;
  std::vector<std::uint32_t> positions_;  ///< by number
  RecordSpool<std::uint32_t> numbers_{resources_.tmp_folder};
};

/// A number that increases as scores decrease.
std::uint32_t falling(float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score == 0 ? 0.0f : score);
  const bool is_negative = bits >> 31 != 0;
  return is_negative ? bits : ~bits & 0x7fffffffu;
}
float score_of(std::uint32_t falling) {
  return std::bit_cast<float>(falling >> 31 != 0 ? falling : ~falling & 0x7fffffffu);
}

/// Each run is read twice, and counts once.
void check_runs(const std::vector<std::string>& paths) {
  std::map<std::pair<dev_t, ino_t>, std::string> met;
  for (const std::string& path : paths) {
    if (path == "-") throw InvalidArgument("standard input: runs are read twice; name a file");
    const File file = File::open_regular(path);
    struct stat status;
    if (::fstat(file.descriptor(), &status) != 0) throw_errno("can't get the status of", path);
    const auto [same, is_new] = met.emplace(std::pair(status.st_dev, status.st_ino), path);
    if (!is_new) throw InvalidArgument("{}: is the same run as {}; name each shard's run once", path, same->second);
  }
}

/// Collects a query's results, and writes them piece by piece.
class MergedResults {
 public:
  MergedResults(std::size_t k, const std::string& tag, const std::function<void(std::string_view)>& write)
      : k_(k), tag_(tag), write_(write) {}

  void begin_query(std::string_view qid) {
    flush();
    qid_ = qid;
    written_ = 0;
  }
  void add(std::string_view docno, float score) {
    if (written_ + scores_.size() == k_) return;
    docnos_.emplace_back(docno);
    scores_.push_back(score);
    if (scores_.size() == results_per_piece) flush();
  }
  void flush() {
    std::vector<RunResult> results;
    for (std::size_t i = 0; i < docnos_.size(); ++i) results.push_back({docnos_[i], scores_[i], {}, {}});
    std::string text;
    if (!results.empty()) format_.append_piece(text, qid_, {}, {results, written_ + 1}, tag_);
    write_(text);
    written_ += results.size();
    count_ += results.size();
    docnos_.clear();
    scores_.clear();
  }
  std::uint64_t count() const { return count_; }

 private:
  static constexpr std::size_t results_per_piece = 1000;

  const RunFormat& format_ = run_format_named("trec");
  std::size_t k_;
  const std::string& tag_;
  const std::function<void(std::string_view)>& write_;
  std::string qid_;
  std::vector<std::string> docnos_;
  std::vector<float> scores_;
  std::size_t written_ = 0;  ///< results of the query
  std::uint64_t count_ = 0;
};

class RunMerge {
 public:
  RunMerge(const std::vector<std::string>& paths, const MergeRunsOptions& options, const Resources& resources)
      : paths_(paths), options_(options), resources_(resources), tag_(options.tag) {}

  MergeRunsReport run(const std::function<void(std::string_view)>& write) {
    check_runs(paths_);
    const bool has_queries = static_cast<bool>(options_.for_each_qid);
    std::vector<std::string> names = paths_;
    if (has_queries) names.insert(names.begin(), "the queries");
    QueryOrder order(std::move(names), resources_);
    std::uint64_t listed = 0;
    if (has_queries)
      options_.for_each_qid([&](std::string_view qid) {
        order.add(0, qid, 0);
        ++listed;
      });
    for (std::size_t run = 0; run < paths_.size(); ++run) read_queries(run, run + has_queries, order);
    order.find(has_queries);
    ExternalSort rows(resources_.tmp_folder, resources_.memory_bytes / 2);
    QueryOrder::Positions positions(order);
    for (; listed > 0; --listed) positions.next("the queries");
    for (std::size_t run = 0; run < paths_.size(); ++run) read_results(run, positions, rows);
    merge(rows, write);
    report_.queries = order.count();
    return report_;
  }

 private:
  /// Calls begin(line, number) with the first line of each query, and visit(line, number) with each line. A query ends
  /// where the id changes, or where ranks don't rise: two queries in succession may have one id.
  template <class Begin, class Visit>
  void for_each_line(std::size_t run, const Begin& begin, const Visit& visit) const {
    const std::unique_ptr<ByteSource> source = ByteSource::open(paths_[run], resources_);
    std::string qid;
    double rank = 0;
    bool is_first = true;
    read_run(*source, [&](const RunLineText& line, std::uint64_t number) {
      if (is_first || line.qid != qid || line.rank <= rank) {
        qid = line.qid;
        begin(line, number);
      }
      is_first = false;
      rank = line.rank;
      visit(line, number);
    });
  }

  void read_queries(std::size_t run, std::size_t list, QueryOrder& order) {
    for_each_line(
        run,
        [&](const RunLineText& line, std::uint64_t number) {
          if (tag_.empty()) tag_ = line.tag;
          order.add(list, line.qid, number);
        },
        [](const RunLineText&, std::uint64_t) {});
  }

  /// The first result of a query in each run also has its id.
  void read_results(std::size_t run, QueryOrder::Positions& positions, ExternalSort& rows) {
    std::uint32_t query = 0, last = 0;
    std::string row, document;
    ExternalSort documents(resources_.tmp_folder, resources_.memory_bytes / 8);
    for_each_line(
        run,
        [&](const RunLineText& line, std::uint64_t) {
          query = positions.next(paths_[run]);
          last = 0;
          row = line.qid;
        },
        [&](const RunLineText& line, std::uint64_t number) {
          const std::uint32_t falls = falling(line.score);
          if (falls < last)
            throw InvalidArgument("{}, line {}: scores increase within query {}", paths_[run], number, line.qid);
          last = falls;
          row.append(1, ' ').append(line.docno);
          rows.add(SortKey(query, falls, static_cast<std::uint32_t>(run), number).view(), as_bytes(row));
          row.clear();
          document.assign(SortKey(query).view()).append(line.docno);
          documents.add(document, as_bytes(SortKey(number).view()));
          ++report_.results_read;
        });
    refuse_repeated(run, documents);
  }

  /// Refuses a run that has a document twice in a query. Documents of several shards may have one docno.
  void refuse_repeated(std::size_t run, ExternalSort& documents) const {
    std::string previous;
    documents.merge([&](std::string_view document, ByteView line) {
      if (document == previous)
        throw InvalidArgument("{}, line {}: document {} is already among the query's results; keep one of them",
                              paths_[run], number_in_key<std::uint64_t>(as_text(line), 0),
                              document.substr(sizeof(std::uint32_t)));
      previous = document;
    });
  }

  void merge(ExternalSort& rows, const std::function<void(std::string_view)>& write) {
    MergedResults results(options_.k, tag_, write);
    std::optional<std::uint32_t> query;
    rows.merge([&](std::string_view key, ByteView payload) {
      const auto row_query = number_in_key<std::uint32_t>(key, 0);
      const std::string_view row = as_text(payload);
      const std::size_t space = row.find(' ');
      // The first row of all is the first of its run.
      if (query != row_query) results.begin_query(row.substr(0, space));
      query = row_query;
      results.add(row.substr(space + 1), score_of(number_in_key<std::uint32_t>(key, sizeof row_query)));
    });
    results.flush();
    report_.results = results.count();
  }

  const std::vector<std::string>& paths_;
  const MergeRunsOptions& options_;
  const Resources& resources_;
  std::string tag_;
  MergeRunsReport report_;
};

}  // namespace

MergeRunsReport merge_runs(const std::vector<std::string>& paths, const MergeRunsOptions& options,
                           const Resources& resources, const std::function<void(std::string_view)>& write) {
  return run_stage(resources, [&] { return RunMerge(paths, options, resources).run(write); });
}

}  // namespace quern
