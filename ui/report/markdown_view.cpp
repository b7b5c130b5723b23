#include "ui/report/markdown_view.h"

#include <QEvent>
#include <QScrollBar>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextDocument>
#include <QTextTable>

#include "ui/theme/theme.h"

namespace lwb {

MarkdownView::MarkdownView(QWidget* parent) : QTextBrowser(parent) {
  setOpenExternalLinks(true);
  document()->setDocumentMargin(12);
}

void MarkdownView::show_text(const QString& markdown, const std::filesystem::path& folder) {
  markdown_ = markdown;
  setSearchPaths({QString::fromStdString(folder.string())});
  render();
  moveCursor(QTextCursor::Start);
  verticalScrollBar()->setValue(0);
}

void MarkdownView::changeEvent(QEvent* event) {
  QTextBrowser::changeEvent(event);
  // What is not in sight is rendered when it comes into sight: a long report takes a while.
  if (event->type() == QEvent::PaletteChange && isVisible() && themed_ != &tokens()) render();
}

void MarkdownView::showEvent(QShowEvent* event) {
  if (themed_ != &tokens()) render();
  QTextBrowser::showEvent(event);
}

// Tables get thin lines and room, code its font and ground: Qt's Markdown gives them neither.
void MarkdownView::render() {
  const int at = verticalScrollBar()->value();
  themed_ = &tokens();
  document()->setDefaultFont(font());
  document()->setMarkdown(markdown_, QTextDocument::MarkdownDialectGitHub);
  for (QTextFrame* frame : document()->rootFrame()->childFrames()) {
    auto* table = qobject_cast<QTextTable*>(frame);
    if (table == nullptr) continue;
    QTextTableFormat format = table->format();
    format.setBorder(1);
    format.setBorderStyle(QTextFrameFormat::BorderStyle_Solid);
    format.setBorderBrush(tokens().line);
    format.setBorderCollapse(true);
    format.setCellPadding(4);
    format.setTopMargin(6);
    format.setBottomMargin(12);
    table->setFormat(format);
  }
  for (QTextBlock block = document()->begin(); block.isValid(); block = block.next()) {
    if (const int level = block.blockFormat().headingLevel(); level > 0) {
      QTextCursor cursor(block);
      cursor.select(QTextCursor::BlockUnderCursor);
      QTextCharFormat format;
      format.setFont(level == 1 ? title_font() : strong_font());
      format.clearProperty(QTextFormat::FontSizeAdjustment);
      format.setProperty(QTextFormat::FontSizeAdjustment, 0);
      cursor.mergeCharFormat(format);
      continue;
    }
    const bool code = block.blockFormat().hasProperty(QTextFormat::BlockCodeLanguage) ||
                      block.blockFormat().hasProperty(QTextFormat::BlockCodeFence);
    if (!code) continue;
    QTextCursor cursor(block);
    cursor.select(QTextCursor::BlockUnderCursor);
    QTextCharFormat format;
    format.setFont(code_font());
    cursor.mergeCharFormat(format);
    QTextBlockFormat ground;
    ground.setBackground(tokens().stripe);
    QTextCursor(block).mergeBlockFormat(ground);
  }
  verticalScrollBar()->setValue(at);
}

}  // namespace lwb
