#include "runtime/job/stage.h"

#include "runtime/breakers.h"
#include "runtime/job/filters.h"
#include "runtime/job/memory_plan.h"
#include "runtime/report.h"
#include "runtime/rows.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { UNITS_A_THREAD = 4, BUFFER_PARTITIONS = 3, SPARE_A_THREAD = 4 };
// Partitions of few rows wait by the hundred, and take longer to make than to fill.
enum { SPARE_SMALL_BYTES = 4 * 1024, SPARE_SMALL = 512 };

static bool is_source_input(const SbStage *stage) {
    return stage->input == SB_INPUT_TEXT || stage->input == SB_INPUT_RANGE ||
           stage->input == SB_INPUT_RECORDS || stage->input == SB_INPUT_FILES;
}

bool stage_no_memory(const StageRun *run, Trouble *trouble) {
    return trouble_set(trouble, TROUBLE_MEMORY, "no memory for stage '%.*s'",
                       (int)run->stage->label.len, run->stage->label.ptr);
}

// Forms of the rows of edges that it makes, and of those that it reads.
static bool open_forms(StageRun *run) {
    const SbJob *what = run->job->ask.what;
    const SbStage *stage = run->stage;
    bool reads = sb_reads_edge(what, stage);
    run->forms = calloc(stage->terminal_count + 1, sizeof *run->forms);
    bool good = run->forms;
    for (uint32_t t = 0; good && t < stage->terminal_count; t++)
        if (run->edges[t] != EDGE_NONE)
            good = row_form_open(&run->forms[t], &what->breakers[run->edges[t]]);
    return good && (!reads || row_form_open(&run->forms[stage->terminal_count],
                                            &what->breakers[stage->input_index]));
}

bool stage_prepare(StageRun *run, Job *job, uint32_t index) {
    const SbStage *stage = &job->ask.what->stages[index];
    *run = (StageRun){.job = job, .stage = stage, .index = index};
    run->edges = calloc(stage->terminal_count + 1, sizeof *run->edges);
    run->counts = calloc((size_t)sb_figure_count(job->ask.what) + 1, sizeof *run->counts);
    for (uint32_t t = 0; run->edges && t < stage->terminal_count; t++)
        run->edges[t] = sb_is_edge(job->ask.what, stage->terminals[t]) ? stage->terminals[t]
                                                                   : EDGE_NONE;
    return (run->edges && run->counts && open_forms(run)) || stage_no_memory(run, &job->trouble);
}

// ---- opening --------------------------------------------------------------------------------

// The rows of a join's build side that no probe marked. Workers read the list, too.
static bool find_unmatched(StageRun *run, const SbBreaker *what, UnitsSetup *units,
                           Trouble *trouble) {
    struct Arena *arena = run->job->machine.memory.arena;
    run->unmatched_bytes = (units->entry_count + 1) * (int64_t)sizeof(const SbEntry *);
    const SbEntry **rows = arena ? arena_take(arena, run->unmatched_bytes)
                                 : malloc((size_t)run->unmatched_bytes);
    if (!rows) return stage_no_memory(run, trouble);
    int64_t kept = 0;
    for (int64_t i = 0; i < units->entry_count; i++) {
        const SbEntry *entry = units->entries[i];
        if (((const uint8_t *)entry)[what->matched_offset] != 1) rows[kept++] = entry;
    }
    run->unmatched = rows;
    units->entries = rows;
    units->entry_count = kept;
    return true;
}

// The finished rows that the stage reads.
static bool find_rows(StageRun *run, UnitsSetup *units, SbParallel *parallel, Trouble *trouble) {
    Job *job = run->job;
    const SbStage *stage = run->stage;
    if (sb_reads_edge(run->job->ask.what, run->stage)) return true;
    SbBreakerState *breaker =
        job->breakers.states ? job->breakers.states[stage->input_index] : nullptr;
    if (!breaker) return true;  // In a worker: it is told where the rows lie.
    if (stage->input == SB_INPUT_UNMATCHED && !sb_breaker_rest(breaker, parallel))
        return !spill_trouble(&job->machine.spill, trouble);
    units->entries = sb_breaker_entries(breaker, &units->entry_count);
    if (!units->entries && units->entry_count > 0) {
        units->breaker = breaker;
        return true;
    }
    if (stage->input == SB_INPUT_UNMATCHED)
        return find_unmatched(run, &job->ask.what->breakers[stage->input_index], units, trouble);
    return true;
}

