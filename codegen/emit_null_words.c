// Words of `null` in columns of type str: they stay text, and the job says at its end how many.
//
// A field is compared with the words by its length and its first eight bytes. Where none is like
// it, which is the usual case, that is all that is done.
#include "codegen/emit_scan.h"

#include <string.h>

enum { HEAD_BYTES = 8 };

// ---- which columns ------------------------------------------------------------------------------

static bool counts_words(const SourceOp *source, uint32_t column) {
    return source->columns[column].read && source_keeps_words(source, column);
}

static uint32_t count_columns(const SourceOp *source) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < source->column_count; i++) count += counts_words(source, i);
    return count;
}

WordColumns word_columns_of(const Emit *e, OpId id) {
    const Plan *plan = e->plan;
    const SourceOp *source = &graph_op_at(e->graph, id)->source;
    WordColumns found = {.columns = arena_new_array(e->arena, uint32_t, source->column_count + 1),
                         .at = (uint32_t)e->graph->step_count * SB_COUNTS};
    for (size_t s = 0; s < plan->source_count && plan->sources[s].i != id.i; s++)
        found.at += count_columns(&graph_op_at(e->graph, plan->sources[s])->source);
    for (uint32_t i = 0; i < source->column_count; i++)
        if (counts_words(source, i)) found.columns[found.count++] = i;
    return found;
}

uint32_t word_columns_of_all(const Emit *e) {
    uint32_t count = 0;
    for (size_t s = 0; s < e->plan->source_count; s++)
        count += count_columns(&graph_op_at(e->graph, e->plan->sources[s])->source);
    return count;
}

// ---- a field ------------------------------------------------------------------------------------

// A field that begins with a quote is no word.
static bool can_stand(const CsvOptions *csv, Text word) {
    return word.len && (!csv->quote || word.at[0] != csv->quote);
}

// Is the field one of the words, as far as its length and its head say?
static Val looks_like_word(Emit *e, const CsvOptions *csv, Value field) {
    Val head = emit_load(e, e->i64, field.a, "head");  // Bytes after the text are readable.
    LLVMSetAlignment(head, 1);
    Val any = emit_i1(e, false);
    for (uint32_t i = 0; i < csv->null_count; i++) {
        Text word = csv->nulls[i];
        if (!can_stand(csv, word)) continue;
        size_t known = word.len < HEAD_BYTES ? word.len : HEAD_BYTES;
        uint64_t bits = 0, mask = UINT64_MAX >> (HEAD_BYTES - known) * 8;
        memcpy(&bits, word.at, known);
        Val begins = LLVMBuildAnd(e->b, head, emit_int(e, e->i64, mask), "");
        Val same = LLVMBuildICmp(e->b, LLVMIntEQ, begins, emit_int(e, e->i64, bits), "");
        Val length = LLVMBuildICmp(e->b, LLVMIntEQ, field.b, emit_i64(e, (int64_t)word.len), "");
        any = LLVMBuildOr(e->b, any, LLVMBuildAnd(e->b, same, length, ""), "");
    }
    return any;
}

static Val is_word(Emit *e, const CsvOptions *csv, Value field) {
    bool heads_decide = true;
    for (uint32_t i = 0; i < csv->null_count; i++) heads_decide &= csv->nulls[i].len <= HEAD_BYTES;
    Val any = emit_i1(e, heads_decide);
    for (uint32_t i = 0; i < csv->null_count && !heads_decide; i++) {
        if (!can_stand(csv, csv->nulls[i])) continue;
        Value word = emit_text(e, csv->nulls[i]);
        Val same = emit_callv(e, "sb_str_equal", e->i1, arg_pair(field.a, field.b),
                              arg_pair(word.a, word.b));
        any = LLVMBuildOr(e->b, any, same, "");
    }
    return any;
}

// A row inside which the stage has left was counted before.
static Val is_first_time(Emit *e) {
    if (!e->stage->inside) return emit_i1(e, true);
    Val insides = emit_load_at(e, e->i32, e->task, offsetof(SbTask, insides), "insides");
    return LLVMBuildICmp(e->b, LLVMIntEQ, insides, emit_i32(e, 0), "");
}

// Counts the field at a place of SbTask.counts.
static void count_field(Emit *e, const CsvOptions *csv, Value field, Val at) {
    Block found = emit_block(e, "null_word"), next = emit_block(e, "no_null_word");
    emit_branch_likely(e, LLVMBuildNot(e->b, looks_like_word(e, csv, field), ""), next, found);
    emit_at(e, found);
    Val counts = LLVMBuildAnd(e->b, is_word(e, csv, field), is_first_time(e), "");
    Val all = emit_load_at(e, e->ptr, e->task, offsetof(SbTask, counts), "counts");
    Val place = emit_index(e, e->i64, all, at);
    Val more = LLVMBuildZExt(e->b, counts, e->i64, "");
    emit_store(e, LLVMBuildAdd(e->b, emit_load(e, e->i64, place, ""), more, ""), place);
    emit_jump(e, next);
    emit_at(e, next);
}

// ---- a row --------------------------------------------------------------------------------------

// One code for all columns of a wide row.
static void count_wide(Emit *e, Frame *frame, const WordColumns *words) {
    TextRow *row = frame->text;
    const SourceOp *source = &frame->op->source;
    Val *numbers = arena_new_array(e->arena, Val, words->count);
    for (uint32_t i = 0; i < words->count; i++)
        numbers[i] = emit_i32(e, text_format_of(source)->number(row, words->columns[i]));
    Val table = emit_global(e, LLVMConstArray2(e->i32, numbers, words->count), "word_columns");
    Block head = emit_block(e, "word_column"), done = emit_block(e, "words_done"),
          from = emit_here(e);
    emit_jump(e, head);
    emit_at(e, head);
    Val i = emit_phi(e, e->i64, "word");
    emit_phi_add(i, emit_i64(e, 0), from);
    row->number = emit_offset_at(e, table, i);
    Value field = frame_raw(e, frame, words->columns[0]);
    row->number = nullptr;
    Val at = LLVMBuildAdd(e->b, i, emit_i64(e, words->at), "");
    count_field(e, &source->options.csv, field, at);
    Val more = LLVMBuildAdd(e->b, i, emit_i64(e, 1), "");
    emit_phi_add(i, more, emit_here(e));
    emit_branch(e, LLVMBuildICmp(e->b, LLVMIntULT, more, emit_i64(e, words->count), ""), head,
                done);
    emit_at(e, done);
}

void text_count_words(Emit *e, Frame *frame) {
    const SourceOp *source = &frame->op->source;
    if (e->stage->asks) return;
    WordColumns words = word_columns_of(e, frame->op->id);
    if (words.count && row_is_wide(source)) {
        count_wide(e, frame, &words);
        return;
    }
    for (uint32_t i = 0; i < words.count; i++)
        count_field(e, &source->options.csv, frame_raw(e, frame, words.columns[i]),
                    emit_i64(e, words.at + i));
}
