// CSV: fields by the index, each read when it is asked for; what the short way does not take
// (quotes, nulls, spaces) goes through sb_field_text.
#include "codegen/emit_format.h"

#include "stdlib/csv.h"
#include "stdlib/field.h"
#include "stdlib/number.h"

#include <string.h>

// What a row of CSV is found by.
typedef struct CsvRow {
    Val  fields;      // ends + row * field_count.
    Val  map;         // By column, its field number (u32).
    Val *field_of;    // The same as i64, loaded once; null: the row is wide.
    Val *straight;    // By hidden column, i1: its columns stand side by side in the file.
    Val  field_count;
    Val  dialect;     // SbCsvDialect constant.
} CsvRow;

static CsvRow *csv_of(const TextRow *row) { return row->own; }

static Text null_word_of(const CsvOptions *csv) {
    return csv->null_count ? csv->nulls[0] : TEXT("");
}

static Val dialect_constant(Emit *e, const CsvOptions *csv) {
    SbCsvDialect dialect = {csv->delimiter, csv->quote, true, {nullptr, 0}};
    static_assert(offsetof(SbCsvDialect, comment) == 8, "three bytes, then the comment");
    Val bytes[8];
    memset(bytes, 0, sizeof bytes);
    const unsigned char *raw = (const unsigned char *)&dialect;
    for (size_t i = 0; i < 8; i++) bytes[i] = emit_int(e, e->i8, raw[i]);
    Val comment = csv->comment.len ? emit_bytes(e, csv->comment, "comment") : LLVMConstNull(e->ptr);
    Val members[] = {LLVMConstArray2(e->i8, bytes, 8), comment,
                     emit_i64(e, (int64_t)csv->comment.len)};
    return emit_global(e, LLVMConstStructInContext(e->ctx, members, 3, false), "dialect");
}

// The number of the column's field.
static Val field_number(Emit *e, const TextRow *row, uint32_t column) {
    if (csv_of(row)->field_of) return csv_of(row)->field_of[column];
    return emit_offset_at(e, csv_of(row)->map, row->number ? row->number : emit_i64(e, column));
}

// Does the file have the columns side by side, in this order?
static Val is_straight(Emit *e, const TextRow *row, RawSpan raw) {
    if (!csv_of(row)->field_of)
        return emit_callv(e, "sb_csv_straight", e->i1,
                          arg(emit_offset(e, csv_of(row)->map, sizeof(uint32_t) * raw.first)),
                          arg(emit_i32(e, raw.last - raw.first + 1)));
    Val straight = emit_i1(e, true);
    for (uint32_t i = raw.first; i < raw.last; i++) {
        Val next = LLVMBuildAdd(e->b, csv_of(row)->field_of[i], emit_i64(e, 1), "");
        Val follows = LLVMBuildICmp(e->b, LLVMIntEQ, csv_of(row)->field_of[i + 1], next, "");
        straight = LLVMBuildAnd(e->b, straight, follows, "");
    }
    return straight;
}

static void load_map(Emit *e, TextRow *row) {
    uint32_t count = row->op->source.column_count;
    csv_of(row)->field_of = arena_new_array(e->arena, Val, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        Val field = emit_load_at(e, e->i32, csv_of(row)->map, sizeof(uint32_t) * i, "field");
        csv_of(row)->field_of[i] = LLVMBuildZExt(e->b, field, e->i64, "");
    }
}

static void open_csv(Emit *e, TextRow *row) {
    const SourceOp *source = &row->op->source;
    row->own = arena_new_of(e->arena, CsvRow);
    csv_of(row)->dialect = dialect_constant(e, &source->options.csv);
    Val count = emit_load_at(e, e->i32, e->task, offsetof(SbTask, input.field_count),
                             "field_count");
    csv_of(row)->field_count = LLVMBuildZExt(e->b, count, e->i64, "");
    csv_of(row)->map = emit_load_at(e, e->ptr, e->task, offsetof(SbTask, input.fields), "fields");
    if (!row_is_wide(source)) load_map(e, row);
    uint32_t hidden = row->op->column_count - source->column_count;
    Val *straight = csv_of(row)->straight = arena_new_array(e->arena, Val, hidden + 1);
    for (uint32_t i = 0; i < hidden; i++) straight[i] = is_straight(e, row, source->raw_of[i]);
}