bool stage_open_breaker(Job *job, uint32_t breaker) {
    const SbBreaker *what = &job->ask.what->breakers[breaker];
    if (job->breakers.states[breaker] || what->kind == SB_BREAK_EDGE) return true;
    JobBreakers *all = &job->breakers;
    SbMemory *memory = job_breaker_memory(job, breaker);
    all->states[breaker] = sb_breaker_open(what, all->lanes, memory, &job->machine.spill);
    bool good = all->states[breaker] &&
                sb_breaker_want_first(all->states[breaker], all->first_rows[breaker]);
    SbStr step = job->ask.what->steps[what->step].label;
    return good || trouble_set(&job->trouble, TROUBLE_MEMORY, "no memory for '%.*s'",
                               (int)step.len, step.ptr);
}

bool stage_open_breakers(StageRun *run) {
    const SbStage *stage = run->stage;
    for (uint32_t t = 0; t < stage->terminal_count; t++) {
        uint32_t terminal = stage->terminals[t];
        if (!(terminal & SB_TERMINAL_SINK) && !stage_open_breaker(run->job, terminal)) return false;
    }
    return true;
}

// Of rows that are read back for a unit: as many that all threads have enough to do, and no more of
// the memory than policy.c lets a stage hold.
static int64_t batch_most(const SbJob *what, const JobMachine *machine) {
    int64_t share = machine->memory.limit / (what->stage_count + 1);
    return share / (UNITS_A_THREAD * machine->pool.parallel.threads);
}

static int64_t batch_bytes(const JobAsk *ask, const JobMachine *machine) {
    int64_t bytes = batch_most(ask->what, machine);
    return bytes < ask->options.partition ? bytes : ask->options.partition;
}

// What breakers have and do not use.
static void give_accounts_back(const StageRun *run) {
    Job *job = run->job;
    for (uint32_t t = 0; job->breakers.accounts && t < run->stage->terminal_count; t++) {
        uint32_t terminal = run->stage->terminals[t];
        bool breaker = !(terminal & SB_TERMINAL_SINK) && job->breakers.accounts[terminal];
        if (breaker) job->breakers.accounts[terminal]->less(job->breakers.accounts[terminal]);
    }
}

// Memory for a buffer of text, when there is none: what breakers that the stage fills keep goes to
// disk, of threads that fill none now. Those that do let go of it as they go on, or when their task
// is done, and merges of spilled rows when they end: that is waited for.
static bool find_memory(void *self) {
    enum { WAIT_MICROS = 1000 };
    const StageRun *run = self;
    Job *job = run->job;
    bool gave = false, busy = atomic_load(&job->machine.spill.pieces) > 0;
    for (uint32_t i = 0; i < job->breakers.lanes; i++) {
        if (pthread_mutex_trylock(&job->breakers.fills[i]) != 0) {
            busy = true;
            continue;
        }
        for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
            uint32_t terminal = run->stage->terminals[t];
            bool breaker = !(terminal & SB_TERMINAL_SINK) && job->breakers.states[terminal];
            gave |= breaker && sb_breaker_relieve(job->breakers.states[terminal], i);
        }
        pthread_mutex_unlock(&job->breakers.fills[i]);
    }
    give_accounts_back(run);
    if (!gave && busy) usleep(WAIT_MICROS);
    return (gave || busy) && !job->machine.spill.failed && !atomic_load(&job->stop.cancel);
}

// What states of groups have counted cannot be taken back.
static bool fills_groups(const StageRun *run) {
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        uint32_t terminal = run->stage->terminals[t];
        if (!(terminal & SB_TERMINAL_SINK) &&
            run->job->ask.what->breakers[terminal].kind == SB_BREAK_GROUP)
            return true;
    }
    return false;
}

