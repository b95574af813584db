// What tasks hold while they run: equal demands get one number.
#include "ir/graph.h"

bool resources_same_slots(const Resources *a, const Resources *b) {
    if (a->cpus != b->cpus || a->concurrency != b->concurrency) return false;
    if (a->custom_count != b->custom_count) return false;
    if (resources_for_gpu(a) != resources_for_gpu(b) || a->approx != b->approx) return false;
    for (uint32_t i = 0; i < a->custom_count; i++) {
        const Resource *x = &a->customs[i], *y = &b->customs[i];
        if (x->amount != y->amount || !text_eq(x->name, y->name)) return false;
    }
    return true;
}

bool resources_join_block(const Resources *block, const Resources *other) {
    Resources there = *other;
    there.on = block->on;
    there.approx = block->approx;
    return resources_for_gpu(block) && other->on == ON_ANY && other->memory == block->memory &&
           other->timeout == block->timeout && resources_same_slots(block, &there);
}

static void sort_customs(Resources *resources) {
    for (uint32_t i = 1; i < resources->custom_count; i++) {
        Resource custom = resources->customs[i];
        uint32_t at = i;
        for (; at && text_cmp(resources->customs[at - 1].name, custom.name) > 0; at--)
            resources->customs[at] = resources->customs[at - 1];
        resources->customs[at] = custom;
    }
}

ResourcesId graph_resources(Graph *graph, Resources resources) {
    resources.customs = arena_copy(graph->arena, resources.customs,
                                   resources.custom_count * sizeof *resources.customs,
                                   alignof(Resource));
    sort_customs(&resources);
    for (uint32_t i = 0; i < graph->resources_count; i++) {
        const Resources *known = &graph->resources[i];
        if (known->memory == resources.memory && known->batch == resources.batch &&
            known->timeout == resources.timeout && known->on == resources.on &&
            resources_same_slots(known, &resources))
            return (ResourcesId){i};
    }
    arena_push(graph->arena, graph->resources, graph->resources_count, graph->resources_cap,
               resources);
    return (ResourcesId){(uint32_t)graph->resources_count - 1};
}
