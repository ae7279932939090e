#pragma once
#include <array>
#include <vector>

#include "quern/measure/codec_bench.hpp"

namespace quern {

/// All lists, coded by one of our codecs, and where their blocks stand, as an index knows it. Keeps a reference to the
/// lists.
class CodecSubject {
 public:
  CodecSubject(const BenchLists& lists, const CodecSetUp& set_up);

  /// One pass of each kind, measured.
  void measure();
  void forget_times();
  CodecFigures figures() const;

 private:
  struct Block {
    std::size_t word;
    unsigned n;
    docid_t before;
  };
  struct List {
    std::size_t word, first_block, end_block;
  };

  void encode();
  void encode_list(ListEncoder& encoder, std::size_t first, std::size_t end);
  template <class Decode>
  void for_each_coded_block(Decode decode) const;
  void decode_docids() const;
  void decode_freqs() const;

  const BenchLists& lists_;
  CodecFigures figures_{};
  Words words_;
  std::vector<Block> blocks_;
  std::vector<List> coded_;
  std::vector<double> encode_;
  std::array<std::vector<double>, 3> docids_, freqs_;  ///< of each level
};

}  // namespace quern
