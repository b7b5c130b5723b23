// The request (spec section 1): what is to be optimized, how far, and who decides.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"

namespace lwb {

enum class Goal { kSpeed, kMemory, kBalanced };
enum class Autonomy { kInteractive, kAutonomous };
enum class TargetGpu { kAuto, kAmpere, kHopper, kBlackwell };
enum class Pass { kForward, kBackward, kFull };
enum class Comparison { kLess, kLessEqual, kGreater, kGreaterEqual, kEqual };

std::string to_string(Goal);
std::string to_string(Autonomy);
std::string to_string(TargetGpu);
std::string to_string(Pass);  // "forward", "backward", "full"
std::string to_string(Comparison);
std::optional<Pass> parse_pass(std::string_view);

// `hidden_size<=1024`: a condition on x (by its name) or on a member of the cell's configuration.
struct Condition {
  std::string name;
  Comparison comparison = Comparison::kEqual;
  double value = 0;
  bool holds(double actual) const;
};

// General, one pass, an input regime, or a pass in a regime ("backward hidden_size<=1024").
struct Scope {
  std::optional<Pass> pass;           // nothing: general (forward plus backward)
  std::vector<Condition> conditions;  // all must hold
};

// "forward under 0.3ms at hidden_size=4096", "memory under 200MB".
struct TargetMetric {
  enum class Quantity { kTime, kMemory } quantity = Quantity::kTime;
  Pass pass = Pass::kFull;
  double limit = 0;  // microseconds, or bytes (1 MB = 2^20: as the stock script counts)
  std::vector<Condition> conditions;  // the cells that it names; none: every cell in scope
};

struct Request {
  std::string kernel;  // name of an op file
  Goal goal = Goal::kBalanced;
  Scope scope;
  TargetGpu gpu = TargetGpu::kAuto;
  Autonomy autonomy = Autonomy::kInteractive;
  int max_variants = 8;
  std::optional<TargetMetric> target;
  std::vector<std::string> models;  // registry names; empty: the default choice
  std::vector<double> x_values;     // empty: the default choice
  std::string calls_file;           // absolute path, empty: none
  std::string calls_sha256;         // of that file as it was read
  double budget_s = 0;              // GPU seconds; 0: no bound
  bool pull_request = true;
  bool accept_known_failures = false;
  bool import_from_source = false;
  bool update_benchmark_csv = false;
};

Result<Scope> parse_scope(std::string_view text);
Result<TargetMetric> parse_target(std::string_view text);
std::string to_string(const Scope&);
std::string to_string(const TargetMetric&);
Json to_json(const Request&);
Result<Request> request_from_json(const Json&);
// Of a request's JSON, what decides the measurements: who approves and what is done with the winner
// may change from one start of a run to the next, and a calls file may lie elsewhere.
Json what_is_measured(Json request);

// What the sentence parser understood, field by field, and what it did not.
struct ParsedSentence {
  Request request;
  struct Field {
    std::string name;   // "target_kernel"
    std::string value;  // "rms_norm"
    std::string words;  // the words that it came from, "" for a default
  };
  std::vector<Field> fields;
  std::vector<std::string> not_understood;  // stretches of words
};

// Deterministic. `kernels` are the checkout's op files: a name is found in any spelling ("RMS
// norm"). `chosen`: a kernel that was named outside of the sentence, which wins; empty: the sentence
// has to name one. The error (kUsage) names what is missing or contradictory.
Result<ParsedSentence> parse_sentence(std::string_view sentence,
                                      const std::vector<std::string>& kernels,
                                      const std::string& chosen = {});
// The table that is shown before anything runs.
std::string describe(const ParsedSentence&);

}  // namespace lwb
