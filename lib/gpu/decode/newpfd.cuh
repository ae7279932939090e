#pragma once
#include "quern/codec/newpfd.hpp"
#include "quern/gpu/decode/slots.cuh"

/// NewPFD blocks, each decoded by a group of L lanes with V postings per lane; formats/codec/newpfd.md describes them.
/// The words of all groups' exceptions are spread over the lanes.
namespace quern::gpu {

/// For each way of Simple16 and value: by how much its word is shifted to the left, and then, in the high byte, to the
/// right, to leave the value. Place 31 of a way: the number of values.
struct Simple16Cuts {
  static constexpr unsigned words = 256;
  std::uint16_t cuts[16][32] = {};

  constexpr Simple16Cuts() {
    for (std::uint32_t number = 0; number < 16; ++number) {
      const simple16::Way way = simple16::way_of(number << 28);
      for (unsigned i = 0; i < way.count; ++i) {
        const unsigned width = way.width_of(i);
        cuts[number][i] = static_cast<std::uint16_t>((32 - way.bit_of(i) - width) | (32 - width) << 8);
      }
      cuts[number][31] = way.count;
    }
  }
};
static __device__ const Simple16Cuts simple16_cuts = Simple16Cuts();

/// The thread block's copy of simple16_cuts, in which lanes look up different ways fastest.
class SharedCuts {
 public:
  /// By all threads of the thread block, before any of them uses data().
  __device__ static void fill() {
    const auto* from = reinterpret_cast<const std::uint32_t*>(simple16_cuts.cuts);
    for (unsigned i = threadIdx.x; i < Simple16Cuts::words; i += blockDim.x) memory()[i] = from[i];
    __syncthreads();
  }
  __device__ SharedCuts() : cuts_(reinterpret_cast<const std::uint16_t*>(memory())) {}
  __device__ const std::uint16_t* data() const { return cuts_; }

 private:
  __device__ static std::uint32_t* memory() {
    __shared__ std::uint32_t words[Simple16Cuts::words];
    return words;
  }

  const std::uint16_t* cuts_;
};

/// At most 32 words of Simple16, one per lane from the first on, whose values are numbered from 0.
class Simple16Words {
 public:
  /// Takes `size` words, at most 32.
  __device__ Simple16Words(const std::uint16_t* cuts, std::uint32_t word, std::uint32_t size)
      : cuts_(cuts), word_(word) {
    const std::uint32_t way = word >> 28 << 5;
    const bool there = lane_id() < size;
    const std::uint32_t count = there ? cuts[way + 31] : 0;
    end_ = inclusive_sum(count);
    size_ = last_lane(end_);
    begin_ = there ? end_ - count : 0xffffffffu;
    way_ = static_cast<std::int32_t>(way - begin_);
  }

  /// Values in all words; the number of this lane's first value; the number after its last.
  __device__ std::uint32_t size() const { return size_; }
  __device__ std::uint32_t begin() const { return begin_; }
  __device__ std::uint32_t end() const { return end_; }

  /// Finds the words of 32 consecutive values from `first` on, one per lane, of which `before` words begin earlier;
  /// adds the words that begin among them to `before`.
  __device__ unsigned place(std::uint32_t first, unsigned& before) const {
    const unsigned begun = __reduce_or_sync(all_lanes, __funnelshift_lc(0, 1, begin_ - first));
    const unsigned place = before + __popc(begun & (0xffffffffu >> (31 - lane_id()))) - 1;
    before += __popc(begun);
    return place;
  }
  /// The number of words that begin before value `number`.
  __device__ unsigned words_before(std::uint32_t number) const {
    return __popc(__ballot_sync(all_lanes, begin_ < number));
  }

  /// Writes the first `count` values, which exist, at most 256. A lane finds the word of its value by counting the
  /// words that begin before it.
  __device__ void write(std::uint32_t count, std::uint32_t* out) const {
    unsigned before = 0;
    for (std::uint32_t first = 0; first < count; first += lanes_per_warp) {
      const std::uint32_t number = first + lane_id(), own = value(place(first, before), number);
      if (number < count) out[number] = own;
    }
  }

  /// Value `number`, which is in word `place`.
  __device__ std::uint32_t value(unsigned place, unsigned number) const {
    const std::uint32_t word = __shfl_sync(all_lanes, word_, place);
    const std::int32_t way = __shfl_sync(all_lanes, way_, place);
    const unsigned cut = cuts_[(way + static_cast<std::int32_t>(number)) & 511];
    return __funnelshift_r(__funnelshift_l(0, word, cut), 0, cut >> 8);
  }

