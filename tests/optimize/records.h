// Records for the tests of core/optimize.
#pragma once

#include <string>

#include "core/optimize/guardrails.h"

namespace lwb::testing_records {

inline CellVerdict cell(const std::string& call, Pass pass, double old_us, double ratio,
                        VerdictKind kind, double half = 0.003) {
  CellVerdict row;
  row.call = call;
  row.pass = pass;
  row.ratio.ratio = ratio;
  row.ratio.low = ratio * (1 - half);
  row.ratio.high = ratio * (1 + half);
  row.verdict.kind = kind;
  row.old_us = old_us;
  row.new_us = old_us / ratio;
  row.clock = "events";
  return row;
}

inline VariantRecord record(int number, std::vector<std::string> techniques, Decision decision,
                            double score) {
  VariantRecord made;
  made.number = number;
  made.techniques = std::move(techniques);
  made.decision = decision;
  made.measured = true;
  made.score = {score, score - 0.003, score + 0.003};
  return made;
}

}  // namespace lwb::testing_records
