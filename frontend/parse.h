// Parse: source text to AST. Recovers at statement and step borders, so that all errors of a file
// come in one go.
#ifndef SBC_FRONTEND_PARSE_H
#define SBC_FRONTEND_PARSE_H

#include "frontend/ast.h"
#include "frontend/diag.h"

// Parses file number `file`. Never null; broken parts are AST_*_ERROR nodes already diagnosed.
AstFile *parse_file(Arena *arena, SourceSet *sources, uint32_t file, Diags *diags);

// Parses one type (declarations of the standard library, tests). Null after a diagnosed error.
AstType *parse_type_text(Arena *arena, SourceSet *sources, uint32_t file, Diags *diags);

// Parses one expression, the whole file.
AstExpr *parse_expr_text(Arena *arena, SourceSet *sources, uint32_t file, Diags *diags);

#endif
