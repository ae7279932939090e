#pragma once
#include <boost/context/fiber.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

/// A GPU's thread block on the CPU, so that tests run the sources of kernels without a GPU. Its threads are fibers of
/// one thread, which take turns where they wait for each other, in an order that set_order() draws. Include this before
/// any .cuh; kernels are then plain functions that run() calls. Not emulated: interleaving between waits, and the
/// memory model of a GPU.
namespace quern::testing::emulated {

struct Place {
  unsigned x = 0;
};

/// A barrier of a warp's or a block's threads. The values that they bring remain until the next meeting is over.
class Meeting {
 public:
  explicit Meeting(unsigned members) : members_(members), brought_{std::vector<std::uint64_t>(members), {}} {
    brought_[1] = brought_[0];
  }
  unsigned generation() const { return generation_; }
  std::vector<std::uint64_t>& brought(unsigned generation) { return brought_[generation % 2]; }
  void arrive() {
    if (++arrived_ < members_) return;
    arrived_ = 0;
    ++generation_;
  }

 private:
  unsigned members_, arrived_ = 0, generation_ = 0;
  std::vector<std::uint64_t> brought_[2];
};

/// One thread block. Blocks run sequentially.
class Block {
 public:
  Block(unsigned threads, const std::function<void()>& kernel)
      : kernel_(kernel), block_(threads), warps_(threads / 32, Meeting(32)) {
    while (stacks().size() < threads) stacks().push_back(std::make_unique_for_overwrite<std::uint8_t[]>(stack_bytes));
    for (unsigned i = 0; i < threads; ++i) {
      fibers_.push_back(std::make_unique<Fiber>());
      fibers_.back()->stack = stacks()[i].get();
    }
  }
  void run();

  void meet(Meeting& meeting) {
    const unsigned generation = meeting.generation();
    meeting.arrive();
    while (meeting.generation() == generation) yield();
  }
  Meeting& block() { return block_; }
  Meeting& warp();

  static Block* current;

 private:
  static constexpr std::size_t stack_bytes = std::size_t{256} << 10;
  struct Fiber {
    boost::context::fiber context;
    std::uint8_t* stack = nullptr;  ///< of stacks(), stack_bytes
    bool ended = false;
    void* shadow = nullptr;
  };
  /// Stacks shared by all blocks, which run sequentially.
  static std::vector<std::unique_ptr<std::uint8_t[]>>& stacks();
  static boost::context::stack_context memory_of(std::uint8_t* stack);
  /// A fiber's function: does its thread's work, and returns to the scheduler.
  boost::context::fiber work(boost::context::fiber&& scheduler);
  void yield();
  void switch_to(Fiber& fiber);

  const std::function<void()>& kernel_;
  Meeting block_;
  std::vector<Meeting> warps_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Fiber* running_ = nullptr;
  boost::context::fiber scheduler_;
  void* scheduler_shadow_ = nullptr;
  const void* scheduler_stack_ = nullptr;
  std::size_t scheduler_size_ = 0;
};

/// Of the thread block that runs.
alignas(16) inline unsigned char dynamic_shared_memory[std::size_t{1} << 17];

/// Sets the order in which thread blocks run and threads take turns: by number if `seed` is 0 (the default), otherwise
/// random.
void set_order(std::uint64_t seed);

/// Sets a random order until it goes out of scope.
struct RandomOrder {
  explicit RandomOrder(std::uint64_t seed) { set_order(seed); }
  RandomOrder(const RandomOrder&) = delete;
  RandomOrder& operator=(const RandomOrder&) = delete;
  ~RandomOrder() { set_order(0); }
};

/// Calls the kernel once per thread, with this many thread blocks of this many threads, a multiple of 32. Throws
/// std::logic_error if threads wait for others that have ended.
void run(unsigned blocks, unsigned threads, const std::function<void()>& kernel);

}  // namespace quern::testing::emulated

// The keywords and functions of CUDA that kernels use.
inline quern::testing::emulated::Place threadIdx, blockIdx, blockDim, gridDim;

#define __device__
#define __host__
#define __global__
#define __grid_constant__
#define __noinline__
#define __launch_bounds__(...)
#define __shared__ constinit thread_local
#define __align__(bytes) __attribute__((aligned(bytes)))

