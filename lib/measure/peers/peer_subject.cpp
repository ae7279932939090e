#include "quern/measure/peers/peer_subject.hpp"

#include <algorithm>
#include <span>

#include "quern/measure/median.hpp"
#include "quern/measure/stopwatch.hpp"

namespace quern {

PeerSubject::PeerSubject(const BenchLists& lists, const PeerSetUp& set_up) {
  figures_.set_up = set_up;
  docids_.reserve(lists.size());
  std::size_t longest_run = 0, room = over_read_bytes;
  for (const std::size_t end : lists.ends) {
    docid_t docid = end_docid;
    std::size_t first = docids_.size();
    while (first < end) {
      const std::size_t size =
          set_up.block_size == 0 ? end - first : std::min<std::size_t>(set_up.block_size, end - first);
      runs_.push_back({first, size, docid});
      for (std::size_t i = first; i < first + size; ++i) {
        docids_.push_back(docid += lists.gaps[i] + 1);
        freqs_.push_back(lists.freqs[i] + 1);
      }
      longest_run = std::max(longest_run, size);
      room += set_up.codec->max_bytes(size);
      first += size;
    }
  }
  docid_bytes_.resize(room);
  freq_bytes_.resize(room);
  out_.resize(longest_run + over_write_values);
}

void PeerSubject::measure() {
  encode_times_.push_back(seconds_of([&] { encode(); }));
  docid_times_.push_back(seconds_of([&] { decode_docids(); }));
  freq_times_.push_back(seconds_of([&] { decode_freqs(); }));
}

void PeerSubject::forget_times() {
  for (auto* times : {&encode_times_, &docid_times_, &freq_times_}) times->clear();
}

PeerFigures PeerSubject::figures() const {
  PeerFigures figures = figures_;
  figures.encode_seconds = median(encode_times_);
  figures.decoding = {median(docid_times_), median(freq_times_)};
  return figures;
}

void PeerSubject::encode() {
  std::size_t docid_byte = 0, freq_byte = 0;
  const PeerCodec& codec = *figures_.set_up.codec;
  for (Run& run : runs_) {
    run.docid_byte = docid_byte;
    run.freq_byte = freq_byte;
    docid_byte += codec.encode_docids(std::span(docids_).subspan(run.first, run.size), run.before,
                                      docid_bytes_.data() + docid_byte);
    freq_byte += codec.encode_freqs(std::span(freqs_).subspan(run.first, run.size), freq_bytes_.data() + freq_byte);
  }
  figures_.bits = {8 * docid_byte, 8 * freq_byte};
}

void PeerSubject::decode_docids() {
  for (const Run& run : runs_) {
    figures_.set_up.codec->decode_docids(docid_bytes_.data() + run.docid_byte, run.size, run.before, out_.data());
    keep(out_.data());
  }
}

void PeerSubject::decode_freqs() {
  for (const Run& run : runs_) {
    figures_.set_up.codec->decode_freqs(freq_bytes_.data() + run.freq_byte, run.size, out_.data());
    keep(out_.data());
  }
}

}  // namespace quern
