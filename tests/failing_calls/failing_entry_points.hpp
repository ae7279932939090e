#pragma once
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/formats/collection.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/io/atomic_output.hpp"

#include "corpus/temporary_folder.hpp"

/// The library's public functions, as failing_allocations calls them.
namespace quern::testing {

/// A call of one of them.
struct EntryPoint {
  const char* name;
  std::function<void()> call;
  int own_threads = 0;  ///< threads that it starts for other things than computing
};

/// A name that takes an allocation.
inline const std::string long_name = "a name that is too long for a text without an allocation";

/// The folder in which calls work, and which is the program's own; and what they work with.
class Workplace {
 public:
  explicit Workplace(unsigned threads);

  CollectionReader collection() const { return CollectionReader::open("collection"); }
  IndexReader index() const { return IndexReader::open("index"); }
  /// Names of temporary files that are left.
  std::set<std::string> leftovers() const;

  Resources resources;
  std::string pages, objects;  ///< the corpus
  std::string weights;         ///< a corpus with the weights of terms

 private:
  TemporaryFolder folder_;
};

/// Writes a file of a short name, which takes no allocation: the program works in its folder.
template <class Write>
void write_file(const char* name, Write&& write) {
  AtomicOutput out = AtomicOutput::file(name, true);
  write(out.file());
  out.commit();
}

/// From a corpus to files. Each call reads what those before it wrote.
std::vector<EntryPoint> stage_calls(const Workplace& place);
/// What is read of the files that stages wrote: queries, and what is beside an index.
std::vector<EntryPoint> query_calls(const Workplace& place);
/// Splits and shards of them.
std::vector<EntryPoint> shard_calls(const Workplace& place);
/// Tables and other texts of users.
std::vector<EntryPoint> text_calls(const Workplace& place);
/// All of these, in that order.
std::vector<EntryPoint> all_calls(const Workplace& place);

}  // namespace quern::testing
