// Fuzzes the reader of the IR's text form: no text may crash it; what it reads prints to a text
// that reads the same; what the verifier passes goes through every pass and can be planned.
//
//   clang-22 -std=gnu23 -g -O1 -fsanitize=fuzzer,address,undefined -I. -o ir_read_fuzz
//       tests/fuzz/ir_read_fuzz.c ir/*.c ir/passes/*.c && ./ir_read_fuzz CORPUS tests/ir
#include "ir/pass.h"
#include "ir/plan.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Text printed(const Graph *graph) {
    TextBuf buf = {0};
    graph_print(&buf, graph);
    return text_buf_take(&buf, graph->arena);
}

// A graph that verifies stays good behind every pass; passes_run aborts where one does not.
static void use(Graph *graph) {
    PassContext context = {.graph = graph};
    if (!passes_run(&context, nullptr)) abort();
    Plan *plan = plan_make(graph, (PlanOptions){0});
    plan_make(graph, (PlanOptions){.no_fuse = true});
    TextBuf buf = {0};
    plan_print(&buf, plan);
    plan_explain(&buf, plan);
    plan_explain_memory(&buf, plan);
    plan_explain_exchange(&buf, plan);
    text_buf_free(&buf);
}

static void read_one(Arena *arena, Text text, GraphFault *fault) {
    Graph *graph = graph_read(arena, type_table_new(arena), text, fault);
    if (!graph && (fault->message.len == 0 || fault->place > text.len)) abort();
    if (!graph || !graph_verify(graph, &fault->message)) return;
    Text once = printed(graph);
    Graph *again = graph_read(arena, type_table_new(arena), once, fault);
    if (!again || !text_eq(once, printed(again))) abort();
    use(graph);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Arena *arena = arena_new();
    GraphFault fault = {0};
    read_one(arena, (Text){(const char *)data, size}, &fault);
    text_buf_free(&fault.message);
    arena_free(arena);
    return 0;
}