// Rows that it or a stage after it takes together: units of whole batches give each slot some.
static int64_t batch_below(const StageRun *run) {
    int64_t batch = run->stage->batch;
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        if (run->edges[t] == EDGE_NONE) continue;
        int64_t wanted = batches_wanted(run->job->ask.what, run->stage->terminals[t]);
        if (wanted > batch) batch = wanted;
    }
    return batch;
}

// Slots to which a small input is to give work. A stage that takes rows of files together fills its
// batches within a unit only.
static int64_t slots_to_fill(const StageRun *run) {
    const Source *files = run->setup.files;
    if (run->stage->batch > 1 && files && files->file_count > 0) return 0;
    const JobMachine *machine = &run->job->machine;
    return slots_widest(&machine->slots, run->stage, machine->pool.parallel.threads);
}

// Null: the CPU does all.
static Gpu *gpu_of(const StageRun *run) {
    const SbKernels *kernels = run->stage->kernels;
    Gpu *gpu = run->job->machine.gpu;
    return kernels && gpu && !(kernels->approx && gpu_no_products(gpu)) ? gpu : nullptr;
}

bool stage_open(StageRun *run, SbParallel *parallel, Trouble *trouble) {
    Job *job = run->job;
    const SbStage *stage = run->stage;
    bool source = is_source_input(stage);
    run->setup = (TaskSetup){
        .job = job->ask.what, .stage = stage,
        .source = source ? &job->ask.what->sources[stage->input_index] : nullptr,
        .files = source ? &job->io.sources[stage->input_index] : nullptr,
        .sources = job->io.sources,
        .row = source ? &run->source_row : job->ask.what->breakers[stage->input_index].row,
        .params = job->ask.params.values, .tables = job->breakers.tables,
        .breakers = job->breakers.states,
        .gpu = gpu_of(run),
        .needs_gpu = job->ask.options.device == DEVICE_ONLY_GPU,
        .memory = &job->machine.memory, .partition_bytes = job->ask.options.partition,
        .wants_rows = job->rejects.limits.share >= 0, .units = &run->units, .relief = &run->relief,
        .guards = &job->guards,
    };
    run->setup.goes_back = !fills_groups(run);
    run->relief = (BufferRelief){find_memory, run};
    int64_t cut = job->ask.setup.stage_bytes[run->index];
    if (cut != INT64_MAX) run->setup.partition_bytes = cut;
    UnitsSetup units = {.source = run->setup.files, .input = stage->input,
                        .memory = &job->machine.memory, .spill = &job->machine.spill,
                        .relief = &run->relief, .cancel = &job->stop.cancel,
                        .rows_max = job->ask.setup.stage_rows[run->index],
                        .batch = batch_below(run), .tasks = job->machine.pool.parallel.threads,
                        .slots = slots_to_fill(run),
                        .batch_bytes = batch_bytes(&job->ask, &job->machine),
                        .batch_most = batch_most(job->ask.what, &job->machine),
                        .sums = job->resume != nullptr};
    if (source) {
        // Of a range and of inline tables; offsets count from the entry, as a breaker's do.
        run->source_row = (SbType){.kind = SB_STRUCT, .fields = run->setup.source->columns,
                                   .field_count = run->setup.source->column_count};
        units.entries = run->setup.source->rows;
        units.entry_count = run->setup.source->row_count;
    } else if (!find_rows(run, &units, parallel, trouble)) {
        return false;
    }
    units.start = run->start;
    if (!units_open(&run->units, &units, trouble)) return false;
    run->repeats = units_can_repeat(&run->units);
    __atomic_store_n(&run->opened, true, __ATOMIC_RELEASE);
    return true;
}

// Rows after what a limit needs would ask in vain.
static bool may_stop_early(const StageRun *run) {
    bool limited = true, first_rows = run->job->ask.options.first_rows != INT64_MAX;
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        uint32_t edge = run->edges[t];
        bool by_edge = edge != EDGE_NONE && run->job->breakers.edges[edge].limited;
        bool by_sink = run->stage->terminals[t] & SB_TERMINAL_SINK && first_rows;
        limited = limited && (by_edge || by_sink);
    }
    return limited;
}

