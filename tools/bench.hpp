#pragma once
#include <CLI/CLI.hpp>

#include <string>

#include "command.hpp"

/// What `quern bench` measures. Each file bench_NAME.cpp adds one of its subcommands.
namespace quern {
class IndexReader;
}

namespace quern::tools {

void add_codec_bench(CLI::App& bench);
void add_query_bench(CLI::App& bench);
void add_intersect_bench(CLI::App& bench);
void add_lists_bench(CLI::App& bench);
void add_termination_bench(CLI::App& bench);
void add_pagerank_bench(CLI::App& bench);
void add_gpu_bench(CLI::App& bench);
void add_gpu_decode_bench(CLI::App& bench);
void add_gpu_stream_bench(CLI::App& bench);
void add_gpu_intersect_bench(CLI::App& bench);
void add_merge_find_bench(CLI::App& bench);

/// --repeats: of how many measurements a median is taken; `help` says of what.
void add_repeats_option(CLI::App& command, unsigned& repeats, const char* help);

/// Machine, build, date and command line, as every benchmark's JSON has them under "environment".
Json environment_json();
/// One line of them, for people.
std::string environment_line();
/// What an index is: counts, codec, order and bits a posting.
Json index_json(const IndexReader& index);
/// As tables show rates.
inline double billions(double rate) { return rate / 1e9; }

}  // namespace quern::tools
