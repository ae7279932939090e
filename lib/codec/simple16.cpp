#include "quern/codec/simple16.hpp"

#include "quern/codec/bit_packing.hpp"
#include "quern/core/error.hpp"

namespace quern {

std::uint32_t Simple16Reader::next() {
  if (values_left_ == 0 && runs_left_ > 0 && run_[1].count > 0) {
    values_left_ = (++run_)->count;
    --runs_left_;
  } else if (values_left_ == 0) {
    if (words_ == from_.size()) throw CorruptBlock("a block's Simple16 words end too early");
    bits_ = from_[words_++];
    run_ = simple16::ways[bits_ >> 28].data();
    runs_left_ = static_cast<unsigned>(simple16::ways[0].size()) - 1;
    values_left_ = run_->count;
  }
  const std::uint32_t value = bits_ & low_mask(run_->width);
  bits_ >>= run_->width;
  --values_left_;
  return value;
}

}  // namespace quern
