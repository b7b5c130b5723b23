#include "ui/setup/request_form.h"

#include <QCheckBox>
#include <QComboBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

#include "core/request/request.h"
#include "ui/theme/theme.h"

namespace lwb {

namespace {

constexpr int kDefaultVariants = 8;

QLineEdit* line(const char* name, const QString& placeholder, const QString& tip) {
  auto* edit = new QLineEdit;
  edit->setObjectName(QString::fromLatin1(name));
  edit->setPlaceholderText(placeholder);
  edit->setToolTip(tip);
  return edit;
}

QComboBox* choice(const char* name, const QStringList& values, const QString& tip) {
  auto* box = new QComboBox;
  box->setObjectName(QString::fromLatin1(name));
  box->addItems(values);
  box->setToolTip(tip);
  return box;
}

}  // namespace

RequestForm::RequestForm(QWidget* parent)
    : QWidget(parent),
      sentence_(line("sentence", tr("optimize rms_norm backward, at most 5 variants"),
                     tr("Say it in words; the fields below follow"))),
      understood_(new QLabel),
      kernel_(choice("kernelChoice", {}, tr("Name of an op file"))),
      goal_(choice("goal", {tr("balanced"), tr("speed"), tr("memory")},
                   tr("speed: time is judged, memory is guarded; memory: the reverse; balanced: "
                      "both count"))),
      scope_(line("scope", tr("general"),
                  tr("general, forward, backward, or a regime such as hidden_size<=2048"))),
      gpu_(choice("gpu", {tr("auto"), tr("ampere"), tr("hopper"), tr("blackwell")},
                  tr("Another architecture than this machine's adds a check that variants compile "
                     "there"))),
      autonomous_(new QCheckBox(tr("Ask nothing (autonomous)"))),
      variants_(new QSpinBox),
      target_(line("target", tr("none"),
                   tr("Stop when met: forward under 0.3ms at hidden_size=4096, memory under 200MB"))),
      models_(line("models", tr("smallest and largest width"),
                   tr("Models of the checkout's registry, with commas between"))),
      x_(line("x", tr("the script's own"), tr("Values of x, with commas between"))),
      calls_(line("calls", tr("captured ones only"), tr("A calls.json with calls of your own"))),
      budget_(new QSpinBox),
      from_source_(new QCheckBox(tr("Import from the checkout's src (nothing installed)"))) {
  autonomous_->setObjectName(QStringLiteral("autonomous"));
  from_source_->setObjectName(QStringLiteral("fromSource"));
  variants_->setObjectName(QStringLiteral("maxVariants"));
  variants_->setRange(1, 1000);
  variants_->setValue(kDefaultVariants);
  variants_->setToolTip(tr("How many variants may be tried"));
  budget_->setObjectName(QStringLiteral("budget"));
  budget_->setRange(0, 1000000);
  budget_->setSpecialValueText(tr("no bound"));
  budget_->setSuffix(tr(" s"));
  budget_->setToolTip(tr("GPU seconds that measuring may take"));
  understood_->setObjectName(QStringLiteral("understood"));
  understood_->setFont(secondary_font());
  understood_->setForegroundRole(QPalette::PlaceholderText);
  understood_->setWordWrap(true);
  auto* browse = new QPushButton(tr("Browse…"));
  connect(browse, &QPushButton::clicked, this, [this] {
    auto* dialog = new QFileDialog(this, tr("Calls File"), calls_->text(), tr("Calls (*.json)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, calls_, &QLineEdit::setText);
    dialog->open();
  });
  auto* calls_row = new QHBoxLayout;
  calls_row->addWidget(calls_, 1);
  calls_row->addWidget(browse);
  auto* form = new QFormLayout;
  form->setLabelAlignment(Qt::AlignRight);
  form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  form->addRow(tr("In &words"), sentence_);
  form->addRow(QString(), understood_);
  form->addRow(tr("&Kernel"), kernel_);
  form->addRow(tr("&Goal"), goal_);
  form->addRow(tr("&Scope"), scope_);
  form->addRow(tr("Target G&PU"), gpu_);
  form->addRow(tr("At most &variants"), variants_);
  form->addRow(tr("&Target metric"), target_);
  form->addRow(tr("&Models"), models_);
  form->addRow(tr("Values of &x"), x_);
  auto* calls_label = new QLabel(tr("&Calls file"));
  calls_label->setBuddy(calls_);
  form->addRow(calls_label, calls_row);
  form->addRow(tr("GPU &budget"), budget_);
  form->addRow(QString(), autonomous_);
  form->addRow(QString(), from_source_);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->addLayout(form);
  connect(sentence_, &QLineEdit::textChanged, this, &RequestForm::read_sentence);
  connect(kernel_, &QComboBox::currentTextChanged, this, [this](const QString& name) {
    Q_EMIT kernel_chosen(name);
    Q_EMIT changed();
  });
  for (QLineEdit* edit : {scope_, target_, models_, x_, calls_}) {
    connect(edit, &QLineEdit::textChanged, this, &RequestForm::changed);
  }
}

void RequestForm::set_kernels(const std::vector<std::string>& names) {
  kernels_ = names;
  const QString kept = kernel_->currentText();
  const QSignalBlocker quiet(kernel_);
  kernel_->clear();
  for (const std::string& name : names) kernel_->addItem(QString::fromStdString(name));
  kernel_->setCurrentIndex(std::max(0, kernel_->findText(kept)));
  read_sentence();
}

void RequestForm::set_kernel(const QString& name) {
  const int index = kernel_->findText(name);
  if (index >= 0) kernel_->setCurrentIndex(index);
}

QString RequestForm::kernel() const {
  return kernel_->currentText();
}

void RequestForm::read_sentence() {
  const std::string text = sentence_->text().trimmed().toStdString();
  understood_->setVisible(!text.empty());
  if (text.empty()) return;
  auto parsed = parse_sentence(text, kernels_, {});
  if (!parsed) {
    understood_->setText(QString::fromStdString(parsed.error().sentence));
    return;
  }
  fill(parsed->request);
  QStringList words;
  for (const auto& field : parsed->fields) {
    if (!field.words.empty()) {
      words << tr("%1: %2").arg(QString::fromStdString(field.name),
                                QString::fromStdString(field.value));
    }
  }
  QString said = tr("Understood: %1.").arg(words.join(QStringLiteral(", ")));
  if (!parsed->not_understood.empty()) {
    QStringList rest;
    for (const std::string& stretch : parsed->not_understood) {
      rest << QStringLiteral("“%1”").arg(QString::fromStdString(stretch));
    }
    said += tr(" Not understood: %1.").arg(rest.join(QStringLiteral(", ")));
  }
  understood_->setText(said);
}

void RequestForm::fill(const Request& request) {
  set_kernel(QString::fromStdString(request.kernel));
  goal_->setCurrentText(QString::fromStdString(to_string(request.goal)));
  const std::string scope = to_string(request.scope);
  scope_->setText(scope == "general" ? QString() : QString::fromStdString(scope));
  gpu_->setCurrentText(QString::fromStdString(to_string(request.gpu)));
  variants_->setValue(request.max_variants);
  target_->setText(request.target ? QString::fromStdString(to_string(*request.target)) : QString());
  autonomous_->setChecked(request.autonomy == Autonomy::kAutonomous);
  if (request.import_from_source) from_source_->setChecked(true);
}

void RequestForm::prepare_sample() {
  goal_->setCurrentText(QStringLiteral("speed"));
  from_source_->setChecked(true);
}

QString RequestForm::problem() const {
  if (kernel_->currentText().isEmpty()) return tr("Choose a kernel.");
  if (!scope_->text().trimmed().isEmpty()) {
    auto scope = parse_scope(scope_->text().trimmed().toStdString());
    if (!scope) return QString::fromStdString(scope.error().sentence);
  }
  if (!target_->text().trimmed().isEmpty()) {
    auto target = parse_target(target_->text().trimmed().toStdString());
    if (!target) return QString::fromStdString(target.error().sentence);
  }
  for (const QString& part : x_->text().split(QLatin1Char(','), Qt::SkipEmptyParts)) {
    bool number = false;
    if (part.trimmed().toDouble(&number) <= 0 || !number) {
      return tr("“%1” is no value of x: write positive numbers with commas between.")
          .arg(part.trimmed());
    }
  }
  return {};
}

QStringList RequestForm::arguments() const {
  QStringList list{QStringLiteral("--kernel"), kernel_->currentText(), QStringLiteral("--goal"),
                   goal_->currentText(), QStringLiteral("--max-variants"),
                   QString::number(variants_->value())};
  const auto add = [&](const char* option, const QString& value) {
    if (!value.trimmed().isEmpty()) list << QString::fromLatin1(option) << value.trimmed();
  };
  add("--scope", scope_->text());
  if (gpu_->currentIndex() > 0) add("--gpu", gpu_->currentText());
  add("--target", target_->text());
  add("--models", models_->text().remove(QLatin1Char(' ')));
  add("--x", x_->text().remove(QLatin1Char(' ')));
  add("--calls", calls_->text());
  if (budget_->value() > 0) add("--budget-s", QString::number(budget_->value()));
  if (autonomous_->isChecked()) list << QStringLiteral("--autonomous");
  if (from_source_->isChecked()) list << QStringLiteral("--import-from-source");
  return list;
}

}  // namespace lwb