struct alignas(16) uint4 {
  unsigned x = 0, y = 0, z = 0, w = 0;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
struct alignas(16) float4 {
  float x = 0, y = 0, z = 0, w = 0;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

template <class A, class B>
constexpr auto min(A a, B b) {
  using Common = std::common_type_t<A, B>;
  return static_cast<Common>(b) < static_cast<Common>(a) ? static_cast<Common>(b) : static_cast<Common>(a);
}
template <class A, class B>
constexpr auto max(A a, B b) {
  using Common = std::common_type_t<A, B>;
  return static_cast<Common>(a) < static_cast<Common>(b) ? static_cast<Common>(b) : static_cast<Common>(a);
}

namespace quern::testing::emulated {

/// Brings a value to the warp's meeting, and calls visit(values of all lanes).
template <class T, class Visit>
auto meet_warp(T value, Visit&& visit) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  Block& block = *Block::current;
  Meeting& warp = block.warp();
  const unsigned generation = warp.generation();
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  warp.brought(generation)[threadIdx.x % 32] = bits;
  block.meet(warp);
  const std::vector<std::uint64_t>& all = warp.brought(generation);
  return visit([&](unsigned lane) {
    T lane_value;
    std::memcpy(&lane_value, &all[lane], sizeof lane_value);
    return lane_value;
  });
}

template <class T, class Join>
T reduce(T value, Join&& join) {
  return meet_warp(value, [&](auto value_in) {
    T joined = value_in(0);
    for (unsigned lane = 1; lane < 32; ++lane) joined = join(joined, value_in(lane));
    return joined;
  });
}

inline unsigned lane() { return threadIdx.x % 32; }

}  // namespace quern::testing::emulated

template <class T>
T __shfl_sync(unsigned, T value, unsigned from, unsigned width = 32) {
  using namespace quern::testing::emulated;
  return meet_warp(value, [&](auto value_in) { return value_in(lane() / width * width + from % width); });
}
template <class T>
T __shfl_up_sync(unsigned, T value, unsigned distance, unsigned width = 32) {
  using namespace quern::testing::emulated;
  return meet_warp(value,
                   [&](auto value_in) { return lane() % width >= distance ? value_in(lane() - distance) : value; });
}
template <class T>
T __shfl_xor_sync(unsigned, T value, unsigned bits) {
  using namespace quern::testing::emulated;
  return meet_warp(value, [&](auto value_in) { return value_in(lane() ^ bits); });
}
inline unsigned __ballot_sync(unsigned, bool holds) {
  return quern::testing::emulated::meet_warp(holds, [](auto value_in) {
    unsigned bits = 0;
    for (unsigned lane = 0; lane < 32; ++lane) bits |= static_cast<unsigned>(value_in(lane)) << lane;
    return bits;
  });
}
inline bool __any_sync(unsigned mask, bool holds) { return __ballot_sync(mask, holds) != 0; }
inline bool __all_sync(unsigned mask, bool holds) { return __ballot_sync(mask, holds) == 0xffffffffu; }
inline unsigned __reduce_add_sync(unsigned, unsigned value) {
  return quern::testing::emulated::reduce(value, [](unsigned a, unsigned b) { return a + b; });
}
inline unsigned __reduce_or_sync(unsigned, unsigned value) {
  return quern::testing::emulated::reduce(value, [](unsigned a, unsigned b) { return a | b; });
}
inline unsigned __reduce_max_sync(unsigned, unsigned value) {
  return quern::testing::emulated::reduce(value, [](unsigned a, unsigned b) { return std::max(a, b); });
}
inline int __reduce_max_sync(unsigned, int value) {
  return quern::testing::emulated::reduce(value, [](int a, int b) { return std::max(a, b); });
}
inline unsigned __reduce_min_sync(unsigned, unsigned value) {
  return quern::testing::emulated::reduce(value, [](unsigned a, unsigned b) { return std::min(a, b); });
}
/// Byte i of the result is byte (selector >> 4 * i & 7) of `y` and `x`, from the lowest of `x`.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
  unsigned chosen = 0;
  for (unsigned i = 0; i < 4; ++i)
    chosen |= static_cast<unsigned>(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return chosen;
}
inline void __syncwarp() { __ballot_sync(0xffffffffu, true); }
inline void __syncthreads() {
  using quern::testing::emulated::Block;
  Block::current->meet(Block::current->block());
}
inline void __threadfence() {}
/// Rises with each call.
inline long long clock64() {
  static long long cycles = 0;
  return ++cycles;
}

template <class T, class U>
T atomicAdd(T* at, U more) {
  const T before = *at;
  *at += static_cast<T>(more);
  return before;
}
template <class T, class U>
T atomicMax(T* at, U other) {
  const T before = *at;
  *at = std::max(before, static_cast<T>(other));
  return before;
}
template <class T, class U>
T atomicOr(T* at, U bits) {
  const T before = *at;
  *at |= static_cast<T>(bits);
  return before;
}
template <class T>
T __ldcg(const T* at) {
  return *at;
}
template <class T>
void __stcs(T* at, const T& value) {
  *at = value;
}

inline unsigned __popc(unsigned bits) { return static_cast<unsigned>(std::popcount(bits)); }
inline unsigned __ffs(unsigned bits) { return bits == 0 ? 0 : static_cast<unsigned>(std::countr_zero(bits)) + 1; }
inline unsigned __clz(unsigned bits) { return static_cast<unsigned>(std::countl_zero(bits)); }
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (shift & 31));
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> std::min(shift, 32u));
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(((std::uint64_t{high} << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float number) { return std::bit_cast<unsigned>(number); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline int __float_as_int(float number) { return std::bit_cast<int>(number); }
inline float __uint2float_rn(unsigned number) { return static_cast<float>(number); }
inline unsigned __float2uint_ru(float number) { return static_cast<unsigned>(std::ceil(number)); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
namespace quern::testing::emulated {
/// The smallest float that is at least the number.
inline float rounded_up(double number) {
  const auto nearest = static_cast<float>(number);
  return nearest < number ? std::nextafter(nearest, INFINITY) : nearest;
}
}  // namespace quern::testing::emulated
inline float __fadd_ru(float a, float b) { return quern::testing::emulated::rounded_up(double{a} + b); }
inline float __fmul_ru(float a, float b) { return quern::testing::emulated::rounded_up(double{a} * b); }
inline float __fdividef(float a, float b) { return a / b; }
inline bool __isGlobal(const void*) { return true; }
#if !defined(__clang__)
#define __builtin_assume(holds)
#endif
