// Reductions: the tree of docs/ir.md over one dimension, fused with what computes the elements.
//
//   for each result, or up to COLUMNS_MAX of them that lie side by side:
//       for each block of TREE_BLOCK elements:
//           lane i % TREE_LANES takes element i, in turn;
//           then the upper half of the lanes goes into the lower one, until one is left
//       the results of the blocks are reduced in the same way
//
// Lanes begin with what changes nothing: so a block may be short. Loops over lanes or over columns
// are the innermost ones, and LLVM's vectoriser makes registers of them.
#include "codegen/emit_nest.h"

#include <math.h>

enum { COLUMNS_MAX = 64 };

// A lane, or what a block gives: a value and, of REDUCE_ARGMIN and REDUCE_ARGMAX, its place.
typedef struct Item {
    Val value, place;
} Item;

// Where items lie: values, and places after them.
typedef struct Store {
    Val values, places;
} Store;

typedef struct Tree {
    Emit *e;
    const TensorLoop *loop;
    ExprOp op;
    Ty     type;         // Of the value of an item.
    uint64_t item_bytes;
    const Type *elem;    // Of the elements.
    bool   places;
    Val    columns;      // Results side by side.
    bool   many;         // May they be more than one?
    Store  lanes;
    // Elements are read at the bases of the leaves, and so much further for each column.
    const Val *base;
    const Extent *column_step, *axis_step;
} Tree;

static bool sums_wide(const TensorLoop *loop) {
    const Type *elem = loop->type->elem;
    return loop->reduction->op == EXPR_REDUCE_SUM && type_is_integer(elem) &&
           type_bits(elem) == 64;
}

// Sums of 64-bit integers are exact in 128 bits. A bool is a byte.
static Ty item_type(Emit *e, const TensorLoop *loop) {
    const Type *elem = loop->type->elem;
    if (sums_wide(loop)) return e->i128;
    if (loop->reduction->op == EXPR_REDUCE_SUM && type_is_integer(elem)) return e->i64;
    return elem->kind == TYPE_BOOL ? e->i8 : emit_type(e, elem);
}

static uint64_t item_bytes(const TensorLoop *loop) {
    const Type *elem = loop->type->elem;
    if (sums_wide(loop)) return sizeof(__int128);
    if (loop->reduction->op == EXPR_REDUCE_SUM && type_is_integer(elem)) return sizeof(int64_t);
    return type_size(elem);
}

static bool gives_places(const Expr *x) {
    return x->op == EXPR_REDUCE_ARGMIN || x->op == EXPR_REDUCE_ARGMAX;
}

static bool is_signed(const Type *elem) { return type_is_signed(elem); }

// ---- items --------------------------------------------------------------------------------------

// What changes no other item.
static Val neutral(const Tree *tree) {
    Emit *e = tree->e;
    bool least = tree->op == EXPR_REDUCE_MIN || tree->op == EXPR_REDUCE_ARGMIN;
    bool bounds = least || tree->op == EXPR_REDUCE_MAX || tree->op == EXPR_REDUCE_ARGMAX;
    if (type_is_float(tree->elem)) {
        double value = tree->op == EXPR_REDUCE_SUM ? -0.0
                       : tree->op == EXPR_REDUCE_PROD ? 1.0
                       : least                        ? (double)NAN
                                                      : -(double)INFINITY;
        return LLVMConstReal(tree->type, value);
    }
    if (!bounds) return emit_int(e, tree->type, tree->op == EXPR_REDUCE_ALL);
    unsigned bits = LLVMGetIntTypeWidth(tree->type);
    uint64_t all = UINT64_MAX >> (64 - bits), most = is_signed(tree->elem) ? all >> 1 : all;
    return emit_int(e, tree->type, least ? most : all - most);
}

static Val is_nan(Emit *e, Val value) {
    return LLVMBuildFCmp(e->b, LLVMRealUNO, value, value, "");
}