static void index_csv(Emit *e, TextRow *row, Val pos, Val end) {
    Val count = LLVMBuildTrunc(e->b, csv_of(row)->field_count, e->i32, "");
    emit_callv(e, "sb_csv_index", e->type_void, arg(row->index), arg(row->text), arg(pos), arg(end),
               arg(count), arg(csv_of(row)->dialect));
}

static void begin_csv(Emit *e, TextRow *row) {
    row->begin = emit_offset_at(e, row->starts, row->row);
    csv_of(row)->fields = emit_index(e, e->i32, row->ends,
                             LLVMBuildMul(e->b, row->row, csv_of(row)->field_count, ""));
    Val last = LLVMBuildSub(e->b, csv_of(row)->field_count, emit_i64(e, 1), "");
    row->end = emit_offset_at(e, csv_of(row)->fields, last);
}

// A column that the file lacks, where sources allow that, is as if it held the null word.
static Value known_or_null(Emit *e, const SourceOp *source, Val lacks, Value bytes) {
    Text word = null_word_of(&source->options.csv);
    return (Value){
        .a = LLVMBuildSelect(e->b, lacks, emit_bytes(e, word, "null"), bytes.a, ""),
        .b = LLVMBuildSelect(e->b, lacks, emit_i64(e, (int64_t)word.len), bytes.b, "")};
}

// The bytes of a field, quotes and all. Which column is the file's first is known when the file is
// opened, so that the branch costs nothing.
static Value field_bytes(Emit *e, const TextRow *row, uint32_t column) {
    const SourceOp *source = &row->op->source;
    Val field = field_number(e, row, column);
    bool may_lack = source->options.csv.missing_null && source->columns[column].type->nullable;
    Val lacks = LLVMBuildICmp(e->b, LLVMIntEQ, field, emit_i64(e, SB_CSV_NO_FIELD), "");
    if (may_lack) field = LLVMBuildSelect(e->b, lacks, emit_i64(e, 0), field, "");
    Val end = emit_offset_at(e, csv_of(row)->fields, field);
    Block from = emit_here(e), inner = emit_block(e, "inner"), join = emit_block(e, "bounds");
    Val is_first = LLVMBuildICmp(e->b, LLVMIntEQ, field, emit_i64(e, 0), "");
    emit_branch(e, is_first, join, inner);
    emit_at(e, inner);
    Val before = emit_index(e, e->i32, csv_of(row)->fields, field);
    before = LLVMBuildInBoundsGEP2(e->b, e->i32, before, (Val[]){emit_i64(e, -1)}, 1, "");
    Val behind = LLVMBuildZExt(e->b, emit_load(e, e->i32, before, ""), e->i64, "");
    behind = LLVMBuildAdd(e->b, behind, emit_i64(e, 1), "");
    emit_jump(e, join);
    emit_at(e, join);
    Val start = emit_phi(e, e->i64, "start");
    emit_phi_add(start, row->begin, from);
    emit_phi_add(start, behind, inner);
    Value bytes = {.a = emit_index(e, e->i8, row->text, start),
                   .b = LLVMBuildSub(e->b, end, start, "")};
    return may_lack ? known_or_null(e, source, lacks, bytes) : bytes;
}

static Value raw_csv(Emit *e, Frame *frame, uint32_t column) {
    return field_bytes(e, frame->text, column);
}

// A null of a number may have spaces around its word, which a sink does not write.
static bool may_be_padded(const SourceOp *source, uint32_t column) {
    const Type *type = source->columns[column].type;
    return type->nullable && type_is_numeric(type_base(type));
}

