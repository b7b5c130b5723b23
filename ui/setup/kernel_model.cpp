#include "ui/setup/kernel_model.h"

#include "ui/theme/theme.h"

namespace lwb {

void KernelModel::set_kernels(std::vector<KernelEntry> kernels) {
  beginResetModel();
  kernels_ = std::move(kernels);
  endResetModel();
}

int KernelModel::row_of(const QString& name) const {
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    if (kernels_[i].name == name.toStdString()) return static_cast<int>(i);
  }
  return -1;
}

int KernelModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(kernels_.size());
}

int KernelModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumns;
}

QVariant KernelModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const KernelEntry& kernel = kernels_[static_cast<std::size_t>(index.row())];
  if (role == Qt::ForegroundRole) {
    if (index.column() == kState) return kernel.ready ? tokens().good : tokens().secondary;
    if (!kernel.ready) return tokens().secondary;
  }
  const QString reason = kernel.ready
                             ? (kernel.jit_kernels.size() == 1
                                    ? tr("1 launched kernel")
                                    : tr("%1 launched kernels").arg(kernel.jit_kernels.size()))
                             : QString::fromStdString(kernel.reason);
  if (role == Qt::ToolTipRole) return reason;
  if (role != Qt::DisplayRole) return {};
  switch (index.column()) {
    case kState:
      return kernel.ready ? tr("✓ ready") : tr("– not ready");
    case kName:
      return QString::fromStdString(kernel.name);
    case kReason:
      return reason;
    default:
      return {};
  }
}

QVariant KernelModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  switch (section) {
    case kState:
      return tr("State");
    case kName:
      return tr("Kernel");
    case kReason:
      return tr("What it holds, or why it is not ready");
    default:
      return {};
  }
}

}  // namespace lwb
