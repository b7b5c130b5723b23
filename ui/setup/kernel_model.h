// The op files of a checkout: which can be optimized, and why the others cannot.
#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "core/checkout/checkout.h"

namespace lwb {

class KernelModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { kState, kName, kReason, kColumns };
  using QAbstractTableModel::QAbstractTableModel;
  void set_kernels(std::vector<KernelEntry> kernels);
  const std::vector<KernelEntry>& kernels() const { return kernels_; }
  int row_of(const QString& name) const;  // -1: no such op file

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::vector<KernelEntry> kernels_;
};

}  // namespace lwb
