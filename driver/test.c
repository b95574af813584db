// sbc test: runs test blocks with the reference interpreter and shows how rows differ.
#include "codegen/reference/reference.h"
#include "codegen/reference/value.h"
#include "driver/commands.h"
#include "driver/externs.h"
#include "driver/header.h"
#include "driver/session.h"

typedef struct Tally {
    unsigned passed, failed;
} Tally;

// ---- rows ---------------------------------------------------------------------------------------

typedef struct Rows {
    const Op *op;
    Const    *items;
    uint32_t  count;
} Rows;

static const Type *visible(const Op *op, uint32_t column, Text *name) {
    for (uint32_t i = 0; i < op->column_count; i++) {
        if (op->columns[i].hidden || column--) continue;
        *name = op->columns[i].name;
        return op->columns[i].type;
    }
    return nullptr;
}

static uint32_t cells_differ(const Op *op, const Const *a, const Const *b) {
    uint32_t differ = 0;
    Text name;
    const Type *type;
    for (uint32_t i = 0; (type = visible(op, i, &name)); i++)
        differ += !value_same(type, &a->items[i], &b->items[i]);
    return differ;
}

static void print_cell(TextBuf *buf, const Type *type, const Const *value) {
    if (value->is_null) text_buf_add(buf, TEXT("null"));
    else value_print_json(buf, type_base(type), value);
}

// `{hour: 8, trips: 1}`
static void print_row(TextBuf *buf, const Op *op, const Const *row) {
    Text name;
    const Type *type;
    text_buf_char(buf, '{');
    for (uint32_t i = 0; (type = visible(op, i, &name)); i++) {
        text_buf_format(buf, "%s%.*s: ", i ? ", " : "", TEXT_ARG(name));
        print_cell(buf, type, &row->items[i]);
    }
    text_buf_char(buf, '}');
}

static void print_change(TextBuf *buf, const Op *op, const Const *want, const Const *got) {
    Text name;
    const Type *type;
    for (uint32_t i = 0; (type = visible(op, i, &name)); i++) {
        if (value_same(type, &want->items[i], &got->items[i])) continue;
        text_buf_format(buf, "        %.*s: expected ", TEXT_ARG(name));
        print_cell(buf, type, &want->items[i]);
        text_buf_add(buf, TEXT(", got "));
        print_cell(buf, type, &got->items[i]);
        text_buf_char(buf, '\n');
    }
}

// ---- the difference -----------------------------------------------------------------------------

enum { LINES_SHOWN_MAX = 20, ROWS_ALIGNED_MAX = 2000 };

typedef enum Edit : uint8_t { EDIT_KEEP, EDIT_CHANGE, EDIT_MISS, EDIT_EXTRA, EDIT_MOVE } Edit;

// What it costs to turn `want` into `got` from each pair of places on, and by which edit first: a
// missing or unexpected row costs 4, a changed one 4 at least, more the more cells differ.
typedef struct Grid {
    uint32_t *cost;
    Edit     *edit;
    size_t    width;
} Grid;

enum { COST_ROW = 4, COST_CELLS = 4 };

static void take_if_cheaper(Grid *grid, size_t at, uint32_t cost, Edit edit) {
    if (cost > grid->cost[at]) return;
    grid->cost[at] = cost;
    grid->edit[at] = edit;
}

static void align_pair(Grid *grid, const Rows *want, const Rows *got, size_t i, size_t j) {
    size_t at = i * grid->width + j;
    grid->cost[at] = i == want->count && j == got->count ? 0 : UINT32_MAX;
    if (j < got->count) take_if_cheaper(grid, at, grid->cost[at + 1] + COST_ROW, EDIT_EXTRA);
    if (i < want->count)
        take_if_cheaper(grid, at, grid->cost[at + grid->width] + COST_ROW, EDIT_MISS);
    if (i == want->count || j == got->count) return;
    uint32_t differ = cells_differ(want->op, &want->items[i], &got->items[j]);
    uint32_t all = want->items[i].item_count;
    uint32_t cost = grid->cost[at + grid->width + 1];
    if (!differ) take_if_cheaper(grid, at, cost, EDIT_KEEP);
    else if (differ < all || all == 1)  // With all cells changed it is another row.
        take_if_cheaper(grid, at, cost + COST_ROW + COST_CELLS * differ / all, EDIT_CHANGE);
}

