// Licenses: the notices of the libraries that are linked into a job.
#ifndef SBC_RUNTIME_LICENSES_H
#define SBC_RUNTIME_LICENSES_H

#include <stdio.h>

void licenses_print(FILE *file);

#endif