// Does `a` come before `b`? NaN is the greatest.
static Val is_less(const Tree *tree, Val a, Val b) {
    Emit *e = tree->e;
    if (!type_is_float(tree->elem))
        return LLVMBuildICmp(e->b, is_signed(tree->elem) ? LLVMIntSLT : LLVMIntULT, a, b, "");
    Val less = LLVMBuildFCmp(e->b, LLVMRealOLT, a, b, "");
    Val last = LLVMBuildAnd(e->b, LLVMBuildNot(e->b, is_nan(e, a), ""), is_nan(e, b), "");
    return LLVMBuildOr(e->b, less, last, "");
}

static Item choose(const Tree *tree, Item a, Item b) {
    Emit *e = tree->e;
    bool least = tree->op == EXPR_REDUCE_MIN || tree->op == EXPR_REDUCE_ARGMIN;
    Val better = least ? is_less(tree, b.value, a.value) : is_less(tree, a.value, b.value);
    if (tree->places) {
        Val worse = least ? is_less(tree, a.value, b.value) : is_less(tree, b.value, a.value);
        Val before = LLVMBuildICmp(e->b, LLVMIntSLT, b.place, a.place, "");
        Val equal = LLVMBuildAnd(e->b, LLVMBuildNot(e->b, worse, ""), before, "");
        better = LLVMBuildOr(e->b, better, equal, "");
        a.place = LLVMBuildSelect(e->b, better, b.place, a.place, "");
    }
    a.value = LLVMBuildSelect(e->b, better, b.value, a.value, "");
    return a;
}

static Item combine(const Tree *tree, Item a, Item b) {
    Emit *e = tree->e;
    bool real = type_is_float(tree->elem);
    switch ((int)tree->op) {
    case EXPR_REDUCE_SUM:
        return (Item){.value = real ? LLVMBuildFAdd(e->b, a.value, b.value, "")
                                    : LLVMBuildAdd(e->b, a.value, b.value, "")};
    case EXPR_REDUCE_PROD: return (Item){.value = LLVMBuildFMul(e->b, a.value, b.value, "")};
    case EXPR_REDUCE_ANY: return (Item){.value = LLVMBuildOr(e->b, a.value, b.value, "")};
    case EXPR_REDUCE_ALL: return (Item){.value = LLVMBuildAnd(e->b, a.value, b.value, "")};
    }
    return choose(tree, a, b);
}

static Item load_item(const Tree *tree, Store store, Val at) {
    Emit *e = tree->e;
    Item item = {.value = emit_load(e, tree->type, emit_index(e, tree->type, store.values, at),
                                    "")};
    if (tree->places)
        item.place = emit_load(e, e->i64, emit_index(e, e->i64, store.places, at), "");
    return item;
}

static void store_item(const Tree *tree, Store store, Val at, Item item) {
    Emit *e = tree->e;
    emit_store(e, item.value, emit_index(e, tree->type, store.values, at));
    if (tree->places) emit_store(e, item.place, emit_index(e, e->i64, store.places, at));
}

// ---- elements -----------------------------------------------------------------------------------

// Where a level of the tree takes its items from: `values` null: the elements of the loop.
typedef struct Level {
    Store    from;
    uint64_t count;
} Level;

static Item element(const Tree *tree, Val at, Val column) {
    Emit *e = tree->e;
    const TensorLoop *loop = tree->loop;
    Val *places = arena_new_array(e->arena, Val, loop->leaf_count + 1);
    for (size_t i = 0; i < loop->leaf_count; i++) {
        Val along = LLVMBuildMul(e->b, at, emit_extent(e, &tree->axis_step[i]), "");
        Val across = LLVMBuildMul(e->b, column, emit_extent(e, &tree->column_step[i]), "");
        places[i] = LLVMBuildAdd(e->b, LLVMBuildAdd(e->b, tree->base[i], along, ""), across, "");
    }
    Val value = emit_element_at(e, loop, places).a;
    if (LLVMTypeOf(value) != tree->type) {
        bool extend = is_signed(tree->elem);
        value = extend ? LLVMBuildSExt(e->b, value, tree->type, "")
                       : LLVMBuildZExt(e->b, value, tree->type, "");
    }
    return (Item){value, tree->places ? at : nullptr};
}