static Grid align(Arena *arena, const Rows *want, const Rows *got) {
    size_t width = got->count + 1, cells = (want->count + 1) * width;
    Grid grid = {arena_new_array(arena, uint32_t, cells), arena_new_array(arena, Edit, cells),
                 width};
    for (size_t i = want->count + 1; i-- > 0;)
        for (size_t j = width; j-- > 0;) align_pair(&grid, want, got, i, j);
    return grid;
}

// One row of the difference: `want` and `got` are its places from 0.
typedef struct Change {
    Edit   edit;
    size_t want, got;
} Change;

typedef struct Changes {
    Change *items;
    size_t count, cap;
} Changes;

static Changes changes_along(Arena *arena, const Grid *grid, const Rows *want, const Rows *got) {
    Changes changes = {0};
    for (size_t i = 0, j = 0; i < want->count || j < got->count;) {
        Edit edit = grid->edit[i * grid->width + j];
        Change change = {edit, i, j};
        if (edit != EDIT_KEEP) arena_push(arena, changes.items, changes.count, changes.cap, change);
        i += edit != EDIT_EXTRA;
        j += edit != EDIT_MISS;
    }
    return changes;
}

// A row that is missing here and unexpected there stands in another place: one change of the two.
static void join_moved(Changes *changes, const Rows *want, const Rows *got) {
    size_t kept = 0;
    for (size_t i = 0; i < changes->count; i++) {
        Change *miss = &changes->items[i];
        for (size_t j = 0; miss->edit == EDIT_MISS && j < changes->count; j++) {
            Change *extra = &changes->items[j];
            if (extra->edit != EDIT_EXTRA ||
                cells_differ(want->op, &want->items[miss->want], &got->items[extra->got]))
                continue;
            *miss = (Change){EDIT_MOVE, miss->want, extra->got};
            extra->edit = EDIT_KEEP;
        }
    }
    for (size_t i = 0; i < changes->count; i++)
        if (changes->items[i].edit != EDIT_KEEP) changes->items[kept++] = changes->items[i];
    changes->count = kept;
}

static void print_one(TextBuf *buf, const Change *change, const Rows *want, const Rows *got) {
    const Const *wanted = &want->items[change->want], *found = &got->items[change->got];
    switch (change->edit) {
    case EDIT_KEEP: return;
    case EDIT_CHANGE: text_buf_format(buf, "      ~ row %zu ", change->want + 1); break;
    case EDIT_MISS: text_buf_add(buf, TEXT("      - missing ")); break;
    case EDIT_EXTRA: text_buf_add(buf, TEXT("      + unexpected ")); break;
    case EDIT_MOVE: text_buf_format(buf, "      > row %zu ", change->want + 1); break;
    }
    print_row(buf, want->op, change->edit == EDIT_EXTRA ? found : wanted);
    if (change->edit == EDIT_MOVE) text_buf_format(buf, " came as row %zu", change->got + 1);
    text_buf_char(buf, '\n');
    if (change->edit == EDIT_CHANGE) print_change(buf, want->op, wanted, found);
}

typedef struct Difference {
    uint32_t differ;        // Rows that are not as expected.
    bool     only_order;    // They are all there, in another order.
    TextBuf  lines;
} Difference;

static Difference difference_of(Arena *arena, const Rows *want, const Rows *got) {
    Difference out = {0};
    if (want->count > ROWS_ALIGNED_MAX || got->count > ROWS_ALIGNED_MAX) {
        out.differ = want->count != got->count;
        for (uint32_t i = 0; i < want->count && i < got->count; i++)
            out.differ += cells_differ(want->op, &want->items[i], &got->items[i]) > 0;
        if (out.differ)
            text_buf_format(&out.lines, "      %u rows differ of %u\n", out.differ, want->count);
        return out;
    }
    Grid grid = align(arena, want, got);
    Changes changes = changes_along(arena, &grid, want, got);
    join_moved(&changes, want, got);
    out.differ = (uint32_t)changes.count;
    out.only_order = changes.count > 0;
    for (size_t i = 0; i < changes.count; i++) {
        out.only_order &= changes.items[i].edit == EDIT_MOVE;
        if (i < LINES_SHOWN_MAX) print_one(&out.lines, &changes.items[i], want, got);
    }
    if (changes.count > LINES_SHOWN_MAX)
        text_buf_format(&out.lines, "      and %zu more\n", changes.count - LINES_SHOWN_MAX);
    return out;
}

