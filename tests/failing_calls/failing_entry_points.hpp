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

/// The calls of the library's public functions that failing_allocations makes.
namespace quern::testing {

/// A call of a public function.
struct EntryPoint {
  const char* name;
  std::function<void()> call;
  int own_threads = 0;  ///< threads that it starts for work other than computing
};

/// A name too long for a string without an allocation.
inline const std::string long_name = "a name that is too long for a text without an allocation";

/// The working folder of the calls, used by this program only, and their inputs.
class Workplace {
 public:
  explicit Workplace(unsigned threads);

  CollectionReader collection() const { return CollectionReader::open("collection"); }
  IndexReader index() const { return IndexReader::open("index"); }
  /// Names of leftover temporary files.
  std::set<std::string> leftovers() const;

  Resources resources;
  std::string pages, objects;  ///< the corpus
  std::string weights;         ///< a corpus with term weights

 private:
  TemporaryFolder folder_;
};

/// Writes a file with a short name, which needs no allocation, in the working folder.
template <class Write>
void write_file(const char* name, Write&& write) {
  AtomicOutput out = AtomicOutput::file(name, true);
  write(out.file());
  out.commit();
}

/// From a corpus to files. Each call reads the output of the previous ones.
std::vector<EntryPoint> stage_calls(const Workplace& place);
/// Readers of the stages' files: queries, and the files next to an index.
std::vector<EntryPoint> query_calls(const Workplace& place);
/// Splits of a corpus, and shards of an index.
std::vector<EntryPoint> shard_calls(const Workplace& place);
/// Tables and other text files from users.
std::vector<EntryPoint> text_calls(const Workplace& place);
/// All of the above, in that order.
std::vector<EntryPoint> all_calls(const Workplace& place);

}  // namespace quern::testing
