#!/bin/sh
# run.sh [SECONDS]: builds each fuzzer of this folder with clang's libFuzzer, AddressSanitizer and
# UBSan, and runs it for SECONDS (3) from its corpus. A fuzzer is one test. Run it from anywhere;
# one alone: ONLY=csv tests/fuzz/run.sh 60. Findings and new inputs stay in build/fuzz/.
set -u
cd "$(dirname "$0")/../.." || exit 2
seconds=${1:-3}
work=build/fuzz
passed=0 failed=0 skipped=0
mkdir -p "$work"

# c FOLDER NAME...: the C files of those names, wherever below the folder they stand.
c() {
    folder=$1
    shift
    for name; do find "$folder" -name "$name.c"; done
}

# What each links beside its own file.
sources_of() {
    case $1 in
    csv) c stdlib 'csv_*' lines utf8 && c runtime/memory arena huge memory scratch ;;
    json) c stdlib 'json_[fpr]*' map hash key text_out 'number*' 'date*' decimal 'zone*' utf8 shape && c runtime/memory arena huge memory scratch ;;
    regex) c stdlib 'regex*' cut utf8 && c runtime/memory arena huge memory scratch ;;
    arrays) c runtime/python arrays && c stdlib/arrow put take children && c stdlib 'json_[fpr]*' map hash key text_out 'number*' 'date*' decimal 'zone*' utf8 shape &&
        c runtime/memory arena huge memory scratch ;;
    frame) c runtime/worker frame peer link && c runtime/host checksum && c runtime/report trouble text ;;
    ir_read) c ir '*' && c stdlib/formats describe ;;
    journal) c runtime/resume journal && c runtime/host checksum durable failpoint leftover retry && c runtime/report log text trouble ;;
    parse) c frontend source foreign 'diag*' 'lex*' 'parse*' 'format*' ast_print && c ir arena text ;;
    check) c frontend '*' && c ir '*' && c stdlib/formats describe ;;
    esac
}

# Folders of inputs to start from, and options.
inputs_of() {
    case $1 in
    ir_read) echo -max_len=8192 tests/ir ;;
    parse) echo -max_len=4096 -dict=tests/fuzz/parse.dict tests/syntax tests/diagnostics/syntax ;;
    check) echo -max_len=4096 -dict=tests/fuzz/parse.dict tests/syntax tests/diagnostics/syntax \
        tests/diagnostics/check examples ;;
    regex) echo -max_len=200 tests/fuzz/corpus/regex ;;
    *) echo -max_len=2000 "tests/fuzz/corpus/$1" ;;
    esac
}

FLAGS="-std=gnu23 -g -O1 -march=x86-64-v3 -ffp-contract=off -fsanitize=fuzzer-no-link,address,undefined
    -fno-sanitize-recover=undefined -I. --embed-dir=stdlib"

# objects FILE...: compiles those that are older than a header or their source, for all that link them.
objects() {
    newest=$(find ir frontend stdlib runtime tests -name '*.[hd]*' -printf '%T@ %p\n' | sort -rn | sed 's/^[^ ]* //; q')
    for file; do
        object=$work/objects/${file%.c}.o
        [ "$object" -nt "$file" ] && [ "$object" -nt "$newest" ] && continue
        mkdir -p "${object%/*}"
        # shellcheck disable=SC2086
        echo clang-22 $FLAGS -c "$file" -o "$object"
    done | xargs -r -P "$(nproc)" -I{} sh -c '{}'
}

build() {
    # shellcheck disable=SC2046
    set -- "$1" "tests/fuzz/$1_fuzz.c" $(sources_of "$1")
    program=$work/$1_fuzz
    shift
    objects "$@" || return 1
    # shellcheck disable=SC2046
    clang-22 -fsanitize=fuzzer,address,undefined -o "$program" \
        $(printf '%s\n' "$@" | sed "s|^|$work/objects/|; s|c\$|o|") -lpcre2-8 -lutf8proc -lm
}

fuzz() {
    mkdir -p "$work/$1" || return 1
    build "$1" || return 1
    # shellcheck disable=SC2046
    "$work/$1_fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$work/$1-" "$work/$1" $(inputs_of "$1") >"$work/$1.log" 2>&1
}

for file in tests/fuzz/*_fuzz.c; do
    name=$(basename "$file" _fuzz.c)
    [ "${ONLY:-$name}" = "$name" ] || continue
    if ! command -v clang-22 >/dev/null; then
        echo "skip fuzz $name: clang-22 is not installed"
        skipped=$((skipped + 1))
    elif fuzz "$name"; then
        echo "ok   fuzz $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$name.log") inputs"
        passed=$((passed + 1))
    else
        echo "FAIL fuzz $name, $work/$name.log:"
        grep -v '^#' "$work/$name.log" | tail -30
        failed=$((failed + 1))
    fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
