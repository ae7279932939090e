#pragma once
#include <array>
#include <memory>
#include <string>

#include "quern/formats/exchange/inverted_file.hpp"

#include "inverted_model.hpp"

/// Foreign files in memory, written by our writers and read by our readers.
namespace quern::testing {

inline std::string content_of(const File& file) {
  std::string content(file.size(), '\0');
  file.read_at(0, {reinterpret_cast<std::uint8_t*>(content.data()), content.size()});
  return content;
}

inline std::string ciff_of(const InvertedModel& model, const std::string& folder) {
  File file = File::anonymous(folder);
  CiffWriter writer(file, folder);
  model.play(writer);
  return content_of(file);
}

inline InvertedModel read_ciff_text(const std::string& bytes) {
  InvertedModel model;
  read_ciff(*ByteSource::from_memory("test.ciff", bytes), model);
  return model;
}

/// The contents of the five files, in the order of ds2i_endings.
using Ds2iParts = std::array<std::string, 5>;

inline Ds2iParts ds2i_of(const InvertedModel& model, const std::string& folder) {
  std::vector<File> files;
  for (std::size_t i = 0; i < 5; ++i) files.push_back(File::anonymous(folder));
  Ds2iWriter writer({&files[0], &files[1], &files[2], &files[3], &files[4]}, folder);
  model.play(writer);
  Ds2iParts parts;
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = content_of(files[i]);
  return parts;
}

inline InvertedModel read_ds2i_parts(const Ds2iParts& parts) {
  std::array<std::unique_ptr<ByteSource>, 5> sources;
  for (std::size_t i = 0; i < parts.size(); ++i)
    sources[i] = ByteSource::from_memory(std::string("test") + ds2i_endings[i], parts[i]);
  InvertedModel model;
  read_ds2i({*sources[0], *sources[1], *sources[2], *sources[3], *sources[4]}, model);
  return model;
}

}  // namespace quern::testing
