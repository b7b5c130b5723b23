// Text edits by position (design rule 6).
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"

namespace lwb {

// Replaces [begin, end) of the original text; begin == end inserts. Insertions at one place keep
// their order.
struct Edit {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string text;
  std::string technique;  // id of the technique that wants it, for the report
  std::string why;        // one clause
};

// kInternal when two replacements overlap; the sentence names both techniques and the line.
Result<std::string> apply_edits(const std::string& original, std::vector<Edit> edits);

}  // namespace lwb
