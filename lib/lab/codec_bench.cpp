#include "quern/lab/codec_bench.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "quern/core/error.hpp"
#include "quern/lab/codec_subjects.hpp"
#include "quern/lab/measurement.hpp"

namespace quern {
namespace {

/// The lower limit of decoding times: memcpy of blocks of values to one buffer.
void copy_blocks(const BenchLists& lists) {
  constexpr std::size_t block_size = 128;
  alignas(64) std::array<std::uint32_t, block_size> out;
  for (std::size_t at = 0; at < lists.size(); at += block_size) {
    std::memcpy(out.data(), lists.gaps.data() + at, std::min(block_size, lists.size() - at) * sizeof out[0]);
    keep(out.data());
  }
}

}  // namespace

CodecBench measure_codecs(const BenchLists& lists, const std::vector<CodecSetUp>& set_ups,
                          const std::vector<PeerSetUp>& peers, unsigned repeats) {
  if (lists.size() == 0 || repeats == 0) throw InvalidArgument("a benchmark needs postings and repeats");
  std::vector<CodecSubject> ours;
  for (const CodecSetUp& set_up : set_ups) ours.emplace_back(lists, set_up);
  std::vector<PeerSubject> others;
  for (const PeerSetUp& set_up : peers) others.emplace_back(lists, set_up);
  const auto for_each_subject = [&](auto visit) {
    for (CodecSubject& subject : ours) visit(subject);
    for (PeerSubject& subject : others) visit(subject);
  };
  for_each_subject([](auto& subject) {
    subject.measure();
    subject.forget_times();
  });
  std::vector<double> copying;
  for (unsigned repeat = 0; repeat < repeats; ++repeat) {
    copy_blocks(lists);  // so that the values are in the caches, like coded words
    copying.push_back(seconds_of([&] { copy_blocks(lists); }));
    for_each_subject([](auto& subject) { subject.measure(); });
  }
  CodecBench bench{lists.ends.size(), lists.size(), median(copying), {}, {}};
  for (const CodecSubject& subject : ours) bench.figures.push_back(subject.figures());
  for (const PeerSubject& subject : others) bench.peers.push_back(subject.figures());
  return bench;
}

}  // namespace quern
