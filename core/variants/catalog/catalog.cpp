#include <algorithm>

#include "core/variants/catalog/techniques.h"

namespace lwb {
namespace {

// Round-robin rows come before loop pipelining: both add arguments to range(), positional first.
std::vector<std::unique_ptr<Technique>> all_techniques() {
  std::vector<std::unique_ptr<Technique>> result;
  result.push_back(make_round_robin_rows());
  result.push_back(make_loop_pipelining());
  result.push_back(make_programs_per_sm());
  result.push_back(make_uninitialized_buffers());
  return result;
}

}  // namespace

const std::vector<std::unique_ptr<Technique>>& catalog() {
  static const std::vector<std::unique_ptr<Technique>> techniques = all_techniques();
  return techniques;
}

const Technique* find_technique(const std::string& id) {
  const auto& all = catalog();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& t) { return t->id() == id; });
  return found == all.end() ? nullptr : found->get();
}

}  // namespace lwb
