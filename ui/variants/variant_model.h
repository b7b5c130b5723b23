// The variants of the run, the original first: a row of the comparison each.
#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "core/base/json.h"

namespace lwb {

class RunView;

class VariantModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column {
    kMark,  // the winner's star
    kName,
    kAuthor,
    kTechniques,
    kVerdict,
    kScore,
    kInterval,
    kForward,
    kBackward,
    kMemory,
    kRegisters,
    kSpills,
    kColumns
  };
  enum Role { kNumberRole = Qt::UserRole, kSortRole };

  explicit VariantModel(RunView& run, QObject* parent = nullptr);
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  int number(int row) const;
  int row_of(int number) const;  // -1: there is none

 private:
  struct Row {
    int number = 0;
    Json record;  // empty for the original
  };
  void rebuild();
  bool is_winner(const Row& row) const;
  QVariant text(const Row& row, int column) const;
  QVariant sort_value(const Row& row, int column) const;
  QVariant tip(const Row& row, int column) const;
  RunView& run_;
  std::vector<Row> rows_;
};

}  // namespace lwb
