#include "ui/dialogs/approval_dialog.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QTabWidget>
#include <QVBoxLayout>

#include "core/base/files.h"
#include "core/base/text.h"
#include "ui/benchmarks/benchmarks_panel.h"
#include "ui/dialogs/order_list.h"
#include "ui/report/markdown_view.h"
#include "ui/run/run_view.h"
#include "ui/theme/theme.h"
#include "ui/variants/variant_diff.h"

namespace lwb {

namespace {

constexpr QSize kSize(1080, 720);

bool has_prefix(const std::string& text, const char* prefix) {
  return text.rfind(prefix, 0) == 0;
}

// The choice that changes something in the sense of the question: it gets the accent.
bool is_approving(const std::string& choice) {
  for (const char* prefix : {"Approve", "Apply", "Push", "Keep", "Go on", "Write"}) {
    if (has_prefix(choice, prefix)) return true;
  }
  return false;
}

QLabel* wrapped(const QString& text, const char* name) {
  auto* label = new QLabel(text);
  label->setObjectName(QString::fromLatin1(name));
  label->setWordWrap(true);
  label->setTextFormat(Qt::PlainText);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return label;
}

}  // namespace

ApprovalDialog::ApprovalDialog(const PendingApproval& approval, RunView& run,
                               const BenchmarkBoard& board, QWidget* parent)
    : QDialog(parent), run_(run), id_(approval.id), tabs_(new QTabWidget), comment_(new QLineEdit) {
  setWindowTitle(tr("Decision on %1").arg(run.kernel()));
  setAttribute(Qt::WA_DeleteOnClose);
  setModal(true);
  resize(kSize);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(16, 16, 16, 12);
  column->setSpacing(10);
  QLabel* question = wrapped(QString::fromStdString(approval.question), "question");
  question->setFont(title_font());
  column->addWidget(question);
  const std::string reason = get_string(run.state().winner, "reason");
  if (approval.id.starts_with("winner") && !reason.empty()) {
    column->addWidget(wrapped(QString::fromStdString(reason), "answer"));
    const int number =
        QString::fromStdString(get_string(run.state().winner, "variant")).mid(1).toInt();
    if (const auto found = run.state().variants.find(number); found != run.state().variants.end()) {
      column->addWidget(wrapped(what_to_weigh(found->second), "weigh"));
    }
  }
  add_tabs(approval, board);
  column->addWidget(tabs_, 1);
  comment_->setObjectName(QStringLiteral("comment"));
  comment_->setPlaceholderText(tr("Comment for the journal (optional)"));
  column->addWidget(comment_);
  QLabel* next = wrapped(what_happens_next(), "next");
  next->setForegroundRole(QPalette::PlaceholderText);
  column->addWidget(next);
  column->addLayout(buttons_for(approval));
  tabs_->setFocus();
}

// The worst cell and the guardrails: what speaks against a winner, if anything does.
QString ApprovalDialog::what_to_weigh(const Json& record) const {
  const Json* worst = nullptr;
  const auto ratio = [](const Json& row) {
    return get_number(get_object(row, "ratio"), "ratio", 1);
  };
  for (const Json& row : get_array(record, "verdicts")) {
    if (worst == nullptr || ratio(row) < ratio(*worst)) worst = &row;
  }
  QStringList parts;
  if (worst != nullptr) {
    const QString verdict = QString::fromStdString(get_string(*worst, "verdict"));
    parts << tr("Worst cell: %1 of %2, %3 %4")
                 .arg(QString::fromStdString(get_string(*worst, "pass")),
                      QString::fromStdString(get_string(*worst, "call")),
                      QString::fromStdString(format_ratio(ratio(*worst))), verdict_words(verdict));
  }
  for (const Json& guardrail : get_array(record, "guardrails")) {
    if (guardrail.is_string()) parts << QString::fromStdString(guardrail.get<std::string>());
  }
  return parts.join(QStringLiteral(" · "));
}

void ApprovalDialog::add_tabs(const PendingApproval& approval, const BenchmarkBoard& board) {
  const Json& order = get_array(run_.state().profile, "order");
  if (approval.id == "profile" && !order.empty()) order_ = new OrderList(order);
  auto* document = new MarkdownView;
  document->setObjectName(QStringLiteral("document"));
  document->show_text(QString::fromStdString(approval.document), run_.workspace().root);
  tabs_->addTab(document, approval.id == "profile" ? tr("Profile") : tr("Evidence"));
  if (approval.document.empty())
    tabs_->hide();  // a pause: what was found so far stands in the window
  if (order_ != nullptr) tabs_->addTab(order_, tr("Strategy Order"));
  const std::string winner = get_string(run_.state().winner, "variant");
  if (winner.empty()) return;
  const int number = QString::fromStdString(winner).mid(1).toInt();
  auto* diff = new VariantDiff(run_);
  diff->setObjectName(QStringLiteral("changes"));
  diff->show_variants(0, number);
  tabs_->addTab(diff, tr("Changes"));
  auto* charts = new BenchmarksPanel(run_, board);
  charts->setObjectName(QStringLiteral("charts"));
  tabs_->addTab(charts, tr("Charts"));
  auto notes = read_file(run_.workspace().notes(number));
  if (notes) {
    auto* view = new MarkdownView;
    view->show_text(QString::fromStdString(*notes), run_.workspace().root);
    tabs_->addTab(view, tr("Notes"));
  }
}

// Left: later, the default for Enter and Escape. Right: the choices, the approving one last.
QLayout* ApprovalDialog::buttons_for(const PendingApproval& approval) {
  auto* row = new QHBoxLayout;
  auto* later = new QPushButton(tr("Decide Later"));
  later->setObjectName(QStringLiteral("later"));
  later->setDefault(true);
  connect(later, &QPushButton::clicked, this, &QDialog::reject);
  row->addWidget(later);
  row->addStretch();
  QMenu* others = nullptr;
  QPushButton* approving = nullptr;
  for (const std::string& choice : approval.choices) {
    const QString text = QString::fromStdString(choice);
    if (has_prefix(choice, "Choose ")) {
      if (others == nullptr) {
        others = new QMenu(this);
        auto* button = new QPushButton(tr("Choose Another…"));
        button->setObjectName(QStringLiteral("another"));
        button->setAutoDefault(false);
        button->setMenu(others);
        row->addWidget(button);
      }
      connect(others->addAction(text), &QAction::triggered, this,
              [this, choice] { decide(choice); });
      continue;
    }
    auto* button = new QPushButton(text);
    button->setObjectName(text);
    button->setAutoDefault(false);
    connect(button, &QPushButton::clicked, this, [this, choice] { decide(choice); });
    if (is_approving(choice) && approving == nullptr) {
      approving = button;
      set_primary(button);
    } else {
      row->addWidget(button);
    }
  }
  if (approving != nullptr) row->addWidget(approving);
  return row;
}

QString ApprovalDialog::what_happens_next() const {
  const QString file =
      QString::fromStdString("src/liger_kernel/ops/" + run_.state().kernel + ".py");
  if (id_ == "profile") {
    return tr("Next: variants are made and measured in a sandbox, in the strategy order that "
              "stands in "
              "its tab; %1 is not touched.")
        .arg(file);
  }
  if (id_.starts_with("winner")) {
    return tr("Next: the upstream tests and the style check run in a sandbox with the winner; %1 "
              "is "
              "not touched before you approve that too.")
        .arg(file);
  }
  if (id_ == "finalize") {
    return tr("Next: %1 is written once; what it holds now is kept in %2.")
        .arg(file, QString::fromStdString(run_.workspace().root.string()));
  }
  if (id_ == "pull_request") {
    return tr(
        "Sending pushes the branch to the remote and opens the pull request with gh; left "
        "unsent, branch, patch and text stay here with the commands to send them.");
  }
  if (id_ == "result") return tr("Reverting writes back what %1 held before.").arg(file);
  return tr("The decision goes into the journal and the run goes on.");
}

void ApprovalDialog::decide(const std::string& choice) {
  ApprovalAnswer answer{choice, comment_->text().toStdString(), "window"};
  if (order_ != nullptr) answer.order = order_->changed_order();
  Q_EMIT decided(id_, answer);
  accept();
}

}  // namespace lwb