static Val span_constant(Emit *e, const SourceOp *source, RawSpan raw) {
    uint32_t count = raw.last - raw.first + 1;
    Text word = null_word_of(&source->options.csv);
    Val *pads = arena_new_array(e->arena, Val, count);
    for (uint32_t i = 0; i < count; i++)
        pads[i] = emit_int(e, e->i8, may_be_padded(source, raw.first + i));
    Val members[] = {emit_global(e, LLVMConstArray2(e->i8, pads, count), "pads"),
                     emit_bytes(e, word, "null"), emit_i64(e, (int64_t)word.len),
                     emit_i32(e, count),
                     emit_int(e, e->i8, (uint8_t)source->options.csv.delimiter)};
    static_assert(offsetof(SbCsvSpan, count) == 24 && offsetof(SbCsvSpan, delimiter) == 28, "");
    return emit_global(e, LLVMConstStructInContext(e->ctx, members, 5, false), "span");
}

// The fields of some columns in scratch memory, a delimiter between them.
static Value join_fields(Emit *e, Frame *frame, RawSpan raw) {
    const TextRow *row = frame->text;
    const SourceOp *source = &frame->op->source;
    static_assert(offsetof(SbCsvFields, ends) == 8 && offsetof(SbCsvFields, begin) == 16,
                  "in this order");
    Val fields = emit_alloca(e, LLVMArrayType2(e->i64, sizeof(SbCsvFields) / 8), "fields");
    emit_store_at(e, row->text, fields, offsetof(SbCsvFields, text));
    emit_store_at(e, csv_of(row)->fields, fields, offsetof(SbCsvFields, ends));
    emit_store_at(e, row->begin, fields, offsetof(SbCsvFields, begin));
    Val map = emit_load_at(e, e->ptr, e->task, offsetof(SbTask, input.fields), "");
    Val joined = emit_callv(e, "sb_csv_join", e->str_pair, arg(emit_call_context(e)), arg(fields),
                            arg(emit_offset(e, map, sizeof(uint32_t) * raw.first)),
                            arg(span_constant(e, source, raw)));
    Value text = {.a = LLVMBuildExtractValue(e->b, joined, 0, ""),
                  .b = LLVMBuildExtractValue(e->b, joined, 1, "")};
    Val failed = LLVMBuildICmp(e->b, LLVMIntEQ, text.a, LLVMConstNull(e->ptr), "");
    emit_column_fault_if(e, frame->step, source->columns[raw.first].name, failed,
                         emit_i32(e, SB_FAULT_TOO_LARGE), (Detail){0});
    return text;
}

// May the bytes be taken as they stand: side by side, each null as its word?
static Val is_plain(Emit *e, Frame *frame, uint32_t hidden) {
    const SourceOp *source = &frame->op->source;
    RawSpan raw = source->raw_of[hidden];
    Val plain = csv_of(frame->text)->straight[hidden];
    Val word = emit_i64(e, (int64_t)null_word_of(&source->options.csv).len);
    for (uint32_t c = raw.first; c <= raw.last; c++) {
        if (!may_be_padded(source, c)) continue;
        Val valid = frame_column(e, frame, c).valid;
        Val exact = LLVMBuildICmp(e->b, LLVMIntEQ, field_bytes(e, frame->text, c).b, word, "");
        plain = LLVMBuildAnd(e->b, plain, LLVMBuildOr(e->b, valid, exact, ""), "");
    }
    return plain;
}

// The bytes from the first column to the last one: one piece of the file where it has them so.
static Value span_csv(Emit *e, Frame *frame, uint32_t hidden) {
    RawSpan raw = frame->op->source.raw_of[hidden];
    Val plain = is_plain(e, frame, hidden);
    Value first = field_bytes(e, frame->text, raw.first),
          last = field_bytes(e, frame->text, raw.last);
    Val from = LLVMBuildPtrToInt(e->b, first.a, e->i64, ""),
        to = LLVMBuildPtrToInt(e->b, last.a, e->i64, "");
    Val length = LLVMBuildAdd(e->b, LLVMBuildSub(e->b, to, from, ""), last.b, "");
    Block here = emit_here(e), join = emit_block(e, "join"), end = emit_block(e, "span");
    emit_branch_likely(e, plain, end, join);
    emit_at(e, join);
    Value joined = join_fields(e, frame, raw);
    Block join_end = emit_here(e);
    emit_jump(e, end);
    emit_at(e, end);
    Value out = {.a = emit_phi(e, e->ptr, ""), .b = emit_phi(e, e->i64, "")};
    emit_phi_add(out.a, first.a, here);
    emit_phi_add(out.a, joined.a, join_end);
    emit_phi_add(out.b, length, here);
    emit_phi_add(out.b, joined.b, join_end);
    return out;
}

