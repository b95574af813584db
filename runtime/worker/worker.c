#include "runtime/worker/worker.h"

static void run_threads(Worker *self, SbEachFn *main, void *arg) {
    self->parallel->each(self->parallel, self->threads, main, arg);
}

Worker worker_of_threads(SbParallel *parallel) {
    return (Worker){.run = run_threads, .threads = parallel->threads, .parallel = parallel};
}