bool stage_asks_ahead(const StageRun *run) { return probe_ahead_wanted(&run->setup); }

void stage_ask_ahead(StageRun *run, SbParallel *parallel) {
    bool again = run->repeats || source_reads_again(run->setup.files);
    bool reads_edge = sb_reads_edge(run->job->ask.what, run->stage);
    ProbeAheadSetup what = {&run->setup, &run->units.what, &run->job->stop.cancel,
                            again && !reads_edge && !may_stop_early(run)};
    probe_ahead_open(&run->ahead, &what, parallel);
    run->setup.ahead = &run->ahead;
}

void stage_note_buffer(StageRun *run, int64_t bytes) {
    Job *job = run->job;
    int64_t before = run->buffer_max > 2 * run->setup.partition_bytes
                         ? run->buffer_max : 2 * run->setup.partition_bytes;
    if (bytes <= before) return;
    sb_memory_reserve(&job->machine.memory, (bytes - before) * job->machine.pool.parallel.threads);
    run->buffer_max = bytes;
}

bool stage_breaker_finished(Job *job, uint32_t breaker, int32_t status) {
    const SbBreaker *what = &job->ask.what->breakers[breaker];
    SbStr step = job->ask.what->steps[what->step].label;
    job->breakers.finished[breaker] = true;
    filters_close(job, breaker);
    if (status == SB_OK) {
        sb_breaker_entries(job->breakers.states[breaker], &job->breakers.kept[breaker]);
        if (what->kind == SB_BREAK_JOIN)
            job->breakers.tables[breaker] = sb_breaker_table(job->breakers.states[breaker]);
        return true;
    }
    if (spill_trouble(&job->machine.spill, &job->trouble)) return false;
    if (status == SB_FAULT_TOO_LARGE)
        return memory_plan_lacks(&job->ask, &job->machine, step, &job->trouble);
    return trouble_set(&job->trouble, TROUBLE_FAULT, "'%.*s': %s", (int)step.len, step.ptr,
                       fault_info(status)->message);
}

// Who wants the memory: the one breaker that the stage fills, edges aside, or the stage.
static SbStr hungry_step(const StageRun *run) {
    const SbJob *what = run->job->ask.what;
    SbStr label = run->stage->label;
    uint32_t found = 0;
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        uint32_t terminal = run->stage->terminals[t];
        if (terminal & SB_TERMINAL_SINK || sb_is_edge(what, terminal)) continue;
        if (++found == 1) label = what->steps[what->breakers[terminal].step].label;
    }
    return found == 1 ? label : run->stage->label;
}

// Of a stage that reads groups, says at which of them it is.
static void name_group(const StageRun *run, const SbTask *task, const Partition *partition,
                       Trouble *trouble) {
    if (run->stage->input != SB_INPUT_ROWS || partition->end <= partition->begin) return;
    const SbBreaker *what = &run->job->ask.what->breakers[run->stage->input_index];
    if (what->kind != SB_BREAK_GROUP || what->key_count == 0) return;
    Text keys = {0};
    spill_groups_keys(&keys, what, task->input.entries[partition->end - 1]);
    trouble_add(trouble, ", at the group %.*s", (int)keys.len, keys.ptr ? keys.ptr : "");
    sb_text_close(&keys);
}

// Were rows not computed that only a GPU may compute?
static bool lacks_gpu(const StageRun *run, const Partition *partition, Trouble *trouble) {
    Gpu *gpu = run->setup.gpu;
    bool approx = gpu && run->stage->kernels->approx;
    if (!gpu || (!approx && !run->setup.needs_gpu)) return false;
    const char *lost = gpu_lost(gpu);
    bool launched = partition->failure.fault != SB_FAULT_EXTERN_SAID ||
                    partition->failure.site != UINT32_MAX;
    if (!lost && approx && !launched) lost = "it has no memory for a row";
    if (!lost) return false;
    trouble_set(trouble, TROUBLE_GPU_NEEDED, "'%.*s' is to run on a GPU, but %s",
                (int)run->stage->label.len, run->stage->label.ptr, lost);
    if (approx)
        trouble_fix(trouble, "run the job again: what is approx does not go on elsewhere, where "
                             "it would have other digits; --device=cpu runs all of it there");
    return true;
}

