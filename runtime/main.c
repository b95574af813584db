// The entry of a compiled job.
#include "runtime/abi.h"

int main(int argc, char **argv) {
    return sb_main(argc, argv, &sb_job);
}
