// Join: every left row looks through all right rows of its key, in right order. Of these the ones
// match for which the condition holds.
#include "codegen/reference/identity.h"
#include "codegen/reference/job.h"

typedef struct RightRow {
    Row   *row;
    Value *keys;
    Text   key;
    bool   has_null;   // A null matches nothing.
    bool   matched;
    size_t next;       // Of the same hash; SIZE_MAX: none.
} RightRow;

typedef struct Join {
    RightRow *rows;
    size_t    count, cap;
    size_t   *buckets, bucket_mask;  // First right row by hash of the key; SIZE_MAX: none.
    bool      left_done;
    size_t    next_unmatched;
} Join;

// The bytes of a row's keys. False: it was rejected.
static bool key_text(Job *job, Node *node, const Row *row, unsigned side, RightRow *out) {
    const Op *op = node->op;
    const ExprId *keys = side ? op->join.right : op->join.left;
    TextBuf buf = {0};
    eval_row(&job->eval, side ? nullptr : row, side ? row : nullptr);
    *out = (RightRow){.row = (Row *)row, .next = SIZE_MAX};
    for (uint32_t k = 0; k < op->join.key_count; k++) {
        Value value;
        int32_t status = eval_expr(&job->eval, keys[k], &value);
        if (status) {
            reject_row(job, node, row, status);
            text_buf_free(&buf);
            return false;
        }
        out->has_null |= value.is_null;
        value_key(&buf, type_base(graph_at(job->graph, keys[k])->type), &value);
    }
    out->key = text_buf_take(&buf, job->arena);
    return true;
}

static void index_rows(Job *job, Join *join, bool backwards) {
    join->bucket_mask = 1;
    while (join->bucket_mask < join->count) join->bucket_mask = join->bucket_mask * 2 + 1;
    join->buckets = arena_new_array(job->arena, size_t, join->bucket_mask + 1);
    for (size_t i = 0; i <= join->bucket_mask; i++) join->buckets[i] = SIZE_MAX;
    // From the last to the first, so that chains run in right order. Where the nearest row is
    // sought they run backwards.
    for (size_t n = join->count; n-- > 0;) {
        size_t i = backwards ? join->count - 1 - n : n;
        size_t *bucket = &join->buckets[text_hash(join->rows[i].key) & join->bucket_mask];
        join->rows[i].next = *bucket;
        *bucket = i;
    }
}

static Join *join_open(Job *job, Node *node) {
    Join *join = node->state = arena_new_of(job->arena, Join);
    for (Row *row; (row = node_take(job, node, 1));) {
        RightRow right;
        if (key_text(job, node, row, 1, &right))
            arena_push(job->arena, join->rows, join->count, join->cap, right);
    }
    index_rows(job, join, join_is_nearest(node->op));
    node->counts.merged += (int64_t)join->count;
    return join;
}

static void emit(Job *job, Node *node, const Row *left, const Row *right, uint64_t identity) {
    const Op *op = node->op;
    Row *row = row_like(job, op, left ? left : right);
    for (uint32_t c = 0; c < op->column_count; c++) {
        const JoinColumn *column = &op->join.columns[c];
        const Row *side = column->side ? right : left;
        uint32_t at = column->index;
        if (!side && column->merged) side = right, at = column->merged_index;
        row->values[c] = side ? side->values[at] : value_null();
        row->raws[c] = side ? side->raws[at] : (Text){0};
    }
    row->identity = identity;
    row_meet(row, op);
    node_add(job, node, row);
}

// Does the condition hold? False: the left row was rejected.
static bool holds(Job *job, Node *node, ExprId condition, const Row *left, const Row *right,
                  bool *out) {
    Value value;
    *out = true;
    if (expr_is_none(condition)) return true;
    eval_row(&job->eval, left, right);
    int32_t status = eval_expr(&job->eval, condition, &value);
    if (status) reject_row(job, node, left, status);
    else *out = value.i;
    return !status;
}

typedef struct Matches {
    size_t *rows;   // Numbers of right rows.
    size_t  count, cap;
} Matches;

// Judges all pairs before the first one is handed on; `one`: up to the first that matches. False:
// the left row was rejected.
static bool find_matches(Job *job, Node *node, const Join *join, const Row *left, bool one,
                         Matches *out) {
    RightRow key;
    if (!key_text(job, node, left, 0, &key)) return false;
    size_t i = key.has_null ? SIZE_MAX : join->buckets[text_hash(key.key) & join->bucket_mask];
    const Op *op = node->op;
    for (; i != SIZE_MAX && !(one && out->count); i = join->rows[i].next) {
        const RightRow *right = &join->rows[i];
        bool match, near;
        if (right->has_null || !text_eq(right->key, key.key)) continue;
        if (!holds(job, node, op->join.seek, left, right->row, &match)) return false;
        if (!match) continue;
        if (!holds(job, node, op->join.within, left, right->row, &near)) return false;
        if (!near) break;
        if (!holds(job, node, op->join.where, left, right->row, &match)) return false;
        if (match) arena_push(job->arena, out->rows, out->count, out->cap, i);
    }
    return true;
}

static void join_left(Job *job, Node *node, Join *join, const Row *left) {
    JoinKind kind = node->op->join.kind;
    bool pairs = kind != JOIN_SEMI && kind != JOIN_ANTI;
    Matches found = {0};
    bool one = !pairs || join_is_nearest(node->op);
    if (!find_matches(job, node, join, left, one, &found)) return;
    size_t matches = found.count;
    for (size_t i = 0; i < matches && pairs; i++) {
        RightRow *right = &join->rows[found.rows[i]];
        right->matched = true;
        emit(job, node, left, right->row, sb_hash_word(left->identity, i));
    }
    bool stays = kind == JOIN_LEFT || kind == JOIN_FULL;
    if (pairs && matches) node->counts.made += (int64_t)matches - 1;
    else if (pairs && stays) emit(job, node, left, nullptr, sb_hash_word(left->identity, 0));
    else if (!pairs && (matches > 0) == (kind == JOIN_SEMI))
        emit(job, node, left, nullptr, left->identity);
    else node->counts.filtered++;
}

void join_advance(Job *job, Node *node) {
    JoinKind kind = node->op->join.kind;
    Join *join = node->state ? node->state : join_open(job, node);
    if (!join->left_done) {
        Row *left = node_take(job, node, 0);
        if (left) {
            join_left(job, node, join, left);
            return;
        }
        join->left_done = true;
    }
    bool right_stays = kind == JOIN_RIGHT || kind == JOIN_FULL;
    if (join->next_unmatched == join->count) {
        node->done = true;
        return;
    }
    RightRow *right = &join->rows[join->next_unmatched++];
    if (!right_stays || right->matched) return;
    emit(job, node, nullptr, right->row, right->row->identity);
    node->counts.merged--;
}
