// The entry of a compiled job. Weak, so that a test can link the runtime and bring its own.
#include "runtime/abi.h"

extern const SbJob sb_job __attribute__((weak));

__attribute__((weak)) int main(int argc, char **argv) {
    return &sb_job ? sb_main(argc, argv, &sb_job) : 2;
}
