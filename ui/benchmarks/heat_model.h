// Every cell of the run against every variant: the ratio with its verdict, tinted by it.
#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "core/measure/sample_table.h"

namespace lwb {

class BenchmarkBoard;

class HeatModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  // Fixed columns; v1 and on follow.
  enum Column { kCall, kPass, kOriginal, kFirstVariant };

  explicit HeatModel(const BenchmarkBoard& board, QObject* parent = nullptr);
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

  const SampleTable::Cell& cell(int row) const { return cells_[static_cast<std::size_t>(row)]; }
  // -1: the column is of no variant.
  int variant(int column) const;

 private:
  void refresh();
  const BenchmarkBoard& board_;
  std::vector<SampleTable::Cell> cells_;
  std::vector<int> variants_;  // without the original
};

}  // namespace lwb
