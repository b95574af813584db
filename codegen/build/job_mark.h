// Job mark: is a file a job that some sbc made?
//
// Generated code puts an ELF note into every job, whose owner is SB_MARK_OWNER (runtime/abi.h). A
// note is a part of what is loaded, so that `strip` leaves it in place.
#ifndef SBC_CODEGEN_BUILD_JOB_MARK_H
#define SBC_CODEGEN_BUILD_JOB_MARK_H

// False also for a file that cannot be read.
bool job_mark_found(const char *path);

#endif