// ---- null words ---------------------------------------------------------------------------------

static Val rules_constant(Emit *e, const CsvOptions *csv, const Type *base) {
    bool is_text = type_is_bytes(base) && base->kind == TYPE_STR;
    Val members[] = {emit_null_words(e, csv), emit_i32(e, csv->null_count),
                     emit_int(e, e->i8, (uint8_t)csv->quote),
                     emit_int(e, e->i8, type_is_numeric(base)), emit_int(e, e->i8, is_text),
                     emit_int(e, e->i8, type_is_numeric(base) ? (uint8_t)csv->thousands : 0)};
    static_assert(offsetof(SbFieldRules, quote) == 12);
    static_assert(offsetof(SbFieldRules, thousands) == 15);
    return emit_global(e, LLVMConstStructInContext(e->ctx, members, 6, false), "rules");
}

// Could the word be read as a value of the type? Of numbers the float reader takes the most; a
// date or a time begins with a digit or a sign.
static bool word_reads(Emit *e, Text word, const Type *base) {
    const char *padded = arena_copy(e->arena, word.at, word.len, 1);
    arena_alloc(e->arena, SB_SLACK, 1);  // Readers look past the end.
    double number;
    uint8_t truth;
    if (type_is_numeric(base))
        return sb_read_f64(padded, (int64_t)word.len, &number) != SB_FAULT_BAD_FLOAT;
    if (base->kind == TYPE_BOOL)
        return sb_read_bool(padded, (int64_t)word.len, &truth) == SB_OK;
    if (base->kind == TYPE_DATE || base->kind == TYPE_TIMESTAMP || base->kind == TYPE_DURATION)
        return strchr("0123456789+-", word.at[0]) != nullptr;
    return true;
}

// Then null words must be looked for before the field is read.
static bool null_word_reads(Emit *e, const CsvOptions *csv, const Type *base) {
    for (uint32_t i = 0; i < csv->null_count; i++)
        if (csv->nulls[i].len && word_reads(e, csv->nulls[i], base)) return true;
    return false;
}

static Val is_quoted(Emit *e, const CsvOptions *csv, Value field) {
    if (!csv->quote) return emit_i1(e, false);
    Val first = emit_load(e, e->i8, field.a, "");  // Of an empty field: the separator after it.
    return LLVMBuildICmp(e->b, LLVMIntEQ, first, emit_int(e, e->i8, (uint8_t)csv->quote), "");
}

// ---- columns ------------------------------------------------------------------------------------

typedef struct FieldText {
    Value text;
    Val   status;
} FieldText;

static FieldText field_text(Emit *e, const SourceOp *source, const Type *base, Value field) {
    Val slot = emit_alloca(e, e->str_pair, "field");
    Val rules = rules_constant(e, &source->options.csv, base);
    Val status = emit_callv(e, "sb_field_text", e->i32, arg(emit_call_context(e)), arg(rules),
                            arg(field.a), arg(field.b), arg(slot));
    return (FieldText){
        {.a = emit_load(e, e->ptr, slot, ""), .b = emit_load_at(e, e->i64, slot, 8, "")}, status};
}

static Val is_status(Emit *e, Val status, int32_t value) {
    return LLVMBuildICmp(e->b, LLVMIntEQ, status, emit_i32(e, (uint32_t)value), "");
}

