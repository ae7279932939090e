#include "gpu/emulated_gpu.hpp"

#include <numeric>
#include <optional>
#include <random>

namespace quern::testing::emulated {
namespace {

/// Draws orders; none: by number.
std::optional<std::mt19937_64> orders;

/// The numbers below `count` in the order of this turn.
std::vector<unsigned> order_of(unsigned count) {
  std::vector<unsigned> order(count);
  std::iota(order.begin(), order.end(), 0u);
  if (orders) std::shuffle(order.begin(), order.end(), *orders);
  return order;
}

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

void Block::enter() {
  Block& block = *current;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &block.scheduler_stack_, &block.scheduler_size_);
#endif
  block.kernel_();
  block.running_->ended = true;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(nullptr, block.scheduler_stack_, block.scheduler_size_);
#endif
  swapcontext(&block.running_->context, &block.scheduler_);
}

void Block::yield() {
  Fiber& fiber = *running_;
  const unsigned thread = threadIdx.x;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&fiber.shadow, scheduler_stack_, scheduler_size_);
#endif
  swapcontext(&fiber.context, &scheduler_);
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
  swapcontext(&scheduler_, &fiber.context);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(scheduler_shadow_, nullptr, nullptr);
#endif
}

void Block::run() {
  current = this;
  for (const auto& fiber : fibers_) {
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = stack_bytes;
    fiber->context.uc_link = nullptr;
    makecontext(&fiber->context, &Block::enter, 0);
  }
  // Whoever waits without end is turned to as often as everybody else: more turns than that have no use.
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
    if (left == left_before && meetings() == before)
      throw std::logic_error("threads of an emulated GPU wait for others that never come");
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
