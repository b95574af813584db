// AST print: an indented tree of a program, for `sbc --dump=ast` and for comparing programs.
#ifndef SBC_FRONTEND_AST_PRINT_H
#define SBC_FRONTEND_AST_PRINT_H

#include "frontend/ast.h"

// One node a line, two spaces a level; no places in it, so that equal programs print alike.
void ast_print(TextBuf *buf, const AstFile *file);

// What an operator is called in the language: "+", "and".
const char *ast_op_text(AstOp op);

#endif
