#include "core/run/session.h"

#include "core/base/files.h"

namespace lwb {

std::string step_key(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) {
    all += std::to_string(part.size()) + ':' + part;  // lengths keep the parts apart
  }
  return sha256_hex(all).substr(0, 24);
}

const Json* finished_step(const std::vector<Event>& events, const Step& step) {
  const Json* found = nullptr;
  for (const Event& event : events) {
    if (event.type == "step_done" && get_string(event.data, "step") == step.name &&
        get_string(event.data, "key") == step.key && event.data.contains("result")) {
      found = &event.data.at("result");
    }
  }
  return found;
}

Result<void> begin_step(Session& session, const Step& step) {
  return session.journal.append("step_started",
                                {{"stage", step.stage}, {"step", step.name}, {"key", step.key}});
}

Result<void> end_step(Session& session, const Step& step, std::chrono::milliseconds wall,
                      Json result) {
  return session.journal.append("step_done", {{"stage", step.stage},
                                              {"step", step.name},
                                              {"key", step.key},
                                              {"seconds", static_cast<double>(wall.count()) / 1e3},
                                              {"result", std::move(result)}});
}

}  // namespace lwb
