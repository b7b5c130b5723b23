#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/base/text.h"
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

// "3.10.0+git1234" → 3, 10, 0.
std::vector<int> numbers_of(const std::string& version) {
  std::vector<int> numbers;
  for (const std::string& part : split(version.substr(0, version.find('+')), '.')) {
    numbers.push_back(std::atoi(part.c_str()));
  }
  return numbers;
}

bool is_older(const std::string& version, const std::string& least) {
  return !version.empty() && numbers_of(version) < numbers_of(least);
}

}  // namespace

Applicability applicability_of(const Technique& technique, const TechniqueContext& context) {
  if (is_older(context.triton_version, technique.min_triton())) {
    return {{},
            {fmt::format("Triton {}, which is older than {}", context.triton_version,
                         technique.min_triton())}};
  }
  return technique.applicability(context);
}

const std::vector<std::unique_ptr<Technique>>& catalog() {
  static const std::vector<std::unique_ptr<Technique>> techniques = all_techniques();
  return techniques;
}

const Technique* find_technique(const std::string& id) {
  const auto& all = catalog();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& t) { return t->id() == id; });
  return found == all.end() ? nullptr : found->get();
}

}  // namespace lwb
