// Items: the lists that steps have, of values with names and of the keys of an order.
#ifndef SBC_FRONTEND_PARSE_ITEMS_H
#define SBC_FRONTEND_PARSE_ITEMS_H

#include "frontend/parser.h"

typedef struct Items {
    AstItem *items;
    size_t   count, cap;
} Items;

void items_push(Parser *p, Items *items, AstItem item);
void items_be_one(Parser *p, AstStep *step, AstItem item);  // The step has this item alone.
// "`STEP` lists nothing". `fix`: what to do, unless the list begins on the line below.
Diag *items_blame_none(Parser *p, const AstStep *step, const char *fix);

// An item that is no bare column must say what its result is called.
void items_want_name(Parser *p, const AstItem *item, bool bare_column_is_enough);

AstItem parse_item(Parser *p);
// Items up to the end of the step, each with a name unless it is a bare column.
Items parse_items(Parser *p, AstStep *step, bool bare_column_is_enough);
// Keys of an order, up to a brace or the word `end`. Those of `top` go down unless they say `asc`.
Items parse_sort_keys(Parser *p, AstStep *step, const char *end);

void parse_join(Parser *p, AstStep *step);

#endif