// A str: the field's bytes unless it is quoted or may be null.
static Value text_column(Emit *e, Frame *frame, const SourceColumn *column, Value field) {
    const SourceOp *source = &frame->op->source;
    const Type *base = type_base(column->type);
    bool nullable = column->type->nullable;
    Block from = emit_here(e), slow = emit_block(e, "field"), end = emit_block(e, "field_end");
    Val plain = LLVMBuildNot(e->b, is_quoted(e, &source->options.csv, field), "");
    if (nullable && null_word_reads(e, &source->options.csv, base)) plain = emit_i1(e, false);
    else if (nullable)
        plain = LLVMBuildAnd(e->b, plain,
                             LLVMBuildICmp(e->b, LLVMIntNE, field.b, emit_i64(e, 0), ""), "");
    emit_branch_likely(e, plain, end, slow);
    emit_at(e, slow);
    FieldText read = field_text(e, source, base, field);
    Val valid = LLVMBuildNot(e->b, is_status(e, read.status, SB_NULL), "");
    // For str a null word is a value: its text is there all the same.
    Val bad = LLVMBuildICmp(e->b, LLVMIntSGT, read.status, emit_i32(e, SB_NULL), "");
    emit_column_fault_if(e, frame->step, column->name, bad, read.status, (Detail){0});
    Block slow_end = emit_here(e);
    emit_jump(e, end);
    emit_at(e, end);
    Value out = {.a = emit_phi(e, e->ptr, ""), .b = emit_phi(e, e->i64, "")};
    if (nullable) out.valid = emit_phi(e, e->i1, "");
    emit_phi_add(out.a, field.a, from);
    emit_phi_add(out.a, read.text.a, slow_end);
    emit_phi_add(out.b, field.b, from);
    emit_phi_add(out.b, read.text.b, slow_end);
    if (!nullable) return out;
    emit_phi_add(out.valid, emit_i1(e, true), from);
    emit_phi_add(out.valid, valid, slow_end);
    return out;
}

// Reads what the short way refused: quoted, null, or really bad. Leaves the row, or goes on with
// the value in `slot` and the flag returned.
static Val read_again(Emit *e, Frame *frame, const SourceColumn *column, Value field, Val slot) {
    const SourceOp *source = &frame->op->source;
    const Type *base = type_base(column->type);
    FieldText read = field_text(e, source, base, field);
    Val is_null = is_status(e, read.status, SB_NULL);
    Val status = LLVMBuildSelect(e->b, is_null, emit_i32(e, SB_FAULT_MISSING), read.status, "");
    Val bad = LLVMBuildICmp(e->b, LLVMIntSGT, read.status, emit_i32(e, SB_NULL), "");
    if (!column->type->nullable) bad = LLVMBuildOr(e->b, bad, is_null, "");
    Detail detail = {read.text.a, read.text.b};
    emit_column_fault_if(e, frame->step, column->name, bad, status, detail);
    Block again = emit_block(e, "again"), end = emit_block(e, "read"), from = emit_here(e);
    emit_branch(e, is_null, end, again);
    emit_at(e, again);
    Val second = emit_read_text(e, source, base, read.text, slot, false);
    emit_column_fault_if(e, frame->step, column->name,
                         LLVMBuildNot(e->b, is_status(e, second, SB_OK), ""), second, detail);
    Block again_end = emit_here(e);
    emit_jump(e, end);
    emit_at(e, end);
    Val valid = emit_phi(e, e->i1, "valid");
    emit_phi_add(valid, emit_i1(e, false), from);
    emit_phi_add(valid, emit_i1(e, true), again_end);
    return valid;
}

