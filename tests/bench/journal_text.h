// Journals of any size for the benchmarks: events as a run writes them, with arithmetic for times.
#pragma once

#include <string>

namespace lwb {

struct JournalSize {
  int variants = 200;
  int cells = 12;    // calls, each with one pass
  int samples = 20;  // of each batch
};

// A finished run: one batch of the original and one of the variant for each cell and variant.
std::string journal_text(const JournalSize& size);
// One line more: a batch of a cell in round `number`.
std::string sample_line(long long seq, int number, int variant, const JournalSize& size);

}  // namespace lwb
