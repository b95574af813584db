// sbc: the driver. It is the only file that knows every phase.
#include "ir/text.h"

#include <stdio.h>

int main(int argc, char **argv) {
    (void)argc;
    (void)argv;
    fputs("usage: sbc FILE.sbd -o JOB\n", stderr);
    return 2;
}
