#include "ui/dialogs/order_list.h"

#include <algorithm>

namespace lwb {

namespace {
constexpr int kTechniqueRole = Qt::UserRole;
}

OrderList::OrderList(const Json& order, QWidget* parent) : QListWidget(parent) {
  setObjectName(QStringLiteral("order"));
  setDragDropMode(InternalMove);
  setDefaultDropAction(Qt::MoveAction);
  setWordWrap(true);
  setAlternatingRowColors(true);
  for (const Json& item : order) {
    const std::string technique = get_string(item, "technique");
    const QString reason = tr("%1, expected %2: %3")
                               .arg(QString::fromStdString(get_string(item, "pass")),
                                    QString::fromStdString(get_string(item, "expected")),
                                    QString::fromStdString(get_string(item, "hypothesis")));
    const auto known = std::find(proposed_.begin(), proposed_.end(), technique);
    if (known != proposed_.end()) {
      QListWidgetItem* row = this->item(static_cast<int>(known - proposed_.begin()));
      row->setText(row->text() + QLatin1Char('\n') + reason);
      continue;
    }
    proposed_.push_back(technique);
    const QString id = QString::fromStdString(technique);
    auto* row = new QListWidgetItem(id + QLatin1Char('\n') + reason, this);
    row->setData(kTechniqueRole, id);
    row->setFlags(Qt::ItemIsSelectable | Qt::ItemIsEnabled | Qt::ItemIsUserCheckable |
                  Qt::ItemIsDragEnabled);
    row->setCheckState(Qt::Checked);
    row->setToolTip(tr("Drag to try it earlier or later; unchecked it is not tried"));
  }
}

std::vector<std::string> OrderList::order_now() const {
  std::vector<std::string> order;
  for (int row = 0; row < count(); ++row) {
    if (item(row)->checkState() != Qt::Checked) continue;
    order.push_back(item(row)->data(kTechniqueRole).toString().toStdString());
  }
  return order;
}

std::optional<std::vector<std::string>> OrderList::changed_order() const {
  auto order = order_now();
  if (order == proposed_) return std::nullopt;
  return order;
}

}  // namespace lwb
