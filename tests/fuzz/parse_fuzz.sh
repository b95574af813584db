#!/bin/sh
# parse_fuzz.sh [SECONDS]: builds and runs the fuzzer of the parser, from the repository's root.
# What it finds is written to the working folder of the fuzzer, /tmp/sbc-parse-fuzz.
set -eu
seconds=${1:-60}
work=/tmp/sbc-parse-fuzz
mkdir -p "$work/corpus"
sources=$(ls frontend/source.c frontend/diag*.c frontend/lex*.c frontend/parse*.c \
    frontend/format*.c frontend/ast_print.c ir/arena.c ir/text.c)
# shellcheck disable=SC2086
clang-22 -std=gnu23 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
    -I. -o "$work/parse_fuzz" tests/fuzz/parse_fuzz.c $sources
cd "$work"
"./parse_fuzz" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
    -dict="$OLDPWD/tests/fuzz/parse.dict" corpus "$OLDPWD/tests/syntax" "$OLDPWD/tests/diagnostics/syntax"
