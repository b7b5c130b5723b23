#include "core/pipeline/cells.h"

#include <fmt/format.h>

#include <algorithm>

namespace lwb {
namespace {

Result<void> take_replayable(Cells& cells, const std::string& kernel) {
  const auto& all = cells.captured.calls.calls;
  for (const CapturedCall& call : all) {
    if (call.replayable) cells.calls.push_back(call);
  }
  if (!cells.calls.empty()) return {};
  return fail(ErrorKind::kPreflight,
              fmt::format("None of the calls of {} can be replayed ({}); name calls with --calls.",
                          kernel, all.empty() ? "no cell made one" : all.front().why_not));
}

Result<void> choose_scope(Cells& cells, const Request& request) {
  CallsFile replayable;
  replayable.calls = cells.calls;
  if (!request.scope.conditions.empty()) {
    auto chosen = calls_in_scope(replayable, request.scope.conditions);
    if (!chosen) return tl::unexpected(chosen.error());
    cells.scope.insert(chosen->begin(), chosen->end());
  }
  // A target that names no cell would never be met: said now, not after hours of measuring.
  if (request.target && !request.target->conditions.empty()) {
    auto named = calls_in_scope(replayable, request.target->conditions, "target");
    if (!named) return tl::unexpected(named.error());
  }
  return {};
}

}  // namespace

Step profile_step(const std::string& name, std::vector<std::string> parts,
                  const std::string& environment_key, const std::string& original_sha256,
                  const Request& request) {
  parts.push_back(environment_key);
  parts.push_back(original_sha256);
  parts.push_back(what_is_measured(to_json(request)).dump());
  return {"profile", name, step_key(parts)};
}

Step capture_step(const std::string& environment_key, const std::string& original_sha256,
                  const Request& request) {
  return profile_step("capture the calls", {}, environment_key, original_sha256, request);
}

Result<Cells> find_cells(const CellInputs& inputs, const std::vector<Event>& earlier) {
  Cells cells;
  const Step step = capture_step(inputs.environment_key, inputs.original.sha256, inputs.request);
  if (const Json* recorded = finished_step(earlier, step)) {
    auto captured = capture_result_from_json(*recorded);
    if (!captured) return tl::unexpected(captured.error());
    cells.captured = std::move(*captured);
  } else {
    if (!inputs.by_hand) return tl::unexpected(inputs.by_hand.error());
    const auto start = std::chrono::steady_clock::now();
    auto captured = capture_cells(inputs.bench, inputs.sandbox, inputs.original, inputs.kernel,
                                  inputs.request, inputs.by_hand->calls);
    if (!captured) return tl::unexpected(captured.error());
    cells.captured = std::move(*captured);
    cells.wall = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - start);
  }
  if (auto taken = take_replayable(cells, inputs.kernel.name); !taken) {
    return tl::unexpected(taken.error());
  }
  if (auto chosen = choose_scope(cells, inputs.request); !chosen) {
    return tl::unexpected(chosen.error());
  }
  return cells;
}

}  // namespace lwb