static Item item_at(const Tree *tree, const Level *level, Val at, Val column) {
    Emit *e = tree->e;
    if (!level->from.values) return element(tree, at, column);
    Val row = LLVMBuildMul(e->b, at, tree->columns, "");
    return load_item(tree, level->from, LLVMBuildAdd(e->b, row, column, ""));
}

// ---- blocks -------------------------------------------------------------------------------------

// Two loops over lanes and columns, of which one with a single turn is none.
typedef struct Grid {
    Count lanes, columns;
    Val   lane, column, at;  // `at`: of the lane's item.
} Grid;

static Grid emit_grid(const Tree *tree, Val lanes) {
    Emit *e = tree->e;
    Grid grid = {.column = emit_i64(e, 0)};
    grid.lanes = emit_count(e, lanes);
    grid.lane = grid.at = grid.lanes.at;
    if (!tree->many) return grid;
    grid.columns = emit_count(e, tree->columns);
    grid.column = grid.columns.at;
    Val row = LLVMBuildMul(e->b, grid.lane, tree->columns, "");
    grid.at = LLVMBuildAdd(e->b, row, grid.column, "");
    return grid;
}

static void emit_grid_end(const Tree *tree, const Grid *grid) {
    if (tree->many) emit_count_end(tree->e, &grid->columns, true);
    emit_count_end(tree->e, &grid->lanes, true);
}

static void take_items(const Tree *tree, const Level *level, Val first, Val lanes) {
    Emit *e = tree->e;
    Grid grid = emit_grid(tree, lanes);
    Item item = item_at(tree, level, LLVMBuildAdd(e->b, first, grid.lane, ""), grid.column);
    item = combine(tree, load_item(tree, tree->lanes, grid.at), item);
    store_item(tree, tree->lanes, grid.at, item);
    emit_grid_end(tree, &grid);
}

// Leaves the result of `count` items from `first` on in the first lane.
static void emit_block_tree(const Tree *tree, const Level *level, Val first, Val count) {
    Emit *e = tree->e;
    bool known = LLVMIsAConstantInt(count);
    uint64_t most = known ? LLVMConstIntGetZExtValue(count) : TREE_BLOCK;
    uint64_t used = most < TREE_LANES ? most : TREE_LANES;
    Grid grid = emit_grid(tree, emit_i64(e, (int64_t)used));
    Item none = {neutral(tree), emit_i64(e, INT64_MAX)};
    store_item(tree, tree->lanes, grid.at, none);
    emit_grid_end(tree, &grid);
    Val width = emit_i64(e, TREE_LANES);
    if (most >= TREE_LANES) {
        Count turns = emit_count(e, LLVMBuildUDiv(e->b, count, width, ""));
        Val from = LLVMBuildMul(e->b, turns.at, width, "");
        take_items(tree, level, LLVMBuildAdd(e->b, first, from, ""), width);
        emit_count_end(e, &turns, true);
    }
    if (!known || most % TREE_LANES) {
        Val rest = LLVMBuildURem(e->b, count, width, "");
        take_items(tree, level, LLVMBuildAdd(e->b, first, LLVMBuildSub(e->b, count, rest, ""), ""),
                   rest);
    }
    for (uint64_t half = TREE_LANES / 2; half; half /= 2) {
        if (used <= half) continue;
        uint64_t pairs = used - half < half ? used - half : half;
        grid = emit_grid(tree, emit_i64(e, (int64_t)pairs));
        Val offset = LLVMBuildMul(e->b, emit_i64(e, (int64_t)half), tree->columns, "");
        Item upper = load_item(tree, tree->lanes, LLVMBuildAdd(e->b, grid.at, offset, ""));
        Item lower = load_item(tree, tree->lanes, grid.at);
        store_item(tree, tree->lanes, grid.at, combine(tree, lower, upper));
        emit_grid_end(tree, &grid);
        used = half;
    }
}

