// A plan as text, one stage a line: what a failure leaves behind.
#include "tests/sim/workloads.h"

#include "runtime/core/shape.h"

#include <inttypes.h>

static const char *const kinds[] = {"source", "reader", "map", "zip", "sink"};
static const char *const spools[] = {"", " (short spool)", " (spool)"};

static void print_stage(FILE *out, const Workload *load, const Shape *shape, uint16_t s) {
    const CorePlan *plan = &load->plan;
    const CoreStage *stage = &plan->stages[s];
    const Work *work = &load->work[s];
    fprintf(out, "  %2u %s", s, kinds[stage->kind]);
    if (stage->kind == STAGE_READER)
        fprintf(out, " of breaker %u%s", stage->reads.i, stage->unmatched ? ", unmatched" : "");
    if (stage->kind == STAGE_SOURCE)
        fprintf(out, " %u x %" PRId64 " rows", stage->units, work->unit_rows);
    for (uint8_t i = 0; i < stage->input_count; i++) {
        EdgeId edge = stage->inputs[i];
        fprintf(out, "%s %u%s", i ? "," : " from", plan->edges[edge.i].from.i,
                spools[shape->spools[edge.i]]);
    }
    for (uint8_t f = 0; f < stage->fill_count; f++)
        fprintf(out, ", fills breaker %u", stage->fills[f].i);
    for (uint8_t n = 0; n < stage->need_count; n++)
        fprintf(out, ", needs breaker %u", stage->needs[n].i);
    if (stage->serial) fprintf(out, ", serial");
    if (work->later) fprintf(out, ", units known later");
    if (work->limits) fprintf(out, ", limit %" PRId64, work->limit_rows);
    if (stage->in_order) fprintf(out, ", in order");
    if (stage->open_max) fprintf(out, ", %u open", stage->open_max);
    if (stage->coalesce) fprintf(out, ", coalesces %u", stage->coalesce);
    if (stage->batch) fprintf(out, ", batches of %u rows", stage->batch);
    if (stage->concurrency) fprintf(out, ", concurrency %u", stage->concurrency);
    if (work->long_bytes) fprintf(out, ", rows longer by %" PRId64, work->long_bytes);
    if (work->atom_bytes) fprintf(out, ", atoms of %" PRId64, work->atom_bytes);
    fprintf(out, "; cut %" PRId64 " rows of %" PRId64 " bytes, %.3f s, demands", work->cut_rows,
            work->row_bytes, work->row_seconds);
    for (uint8_t r = 0; r < plan->resource_count; r++) fprintf(out, " %u", stage->demand[r]);
    fprintf(out, ", scratch %" PRId64 "\n", stage->scratch);
    if (!bits_meet(&shape->before[s], &shape->all, shape->words)) return;
    fprintf(out, "     begins after");
    for (uint16_t t = 0; t < plan->stage_count; t++)
        if (set_has(&shape->before[s], (StageId){t})) fprintf(out, " %u", t);
    fprintf(out, "\n");
}

void workload_print(FILE *out, const Workload *load, bool staged) {
    const CorePlan *plan = &load->plan;
    static Shape shape;
    if (!shape_make(&shape, plan, staged)) fprintf(out, "too wide\n");
    for (uint8_t k = 0; k < plan->node_kinds; k++) {
        fprintf(out, "%u nodes of", plan->nodes[k].count);
        for (uint8_t r = 0; r < plan->resource_count; r++)
            fprintf(out, " %u", plan->nodes[k].capacity[r]);
        if (plan->nodes[k].ahead) fprintf(out, ", %u beyond these", plan->nodes[k].ahead);
        fprintf(out, ", memory %" PRId64 "\n", plan->nodes[k].memory);
    }
    if (plan->stub_bytes)
        fprintf(out, "stubs of %" PRId64 ", %" PRId64 " set aside\n", plan->stub_bytes,
                plan->stubs_free);
    for (uint16_t s = 0; s < plan->stage_count; s++) print_stage(out, load, &shape, s);
    for (uint16_t b = 0; b < plan->breaker_count; b++)
        fprintf(out, "  breaker %u: floor %" PRId64 "\n", b, plan->breakers[b].floor);
}
