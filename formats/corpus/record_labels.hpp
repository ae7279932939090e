#pragma once
#include <string>

#include "quern/io/checksum.hpp"

namespace quern {

/// What a record's headers say of it, for those who choose among records before they are parsed. Names are hashed; a
/// hash of zeros stands for none.
struct RecordLabels {
  bool may_be_document = true;  ///< unless it can't be read as one, it is one
  std::string language;         ///< ISO 639-3: that of the record, or of the one that it describes; empty: not said
  Hash128 payload;              ///< the digest of its content without headers
  Hash128 id;                   ///< its own
  Hash128 describes;            ///< the record that its language is of; none: this one
};

}  // namespace quern
