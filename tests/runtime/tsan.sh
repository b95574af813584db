#!/bin/sh
# tsan.sh: builds the runtime with clang's thread sanitizer and runs its tests. From the root folder.
set -e
files() {
    sed -n "/^const $1: /,/^};/p" build.zig | grep -o '"[^"]*\.c"' | tr -d '"' | grep -v '^main\.c$' | sed "s#^#$1/#"
}
program=$(mktemp)
trap 'rm -f "$program"' EXIT
# shellcheck disable=SC2046
clang-22 -std=gnu23 -O1 -g -fsanitize=thread -march=x86-64-v3 -I. --embed-dir=stdlib \
    tests/unit/runtime_test.c $(files runtime) $(files stdlib) \
    -l:libuv_a.a -lyaml -lzstd -llz4 -lz -lpcre2-8 -lutf8proc -lm -o "$program"
# The sanitizer needs a fixed layout of the address space.
setarch -R "$program"
