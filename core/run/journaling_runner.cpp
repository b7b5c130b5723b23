#include "core/run/journaling_runner.h"

#include <utility>

namespace lwb {
namespace {

constexpr std::size_t kTailBytes = 4000;  // of standard error, where a child that failed says why

std::string tail(const std::string& text) {
  if (text.size() <= kTailBytes) return text;
  // From the start of a line on, so that no UTF-8 sequence is cut.
  const auto line = text.find('\n', text.size() - kTailBytes);
  return line == std::string::npos ? std::string() : text.substr(line + 1);
}

}  // namespace

Result<void> JournalingRunner::attach(Journal* journal) {
  const std::lock_guard guard(mutex_);
  journal_ = journal;
  for (Json& data : std::exchange(early_, {})) {
    if (auto written = journal_->append("process", std::move(data)); !written) return written;
  }
  return {};
}

Result<ProcessOutcome> JournalingRunner::run(const ProcessSpec& spec, const LineSink& sink) {
  auto outcome = inner_.run(spec, sink);
  if (!outcome) return outcome;
  Json data{{"label", spec.label},
            {"argv", spec.argv},
            {"end", describe_end(*outcome)},
            {"ok", outcome->ok()},
            {"seconds", static_cast<double>(outcome->wall.count()) / 1e3}};
  if (!outcome->ok()) data["tail"] = tail(outcome->err);
  if (outcome->recorded) data["recorded_on"] = outcome->recorded_on;
  const std::lock_guard guard(mutex_);
  if (journal_ == nullptr) {
    early_.push_back(std::move(data));
    return outcome;
  }
  if (auto written = journal_->append("process", std::move(data)); !written) {
    return tl::unexpected(written.error());
  }
  return outcome;
}

}  // namespace lwb