bool stage_take_failure(const StageRun *run, const SbTask *task, const Partition *partition,
                        Trouble *trouble) {
    Job *job = run->job;
    const RejectList *rejects = &partition->rejects;
    bool by_record = partition->over || (rejects->count > 0 &&
                                         rejects->items[rejects->count - 1].fails);
    if (partition->status != SB_STAGE_FAULT || (by_record && !partition->starved)) return true;
    if (spill_trouble(&job->machine.spill, trouble)) return false;
    SbStr label = hungry_step(run);
    if (lacks_gpu(run, partition, trouble)) return false;
    if (partition->failure.fault != SB_OK && partition->failure.site < job->ask.what->site_count) {
        label = job->ask.what->steps[job->ask.what->sites[partition->failure.site].step].label;
    }
    if (partition->failure.fault == SB_FAULT_TOO_LARGE || partition->failure.fault == SB_OK) {
        memory_plan_lacks(&job->ask, &job->machine, label, trouble);
        return name_group(run, task, partition, trouble), false;
    }
    return trouble_set(trouble, TROUBLE_FAULT, "'%.*s': %s", (int)label.len, label.ptr,
                       fault_info(partition->failure.fault)->message);
}

// ---- what tasks make ------------------------------------------------------------------------

bool stage_numbers_rows(const StageRun *run) { return run->setup.wants_rows && run->setup.source; }

void stage_number_records(const StageRun *run, RejectList *list, int64_t before) {
    for (uint32_t i = 0; stage_numbers_rows(run) && i < list->count; i++)
        list->items[i].row += before;
}

void stage_number_batch(const StageRun *run, uint32_t t, const Batch *batch, int64_t before) {
    uint32_t offset = run->job->ask.what->breakers[run->stage->terminals[t]].place_offset;
    bool places = stage_numbers_rows(run) && offset != UINT32_MAX && before > 0;
    for (int64_t i = 0; places && i < batch->count; i++) {
        char *entry = (char *)(uintptr_t)batch->entries[i];
        ((SbPlace *)(void *)(entry + offset))->row += before;
    }
}

void stage_make_batches(const StageRun *run, Partition *partition, int64_t before,
                        Trouble *trouble) {
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        if (partition->rows[t] == 0 || !partition->batches[t]) continue;
        partition->handed[t] = batch_open(partition->batches[t]);
        if (!partition->handed[t]) {
            memory_plan_lacks(&run->job->ask, &run->job->machine, run->stage->label, trouble);
            return;
        }
        stage_number_batch(run, t, partition->handed[t], before);
        partition->bytes += partition->handed[t]->bytes - sb_rows_bytes(partition->batches[t]);
        partition->batches[t] = nullptr;
    }
}

void stage_sum(const StageRun *run, Partition *partition, bool outs) {
    for (uint32_t t = 0; t < run->stage->terminal_count; t++) {
        Batch *batch = partition->handed[t];
        const SbOut *out = &partition->outs[t];
        partition->sums[t] = (RowSum){0};
        if (batch) {
            partition->sums[t] = row_sum(&run->forms[t], batch->entries, batch->count);
            batch->sum = partition->sums[t];
            batch->summed = true;
        } else if (outs && out->state->begin) {
            partition->sums[t] = row_sum_bytes(out->state->begin, out->at - out->state->begin);
        }
    }
}

// ---- rows that come again -----------------------------------------------------------------------

bool stage_open_aside(const StageRun *run, SbTaskState *task) {
    const SbStage *stage = run->stage;
    task->aside = calloc(stage->terminal_count + 1, sizeof(SbBreakerState *));
    for (uint32_t t = 0; task->aside && t < stage->terminal_count; t++) {
        uint32_t terminal = stage->terminals[t];
        if (terminal & SB_TERMINAL_SINK || run->edges[t] != EDGE_NONE) continue;
        task->aside[t] = sb_breaker_open(&run->job->ask.what->breakers[terminal], 1,
                                         &run->job->machine.memory, nullptr);
        if (!task->aside[t]) return false;
    }
    return task->aside;
}

