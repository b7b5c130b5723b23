// QScintilla's headers are written with Qt's keywords, which this project does without
// (QT_NO_KEYWORDS): they are lent for as long as those headers are read.
#pragma once

#define signals Q_SIGNALS
#define slots Q_SLOTS
#include <Qsci/qscilexerpython.h>
#include <Qsci/qsciscintilla.h>
#include <Qsci/qscistyle.h>
#undef slots
#undef signals
