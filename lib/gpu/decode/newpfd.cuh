#pragma once
#include "quern/codec/newpfd_layout.hpp"
#include "quern/gpu/decode/exceptions.cuh"
#include "quern/gpu/decode/slots.cuh"

/// NewPFD blocks, each decoded by a group of L lanes with V postings per lane; formats/newpfd.md describes them.
namespace quern::gpu {

/// If its groups decode different blocks, all lanes of a warp call together.
template <int V, int L = lanes_per_warp>
class NewPfdDecoder {
 public:
  __device__ NewPfdDecoder(const IndexView&, const WarpBuffer<V>& buffer) : buffer_(buffer) { make_table<V>(buffer); }

  /// Opens a block. False if its parts are not within it.
  __device__ bool open(const BlockPlace& place) {
    place_ = place;
    if (place.size == 0) return close();
    const std::uint32_t word = place.words[0];
    header_ = newpfd::Header(L == lanes_per_warp ? uniform(word) : word);
    docid_exceptions_word_ = (32 + place.n * (header_.docid_width + header_.freq_width) + 31) / 32;
    freq_exceptions_word_ = docid_exceptions_word_ + header_.docid_exception_words;
    return freq_exceptions_word_ <= place.size || close();
  }

  /// This lane's docIDs.
  __device__ bool docids(std::uint32_t (&out)[V]) const {
    const bool sound = distances(out);
    sum_up<V, L>(place_.before, out);
    return sound;
  }
  /// Of this lane's documents from those before them.
  __device__ bool distances(std::uint32_t (&out)[V]) const {
    return values({place_.words + docid_exceptions_word_, header_.docid_exception_words, header_.docid_exceptions,
                   header_.docid_width, place_.n},
                  32, out);
  }

  /// This lane's frequencies.
  __device__ bool freqs(std::uint32_t (&out)[V]) const { return values(freq_exceptions(), freq_slots_bit(), out); }

  /// Whether freq_at() can be called.
  static constexpr bool has_single_freqs = true;
  /// Prepares freq_at(), for which the warp's buffer is kept if there are exceptions. False if these are damaged.
  __device__ bool open_freqs() const {
    return header_.freq_exceptions == 0 || put_exceptions<V, L>(freq_exceptions(), buffer_);
  }
  /// The frequency of posting i, which may differ from lane to lane, from its slot (Ding et al., section 6.1).
  __device__ std::uint32_t freq_at(std::uint32_t i) const {
    const std::uint32_t slot = value_at(place_.words, freq_slots_bit() + i * header_.freq_width, header_.freq_width);
    return slot + (header_.freq_exceptions == 0 ? 1 : buffer_.values[i]);
  }

 private:
  /// A group with a damaged block continues with the others, as if all of its values were 0.
  __device__ bool close() {
    if (L < lanes_per_warp) header_ = newpfd::Header();
    return false;
  }

  __device__ std::uint32_t freq_slots_bit() const { return 32 + place_.n * header_.docid_width; }
  __device__ Exceptions freq_exceptions() const {
    return {place_.words + freq_exceptions_word_, place_.size - freq_exceptions_word_, header_.freq_exceptions,
            header_.freq_width, place_.n};
  }

  /// Distances, or frequencies.
  __device__ bool values(const Exceptions& exceptions, std::uint32_t slots_bit, std::uint32_t (&out)[V]) const {
    const Slots<V, L> slots(place_.words, slots_bit, exceptions.width, place_.n);
    const bool sound = put_exceptions<V, L>(exceptions, buffer_);
    slots.take(out);
    buffer_.add_to(out);
    return sound;
  }

  WarpBuffer<V> buffer_;
  BlockPlace place_;
  newpfd::Header header_;
  std::uint32_t docid_exceptions_word_ = 0, freq_exceptions_word_ = 0;
};

}  // namespace quern::gpu