static uint64_t blocks_of(uint64_t count) { return (count + TREE_BLOCK - 1) / TREE_BLOCK; }

static void keep_block(const Tree *tree, Store to, Val block) {
    Emit *e = tree->e;
    Count columns = emit_count(e, tree->columns);
    Val row = LLVMBuildMul(e->b, block, tree->columns, "");
    Item item = load_item(tree, tree->lanes, columns.at);
    store_item(tree, to, LLVMBuildAdd(e->b, row, columns.at, ""), item);
    emit_count_end(e, &columns, true);
}

// The blocks of the items, whose results go to `to`. `ragged`: the last one may be short.
static void emit_blocks(const Tree *tree, const Level *level, Val items, Val blocks, Store to,
                        bool ragged) {
    Emit *e = tree->e;
    Count count = emit_count(e, blocks);
    Val size = emit_i64(e, TREE_BLOCK);
    Val first = LLVMBuildMul(e->b, count.at, size, "");
    Val left = LLVMBuildSub(e->b, items, first, "");
    Val shorter = LLVMBuildICmp(e->b, LLVMIntULT, left, size, "");
    Val length = ragged ? LLVMBuildSelect(e->b, shorter, left, size, "") : size;
    emit_block_tree(tree, level, first, length);
    keep_block(tree, to, count.at);
    emit_count_end(e, &count, true);
}

static Val blocks_in(Emit *e, Val items) {
    Val up = LLVMBuildAdd(e->b, items, emit_i64(e, TREE_BLOCK - 1), "");
    return LLVMBuildUDiv(e->b, up, emit_i64(e, TREE_BLOCK), "");
}

// Room for the values of as many items as `blocks` give, in bytes.
static Val values_bytes(const Tree *tree, Val blocks) {
    Emit *e = tree->e;
    Val items = LLVMBuildMul(e->b, blocks, tree->columns, "");
    Val bytes = LLVMBuildMul(e->b, items, emit_i64(e, (int64_t)tree->item_bytes), "");
    Val up = LLVMBuildAdd(e->b, bytes, emit_i64(e, 15), "");
    return LLVMBuildAnd(e->b, up, emit_i64(e, -16), "");
}

// As emit_tree, of a dimension whose size the row has. Each level takes the place of the one
// before: a block begins at or after the place of its result.
static void emit_open_tree(const Tree *tree, Val items, Val room) {
    Emit *e = tree->e;
    Val blocks = blocks_in(e, items), slot = emit_alloca(e, e->i64, "items");
    Store to = {.values = room};
    if (tree->places) to.places = emit_index(e, e->i8, room, values_bytes(tree, blocks));
    emit_blocks(tree, &(Level){0}, items, blocks, to, true);
    emit_store(e, blocks, slot);
    Block head = emit_block(e, "level"), body = emit_block(e, "blocks");
    Block done = emit_block(e, "levels_done");
    emit_jump(e, head);
    emit_at(e, head);
    Val left = emit_load(e, e->i64, slot, "");
    Val more = LLVMBuildICmp(e->b, LLVMIntUGT, left, emit_i64(e, 1), "");
    LLVMBuildCondBr(e->b, more, body, done);
    emit_at(e, body);
    Val next = blocks_in(e, left);
    emit_blocks(tree, &(Level){.from = to}, left, next, to, true);
    emit_store(e, next, slot);
    emit_jump(e, head);
    emit_at(e, done);
}

