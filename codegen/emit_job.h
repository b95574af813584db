// The parts of a job that are no stages: setup, and the constant data that describes it.
#ifndef SBC_CODEGEN_EMIT_JOB_H
#define SBC_CODEGEN_EMIT_JOB_H

#include "codegen/emit_stage.h"

typedef struct JobData {
    const char *level_names[2];     // "v3", "v4"; null: not generated.
    const char *lowest_level;       // The level whose breaker functions are used.
    const char *setup_name;
    const struct BreakerHas *breakers;
    const uint32_t *zip_sites;      // By stage; 0 where it is no zip.
    const Site *sites;
    size_t      site_count;
} JobData;

typedef struct BreakerHas {
    bool merge, prefix, prefix_more, compare, equal, number, bounds, partition, peers;
} BreakerHas;

// The step whose rows `op` hands on: its own, or, of an operator without one or of a source with
// filters, the last that they went through. UINT32_MAX: none.
uint32_t op_last_step(const Graph *graph, OpId op);

// sb_job, for the module of constant data; and main.
void emit_job_data(Emit *e, const JobData *data);
void emit_job_main(Emit *e);

// int32_t sb_setup(SbSetup *): paths, limits and counts from the parameters (emit_setup.c).
Val emit_setup(Emit *e);

#endif
