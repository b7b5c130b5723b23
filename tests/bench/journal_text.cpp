#include "tests/bench/journal_text.h"

#include <fmt/format.h>

#include "core/base/json.h"
#include "core/run/journal.h"

namespace lwb {
namespace {

std::string call_name(int cell) {
  return fmt::format("T={} hidden_size={}", 1024 << (cell % 4), 1024 * (1 + cell / 4));
}

std::string line(long long seq, const std::string& type, const Json& data) {
  return Json{{"v", kJournalSchema},
              {"seq", seq},
              {"time", "2026-01-01T00:00:00.000Z"},
              {"type", type},
              {"data", data}}
             .dump() +
         "\n";
}

double time_of(int cell, int variant, int i) {
  return (20 + 10 * cell) / (1 + 0.002 * variant) + 0.01 * ((i * 37 + variant) % 11);
}

Json samples(int cell, int side, int measured, int round, const JournalSize& size) {
  Json us = Json::array(), wall = Json::array();
  for (int i = 0; i < size.samples; ++i) {
    us.push_back(time_of(cell, side, i));
    wall.push_back(300 + i);
  }
  return {{"measurement", fmt::format("measure v{}", measured)},
          {"batch",
           {{"call", call_name(cell)},
            {"pass", "backward"},
            {"side", fmt::format("v{}", side)},
            {"round", round},
            {"us", us},
            {"wall_us", wall},
            {"sm_mhz", Json::array()},
            {"held", true},
            {"clock", "events"},
            {"interleaved", true}}}};
}

Json record(int number, const JournalSize& size) {
  Json verdicts = Json::array(), memory = Json::array();
  for (int cell = 0; cell < size.cells; ++cell) {
    const double ratio = 1 + 0.002 * number;
    verdicts.push_back(
        {{"call", call_name(cell)},
         {"pass", "backward"},
         {"ratio", {{"ratio", ratio}, {"low", ratio - 0.01}, {"high", ratio + 0.01}}},
         {"verdict", number % 3 == 0 ? "SAME" : "FASTER"},
         {"reason", "arithmetic"},
         {"old_us", time_of(cell, 0, 0)},
         {"new_us", time_of(cell, number, 0)}});
    memory.push_back({{"call", call_name(cell)}, {"side", "v0"}, {"peak_bytes", 1e8}});
  }
  return {{"number", number},
          {"author", "catalog"},
          {"based_on", "v0"},
          {"techniques", {"loop-pipelining", "programs-per-sm"}},
          {"title", "a variant"},
          {"measured", true},
          {"decision", "ACCEPTED"},
          {"score", {{"ratio", 1 + 0.002 * number}, {"low", 1.0}, {"high", 1.5}}},
          {"verdicts", verdicts},
          {"memory", memory}};
}

Json profile(const JournalSize& size) {
  Json rows = Json::array();
  for (int cell = 0; cell < size.cells; ++cell) {
    rows.push_back({{"call", call_name(cell)},
                    {"pass", "backward"},
                    {"op_us", time_of(cell, 0, 0)},
                    {"floor_us", 8.0 + cell},
                    {"bytes", 1e7 * (cell + 1)},
                    {"share", 0.5},
                    {"bottleneck", "latency-bound"}});
  }
  return {{"roofline", {{"rows", rows}, {"diagnosis", "a diagnosis"}}}};
}

}  // namespace

std::string journal_text(const JournalSize& size) {
  long long seq = 0;
  std::string text =
      line(++seq, "run_started", {{"kernel", "k"}, {"request", {{"max_variants", size.variants}}}});
  text += line(++seq, "profile", profile(size));
  for (int variant = 1; variant <= size.variants; ++variant) {
    for (int cell = 0; cell < size.cells; ++cell) {
      text += line(++seq, "samples", samples(cell, 0, variant, 0, size));
      text += line(++seq, "samples", samples(cell, variant, variant, 0, size));
    }
    text += line(++seq, "variant", record(variant, size));
  }
  return text + line(++seq, "run_finished", {{"outcome", "NO_WINNER"}, {"sentence", "the end"}});
}

std::string sample_line(long long seq, int number, int variant, const JournalSize& size) {
  const int cell = number % size.cells;
  const int side = (number / size.cells) % 2 == 0 ? 0 : variant;
  return line(seq, "samples", samples(cell, side, variant, number / (2 * size.cells), size));
}

}  // namespace lwb
