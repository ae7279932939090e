#pragma once
#include <vector>

#include "quern/core/bytes.hpp"
#include "quern/measure/codec_bench.hpp"

namespace quern {

/// All lists, coded by one of others' codecs, run by run: by block, or by list. Keeps a reference to the lists.
class PeerSubject {
 public:
  PeerSubject(const BenchLists& lists, const PeerSetUp& set_up);

  /// One pass of each kind, measured.
  void measure();
  void forget_times();
  PeerFigures figures() const;

 private:
  struct Run {
    std::size_t first, size;  ///< postings
    docid_t before;
    std::size_t docid_byte = 0, freq_byte = 0;
  };

  void encode();
  void decode_docids();
  void decode_freqs();

  PeerFigures figures_{};
  std::vector<docid_t> docids_;  ///< of all lists: what these codecs take
  std::vector<freq_t> freqs_;
  std::vector<Run> runs_;
  Bytes docid_bytes_, freq_bytes_;
  std::vector<std::uint32_t> out_;
  std::vector<double> encode_times_, docid_times_, freq_times_;
};

}  // namespace quern