 private:
  const std::uint16_t* cuts_;
  std::uint32_t word_, begin_, end_, size_;
  std::int32_t way_;  ///< plus a value's number: the value's place in the table
};

/// A stream of exceptions, and its words, possibly more than it takes.
struct CodedExceptions : Exceptions {
  const std::uint32_t* words = nullptr;
  std::uint32_t size = 0;
};

/// The words of all groups' exceptions one after another in the lanes of a warp.
template <int L>
class GroupedWords {
 public:
  __device__ explicit GroupedWords(const CodedExceptions& own) {
    std::uint32_t end = own.size;
#pragma unroll
    for (unsigned distance = L; distance < lanes_per_warp; distance *= 2) {
      const std::uint32_t other = __shfl_up_sync(all_lanes, end, distance);
      if (lane_id() >= distance) end += other;
    }
    first_ = end - own.size;
    total_ = last_lane(end);
  }
  __device__ bool fit() const { return total_ > 0 && total_ <= lanes_per_warp; }
  /// The lane of this group's first word.
  __device__ unsigned first() const { return first_; }

  __device__ Simple16Words load(const CodedExceptions& own, const std::uint16_t* cuts) const {
    const unsigned lane = min(lane_id(), total_ - 1);
    unsigned group = 0;
#pragma unroll
    for (unsigned first = L; first < lanes_per_warp; first += L) group += lane >= __shfl_sync(all_lanes, first_, first);
    const auto address = __shfl_sync(all_lanes, reinterpret_cast<unsigned long long>(own.words), group * L);
    const std::uint32_t place = lane - __shfl_sync(all_lanes, first_, group * L);
    return {cuts, reinterpret_cast<const std::uint32_t*>(address)[place], total_};
  }

 private:
  std::uint32_t first_, total_;
};

/// All lanes of a warp must call together, even if its groups decode different blocks.
template <int V, int L = lanes_per_warp>
class NewPfdWarpDecoder {
 public:
  __device__ NewPfdWarpDecoder(const IndexView&, const WarpBuffer<V>& buffer) : buffer_(buffer) {}

  /// Opens a block. False if its parts are not within it; it then decodes like an empty one.
  __device__ bool open(const BlockPlace& place) {
    place_ = place;
    header_ = newpfd::Header();
    if (place.size == 0) return false;
    const std::uint32_t word = place.words[0];
    header_ = newpfd::Header(L == lanes_per_warp ? uniform(word) : word);
    docid_exceptions_word_ = header_.docid_exceptions_word(place.n);
    freq_exceptions_word_ = docid_exceptions_word_ + header_.docid_exception_words;
    if (freq_exceptions_word_ <= place.size) return true;
    header_ = newpfd::Header();
    return false;
  }

  __device__ bool docids(std::uint32_t (&out)[V]) const {
    const bool sound = distances(out);
    sum_up<V, L>(place_.before, out);
    return sound;
  }
  /// The distances of this lane's documents from their predecessors.
  __device__ bool distances(std::uint32_t (&out)[V]) const {
    CodedExceptions exceptions{{header_.docid_exceptions, header_.docid_width, place_.n}};
    exceptions.words = place_.words + docid_exceptions_word_;
    exceptions.size = header_.docid_exception_words;
    return values(exceptions, newpfd::Header::docid_slots_bit(), out);
  }

  __device__ bool freqs(std::uint32_t (&out)[V]) const {
    return values(freq_exceptions(), header_.freq_slots_bit(place_.n), out);
  }

  static constexpr bool has_single_freqs = true;  ///< whether freq_at() can be called
  /// Prepares freq_at(), for which the warp's buffer is kept if there are exceptions. False if these are damaged.
  __device__ bool open_freqs() const {
    return max_of_groups<L>(header_.freq_exceptions) == 0 || put_exceptions(freq_exceptions());
  }
  /// The frequency of posting i, which may differ from lane to lane, from its slot (Ding et al., section 6.1).
  __device__ std::uint32_t freq_at(std::uint32_t i) const {
    const unsigned width = header_.freq_width;
    const std::uint32_t slot = value_at(place_.words, header_.freq_slots_bit(place_.n) + i * width, width);
    return slot + (header_.freq_exceptions == 0 ? 1 : buffer_.values[group_of_lane<L>() * V * L + i]);
  }

 private:
  __device__ CodedExceptions freq_exceptions() const {
    CodedExceptions exceptions{{header_.freq_exceptions, header_.freq_width, place_.n}};
    exceptions.words = place_.words + freq_exceptions_word_;
    exceptions.size = place_.size - freq_exceptions_word_;
    return exceptions;
  }

  __device__ bool values(const CodedExceptions& exceptions, std::uint32_t slots_bit, std::uint32_t (&out)[V]) const {
    const Slots<V, L> slots(place_.words, slots_bit, exceptions.width, place_.n);
    const bool sound = put_exceptions(exceptions);
    slots.take(out);
    buffer_.add_to(out);
    return sound;
  }