// Leaves the result of all items in the first lane. `room`: for what blocks give. `columns`: how
// many they are at most.
static void emit_tree(const Tree *tree, Level level, Val room, uint64_t columns) {
    Emit *e = tree->e;
    while (level.count > TREE_BLOCK) {
        uint64_t blocks = blocks_of(level.count), items = blocks * columns;
        Store to = {.values = room};
        room = emit_offset(e, room, (items * tree->item_bytes + 15) / 16 * 16);
        to.places = room;
        if (tree->places) room = emit_offset(e, room, (items * 8 + 15) / 16 * 16);
        emit_blocks(tree, &level, emit_i64(e, (int64_t)level.count),
                    emit_i64(e, (int64_t)blocks), to, level.count % TREE_BLOCK);
        level = (Level){to, blocks};
    }
    emit_block_tree(tree, &level, emit_i64(e, 0), emit_i64(e, (int64_t)level.count));
}

// ---- results ------------------------------------------------------------------------------------

// The result in memory, `at` elements from the first one.
static void emit_result(const Tree *tree, Val at, Item item) {
    Emit *e = tree->e;
    const Type *elem = type_element(tree->loop->reduction->type);
    Val value = item.value;
    if (sums_wide(tree->loop)) {
        Val low = LLVMBuildTrunc(e->b, value, e->i64, "");
        Val back = is_signed(elem) ? LLVMBuildSExt(e->b, low, e->i128, "")
                                   : LLVMBuildZExt(e->b, low, e->i128, "");
        Val bad = LLVMBuildICmp(e->b, LLVMIntNE, back, value, "");
        Val raised = LLVMBuildOr(e->b, emit_load(e, e->i1, e->lanes->kept, ""), bad, "");
        emit_store(e, raised, e->lanes->kept);
        value = low;
    }
    if (elem->kind == TYPE_BOOL) value = LLVMBuildTrunc(e->b, value, e->i1, "");
    if (tree->places) value = item.place;
    Val bytes = LLVMBuildMul(e->b, at, emit_i64(e, (int64_t)type_size(elem)), "");
    Val out = LLVMGetParam(e->fn, PARAM_OUT);
    emit_store_value(e, elem, (Value){.a = value}, emit_index(e, e->i8, out, bytes));
}

// Results side by side go together where the reduced dimension is no row of memory.
static bool goes_by_columns(const TensorLoop *loop, const Nest *nest, const Extent *axis_step) {
    if (!nest->rank || loop->type->shape[loop->axis] == 1 ||
        !extent_is(&nest->step[0][loop->leaf_count], 1))
        return false;
    bool rows = false, columns = false;
    for (size_t i = 0; i < loop->leaf_count; i++) {
        rows |= extent_is(&axis_step[i], 1);
        columns |= extent_is(&nest->step[0][i], 1);
    }
    return columns && !rows;
}

// `columns` results from those on whose leaves, and the result at the end, are at `base`.
static void emit_columns(Tree *tree, const Val *base, Val columns) {
    Emit *e = tree->e;
    Val room = LLVMGetParam(e->fn, PARAM_ROOM);
    const TensorLoop *loop = tree->loop;
    Extent size = extent_of_dimension(loop->type, loop->size, loop->axis);
    bool known = LLVMIsAConstantInt(columns);
    uint64_t most = known ? LLVMConstIntGetZExtValue(columns) : COLUMNS_MAX;
    tree->base = base;
    tree->columns = columns;
    tree->many = most > 1;
    if (size.count || (!known && size.known > TREE_BLOCK))
        emit_open_tree(tree, emit_extent(e, &size), room);
    else emit_tree(tree, (Level){.count = size.known}, room, most);
    Count count = emit_count(e, columns);
    Val at = LLVMBuildAdd(e->b, base[tree->loop->leaf_count], count.at, "");
    emit_result(tree, at, load_item(tree, tree->lanes, count.at));
    emit_count_end(e, &count, true);
}

// Each leaf's place after `turns` of a dimension.
static Val *moved(Emit *e, const TensorLoop *loop, const Val *base, const Extent *step,
                  Val turns) {
    Val *at = arena_new_array(e->arena, Val, loop->leaf_count + 1);
    for (size_t i = 0; i <= loop->leaf_count; i++) {
        Val by = LLVMBuildMul(e->b, turns, emit_extent(e, &step[i]), "");
        at[i] = LLVMBuildAdd(e->b, base[i], by, "");
    }
    return at;
}

