// Ending: what a job says of the trouble that ends it.
#include "runtime/main/main.h"

void job_log_trouble(Job *job, Trouble *trouble) {
    if (trouble->kind == TROUBLE_INTERRUPTED && job->ask.options.resume)
        trouble_fix(trouble, "run it again with the same --resume=%s: it goes on where it was",
                    job->ask.options.resume);
    log_trouble(&job->log, trouble);
}
