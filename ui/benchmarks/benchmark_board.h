// What the run has measured so far, as charts and the heat table look at it: samples as they come,
// verdicts when a variant has been judged, the roof when there is a profile.
#pragma once

#include <QObject>
#include <QTimer>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/measure/op_time.h"
#include "core/measure/sample_table.h"
#include "core/run/journal.h"

namespace lwb {

class RunView;

class BenchmarkBoard : public QObject {
  Q_OBJECT
 public:
  using Cell = SampleTable::Cell;

  // Sees what is folded from now on: made before the run is opened.
  explicit BenchmarkBoard(RunView& run, QObject* parent = nullptr);

  const SampleTable& table() const { return table_; }
  std::vector<Pass> passes() const;         // measured ones, in the order of Pass
  std::vector<std::string> shapes() const;  // what calls have beside x, in the order first measured

  // Of the variant's record; none while it is being measured.
  std::optional<CellVerdict> verdict(const Cell& cell, int variant) const;
  // The verdict's ratio, else that of the samples so far: original over variant.
  std::optional<RatioEstimate> ratio(const Cell& cell, int variant) const;
  // Peak of device memory; 0 is the original.
  std::optional<double> peak_bytes(const std::string& call, int variant) const;
  // The least time that the measured roof allows.
  std::optional<double> floor_us(const Cell& cell) const;
  bool is_settled(const Cell& cell, int variant) const;

  // What a person reads who points at it; several lines.
  QString details(const Cell& cell, int variant) const;

 Q_SIGNALS:
  void changed();  // at most ten times a second

 private:
  void clear();
  void take(const std::vector<Event>& events);
  void take_variant(const Json& record);
  void take_profile(const Json& profile);
  RunView& run_;
  SampleTable table_;
  std::map<std::pair<Cell, int>, CellVerdict> verdicts_;
  std::map<std::pair<std::string, int>, double> peaks_;
  std::map<Cell, double> floors_;
  QTimer quiet_;
};

}  // namespace lwb
