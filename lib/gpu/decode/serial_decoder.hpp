#pragma once
#include "quern/gpu/decode/serial_newpfd.hpp"
#include "quern/gpu/decode/serial_rice.hpp"
#include "quern/gpu/decode/serial_rpfd.hpp"

/// The serial decoder of each coding: a block by one thread.
namespace quern::gpu {

template <Coding coding>
struct SerialDecoderOf;
template <>
struct SerialDecoderOf<Coding::newpfd> {
  using Type = SerialNewPfd;
};
template <>
struct SerialDecoderOf<Coding::rpfd> {
  using Type = SerialRpfd;
};
template <>
struct SerialDecoderOf<Coding::rice> {
  using Type = SerialRice;
};

/// Whether a thread can read a single frequency of any block, without the tables and buffers of SerialContext.
template <Coding coding>
inline constexpr bool has_frequencies_apart = coding == Coding::newpfd;

}  // namespace quern::gpu
