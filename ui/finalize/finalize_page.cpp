#include "ui/finalize/finalize_page.h"

#include <QLabel>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QSplitter>
#include <QStackedLayout>
#include <QVBoxLayout>

#include "core/base/json.h"
#include "ui/run/run_view.h"
#include "ui/theme/theme.h"

namespace lwb {

namespace {

QPlainTextEdit* text_pane(const char* name, const QString& placeholder) {
  auto* pane = new QPlainTextEdit;
  pane->setObjectName(QString::fromLatin1(name));
  pane->setReadOnly(true);
  pane->setFont(code_font());
  pane->setFrameShape(QFrame::NoFrame);
  pane->setPlaceholderText(placeholder);
  return pane;
}

// In the order of the summary that `lwb` prints.
constexpr const char* kSummary[] = {"gpu",    "outcome", "winner", "forward", "backward",
                                    "memory", "tests",   "style",  "report",  "file"};

}  // namespace

FinalizePage::FinalizePage(RunView& run, QWidget* parent)
    : QWidget(parent),
      run_(run),
      outcome_(new QLabel),
      sentence_(new QLabel),
      gates_(new QListWidget),
      summary_(text_pane("summary", tr("Before and after appear here at the end of the run."))),
      pull_request_(text_pane("pullRequest",
                              tr("Branch, commit and the commands to send them appear here when "
                                 "the winner has been written."))),
      pages_(new QStackedLayout(this)) {
  outcome_->setObjectName(QStringLiteral("outcome"));
  sentence_->setObjectName(QStringLiteral("sentence"));
  sentence_->setFont(strong_font());
  sentence_->setWordWrap(true);
  gates_->setObjectName(QStringLiteral("gates"));
  gates_->setFrameShape(QFrame::NoFrame);
  gates_->setWordWrap(true);
  auto* lower = new QSplitter(Qt::Vertical);
  for (const auto& [title, view] :
       {std::pair<QString, QWidget*>{tr("Gates"), gates_},
        {tr("Before and after"), summary_},
        {tr("Pull request"), pull_request_}}) {
    auto* box = new QWidget;
    auto* lines = new QVBoxLayout(box);
    lines->setContentsMargins(0, 4, 0, 4);
    auto* label = new QLabel(title);
    label->setFont(strong_font());
    lines->addWidget(label);
    lines->addWidget(view, 1);
    lower->addWidget(box);
  }
  auto* content = new QWidget;
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(12, 12, 12, 12);
  column->addWidget(outcome_, 0, Qt::AlignLeft);
  column->addWidget(sentence_);
  column->addWidget(lower, 1);
  pages_->addWidget(empty_label(tr("When a winner has been approved, its tests, style, plots and "
                                   "the write of the kernel file appear here.")));
  pages_->addWidget(content);
  connect(&Theme::instance(), &Theme::changed, this, &FinalizePage::refresh);
  connect(&run_, &RunView::restarted, this, &FinalizePage::refresh);
  connect(&run_, &RunView::folded, this, [this](const std::vector<Event>& events) {
    for (const Event& event : events) {
      if (event.type != "samples" && event.type != "process") return refresh();
    }
  });
  refresh();
}

QString FinalizePage::summary_text() const {
  QString text;
  for (const char* key : kSummary) {
    const std::string value = get_string(run_.state().summary, key);
    if (value.empty()) continue;
    text += QString::fromLatin1(key).leftJustified(10) + QString::fromStdString(value) +
            QLatin1Char('\n');
  }
  return text;
}

void FinalizePage::refresh() {
  const RunState& state = run_.state();
  const bool begun = !state.gates.empty() || !state.outcome.empty();
  pages_->setCurrentIndex(begun ? 1 : 0);
  if (!begun) return;
  const bool good = state.outcome == "APPLIED" || state.outcome == "WINNER";
  const bool bad = state.outcome == "NOT_APPLIED" || state.outcome == "REVERTED";
  set_chip(outcome_, QString::fromStdString(state.outcome).replace(QLatin1Char('_'), QLatin1Char(' ')),
           good ? Chip::kGood : bad ? Chip::kBad : Chip::kPlain);
  sentence_->setText(QString::fromStdString(state.sentence));
  gates_->clear();
  for (const Json& gate : state.gates) {
    const bool passed = get_bool(gate, "passed");
    const bool checked = get_string(gate, "state") != "not checked";
    auto* item = new QListWidgetItem(QStringLiteral("%1  %2: %3")
                                         .arg(!checked ? QStringLiteral("–")
                                              : passed ? QStringLiteral("✓")
                                                       : QStringLiteral("✗"),
                                              QString::fromStdString(get_string(gate, "name")),
                                              QString::fromStdString(get_string(gate, "sentence"))));
    item->setForeground(!checked ? tokens().caution : passed ? tokens().text : tokens().bad);
    if (!checked) item->setToolTip(tr("Not checked: it holds nothing back, and says nothing"));
    gates_->addItem(item);
  }
  if (state.gates.empty()) gates_->addItem(tr("No gate was run."));
  summary_->setPlainText(summary_text());
  const Json& request = state.pull_request;
  QString text;
  if (!request.empty()) {
    text = tr("Branch %1, commit %2\n")
               .arg(QString::fromStdString(get_string(request, "branch")),
                    QString::fromStdString(get_string(request, "commit").substr(0, 10)));
    const std::string url = get_string(request, "url");
    if (!url.empty()) text += QString::fromStdString(url) + QLatin1Char('\n');
    for (const Json& command : get_array(request, "commands")) {
      if (command.is_string()) {
        text += QString::fromStdString(command.get<std::string>()) + QLatin1Char('\n');
      }
    }
  }
  pull_request_->setPlainText(text);
}

}  // namespace lwb