// ---- tests --------------------------------------------------------------------------------------

static void compare(Arena *arena, const TestRows *rows, const Rows *want, const Rows *got,
                    TextBuf *buf) {
    Difference found = difference_of(arena, want, got);
    if (found.only_order)
        text_buf_format(buf, "    %.*s: the %u rows are as expected, but in another order\n",
                        TEXT_ARG(rows->name), want->count);
    else if (found.differ)
        text_buf_format(buf, "    %.*s: %u row%s not as expected (%u expected, %u found)\n",
                        TEXT_ARG(rows->name), found.differ, found.differ == 1 ? " is" : "s are",
                        want->count, got->count);
    text_buf_add(buf, text_buf_view(&found.lines));
    text_buf_free(&found.lines);
}

// What is wrong with the test goes to `buf`; nothing if it passes.
static void run_expects(const Session *s, const TestBlock *test, TextBuf *buf) {
    const Graph *graph = s->program->graph;
    ReferenceTable *given = arena_new_array(s->arena, ReferenceTable, test->row_count + 1);
    size_t given_count = 0;
    for (uint32_t i = 0; i < test->row_count; i++) {
        const TestRows *rows = &test->rows[i];
        if (!rows->expect)
            given[given_count++] = (ReferenceTable){
                .op = rows->flow, .name = rows->name, .rows = rows->rows,
                .row_count = rows->row_count};
    }
    for (uint32_t i = 0; i < test->row_count; i++) {
        const TestRows *rows = &test->rows[i];
        ReferenceTable got = {.op = rows->flow, .python = s->options->python};
        TextBuf error = {0};
        if (!rows->expect) continue;
        if (reference_table(graph, s->arena, given, given_count, &got, &error)) {
            const Op *op = graph_op_at(graph, rows->flow);
            Rows want = {op, rows->rows, rows->row_count}, found = {op, got.rows, got.row_count};
            compare(s->arena, rows, &want, &found, buf);
        } else {
            text_buf_format(buf, "    %.*s: %.*s\n", TEXT_ARG(rows->name), (int)error.len,
                            error.len ? error.at : "it could not be computed");
        }
        text_buf_free(&error);
    }
}

static void run_test(const Session *s, const TestBlock *test, Tally *tally) {
    TextBuf buf = {0};
    run_expects(s, test, &buf);
    Position at = source_position(s->sources, test->span.file, test->span.start);
    if (buf.len) tally->failed++;
    else tally->passed++;
    printf("%s  %s:%u  %.*s\n", buf.len ? "FAILED" : "ok    ", s->name, at.line,
           TEXT_ARG(test->title));
    put(stdout, &buf);
}

static int test_one(const Options *options, const char *path, Tally *tally) {
    Session s = session_new(options);
    if (session_load(&s, path)) session_check(&s, (CheckAs){.want_tests = true});
    int status = session_report(&s);
    if (status != EXIT_DONE) return status;
    ExternFault fault = {0};
    ExternFiles externs = extern_files(s.program->graph);
    ExternHeader header = header_of(&s);
    if (!extern_load(s.arena, &externs, &header, &fault))
        return externs_complain(&s, &fault);
    unsigned failed = tally->failed;
    for (size_t i = 0; i < s.program->test_count; i++) run_test(&s, &s.program->tests[i], tally);
    reference_python_close();
    if (!s.program->test_count) printf("        %s has no tests\n", path);
    return tally->failed > failed ? EXIT_WRONG_PROGRAM : EXIT_DONE;
}

int test_command(const Options *options) {
    int status = EXIT_DONE;
    Tally tally = {0};
    for (size_t i = 0; i < options->file_count; i++) {
        int one = test_one(options, options->files[i], &tally);
        if (one > status) status = one;
    }
    printf("%u passed, %u failed\n", tally.passed, tally.failed);
    return status;
}
