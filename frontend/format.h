// Format: the one true layout of a program, for `sbc fmt`. Idempotent; comments stay.
#ifndef SBC_FRONTEND_FORMAT_H
#define SBC_FRONTEND_FORMAT_H

#include "frontend/ast.h"
#include "frontend/source.h"

// Prints `file`, which parsed without errors.
void format_file(TextBuf *buf, const SourceSet *sources, const AstFile *file);

#endif
