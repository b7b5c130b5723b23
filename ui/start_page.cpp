#include "ui/start_page.h"

#include <QDir>
#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTextOption>
#include <QVBoxLayout>

#include "ui/fonts.h"

namespace lwb {

namespace {

constexpr int kColumnWidth = 600;
constexpr int kTitlePoints = 18;
constexpr int kCommandLines = 4;
// Room around the text of a button, beyond what the style gives it.
constexpr QSize kButtonRoom(28, 8);

QLabel* text_label(const char* name) {
  auto* label = new QLabel;
  label->setObjectName(QString::fromLatin1(name));
  label->setWordWrap(true);
  label->setTextFormat(Qt::PlainText);
  return label;
}

QPlainTextEdit* command_field() {
  auto* field = new QPlainTextEdit;
  field->setObjectName(QStringLiteral("command"));
  field->setFont(code_font());
  field->setReadOnly(true);
  field->setTabChangesFocus(true);
  // A path has no spaces to break at.
  field->setWordWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
  field->setFixedHeight(
      field->fontMetrics().lineSpacing() * kCommandLines +
      2 * (field->frameWidth() + static_cast<int>(field->document()->documentMargin())));
  return field;
}

void make_roomy(QPushButton* button) {
  button->setMinimumSize(button->sizeHint() + kButtonRoom);
}

}  // namespace

StartPage::StartPage(QWidget* parent)
    : QWidget(parent),
      title_(text_label("title")),
      text_(text_label("text")),
      problem_(text_label("problem")),
      command_box_(new QWidget),
      command_(command_field()),
      open_(new QPushButton(tr("Open Checkout…"))),
      copy_(new QPushButton(tr("Copy"))) {
  QFont title_font = title_->font();
  title_font.setPointSize(kTitlePoints);
  title_font.setBold(true);
  title_->setFont(title_font);

  QFont problem_font = problem_->font();
  problem_font.setBold(true);
  problem_->setFont(problem_font);

  command_->setAccessibleName(tr("Terminal command"));
  copy_->setToolTip(tr("Copy the command to the clipboard"));
  make_roomy(copy_);
  make_roomy(open_);
  auto* command_row = new QHBoxLayout(command_box_);
  command_row->setContentsMargins(0, 0, 0, 0);
  command_row->addWidget(command_, 1);
  command_row->addWidget(copy_, 0, Qt::AlignTop);

  auto* buttons = new QHBoxLayout;
  buttons->addWidget(open_);
  buttons->addStretch();

  auto* column = new QWidget;
  column->setFixedWidth(kColumnWidth);
  auto* lines = new QVBoxLayout(column);
  lines->setSpacing(14);
  lines->addWidget(title_);
  lines->addWidget(problem_);
  lines->addWidget(text_);
  lines->addWidget(command_box_);
  lines->addLayout(buttons);

  // Centred by stretches: an alignment would lose the height that wrapped text needs.
  auto* middle = new QHBoxLayout;
  middle->addStretch();
  middle->addWidget(column);
  middle->addStretch();
  auto* page = new QVBoxLayout(this);
  page->addStretch(2);
  page->addLayout(middle);
  page->addStretch(3);

  connect(open_, &QPushButton::clicked, this, &StartPage::open_clicked);
  connect(copy_, &QPushButton::clicked, this, &StartPage::copy_clicked);
  show_request({}, {});
}

void StartPage::show_request(const OpenRequest& request, const QString& problem) {
  problem_->setText(problem);
  problem_->setVisible(!problem.isEmpty());
  const bool ready = !request.empty() && problem.isEmpty();
  if (!ready) {
    title_->setText(tr("No checkout is open"));
    text_->setText(
        tr("Open the folder of a Liger-Kernel checkout, the one that holds src, benchmark and "
           "test. Nothing in it is changed by opening it.\n\nTo see the whole pipeline without a "
           "checkout, start packaging/run.sh in a terminal: it works on a sample."));
  } else if (request.sample) {
    title_->setText(tr("Sample"));
    text_->setText(
        tr("Three small kernels that come with the program. This command, given in the program's "
           "source folder, takes one of them through the whole pipeline; without a GPU it plays a "
           "recording."));
  } else {
    title_->setText(request.checkout.isEmpty() ? tr("Recording")
                                               : QDir(request.checkout).dirName());
    text_->setText(request.kernel.isEmpty()
                       ? tr("Runs are started in a terminal. This command lists the kernels of the "
                            "checkout and says which of them can be optimized:")
                       : tr("Runs are started in a terminal. This command profiles, optimizes and "
                            "finalizes %1, and asks before each step that matters:")
                             .arg(request.kernel));
  }
  request_ = request;
  command_->setPlainText(ready ? terminal_command(request, QStringLiteral(" \\\n    "))
                               : QString());
  command_box_->setVisible(ready);
}

QString StartPage::command() const {
  return command_->toPlainText().isEmpty() ? QString() : terminal_command(request_);
}

}  // namespace lwb
