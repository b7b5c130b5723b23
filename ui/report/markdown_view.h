// A Markdown document of the run (report, comparison, profile, notes), with its pictures.
#pragma once

#include <QTextBrowser>
#include <filesystem>

namespace lwb {

struct Tokens;

class MarkdownView : public QTextBrowser {
  Q_OBJECT
 public:
  explicit MarkdownView(QWidget* parent = nullptr);
  // `folder`: where relative pictures and links are looked for.
  void show_text(const QString& markdown, const std::filesystem::path& folder);

 protected:
  void changeEvent(QEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  void render();
  QString markdown_;
  const Tokens* themed_ = nullptr;  // as it was last rendered
};

}  // namespace lwb
