#include "ui/frame/pipeline_rail.h"

#include <QDateTime>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "core/base/json.h"
#include "core/base/text.h"
#include "ui/frame/headroom_bars.h"
#include "ui/run/run_view.h"
#include "ui/theme/theme.h"

namespace lwb {

namespace {

constexpr int kWidth = 200;

struct StageName {
  const char* event;  // as the journal names it
  const char* title;
};
constexpr StageName kStages[] = {
    {"pre-flight", QT_TRANSLATE_NOOP("lwb::PipelineRail", "Pre-flight")},
    {"profile", QT_TRANSLATE_NOOP("lwb::PipelineRail", "Profile")},
    {"optimize", QT_TRANSLATE_NOOP("lwb::PipelineRail", "Optimize")},
    {"finalize", QT_TRANSLATE_NOOP("lwb::PipelineRail", "Finalize")},
};

const StageView* stage_in(const RunState& state, const char* name) {
  for (const StageView& stage : state.stages) {
    if (stage.name == name) return &stage;
  }
  return nullptr;
}

const char* sign_of(StageState state) {
  switch (state) {
    case StageState::kPending: return "○";
    case StageState::kRunning: return "●";
    case StageState::kDone: return "✓";
    case StageState::kFailed: return "✗";
  }
  return "○";
}

double seconds_between(const std::string& from, const std::string& to) {
  const auto start = QDateTime::fromString(QString::fromStdString(from), Qt::ISODateWithMs);
  const auto end = QDateTime::fromString(QString::fromStdString(to), Qt::ISODateWithMs);
  return start.isValid() && end.isValid() ? start.msecsTo(end) / 1e3 : 0;
}

}  // namespace

PipelineRail::PipelineRail(RunView& run, QWidget* parent)
    : QFrame(parent), run_(run), headroom_(new HeadroomBars), facts_(new QLabel) {
  setObjectName(QStringLiteral("rail"));
  setFixedWidth(kWidth);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 8, 0, 8);
  column->setSpacing(0);
  for (int i = 0; i < 4; ++i) {
    stages_[i] = new QPushButton;
    stages_[i]->setObjectName(QString::fromLatin1(kStages[i].event));
    stages_[i]->setCheckable(true);
    stages_[i]->setFlat(true);
    stages_[i]->setAutoExclusive(true);
    lines_[i] = new QLabel;
    lines_[i]->setFont(secondary_font());
    lines_[i]->setForegroundRole(QPalette::PlaceholderText);
    lines_[i]->setWordWrap(true);
    lines_[i]->setContentsMargins(32, 0, 8, 8);
    column->addWidget(stages_[i]);
    column->addWidget(lines_[i]);
    connect(stages_[i], &QPushButton::clicked, this,
            [this, i] { Q_EMIT stage_wanted(static_cast<Stage>(i)); });
  }
  facts_->setObjectName(QStringLiteral("facts"));
  facts_->setFont(secondary_font());
  facts_->setForegroundRole(QPalette::PlaceholderText);
  facts_->setWordWrap(true);
  facts_->setContentsMargins(12, 12, 8, 0);
  column->addWidget(headroom_);
  column->addWidget(facts_);
  connect(&Theme::instance(), &Theme::changed, this, &PipelineRail::refresh);
  column->addStretch();
  connect(&run_, &RunView::restarted, this, &PipelineRail::refresh);
  connect(&run_, &RunView::folded, this, &PipelineRail::refresh);
  connect(&run_, &RunView::running_changed, this, &PipelineRail::refresh);
  refresh();
}

void PipelineRail::set_current(Stage stage) {
  for (int i = 0; i < 4; ++i) stages_[i]->setChecked(i == static_cast<int>(stage));
}

QString PipelineRail::line_of(Stage stage) const {
  const RunState& state = run_.state();
  if (!run_.has_run()) return tr("not begun");
  const StageView* view = stage_in(state, kStages[static_cast<int>(stage)].event);
  switch (stage) {
    case Stage::kPreflight: {
      int passed = 0, all = 0;
      for (const Json& check : get_array(state.preflight, "checks")) {
        ++all;
        passed += get_string(check, "state") != "failed";
      }
      return all > 0 ? tr("%1 of %2 checks").arg(passed).arg(all) : tr("not begun");
    }
    case Stage::kProfile: {
      const Json& roofline = get_object(state.profile, "roofline");
      if (get_bool(roofline, "no_headroom")) return tr("no headroom");
      if (!state.profile.empty()) {
        return tr("done in %1")
            .arg(QString::fromStdString(format_duration(view ? view->seconds : 0)));
      }
      break;
    }
    case Stage::kOptimize:
      if (!state.variants.empty()) {
        const auto most = get_integer(state.request, "max_variants");
        QString line = tr("%1 of at most %2 variants").arg(state.variants.size()).arg(most);
        const auto left = most - static_cast<long long>(state.variants.size());
        if (view && view->state == StageState::kRunning && left > 0) {
          const double each = view->seconds / static_cast<double>(state.variants.size());
          line +=
              tr("\n%1 each, at most %2 more")
                  .arg(QString::fromStdString(format_duration(each)),
                       QString::fromStdString(format_duration(each * static_cast<double>(left))));
        }
        return line;
      }
      break;
    case Stage::kFinalize:
      if (state.finished && view && view->seconds > 0) {
        return QString::fromStdString(state.outcome);
      }
      break;
  }
  if (view == nullptr || view->state == StageState::kPending) return tr("not begun");
  return QString::fromStdString(view->step);
}

void PipelineRail::refresh() {
  const RunState& state = run_.state();
  for (int i = 0; i < 4; ++i) {
    const StageView* view = stage_in(state, kStages[i].event);
    StageState now = view ? view->state : StageState::kPending;
    if (i == 0 && run_.has_run()) {
      now = get_bool(state.preflight, "passed", true) ? StageState::kDone : StageState::kFailed;
    }
    stages_[i]->setText(
        QStringLiteral("%1  %2").arg(QString::fromUtf8(sign_of(now)), tr(kStages[i].title)));
    stages_[i]->setFont(now == StageState::kRunning ? strong_font() : font());
    lines_[i]->setText(line_of(static_cast<Stage>(i)));
  }
  QStringList facts;
  if (run_.has_run()) {
    facts << tr("Elapsed %1")
                 .arg(QString::fromStdString(
                     format_duration(seconds_between(state.started, state.updated))));
    facts << tr("Children %1").arg(QString::fromStdString(format_duration(state.child_seconds)));
    if (!state.outcome.empty()) facts << QString::fromStdString(state.outcome);
  }
  headroom_->show_headroom(run_.has_run() ? headroom_of(state) : std::nullopt);
  facts_->setText(facts.join(QLatin1Char('\n')));
}

}  // namespace lwb
