// Rows of many columns: a loop reads them into memory, with code for each type in place of code for
// each column.
#include "codegen/emit_scan.h"

// What the loop knows of a column: a row of a constant table.
typedef struct WideColumn {
    uint32_t kind;      // Whose code reads it: a number of Wide.kinds.
    uint32_t number;    // By which its format finds it in a row.
    uint32_t site;      // Of its faults.
    uint32_t offset;    // Of its value in the memory.
} WideColumn;

typedef struct Wide {
    WideColumn *columns;
    uint32_t    count;
    uint32_t   *kinds;    // By kind: the first column of it.
    uint32_t    kind_count;
    size_t      bytes;    // Of the memory.
} Wide;

// The code for a type finds a column by its number; members of a struct have numbers of their own.
static bool same_kind(const SourceOp *source, uint32_t a, uint32_t b) {
    const Type *type = source->columns[a].type;
    return type == source->columns[b].type && type_base(type)->kind != TYPE_STRUCT;
}

static uint32_t kind_of(const SourceOp *source, Wide *wide, uint32_t column) {
    uint32_t kind = 0;
    while (kind < wide->kind_count && !same_kind(source, wide->kinds[kind], column)) kind++;
    if (kind == wide->kind_count) wide->kinds[wide->kind_count++] = column;
    return kind;
}

static void add_column(Emit *e, Frame *frame, Wide *wide, uint32_t i) {
    TextRow *row = frame->text;
    const SourceColumn *column = &frame->op->source.columns[i];
    size_t align = type_align(column->type);
    wide->bytes = align_up(wide->bytes, align);
    row->offsets[i] = wide->bytes;
    wide->columns[wide->count++] = (WideColumn){
        .kind = kind_of(&frame->op->source, wide, i),
        .number = text_format_of(&frame->op->source)->number(row, i),
        .site = emit_column_site(e, frame->step, column->name),
        .offset = (uint32_t)wide->bytes};
    wide->bytes += type_size(column->type);
}

static Val emit_table(Emit *e, const Wide *wide) {
    enum { WORDS = sizeof(WideColumn) / sizeof(uint32_t) };
    Val *words = arena_new_array(e->arena, Val, WORDS * wide->count);
    for (uint32_t i = 0; i < wide->count; i++) {
        const WideColumn *column = &wide->columns[i];
        words[WORDS * i + offsetof(WideColumn, kind) / 4] = emit_i32(e, column->kind);
        words[WORDS * i + offsetof(WideColumn, number) / 4] = emit_i32(e, column->number);
        words[WORDS * i + offsetof(WideColumn, site) / 4] = emit_i32(e, column->site);
        words[WORDS * i + offsetof(WideColumn, offset) / 4] = emit_i32(e, column->offset);
    }
    return emit_global(e, LLVMConstArray2(e->i32, words, WORDS * (uint64_t)wide->count), "columns");
}

// The code of a kind: reads the column that `at` describes, goes on at `next`.
static void emit_kind(Emit *e, Frame *frame, uint32_t column, Val at, Block next) {
    const SourceOp *source = &frame->op->source;
    TextRow *row = frame->text;
    const Type *type = source->columns[column].type;
    Val number = emit_load_at(e, e->i32, at, offsetof(WideColumn, number), "number");
    Val offset = emit_load_at(e, e->i32, at, offsetof(WideColumn, offset), "offset");
    size_t mark = emit_region_begin(e);
    if (type_base(type)->kind != TYPE_STRUCT) row->number = LLVMBuildZExt(e->b, number, e->i64, "");
    Val site = emit_load_at(e, e->i32, at, offsetof(WideColumn, site), "site");
    e->stage->column_site = site;
    Value value = text_format_of(source)->column(e, frame, column);
    Val place = emit_index(e, e->i8, row->memory, LLVMBuildZExt(e->b, offset, e->i64, ""));
    emit_store_value(e, type, value, place);
    emit_region_end(e, mark);
    row->number = e->stage->column_site = nullptr;
    emit_jump(e, next);
}

static void emit_loop(Emit *e, Frame *frame, const Wide *wide) {
    Val table = emit_table(e, wide);
    Block head = emit_block(e, "wide_column"), next = emit_block(e, "wide_next"),
          done = emit_block(e, "wide_done"), from = emit_here(e);
    emit_jump(e, head);
    emit_at(e, head);
    Val i = emit_phi(e, e->i64, "column");
    emit_phi_add(i, emit_i64(e, 0), from);
    Val at = emit_index(e, LLVMArrayType2(e->i8, sizeof(WideColumn)), table, i);
    Val kind = emit_load_at(e, e->i32, at, offsetof(WideColumn, kind), "kind");
    Block *blocks = arena_new_array(e->arena, Block, wide->kind_count);
    for (uint32_t k = 0; k < wide->kind_count; k++) blocks[k] = emit_block(e, "kind");
    Val choice = LLVMBuildSwitch(e->b, kind, blocks[0], wide->kind_count);
    for (uint32_t k = 0; k < wide->kind_count; k++) {
        if (k) LLVMAddCase(choice, emit_i32(e, k), blocks[k]);
        emit_at(e, blocks[k]);
        emit_kind(e, frame, wide->kinds[k], at, next);
    }
    emit_at(e, next);
    Val more = LLVMBuildAdd(e->b, i, emit_i64(e, 1), "");
    emit_phi_add(i, more, next);
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntULT, more, emit_i64(e, wide->count), ""), head, done);
    emit_at(e, done);
}

bool row_is_wide(const SourceOp *source) {
    return source->column_count > WIDE_COLUMNS && text_format_of(source)->number;
}

void wide_judge(Emit *e, Frame *frame) {
    const SourceOp *source = &frame->op->source;
    TextRow *row = frame->text;
    Wide wide = {.columns = arena_new_array(e->arena, WideColumn, source->column_count),
                 .kinds = arena_new_array(e->arena, uint32_t, source->column_count)};
    row->offsets = arena_new_array(e->arena, size_t, source->column_count);
    for (uint32_t i = 0; i < source->column_count; i++) {
        row->offsets[i] = SIZE_MAX;
        // What a filter has asked for is there.
        if (source->columns[i].read && !frame->columns[i].a) add_column(e, frame, &wide, i);
    }
    if (!wide.count) return;
    row->memory = emit_alloca(e, LLVMArrayType2(e->i8, wide.bytes), "wide_row");
    emit_loop(e, frame, &wide);
}

bool wide_has(const TextRow *row, uint32_t column) {
    return row->offsets && column < row->op->source.column_count &&
           row->offsets[column] != SIZE_MAX;
}

Value wide_column(Emit *e, Frame *frame, uint32_t column) {
    const TextRow *row = frame->text;
    return emit_load_value(e, frame->op->source.columns[column].type,
                           emit_offset(e, row->memory, row->offsets[column]));
}