void stage_close_aside(const StageRun *run, SbTaskState *task) {
    for (uint32_t t = 0; task->aside && t < run->stage->terminal_count; t++)
        if (task->aside[t]) sb_breaker_close(task->aside[t]);
    free(task->aside);
    task->aside = nullptr;
}

// ---- closing --------------------------------------------------------------------------------

void stage_close(StageRun *run) {
    while (run->spare) {
        Partition *partition = run->spare;
        run->spare = partition->next;
        partition_close(partition, &run->setup);
    }
    while (run->spare_tasks) {
        SbTaskState *task = run->spare_tasks;
        run->spare_tasks = task->next;
        task_close(task);
        free(task);
    }
    if (run->opened) units_close(&run->units);
    probe_ahead_close(&run->ahead);
    struct Arena *arena = run->job->machine.memory.arena;
    if (arena && run->unmatched) arena_give(arena, run->unmatched, run->unmatched_bytes);
    else free(run->unmatched);
    run->unmatched = nullptr;
    run->opened = false;
}

void stage_finish(StageRun *run) {
    stage_close(run);
    for (uint32_t t = 0; run->forms && t <= run->stage->terminal_count; t++)
        row_form_close(&run->forms[t]);
    free(run->forms);
    free(run->edges);
    free(run->counts);
    free(run->unit_rows);
    free(run->starts);
    free(run->places);
}

// ---- what is used again ---------------------------------------------------------------------

SbTaskState *stage_task(StageRun *run) {
    SbTaskState *task = run->spare_tasks;
    if (task) {
        run->spare_tasks = task->next;
        // Here, where the lock is held: from now on others may cancel it.
        __atomic_store_n(&task->task.cancel, 0, __ATOMIC_RELAXED);
        return task;
    }
    task = malloc(sizeof *task);
    if (!task || !task_open(task, &run->setup, &run->job->trouble)) {
        if (task) task_close(task);
        free(task);
        stage_no_memory(run, &run->job->trouble);
        return nullptr;
    }
    return task;
}

Partition *stage_partition(StageRun *run) {
    Partition *partition = run->spare;
    if (partition) {
        run->spare = partition->next;
        run->spare_count--;
    } else {
        partition = partition_open(&run->setup);
    }
    if (!partition) stage_no_memory(run, &run->job->trouble);
    return partition;
}

// Is so much of the memory in use that nobody may keep what he does not need now?
static bool is_scarce(const StageRun *run) {
    return run->job->machine.memory.used > run->job->machine.memory.limit / 2;
}

// Is it worth to keep one more?
static bool is_spare(const StageRun *run, const Partition *partition) {
    if (run->spare_count < SPARE_A_THREAD * run->job->machine.pool.parallel.threads) return true;
    return run->spare_count < SPARE_SMALL && partition->bytes <= SPARE_SMALL_BYTES;
}

void stage_spare(StageRun *run, Partition *partition) {
    partition_let_far_go(partition, &run->setup);
    if (!is_spare(run, partition)) {
        partition_close(partition, &run->setup);
        return;
    }
    if (is_scarce(run) || partition->bytes > BUFFER_PARTITIONS * run->setup.partition_bytes) {
        partition_close_batches(partition, &run->setup);
        partition_close_outs(partition, &run->setup);
    } else {
        partition_empty_batches(partition, &run->setup);
    }
    run->spare_count++;
    partition->next = run->spare;
    run->spare = partition;
}

void stage_spare_task(StageRun *run, SbTaskState *task) {
    if (!task) return;
    kernel_end(task);
    task->ahead = (KernelAhead){0};
    // Who takes the task next says himself whether it has to ask: a replay may not.
    task->buffer.asks_from = 0;
    // A long row made the buffer large.
    if (is_scarce(run) || task->buffer.cap > BUFFER_PARTITIONS * run->setup.partition_bytes)
        unit_buffer_close(&task->buffer);
    task->next = run->spare_tasks;
    run->spare_tasks = task;
}
