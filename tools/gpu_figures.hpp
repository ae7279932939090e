#pragma once
#include "quern/gpu/engine/gpu_statistics.hpp"

#include "command.hpp"

/// Options and figures of GPUs that several commands have.
namespace quern::tools {

/// --gpu: the first one's number.
void add_gpu_option(CLI::App& command, unsigned& gpu);
/// A validator that takes numbers of GPUs, and "all" as 0.
CLI::Validator gpus_validator();

/// Counts and times. Of the times also the shares of the three stages of Huang et al. 4.2, which are those of kernels:
/// initialization finds each docID range's postings (here: decodes lists to entries), scoring goes through them to each
/// range's candidates, merging makes the k results of them.
Json gpu_json(const GpuStatistics& statistics);

}  // namespace quern::tools