  /// Puts what a block's exceptions add, and 1, at their places in the group's numbers of the warp's buffer, 1
  /// elsewhere. False if a position is not below n or the words end too early.
  __device__ bool put_exceptions(CodedExceptions exceptions) const {
    buffer_.set_to_one();
    if constexpr (L == lanes_per_warp) {
      return exceptions.count == 0 || put_block(exceptions, buffer_.values);
    } else {
      if (warp_max(exceptions.count) == 0) return true;
      exceptions.size = exceptions.count == 0 ? 0 : min(exceptions.size, 2 * exceptions.count);
      const GroupedWords<L> grouped(exceptions);
      if (!grouped.fit()) return put_in_turn(exceptions);
      const Simple16Words words = grouped.load(exceptions, cuts_.data());
      if (words.size() > WarpBuffer<V>::max_values) return put_in_turn(exceptions);
      words.write(words.size(), buffer_.stream());
      const std::uint32_t begin = __shfl_sync(all_lanes, words.begin(), grouped.first());
      const std::uint32_t end = __shfl_sync(all_lanes, words.end(), grouped.first() + exceptions.size - 1);
      const bool whole = exceptions.size > 0 && end - begin >= 2 * exceptions.count;
      const bool sound = whole || exceptions.count == 0;
      if (!whole) exceptions.count = 0;
      __syncwarp();
      std::uint32_t before = 0xffffffffu;
      const bool placed = put_addends<2, L>(buffer_.stream() + (whole ? begin : 0), warp_max(exceptions.count),
                                            exceptions, buffer_.values + group_of_lane<L>() * V * L, before, false);
      __syncwarp();
      return all_of_group<L>(sound && placed);
    }
  }

  /// Puts the exceptions of one block, by the whole warp.
  __device__ bool put_block(const CodedExceptions& exceptions, std::uint32_t* out) const {
    const std::uint32_t* from = as_it_is(exceptions.words);
    const std::uint32_t count = 2 * exceptions.count;
    std::uint32_t done = 0;
    for (std::uint32_t first = 0; first < exceptions.size && done < count; first += lanes_per_warp) {
      const Simple16Words words(cuts_.data(), from[min(first + lane_id(), exceptions.size - 1)],
                                exceptions.size - first);
      if (first == 0 && words.size() >= count) return put_in_registers(words, exceptions, out);
      words.write(min(words.size(), count - done), buffer_.stream() + done);
      done += words.size();
    }
    __syncwarp();
    bool sound = done >= count;
    std::uint32_t before = 0xffffffffu;
    if (sound)
      sound = put_addends<4, lanes_per_warp>(buffer_.stream(), exceptions.count, exceptions, out, before, false);
    __syncwarp();
    return __all_sync(all_lanes, sound);
  }

  /// Puts exceptions that are all in these words.
  __device__ static bool put_in_registers(const Simple16Words& words, const CodedExceptions& exceptions,
                                          std::uint32_t* out) {
    unsigned before_gaps = 0, before_highs = words.words_before(exceptions.count);
    const auto get = [&](unsigned first, unsigned own, std::uint32_t& gap, std::uint32_t& high) {
      gap = words.value(words.place(first, before_gaps), own);
      high = words.value(words.place(exceptions.count + first, before_highs), exceptions.count + own);
    };
    const bool sound = put_each_addend<lanes_per_warp>(exceptions.count, exceptions, out, get);
    __syncwarp();
    return __all_sync(all_lanes, sound);
  }

  /// Puts one group's exceptions after the other's; arguments and result are each group's own.
  __device__ bool put_in_turn(const CodedExceptions& exceptions) const {
    bool sound = true;
    for (unsigned group = 0; group < lanes_per_warp / L; ++group) {
      const unsigned lane = group * L;
      CodedExceptions one;
      one.words = reinterpret_cast<const std::uint32_t*>(
          __shfl_sync(all_lanes, reinterpret_cast<unsigned long long>(exceptions.words), lane));
      one.size = __shfl_sync(all_lanes, exceptions.size, lane);
      one.count = __shfl_sync(all_lanes, exceptions.count, lane);
      one.width = __shfl_sync(all_lanes, exceptions.width, lane);
      one.n = __shfl_sync(all_lanes, exceptions.n, lane);
      const bool own = put_block(one, buffer_.values + lane * V);
      if (group_of_lane<L>() == group) sound = own;
    }
    return sound;
  }

  SharedCuts cuts_;
  WarpBuffer<V> buffer_;
  BlockPlace place_;
  newpfd::Header header_;
  std::uint32_t docid_exceptions_word_ = 0, freq_exceptions_word_ = 0;
};

}  // namespace quern::gpu
