#include "quern/lab/gpu/energy_meter.hpp"

#include <dlfcn.h>

namespace quern {

struct EnergyMeter::Library {
  // From nvml.h, for the functions called here.
  using NvmlDevice = void*;
  static constexpr int nvml_success = 0;

  ~Library() {
    if (shut_down) shut_down();
    if (handle) dlclose(handle);
  }

  template <class Function>
  bool find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    return function != nullptr;
  }

  /// False if the library is missing, too old or unusable.
  bool open() {
    handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*start)() = nullptr;
    if (!handle || !find(start, "nvmlInit_v2") || !find(device_of, "nvmlDeviceGetHandleByPciBusId_v2") ||
        !find(energy_of, "nvmlDeviceGetTotalEnergyConsumption") || start() != nvml_success)
      return false;
    return find(shut_down, "nvmlShutdown");
  }

  void* handle = nullptr;
  int (*device_of)(const char* bus_id, NvmlDevice* device) = nullptr;
  int (*energy_of)(NvmlDevice device, unsigned long long* millijoules) = nullptr;
  int (*shut_down)() = nullptr;
  std::vector<NvmlDevice> devices;
};

EnergyMeter::EnergyMeter(std::span<const GpuInfo> gpus) : library_(std::make_unique<Library>()) {
  if (!library_->open()) return;
  for (const GpuInfo& gpu : gpus) {
    Library::NvmlDevice device = nullptr;
    if (library_->device_of(gpu.pci_bus_id.c_str(), &device) != Library::nvml_success) return;
    library_->devices.push_back(device);
  }
}

EnergyMeter::~EnergyMeter() = default;

std::optional<double> EnergyMeter::joules(std::size_t gpus) const {
  if (gpus == 0 || gpus > library_->devices.size()) return std::nullopt;
  double sum = 0;
  for (std::size_t i = 0; i < gpus; ++i) {
    unsigned long long millijoules = 0;
    if (library_->energy_of(library_->devices[i], &millijoules) != Library::nvml_success) return std::nullopt;
    sum += 1e-3 * static_cast<double>(millijoules);
  }
  return sum;
}

}  // namespace quern