static void emit_side_by_side(Tree *tree, const Nest *nest, const Val *base) {
    Emit *e = tree->e;
    Val size = emit_extent(e, &nest->size[0]), width = emit_i64(e, COLUMNS_MAX);
    Val whole = LLVMBuildUDiv(e->b, size, width, ""), rest = LLVMBuildURem(e->b, size, width, "");
    tree->column_step = nest->step[0];
    if (!LLVMIsNull(whole)) {
        Count count = emit_count(e, whole);
        Val turns = LLVMBuildMul(e->b, count.at, width, "");
        emit_columns(tree, moved(e, tree->loop, base, nest->step[0], turns), width);
        emit_count_end(e, &count, true);
    }
    if (LLVMIsNull(rest)) return;
    Val turns = LLVMBuildSub(e->b, size, rest, "");
    emit_columns(tree, moved(e, tree->loop, base, nest->step[0], turns), rest);
}

static Extent *axis_steps(Emit *e, const TensorLoop *loop) {
    Extent *steps = arena_new_array(e->arena, Extent, loop->leaf_count + 1);
    for (size_t i = 0; i < loop->leaf_count; i++)
        steps[i] = leaf_step(loop, &loop->leaves[i], loop->axis);
    return steps;
}

void emit_reduction(Emit *e, TensorLoop *loop) {
    Nest nest = nest_of(e, loop, loop->axis);
    Extent *zeros = arena_new_array(e->arena, Extent, loop->leaf_count + 1);
    Tree tree = {.e = e, .loop = loop, .op = loop->reduction->op, .type = item_type(e, loop),
                 .item_bytes = item_bytes(loop), .elem = loop->type->elem,
                 .places = gives_places(loop->reduction), .column_step = zeros,
                 .axis_step = axis_steps(e, loop)};
    bool columns = goes_by_columns(loop, &nest, tree.axis_step);
    unsigned items = TREE_LANES * (columns ? COLUMNS_MAX : 1);
    tree.lanes.values = emit_alloca(e, LLVMArrayType2(tree.type, items), "lanes");
    if (tree.places)
        tree.lanes.places = emit_alloca(e, LLVMArrayType2(e->i64, items), "places");
    Val *base = arena_new_array(e->arena, Val, loop->leaf_count + 1);
    for (size_t i = 0; i <= loop->leaf_count; i++) base[i] = emit_i64(e, 0);
    Count counts[TENSOR_RANK_MAX];
    for (uint32_t d = nest.rank; d-- > columns;) {
        counts[d] = emit_count(e, emit_extent(e, &nest.size[d]));
        base = moved(e, loop, base, nest.step[d], counts[d].at);
    }
    if (columns) emit_side_by_side(&tree, &nest, base);
    else emit_columns(&tree, base, emit_i64(e, 1));
    for (uint32_t d = columns; d < nest.rank; d++) emit_count_end(e, &counts[d], true);
}

Val reduction_room(Emit *e, const TensorLoop *loop) {
    Nest nest = nest_of(e, loop, loop->axis);
    bool columns = goes_by_columns(loop, &nest, axis_steps(e, loop));
    uint64_t width = columns ? COLUMNS_MAX : 1, room = 0;
    Extent size = extent_of_dimension(loop->type, loop->size, loop->axis);
    if (size.count) {
        uint64_t bytes = width * (item_bytes(loop) + 8);
        Val blocks = blocks_in(e, emit_extent(e, &size));
        Val items = LLVMBuildMul(e->b, blocks, emit_i64(e, (int64_t)bytes), "");
        return LLVMBuildAdd(e->b, items, emit_i64(e, 32), "");
    }
    for (uint64_t n = size.known; n > TREE_BLOCK; n = blocks_of(n))
        room += blocks_of(n) * width * (item_bytes(loop) + 8) + 32;
    return emit_i64(e, (int64_t)room);
}
