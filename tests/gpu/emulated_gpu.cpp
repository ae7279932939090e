#include "gpu/emulated_gpu.hpp"

#include <numeric>
#include <optional>
#include <random>

namespace quern::testing::emulated {
namespace {

/// Draws orders; empty: order by number.
std::optional<std::mt19937_64> orders;

/// The numbers below `count`, in this turn's order.
std::vector<unsigned> order_of(unsigned count) {
  std::vector<unsigned> order(count);
  std::iota(order.begin(), order.end(), 0u);
  if (orders) std::shuffle(order.begin(), order.end(), *orders);
  return order;
}

/// Leaves stacks alone: they belong to Block, not to the fibers.
struct KeptStacks {
  boost::context::stack_context allocate() { throw std::logic_error("stacks of an emulated GPU are there already"); }
  void deallocate(boost::context::stack_context&) noexcept {}
};

}  // namespace

void set_order(std::uint64_t seed) {
  orders.reset();
  if (seed != 0) orders.emplace(seed);
}

Block* Block::current = nullptr;

std::vector<std::unique_ptr<std::uint8_t[]>>& Block::stacks() {
  static std::vector<std::unique_ptr<std::uint8_t[]>> all;
  return all;
}

Meeting& Block::warp() { return warps_[threadIdx.x / 32]; }

boost::context::fiber Block::work(boost::context::fiber&& scheduler) {
  scheduler_ = std::move(scheduler);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &scheduler_stack_, &scheduler_size_);
#endif
  kernel_();
  running_->ended = true;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(nullptr, scheduler_stack_, scheduler_size_);
#endif
  return std::move(scheduler_);
}

boost::context::stack_context Block::memory_of(std::uint8_t* stack) {
  boost::context::stack_context memory;
  memory.size = stack_bytes;
  memory.sp = stack + stack_bytes;
  return memory;
}

void Block::yield() {
  [[maybe_unused]] Fiber& fiber = *running_;
  const unsigned thread = threadIdx.x;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&fiber.shadow, scheduler_stack_, scheduler_size_);
#endif
  scheduler_ = std::move(scheduler_).resume();
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fiber.shadow, &scheduler_stack_, &scheduler_size_);
#endif
  threadIdx.x = thread;
}

void Block::switch_to(Fiber& fiber) {
  running_ = &fiber;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&scheduler_shadow_, fiber.stack, stack_bytes);
#endif
  fiber.context = std::move(fiber.context).resume();
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(scheduler_shadow_, nullptr, nullptr);
#endif
}

void Block::run() {
  current = this;
  for (const auto& fiber : fibers_) {
    const boost::context::stack_context memory = memory_of(fiber->stack);
    fiber->context = boost::context::fiber(
        std::allocator_arg, boost::context::preallocated(memory.sp, memory.size, memory), KeptStacks(),
        [this](boost::context::fiber&& scheduler) { return work(std::move(scheduler)); });
  }
  // If all threads have had a turn, and none met others or ended, they are deadlocked.
  const auto meetings = [this] {
    std::uint64_t sum = block_.generation();
    for (const Meeting& warp : warps_) sum += warp.generation();
    return sum;
  };
  for (std::size_t left = fibers_.size(); left > 0;) {
    const std::uint64_t before = meetings();
    const std::size_t left_before = left;
    for (const unsigned thread : order_of(static_cast<unsigned>(fibers_.size()))) {
      Fiber& fiber = *fibers_[thread];
      if (fiber.ended) continue;
      threadIdx.x = thread;
      switch_to(fiber);
      left -= fiber.ended;
    }
    if (left == left_before && meetings() == before) {
      // Leaks the fibers, since a failed test need not unwind threads in the middle of a kernel.
      for (const auto& fiber : fibers_) new boost::context::fiber(std::move(fiber->context));
      throw std::logic_error("threads of an emulated GPU wait for others that never come");
    }
  }
  current = nullptr;
}

void run(unsigned blocks, unsigned threads, const std::function<void()>& kernel) {
  blockDim.x = threads;
  gridDim.x = blocks;
  for (const unsigned block : order_of(blocks)) {
    blockIdx.x = block;
    Block(threads, kernel).run();
  }
}

}  // namespace quern::testing::emulated
