// A variant being edited by a person: the original beside it, both marked as one types, and what
// saving it does.
#pragma once

#include <QTimer>
#include <QWidget>
#include <string>

class QLabel;
class QLineEdit;
class QPushButton;

namespace lwb {

class EditPane;

class VariantEditor : public QWidget {
  Q_OBJECT
 public:
  explicit VariantEditor(QWidget* parent = nullptr);

  void edit(const QString& title, const std::string& original, const std::string& text);
  std::string text() const;
  QString change_title() const;
  bool is_changed() const;  // since edit()
  EditPane* pane() { return new_; }

 Q_SIGNALS:
  void save_wanted();
  void discarded();

 private:
  void compare();
  QLabel* title_;
  QLineEdit* change_;
  QPushButton* save_;
  EditPane* old_;
  EditPane* new_;
  QTimer quiet_;
  std::string original_, begun_;
};

}  // namespace lwb
