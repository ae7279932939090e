#pragma once
#include "quern/codec/codec.hpp"

/// The code of very short posting lists, the majority in a web collection. They are stored in the lexicon itself,
/// whatever the index's codec, so that one lookup gives a term's postings too. See formats/codec/short_list.md.
namespace quern {

/// Longer lists use the index's codec.
inline constexpr std::uint32_t max_short_list = 16;

/// Appends the list: docIDs by binary interpolative coding (Moffat, Stuiver: Binary Interpolative Coding for Effective
/// Index Compression, Information Retrieval 3, 2000), frequencies by Elias gamma. Takes 1 to max_short_list postings
/// with increasing docIDs below num_documents. Returns the size; padding counts as docID bits.
CodedBits put_short_list(std::span<const docid_t> docids, std::span<const freq_t> freqs, docid_t num_documents,
                         Bytes& out);

/// Reads a list of docids.size() postings. For any bytes, docIDs increase and are below num_documents, and frequencies
/// are at least 1; bytes that end too early throw CorruptBlock.
void get_short_list(ByteView bytes, docid_t num_documents, std::span<docid_t> docids, std::span<freq_t> freqs);

}  // namespace quern
