// One free sentence to a request: each rule reads the words that it knows, in a fixed order, and
// what no rule has read is listed.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/request/words.h"

namespace lwb {
namespace {

using sentence::Reading;

using Rule = Result<void> (*)(Reading&);

// In the order of the table of spec section 1, with the defaults filled in.
void complete_fields(ParsedSentence& parsed) {
  const Request& request = parsed.request;
  std::vector<ParsedSentence::Field> all = {
      {"target_kernel", request.kernel, ""},
      {"optimization_goal", to_string(request.goal), ""},
      {"scope", to_string(request.scope), ""},
      {"target_gpu", to_string(request.gpu), ""},
      {"autonomy", to_string(request.autonomy), ""},
      {"max_variants", std::to_string(request.max_variants), ""},
      {"target_metric", request.target ? to_string(*request.target) : "none", ""},
      {"pull_request", request.pull_request ? "yes" : "no", ""}};
  if (request.budget_s > 0) all.push_back({"budget_s", fmt::format("{}", request.budget_s), ""});
  if (request.accept_known_failures) all.push_back({"accept_known_failures", "yes", ""});
  for (ParsedSentence::Field& field : all) {
    std::vector<std::string> words;
    for (const ParsedSentence::Field& said : parsed.fields) {
      // A regime and a pass are both parts of the scope, each said in its own place.
      const bool part = field.name == "scope" && (said.name == "pass" || said.name == "regime");
      if (said.name == field.name || part) words.push_back(said.words);
    }
    field.words = join(words, ", ");
  }
  parsed.fields = std::move(all);
}

}  // namespace

Result<ParsedSentence> parse_sentence(std::string_view text,
                                      const std::vector<std::string>& kernels,
                                      const std::string& chosen) {
  if (trim(text).empty()) {
    return fail(ErrorKind::kUsage,
                "The request sentence is empty; say which kernel to optimize, like \"optimize "
                "KERNEL for speed\".");
  }
  Reading reading = sentence::read_words(text);
  auto kernel = sentence::read_kernel(
      reading, chosen.empty() ? kernels : std::vector<std::string>{chosen});
  if (!kernel && chosen.empty()) return tl::unexpected(kernel.error());
  if (!chosen.empty()) reading.parsed.request.kernel = chosen;
  for (const Rule rule : {&sentence::read_autonomy, &sentence::read_switches}) {
    if (auto read = rule(reading); !read) return tl::unexpected(read.error());
  }
  sentence::mark_negations(reading);
  // Numbers with units before plain ones, targets before the regimes and the words that they hold.
  for (const Rule rule : {&sentence::read_gpu, &sentence::read_budget, &sentence::read_target,
                          &sentence::read_regimes, &sentence::read_pass, &sentence::read_goal}) {
    if (auto read = rule(reading); !read) return tl::unexpected(read.error());
  }
  reading.parsed.not_understood = sentence::leftovers(reading);
  complete_fields(reading.parsed);
  return std::move(reading.parsed);
}

std::string describe(const ParsedSentence& parsed) {
  std::size_t name_width = 0;
  std::size_t value_width = 0;
  for (const ParsedSentence::Field& field : parsed.fields) {
    name_width = std::max(name_width, field.name.size());
    value_width = std::max(value_width, field.value.size());
  }
  std::string table;
  for (const ParsedSentence::Field& field : parsed.fields) {
    table += fmt::format("{:<{}}  {:<{}}  {}\n", field.name, name_width, field.value, value_width,
                         field.words.empty() ? "default" : "from \"" + field.words + "\"");
  }
  if (parsed.not_understood.empty()) return table;
  std::vector<std::string> quoted;
  for (const std::string& stretch : parsed.not_understood) quoted.push_back('"' + stretch + '"');
  return table + "not understood: " + join(quoted, ", ") + "\n";
}

}  // namespace lwb