// A field that the short way refused is read without the quotes around it, should they be there.
// Goes to `good` with the value in `slot`, else to `slow`. No value has such a quote in it.
static Block read_without_quotes(Emit *e, const SourceOp *source, const Type *base, Value field,
                                 Val slot, Block good, Block slow) {
    const CsvOptions *csv = &source->options.csv;
    if (csv->quote != '"' && csv->quote != '\'') {
        emit_jump(e, slow);
        return nullptr;
    }
    Block quoted = emit_block(e, "quoted"), bare = emit_block(e, "bare");
    emit_branch(e, is_quoted(e, csv, field), quoted, slow);
    emit_at(e, quoted);
    Val last = LLVMBuildSub(e->b, field.b, emit_i64(e, 1), "");
    Val byte = emit_load(e, e->i8, emit_index(e, e->i8, field.a, last), "");
    Val closed = LLVMBuildICmp(e->b, LLVMIntEQ, byte, emit_int(e, e->i8, (uint8_t)csv->quote), "");
    Val two = LLVMBuildICmp(e->b, LLVMIntSGT, last, emit_i64(e, 0), "");
    emit_branch(e, LLVMBuildAnd(e->b, closed, two, ""), bare, slow);
    emit_at(e, bare);
    Value text = {.a = emit_offset(e, field.a, 1),
                  .b = LLVMBuildSub(e->b, field.b, emit_i64(e, 2), "")};
    Val status = emit_read_text(e, source, base, text, slot, false);
    Block from = emit_here(e);
    emit_branch(e, is_status(e, status, SB_OK), good, slow);
    return from;
}

static Value scalar_column(Emit *e, Frame *frame, const SourceColumn *column, Value field) {
    const SourceOp *source = &frame->op->source;
    const Type *base = type_base(column->type);
    Val slot = emit_alloca(e, LLVMArrayType2(e->i8, type_size(base)), "value");
    Block slow = emit_block(e, "slow"), end = emit_block(e, "column");
    Block from = nullptr, bare_from = nullptr;  // Where the value is there already.
    // An empty field, which may be null, reads as no bytes.
    if (base->kind == TYPE_BYTES || null_word_reads(e, &source->options.csv, base)) {
        emit_jump(e, slow);
    } else {
        // With its quotes a field would be a string of JSON.
        if (base->kind == TYPE_JSON) {
            Block bare = emit_block(e, "bare");
            emit_branch(e, is_quoted(e, &source->options.csv, field), slow, bare);
            emit_at(e, bare);
        }
        Val status = emit_read_text(e, source, base, field, slot, true);
        from = emit_here(e);
        Block failed = emit_block(e, "failed");
        emit_branch_likely(e, is_status(e, status, SB_OK), end, failed);
        emit_at(e, failed);
        bare_from = read_without_quotes(e, source, base, field, slot, end, slow);
    }
    emit_at(e, slow);
    // A null leaves nothing in the slot: give it a value.
    if (column->type->nullable) {
        Val zero = LLVMConstNull(LLVMArrayType2(e->i8, type_size(base)));
        emit_store(e, zero, slot);
    }
    Val valid_slow = read_again(e, frame, column, field, slot);
    Block slow_end = emit_here(e);
    emit_jump(e, end);
    emit_at(e, end);
    Val valid = nullptr;
    if (column->type->nullable) {
        valid = emit_phi(e, e->i1, "valid");
        if (from) emit_phi_add(valid, emit_i1(e, true), from);
        if (bare_from) emit_phi_add(valid, emit_i1(e, true), bare_from);
        emit_phi_add(valid, valid_slow, slow_end);
    }
    Value out = emit_load_value(e, base, slot);
    out.valid = valid;
    return out;
}

static Value column_csv(Emit *e, Frame *frame, uint32_t index) {
    const SourceColumn *column = &frame->op->source.columns[index];
    Value field = field_bytes(e, frame->text, index);
    return type_base(column->type)->kind == TYPE_STR ? text_column(e, frame, column, field)
                                                     : scalar_column(e, frame, column, field);
}

static uint32_t number_csv(const TextRow *, uint32_t column) { return column; }

static const TextFormat read_csv = {open_csv,   index_csv, begin_csv, nullptr,
                                    column_csv, raw_csv,   span_csv,  number_csv};

extern const SinkFormat csv_sink;  // emit_write.c

const FormatEmit format_emit_csv = {&read_csv, &csv_sink};
