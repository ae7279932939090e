#pragma once
#include "quern/formats/forward_file.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/index/forward/build_forward.hpp"
#include "quern/io/file.hpp"

namespace quern {

/// Writes the forward file of an index made from documents of others: of shards, or of the index that a shard was cut
/// from. Segments keep their borders, which are independent of shards, and get the new index's term numbers; the bytes
/// are those of build_forward().
class ForwardRecoder {
 public:
  /// `to` is the file's index. It, `resources` and `out` must outlive this.
  ForwardRecoder(const IndexReader& to, const Resources& resources, File& out);
  /// Adds documents of another index after those added before, in parallel, within the memory budget. Throws
  /// InvalidArgument if the budget can't hold 4 bytes per term of that index, 8 per document of the new one, and 16 MB;
  /// CorruptFile for damage.
  void add(const IndexReader& from, const ForwardReader& forward, const DocidRange& docids);
  ForwardReport finish();

 private:
  struct Job;
  class Terms;

  void write(docid_t docid, const ForwardReader& forward, const Terms& terms, Job& job);

  const IndexReader& to_;
  const Resources& resources_;
  File& file_;
  ForwardWriter writer_;
  ForwardManifest manifest_;
  std::vector<std::uint32_t> out_links_, in_links_;
};

}  // namespace quern
