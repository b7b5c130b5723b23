#include "ui/benchmarks/benchmark_board.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/json.h"
#include "core/base/text.h"
#include "ui/run/run_view.h"
#include "ui/theme/theme.h"

namespace lwb {

namespace {

constexpr int kQuietMs = 100;
constexpr double kMegabyte = 1024.0 * 1024.0;  // as the stock script counts

}  // namespace

BenchmarkBoard::BenchmarkBoard(RunView& run, QObject* parent) : QObject(parent), run_(run) {
  quiet_.setSingleShot(true);
  quiet_.setInterval(kQuietMs);
  connect(&quiet_, &QTimer::timeout, this, &BenchmarkBoard::changed);
  connect(&run_, &RunView::restarted, this, &BenchmarkBoard::clear);
  connect(&run_, &RunView::folded, this, &BenchmarkBoard::take);
}

void BenchmarkBoard::clear() {
  table_.clear();
  verdicts_.clear();
  peaks_.clear();
  floors_.clear();
  quiet_.stop();
  Q_EMIT changed();
}

void BenchmarkBoard::take(const std::vector<Event>& events) {
  bool concerns = false;
  for (const Event& event : events) {
    concerns = true;
    if (event.type == "samples") {
      table_.add(get_string(event.data, "measurement"),
                 sample_batch_from_json(get_object(event.data, "batch")));
    } else if (event.type == "variant") {
      take_variant(event.data);
    } else if (event.type == "profile") {
      take_profile(event.data);
    } else {
      concerns = false;
    }
    if (concerns && !quiet_.isActive()) quiet_.start();
  }
}

void BenchmarkBoard::take_variant(const Json& record) {
  const int number = static_cast<int>(get_integer(record, "number"));
  std::erase_if(verdicts_, [&](const auto& entry) { return entry.first.second == number; });
  for (const Json& row : get_array(record, "verdicts")) {
    CellVerdict verdict = cell_verdict_from_json(row);
    const Cell cell{verdict.call, verdict.pass};
    verdicts_[{cell, number}] = std::move(verdict);
  }
  const std::string own = "v" + std::to_string(number);
  for (const Json& peak : get_array(record, "memory")) {
    const std::string side = get_string(peak, "side");
    if (side != own && side != "v0") continue;
    double& most = peaks_[{get_string(peak, "call"), side == own ? number : 0}];
    most = std::max(most, get_number(peak, "peak_bytes"));
  }
}

void BenchmarkBoard::take_profile(const Json& profile) {
  floors_.clear();
  for (const Json& row : get_array(get_object(profile, "roofline"), "rows")) {
    const auto pass = parse_pass(get_string(row, "pass"));
    const double floor = get_number(row, "floor_us");
    if (pass && floor > 0) floors_[{get_string(row, "call"), *pass}] = floor;
  }
}

std::vector<Pass> BenchmarkBoard::passes() const {
  std::vector<Pass> passes;
  for (const Cell& cell : table_.cells()) {
    if (std::find(passes.begin(), passes.end(), cell.pass) == passes.end()) {
      passes.push_back(cell.pass);
    }
  }
  std::sort(passes.begin(), passes.end());
  return passes;
}

std::vector<std::string> BenchmarkBoard::shapes() const {
  std::vector<std::string> shapes;
  for (const Cell& cell : table_.cells()) {
    const CallName name = split_call_name(cell.call);
    if (!name.has_x) continue;
    if (std::find(shapes.begin(), shapes.end(), name.rest) == shapes.end()) {
      shapes.push_back(name.rest);
    }
  }
  return shapes;
}

std::optional<CellVerdict> BenchmarkBoard::verdict(const Cell& cell, int variant) const {
  const auto found = verdicts_.find({cell, variant});
  return found == verdicts_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<RatioEstimate> BenchmarkBoard::ratio(const Cell& cell, int variant) const {
  if (const auto judged = verdict(cell, variant)) return judged->ratio;
  return table_.ratio(cell, variant);
}

std::optional<double> BenchmarkBoard::peak_bytes(const std::string& call, int variant) const {
  const auto found = peaks_.find({call, variant});
  return found == peaks_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> BenchmarkBoard::floor_us(const Cell& cell) const {
  const auto found = floors_.find(cell);
  return found == floors_.end() ? std::nullopt : std::optional(found->second);
}

bool BenchmarkBoard::is_settled(const Cell& cell, int variant) const {
  return variant == 0 ? floors_.contains(cell) : verdicts_.contains({cell, variant});
}

QString BenchmarkBoard::details(const Cell& cell, int variant) const {
  QStringList lines{tr("%1, %2, %3")
                        .arg(variant == 0 ? tr("original") : QStringLiteral("v%1").arg(variant),
                             QString::fromStdString(cell.call),
                             QString::fromStdString(to_string(cell.pass)))};
  const auto format = [](const char* pattern, auto... values) {
    return QString::fromStdString(fmt::format(fmt::runtime(pattern), values...));
  };
  if (const auto summary = table_.summary(cell, variant)) {
    lines << tr("%1 µs op time, 95 % interval %2, %3 samples, spread %4 %")
                 .arg(format("{:.1f}", summary->median_us),
                      format("{:.1f} – {:.1f}", summary->low_us, summary->high_us))
                 .arg(summary->n)
                 .arg(format("{:.1f}", 100 * summary->spread));
    if (summary->wall_us > 0) {
      lines << tr("%1 µs wall time").arg(format("{:.0f}", summary->wall_us));
    }
  }
  if (const auto floor = floor_us(cell)) {
    lines << tr("%1 µs is the least that the measured roof allows").arg(format("{:.1f}", *floor));
  }
  if (const auto peak = peak_bytes(cell.call, variant)) {
    lines << tr("%1 MB peak of device memory").arg(format("{:.1f}", *peak / kMegabyte));
  }
  if (variant > 0) {
    if (const auto gain = ratio(cell, variant)) {
      lines << tr("%1 against the original, %2 % interval %3")
                   .arg(QString::fromStdString(format_ratio(gain->ratio)),
                        format("{:g}", 100 * gain->confidence),
                        format("{:.3f} – {:.3f}", gain->low, gain->high));
    }
    if (const auto judged = verdict(cell, variant)) {
      lines << tr("%1: %2").arg(
          verdict_words(QString::fromStdString(to_string(judged->verdict.kind))),
          QString::fromStdString(judged->verdict.reason));
    } else {
      lines << tr("not judged yet");
    }
  }
  lines << run_.measured_on();
  lines.removeAll(QString());
  return lines.join(QLatin1Char('\n'));
}

}  // namespace lwb
