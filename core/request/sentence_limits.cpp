// Limits in words: the budget of variants and of GPU time, and the target metric.
#include <fmt/format.h>

#include <cmath>

#include "core/request/words.h"

namespace lwb::sentence {
namespace {

bool variants_at(const Reading& reading, std::size_t i) {
  return reading.is(i, {"variants", "variant", "versions", "version", "attempts", "attempt",
                        "tries", "candidates", "candidate", "experiments", "trials", "iterations"});
}

// The words before `i` that say how its number bounds: "at most", "only", "budget of".
struct Lead {
  std::size_t begin;
  Comparison comparison;
};

Lead lead_before(const Reading& reading, std::size_t i) {
  for (std::size_t back = 5; back > 0; --back) {
    if (back > i) continue;
    const auto comparison = comparison_at(reading, i - back);
    if (comparison && comparison->end == i) return {i - back, comparison->comparison};
  }
  std::size_t begin = i;
  while (begin > 0 && reading.is(begin - 1, {"only", "budget", "of", "try", "a", "just"})) --begin;
  return {begin, Comparison::kLessEqual};
}

Result<void> note_variants(Reading& reading, double value, std::size_t begin, std::size_t end) {
  const bool negative = begin > 0 && reading.words[begin - 1].text == "-" &&
                        reading.words[begin - 1].end == reading.words[begin].begin;
  if (negative || value < 1 || value != std::floor(value) || value > 1e6) {
    return fail(ErrorKind::kUsage,
                fmt::format("The sentence's budget \"{}\" is not understood; give a whole number "
                            "of variants, 1 or more.",
                            reading.text(negative ? begin - 1 : begin, end)));
  }
  auto noted = note(reading, "max_variants", std::to_string(static_cast<int>(value)), begin, end);
  if (!noted) return noted;
  reading.parsed.request.max_variants = static_cast<int>(value);
  return {};
}

// "max_variants=5", "variants: 5", "max variants 5": where the count starts; 0 when it is not one.
std::size_t key_at(const Reading& reading, std::size_t i) {
  std::size_t next = 0;
  for (const char* words : {"max_variants", "max variants", "maximum variants",
                            "maximum number of variants", "number of variants", "variants"}) {
    if (const std::size_t length = reading.phrase(i, words)) {
      next = i + length;
      break;
    }
  }
  if (next == 0) return 0;
  while (reading.is(next, {"=", "of", "is", "to"}) ||
         (next < reading.size() && reading.words[next].text == ":")) {
    ++next;
  }
  return next;
}

Result<bool> read_variants_at(Reading& reading, std::size_t i) {
  if (const std::size_t at = key_at(reading, i)) {
    const auto count = count_at(reading, at);
    if (count && !variants_at(reading, count->end)) {
      if (auto noted = note_variants(reading, count->value, i, count->end); !noted) {
        return tl::unexpected(noted.error());
      }
      return true;
    }
  }
  const auto count = count_at(reading, i);
  if (!count) return false;
  std::size_t end = count->end;
  while (reading.is(end, {"different", "optimization", "optimisation", "optimized", "kernel", "new",
                          "more", "of", "code"})) {
    ++end;
  }
  if (!variants_at(reading, end)) return false;
  const Lead lead = lead_before(reading, i);
  // "at least 5 variants" is no upper limit: it stays among what is not understood.
  if (lead.comparison == Comparison::kGreaterEqual || lead.comparison == Comparison::kGreater) {
    return false;
  }
  const double value = lead.comparison == Comparison::kLess ? count->value - 1 : count->value;
  if (auto noted = note_variants(reading, value, lead.begin, end + 1); !noted) {
    return tl::unexpected(noted.error());
  }
  return true;
}

// "10 minutes", "a GPU budget of 300 s", "60 s of GPU time". Seconds alone may be a target.
Result<bool> read_time_budget_at(Reading& reading, std::size_t i) {
  const auto count = count_at(reading, i);
  const auto number = number_at(reading, i);
  std::size_t end = count ? count->end : number ? number->end : 0;
  if (end == 0) return false;
  double value = number ? number->value : count->value;
  const bool own = number && !number->unit.empty();
  const std::string unit = own ? number->unit : reading.lower(end);
  if (own) end = number->end;
  if (!own) ++end;
  double factor = 0;
  if (unit == "min" || unit == "mins" || unit == "minute" || unit == "minutes") factor = 60;
  if (unit == "hour" || unit == "hours" || unit == "h") factor = 3600;
  const bool seconds = unit == "s" || unit == "sec" || unit == "second" || unit == "seconds";
  std::size_t tail = end;
  if (reading.is(tail, {"of"})) ++tail;
  const std::size_t gpu_time = reading.phrase(tail, "gpu time");
  const Lead lead = lead_before(reading, i);
  bool budget = gpu_time > 0;
  for (std::size_t k = lead.begin > 3 ? lead.begin - 3 : 0; k < i; ++k) {
    if (reading.is(k, {"budget", "spend", "spending", "budget_s"})) budget = true;
  }
  if (reading.is(tail, {"budget"})) budget = true;
  if (seconds && budget) factor = 1;
  if (factor == 0) return false;
  if (gpu_time > 0) end = tail + gpu_time;
  value *= factor;
  if (value <= 0) {
    return fail(ErrorKind::kUsage,
                fmt::format("The sentence's time budget \"{}\" is not above 0; give a time like "
                            "\"10 minutes\".",
                            reading.text(i, end)));
  }
  auto noted = note(reading, "budget_s", fmt::format("{}", value), lead.begin, end);
  if (!noted) return tl::unexpected(noted.error());
  reading.parsed.request.budget_s = value;
  return true;
}

}  // namespace

Result<void> read_budget(Reading& reading) {
  for (std::size_t i = 0; i < reading.size(); ++i) {
    auto variants = read_variants_at(reading, i);
    if (!variants) return tl::unexpected(variants.error());
    if (*variants) continue;
    if (auto time = read_time_budget_at(reading, i); !time) return tl::unexpected(time.error());
  }
  return {};
}

namespace {

// What stands before the bound: which pass or memory, and where it starts.
struct Subject {
  std::optional<Pass> pass;
  bool memory = false;
  bool of_kernel = false;  // "KERNEL backward under …": the pass is the scope, too
  std::size_t begin = 0;
};

std::optional<Pass> pass_word(const Reading& reading, std::size_t i) {
  if (reading.is(i, {"forward", "fwd"})) return Pass::kForward;
  if (reading.is(i, {"backward", "bwd"})) return Pass::kBackward;
  if (reading.is(i, {"full"})) return Pass::kFull;
  return std::nullopt;
}

Subject subject_before(const Reading& reading, std::size_t bound) {
  Subject subject;
  std::size_t k = bound;
  subject.begin = bound;
  while (k > 0 &&
         reading.is(k - 1, {"time",  "latency", "runtime",     "pass",      "usage", "use",   "is",
                            "stays", "stay",    "be",          "should",    "must",  "to",    "op",
                            "gpu",   "the",     "consumption", "footprint", "get",   "bring", "run",
                            "runs",  "takes",   "take",        "down",      "at",    "times", "it",
                            "kept",  "keep",    "and"})) {
    --k;
    if (reading.is(k, {"time", "latency", "runtime", "op", "usage", "footprint", "times"})) {
      subject.begin = k;
    }
  }
  if (k == 0) return subject;
  if (reading.is(k - 1, {"memory", "mem", "vram"})) {
    subject.memory = true;
    subject.begin = k > 1 && reading.is(k - 2, {"peak"}) ? k - 2 : k - 1;
    return subject;
  }
  subject.pass = pass_word(reading, k - 1);
  if (!subject.pass) return subject;
  subject.begin = k - 1;
  std::size_t other = k - 1;
  while (other > 0 && reading.is(other - 1, {"and", "plus", "+"})) --other;
  const auto first = other > 0 ? pass_word(reading, other - 1) : std::nullopt;
  if (first && *first != *subject.pass) {
    subject.pass = Pass::kFull;
    subject.begin = other - 1;
  }
  subject.of_kernel = subject.begin > 0 && reading.words[subject.begin - 1].kernel;
  return subject;
}

// Where the bound before word `i` starts, and which it is.
std::optional<Lead> bound_before(const Reading& reading, std::size_t i) {
  if (i == 0) return std::nullopt;
  const Lead lead = lead_before(reading, i);
  if (lead.begin < i && comparison_at(reading, lead.begin)) return lead;
  for (const char* words : {"down to", "to", "in"}) {
    const std::size_t length = words[0] == 'd' ? 2 : 1;
    if (i >= length && reading.phrase(i - length, words) == length) {
      return Lead{i - length, Comparison::kLessEqual};
    }
  }
  std::size_t k = i;
  while (k > 0 && (reading.is(k - 1, {"of", "is", "="}) || reading.words[k - 1].text == ":")) --k;
  if (k > 0 && reading.is(k - 1, {"target", "target_metric", "metric"})) {
    return Lead{k - 1, Comparison::kLessEqual};
  }
  return std::nullopt;
}

// The conditions that follow: "at T=8192 and hidden_size=4096".
Result<std::size_t> take_following(const Reading& reading, std::size_t end, TargetMetric& target) {
  std::size_t next = end;
  bool first = true;
  for (;;) {
    std::size_t at = next;
    if (reading.is(at, {"at", "for", "when", "with", "where", "if", "on", "in"})) ++at;
    if (!first && at == next && reading.is(at, {"and"})) {
      ++at;
      if (reading.is(at, {"at", "with"})) ++at;
    }
    // "at hidden_size=4096, T=8192": after a comma a plain equality still belongs to it.
    bool comma = false;
    if (!first && at == next && at < reading.size() && reading.words[at].text == ",") {
      comma = true;
      ++at;
    }
    if (at == next) return next;
    while (reading.is(at, {"the", "a", "all"})) ++at;
    auto found = conditions_at(reading, at);
    if (!found) return tl::unexpected(found.error());
    if (!*found) return next;
    if (comma && (*found)->conditions.front().comparison != Comparison::kEqual) return next;
    target.conditions.insert(target.conditions.end(), (*found)->conditions.begin(),
                             (*found)->conditions.end());
    next = (*found)->end;
    first = false;
  }
}

// "at T=8192, forward under 0.1 ms": an "at" just before the target belongs to it.
Result<std::size_t> take_leading(const Reading& reading, std::size_t begin, TargetMetric& target) {
  for (std::size_t back = 1; back <= 12 && back <= begin; ++back) {
    const std::size_t at = begin - back;
    if (!reading.is(at, {"at"})) continue;
    auto found = conditions_at(reading, at + 1);
    if (!found) return tl::unexpected(found.error());
    if (!*found) return begin;
    std::size_t end = (*found)->end;
    while (end < begin && (reading.words[end].text == "," ||
                           reading.is(end, {"the", "get", "be", "it", "should", "must", "run"}))) {
      ++end;
    }
    if (end != begin) return begin;
    target.conditions = (*found)->conditions;
    return at;
  }
  return begin;
}

Result<void> note_target(Reading& reading, const TargetMetric& target, const Subject& subject,
                         std::size_t begin, std::size_t end) {
  if (const std::string both = grammar::contradiction(target.conditions); !both.empty()) {
    return fail(ErrorKind::kUsage,
                fmt::format("The target \"{}\" asks for {}, which no number meets; drop one.",
                            reading.text(begin, end), both));
  }
  const std::string words = reading.text(begin, end);
  if (auto noted = note(reading, "target_metric", to_string(target), begin, end); !noted) {
    return noted;
  }
  if (subject.pass) reading.parsed.fields.push_back({"target_pass", "", words});
  if (subject.of_kernel && *subject.pass != Pass::kFull) {
    reading.parsed.fields.push_back(
        {"pass", to_string(*subject.pass), reading.text(subject.begin, subject.begin + 1)});
    reading.parsed.request.scope.pass = subject.pass;
  }
  reading.parsed.request.target = target;
  return {};
}

}  // namespace

Result<void> read_target(Reading& reading) {
  for (std::size_t i = 0; i < reading.size(); ++i) {
    const auto number = number_at(reading, i);
    const auto unit = number ? grammar::unit_of(number->unit) : std::nullopt;
    if (!unit) continue;
    const auto bound = bound_before(reading, i);
    if (!bound) continue;  // "0.3 ms" of nothing: left over
    const Subject subject = subject_before(reading, bound->begin);
    TargetMetric target;
    target.quantity = unit->quantity;
    target.pass = subject.pass.value_or(Pass::kFull);
    target.limit = number->value * unit->factor;
    const bool memory = unit->quantity == TargetMetric::Quantity::kMemory;
    const bool upper =
        bound->comparison == Comparison::kLess || bound->comparison == Comparison::kLessEqual;
    if (!upper || target.limit <= 0 || (memory && subject.pass) || (!memory && subject.memory)) {
      return fail(ErrorKind::kUsage,
                  grammar::malformed_target(reading.text(subject.begin, number->end)));
    }
    auto end = take_following(reading, number->end, target);
    if (!end) return tl::unexpected(end.error());
    auto begin = Result<std::size_t>(subject.begin);
    if (target.conditions.empty()) begin = take_leading(reading, subject.begin, target);
    if (!begin) return tl::unexpected(begin.error());
    if (auto noted = note_target(reading, target, subject, *begin, *end); !noted) return noted;
  }
  return {};
}

}  // namespace lwb::sentence
