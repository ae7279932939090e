#pragma once
#include "quern/api/searcher.hpp"
#include "quern/core/error.hpp"
#include "quern/gpu/failover.hpp"

namespace quern::api {

/// Throws InvalidArgument for a value that is no device.
inline QueryDevice query_device(Device device) {
  switch (device) {
    case Device::cpu:
      return QueryDevice::cpu;
    case Device::gpu:
      return QueryDevice::gpu;
    case Device::automatic:
      return QueryDevice::automatic;
  }
  throw quern::InvalidArgument("unknown device");
}

}  // namespace quern::api
