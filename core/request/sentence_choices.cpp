// Autonomy, pull request, pass and goal: fields whose values are words.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/text.h"
#include "core/request/words.h"

namespace lwb::sentence {
namespace {

struct Phrase {
  const char* words;
  bool value;
};

// true: autonomous. Longer phrases stand before those that they contain.
constexpr std::array<Phrase, 56> kAutonomy{{
    {"do not want to be asked", true},
    {"dont want to be asked", true},
    {"without asking me anything", true},
    {"without asking me", true},
    {"without asking anything", true},
    {"without asking", true},
    {"without any questions", true},
    {"without questions", true},
    {"without any interaction", true},
    {"without interaction", true},
    {"without interruption", true},
    {"without any confirmation", true},
    {"without confirmation", true},
    {"without any checkpoints", true},
    {"without checkpoints", true},
    {"without approval", true},
    {"without my approval", true},
    {"without waiting for me", true},
    {"without supervision", true},
    {"dont ask me anything", true},
    {"dont ask me", true},
    {"dont ask anything", true},
    {"dont ask", true},
    {"do not ask me", true},
    {"do not ask", true},
    {"never ask me", true},
    {"never ask", true},
    {"no questions asked", true},
    {"no questions", true},
    {"no checkpoints", true},
    {"no confirmation", true},
    {"end to end", true},
    {"on your own", true},
    {"by yourself", true},
    {"hands off", true},
    {"non interactively", true},
    {"non interactive", true},
    {"noninteractive", true},
    {"just optimize", true},
    {"just optimise", true},
    {"just run it", true},
    {"just do it", true},
    {"autonomously", true},
    {"autonomous", true},
    {"automatically", true},
    {"unattended", true},
    {"interactively", false},
    {"interactive", false},
    {"with checkpoints", false},
    {"step by step", false},
    {"ask me before", false},
    {"ask me", false},
    {"ask before", false},
    {"ask first", false},
    {"let me approve", false},
    {"check with me", false},
}};

// true: open one.
constexpr std::array<Phrase, 34> kPullRequest{{
    {"dont open a pull request", false},
    {"dont open a pr", false},
    {"dont create a pull request", false},
    {"dont create a pr", false},
    {"dont make a pr", false},
    {"dont send a pr", false},
    {"do not open a pull request", false},
    {"do not open a pr", false},
    {"do not create a pull request", false},
    {"do not create a pr", false},
    {"without opening a pull request", false},
    {"without opening a pr", false},
    {"without creating a pr", false},
    {"without a pull request", false},
    {"without a pr", false},
    {"without pull request", false},
    {"without pr", false},
    {"skip the pull request", false},
    {"skip the pr", false},
    {"skip pr", false},
    {"no pull requests", false},
    {"no pull request", false},
    {"no prs", false},
    {"no pr", false},
    {"open a pull request", true},
    {"open a pr", true},
    {"open pr", true},
    {"create a pull request", true},
    {"create a pr", true},
    {"make a pr", true},
    {"with a pull request", true},
    {"with a pr", true},
    {"and a pull request", true},
    {"and a pr", true},
}};

// "not autonomously", "don't run it autonomously", "never be autonomous".
std::optional<std::size_t> negation_before(const Reading& reading, std::size_t i) {
  for (std::size_t back = 1; back <= 4 && back <= i; ++back) {
    const std::size_t k = i - back;
    if (reading.words[k].separator) return std::nullopt;
    const std::string& word = reading.words[k].lower;
    if (word == "not" || word == "dont" || word == "never" || word == "no" || word == "non") {
      return k;
    }
    static const std::array<const char*, 11> between{
        "run", "be", "do", "it", "this", "too", "in", "optimize", "optimise", "work", "fully"};
    if (reading.words[k].used) continue;
    if (std::find(between.begin(), between.end(), word) == between.end()) return std::nullopt;
  }
  return std::nullopt;
}

std::string two_wishes(const char* field, const Reading& reading, std::size_t begin,
                       std::size_t end) {
  std::string before;
  for (const auto& known : reading.parsed.fields) {
    if (known.name == field) before = known.words;
  }
  return fmt::format("{} and {}", before, reading.text(begin, end));
}

}  // namespace

Result<void> read_autonomy(Reading& reading) {
  for (std::size_t i = 0; i < reading.size(); ++i) {
    for (const Phrase& phrase : kAutonomy) {
      const std::size_t length = reading.phrase(i, phrase.words);
      if (length == 0) continue;
      const auto negation = negation_before(reading, i);
      const bool autonomous = phrase.value != negation.has_value();
      auto noted = note(reading, "autonomy", autonomous ? "autonomous" : "interactive",
                        negation.value_or(i), i + length);
      if (!noted) return noted;
      reading.parsed.request.autonomy = autonomous ? Autonomy::kAutonomous : Autonomy::kInteractive;
      break;
    }
  }
  return {};
}

Result<void> read_switches(Reading& reading) {
  for (std::size_t i = 0; i < reading.size(); ++i) {
    for (const Phrase& phrase : kPullRequest) {
      const std::size_t length = reading.phrase(i, phrase.words);
      if (length == 0) continue;
      auto noted = note(reading, "pull_request", phrase.value ? "yes" : "no", i, i + length);
      if (!noted) return noted;
      reading.parsed.request.pull_request = phrase.value;
      break;
    }
    for (const char* words : {"accept known failures", "accepting known failures"}) {
      const std::size_t length = reading.phrase(i, words);
      if (length == 0) continue;
      if (auto noted = note(reading, "accept_known_failures", "yes", i, i + length); !noted) {
        return noted;
      }
      reading.parsed.request.accept_known_failures = true;
    }
  }
  return {};
}

// "without using more memory", "don't slow the forward", "not the backward": words in such a
// stretch say the opposite of what they name, so no rule may read them. It ends at a separator, at
// "but" or "and", or where the next word that is understood starts.
void mark_negations(Reading& reading) {
  for (std::size_t i = 0; i < reading.size(); ++i) {
    if (!reading.is(i, {"without", "dont", "not", "never", "avoid", "except", "excluding", "cannot",
                        "cant", "ignore", "ignoring", "unless", "leave", "leaving"})) {
      continue;
    }
    // "not more than", "not above" are comparisons.
    if (comparison_at(reading, i)) continue;
    std::size_t end = i;
    while (reading.free(end) && (end == i || !reading.is(end, {"but", "and", "at", "on", "for"}))) {
      ++end;
    }
    for (std::size_t k = i; k < end; ++k) reading.words[k].negated = true;
    i = end > i ? end - 1 : i;
  }
}

namespace {

std::optional<Pass> pass_at(const Reading& reading, std::size_t i) {
  if (reading.is(i, {"forward", "forwards", "fwd"})) return Pass::kForward;
  if (reading.is(i, {"backward", "backwards", "bwd"})) return Pass::kBackward;
  return std::nullopt;
}

std::size_t both_passes_at(const Reading& reading, std::size_t i) {
  for (const char* words : {"both passes", "full pass", "all passes", "general", "whole kernel",
                            "entire kernel", "everything"}) {
    if (const std::size_t length = reading.phrase(i, words)) return length;
  }
  if (!pass_at(reading, i)) return 0;
  std::size_t next = i + 1;
  while (reading.is(next, {"and", "plus", "+", "pass", "the"})) ++next;
  const auto other = pass_at(reading, next);
  if (!other || *other == *pass_at(reading, i)) return 0;
  return next + 1 - i;
}

}  // namespace

Result<void> read_pass(Reading& reading) {
  for (std::size_t i = 0; i < reading.size(); ++i) {
    if (const std::size_t length = both_passes_at(reading, i)) {
      if (auto noted = note(reading, "pass", "general", i, i + length); !noted) return noted;
      reading.parsed.request.scope.pass.reset();
      continue;
    }
    const auto pass = pass_at(reading, i);
    if (!pass) continue;
    const std::size_t end = reading.is(i + 1, {"pass", "passes"}) ? i + 2 : i + 1;
    if (auto noted = note(reading, "pass", to_string(*pass), i, end); !noted) {
      return fail(ErrorKind::kUsage,
                  fmt::format("The sentence asks for two scopes, {}; name one pass, or write "
                              "\"forward and backward\" for both.",
                              two_wishes("pass", reading, i, end)));
    }
    reading.parsed.request.scope.pass = pass;
  }
  // A time target that names no pass means the pass in scope.
  Request& request = reading.parsed.request;
  if (request.target && request.target->quantity == TargetMetric::Quantity::kTime &&
      request.target->pass == Pass::kFull && request.scope.pass) {
    const bool named =
        std::any_of(reading.parsed.fields.begin(), reading.parsed.fields.end(),
                    [](const ParsedSentence::Field& field) { return field.name == "target_pass"; });
    if (!named) request.target->pass = *request.scope.pass;
  }
  return {};
}

namespace {

bool speed_at(const Reading& reading, std::size_t i) {
  if (reading.is(i, {"speed", "fast", "faster", "fastest", "quick", "quicker", "quickest",
                     "latency", "throughput", "runtime", "speedup", "speeds", "accelerate"})) {
    return true;
  }
  return reading.is(i, {"time"}) && i > 0 &&
         reading.is(i - 1, {"less", "reduce", "lower", "cut", "minimize", "minimise", "execution",
                            "running", "run", "shorter"});
}

// "memory-bound" is a diagnosis, not a goal.
bool memory_at(const Reading& reading, std::size_t i) {
  if (!reading.is(i, {"memory", "mem", "vram", "footprint"})) return false;
  return i + 1 >= reading.size() || reading.words[i + 1].lower != "bound";
}

// "speed and memory", "both memory and speed", "balance speed with memory".
std::size_t both_goals_at(const Reading& reading, std::size_t i) {
  const bool speed = speed_at(reading, i);
  if (!speed && !memory_at(reading, i)) return 0;
  std::size_t next = i + 1;
  while (reading.is(next, {"and", "with", "against", "plus", "vs", "versus", "peak"})) ++next;
  const bool hyphened = next < reading.size() && reading.words[next].hyphened;
  if (next == i + 1 && !hyphened) return 0;
  const bool other = speed ? memory_at(reading, next) : speed_at(reading, next);
  return other ? next + 1 - i : 0;
}

Result<void> note_goal(Reading& reading, Goal goal, std::size_t begin, std::size_t end) {
  if (auto noted = note(reading, "optimization_goal", to_string(goal), begin, end); !noted) {
    return fail(ErrorKind::kUsage,
                fmt::format(
                    "The sentence asks for two goals, {} (\"{}\"), and {} (\"{}\"); name "
                    "one, or say balanced for both.",
                    to_string(reading.parsed.request.goal),
                    [&] {
                      for (const auto& field : reading.parsed.fields) {
                        if (field.name == "optimization_goal") return field.words;
                      }
                      return std::string();
                    }(),
                    to_string(goal), reading.text(begin, end)));
  }
  reading.parsed.request.goal = goal;
  return {};
}

// Words that belong to a goal word: "as … as possible", "peak … usage".
std::size_t widen_end(const Reading& reading, std::size_t end) {
  while (reading.is(end, {"usage", "use", "consumption", "footprint", "up"})) ++end;
  return end;
}

std::size_t widen_begin(const Reading& reading, std::size_t begin) {
  while (begin > 0 &&
         reading.is(begin - 1, {"peak", "less",     "reduce",   "lower",     "save",     "saving",
                                "cut",  "minimize", "minimise", "maximum",   "maximize", "maximise",
                                "high", "higher",   "smaller",  "execution", "running",  "shorter",
                                "low",  "lowest",   "least",    "reducing",  "minimal",  "increase",
                                "both", "between",  "the",      "its"})) {
    --begin;
  }
  while (reading.is(begin, {"the", "its"})) ++begin;
  return begin;
}

}  // namespace

Result<void> read_goal(Reading& reading) {
  for (std::size_t i = 0; i < reading.size(); ++i) {
    if (const std::size_t length = both_goals_at(reading, i)) {
      const std::size_t begin = widen_begin(reading, i);
      if (auto noted = note_goal(reading, Goal::kBalanced, begin, i + length); !noted) return noted;
      continue;
    }
    std::optional<Goal> goal;
    if (speed_at(reading, i)) goal = Goal::kSpeed;
    if (memory_at(reading, i)) goal = Goal::kMemory;
    if (reading.is(i, {"balanced", "balance", "balancing"})) goal = Goal::kBalanced;
    if (!goal) continue;
    const std::size_t begin = widen_begin(reading, i);
    const std::size_t end = widen_end(reading, i + 1);
    if (auto noted = note_goal(reading, *goal, begin, end); !noted) return noted;
  }
  return {};
}

}  // namespace lwb::sentence
