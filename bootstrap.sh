#!/usr/bin/env bash
# bootstrap.sh: sets up, builds, and shows or tests sbc on a fresh Debian 12 (x86-64).
#
#   ./bootstrap.sh demo     install what is missing, build, compile and run an example over real data
#   ./bootstrap.sh test     install what is missing, build, run the tests; of five long suites a third (tests/share.py)
#   ./bootstrap.sh test all the same with all of them
#   ./bootstrap.sh build    install what is missing, build into zig-out/
#   ./bootstrap.sh check    say what is missing, change nothing
#   ./bootstrap.sh zig ...  run the pinned zig: ./bootstrap.sh zig build unit
#
# System packages need root; without it the script prints the one line to run as root. Everything
# else goes into .venv/ of this folder. Elsewhere than on Debian 12: LLVM=DIR names an LLVM 22.
set -euo pipefail
set -f  # Patterns of files are for `missing`.
cd "$(dirname "$0")"

ZIG_VERSION=0.17.0
LLVM=${LLVM:-/usr/lib/llvm-22}
# Debian packages and the file (or a pattern) that shows that each is there.
PACKAGES="
llvm-22-dev=$LLVM/include/llvm-c/Core.h
lld-22=/usr/bin/ld.lld-22
clang-22=/usr/bin/clang-22
libclang-rt-22-dev=/usr/lib/llvm-22/lib/clang/22/lib/linux/libclang_rt.asan-x86_64.a
libc6-dev=/usr/lib/x86_64-linux-gnu/Scrt1.o
libgcc-12-dev=/usr/lib/gcc/x86_64-linux-gnu/12/libgcc.a
libffi-dev=/usr/lib/x86_64-linux-gnu/libffi.a
libssl-dev=/usr/include/openssl/ssl.h
libuv1-dev=/usr/lib/x86_64-linux-gnu/libuv_a.a
libyaml-dev=/usr/lib/x86_64-linux-gnu/libyaml.a
libzstd-dev=/usr/lib/x86_64-linux-gnu/libzstd.a
liblz4-dev=/usr/lib/x86_64-linux-gnu/liblz4.a
zlib1g-dev=/usr/lib/x86_64-linux-gnu/libz.a
libxxhash-dev=/usr/include/xxhash.h
libpcre2-dev=/usr/lib/x86_64-linux-gnu/libpcre2-8.a
libutf8proc-dev=/usr/lib/x86_64-linux-gnu/libutf8proc.a
python3-venv=/usr/lib/python3*/ensurepip/__init__.py
"
# What only tests use, beside the above.
TEST_PACKAGES="
gdb=/usr/bin/gdb
valgrind=/usr/bin/valgrind
binutils=/usr/bin/addr2line
zstd=/usr/bin/zstd
lz4=/usr/bin/lz4
chromium=/usr/bin/chromium
iproute2=/usr/sbin/ip
"

say() { printf '%s\n' "bootstrap: $*" >&2; }

# missing PACKAGE=FILE...: those that are not there.
missing() {
    for entry; do
        compgen -G "${entry#*=}" >/dev/null || printf '%s ' "${entry%%=*}"
    done
}

# install_packages PACKAGE=FILE...
install_packages() {
    if [ "$LLVM" != /usr/lib/llvm-22 ] && [ ! -e "$LLVM/include/llvm-c/Core.h" ]; then
        say "LLVM=$LLVM holds no LLVM: $LLVM/include/llvm-c/Core.h is not there"
        exit 1
    fi
    missing=$(missing "$@")
    [ -n "$missing" ] || return 0
    line="apt-get update && apt-get install -y --no-install-recommends $missing"
    if ! command -v apt-get >/dev/null; then
        say "missing: $missing"
        say "this is no Debian: install these under the names of your system, and set LLVM=DIR to an LLVM 22"
        exit 1
    fi
    if [ "$(id -u)" != 0 ]; then
        say "missing: $missing"
        say "run this as root, then start again:"
        printf '%s\n' "    $line" >&2
        exit 1
    fi
    say "installing $missing"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

install_zig() {
    [ -x .venv/bin/python ] || python3 -m venv .venv
    [ -n "$(missing "ziglang=.venv/lib/python3*/site-packages/ziglang-$ZIG_VERSION.dist-info/RECORD")" ] || return 0
    say "installing zig $ZIG_VERSION into .venv"
    .venv/bin/python -m pip install -q --disable-pip-version-check "ziglang==$ZIG_VERSION"
}

# Of the package of Prometheus one program for a test: installed, it would start a server.
install_promtool() {
    ! command -v promtool >/dev/null && [ ! -x .venv/tools/promtool ] || return 0
    say "taking promtool from the package prometheus into .venv"
    mkdir -p .venv/tools/package
    (
        set +f
        cd .venv/tools/package && apt-get download -qq prometheus 2>/dev/null &&
            dpkg -x prometheus_*.deb . && mv usr/bin/promtool ..
    ) || say "there is none: a test is skipped"
    rm -rf .venv/tools/package
}

zig() {
    # One setting for every call: it names the build runner's cache.
    ZIG_DEBUG_CMD=1 .venv/bin/python -m ziglang "$@" 2> >(grep -v '^debug: ' >&2)
}

build() {
    install_packages $PACKAGES
    install_zig
    say "building (the first time takes a minute or two)"
    zig build -Dllvm="$LLVM"
}

case "${1:-}" in
check)
    missing=$(missing $PACKAGES $TEST_PACKAGES)
    [ -z "$missing" ] && say "nothing is missing" || say "missing: $missing"
    ;;
build) build ;;
zig)
    shift
    install_zig
    zig "$@"
    ;;
test)
    [ "${2:-}" = all ] || export SBC_TEST_SHARES=3
    install_packages $PACKAGES $TEST_PACKAGES
    install_zig
    install_promtool
    export PATH="$PATH:$PWD/.venv/tools"
    # tests/suites.py sums up what each suite says; every suite runs alone with the same command.
    export ZIG_DEBUG_CMD=1 LLVM
    exec python3 tests/suites.py --alone ".venv/bin/python -m ziglang build test -Dllvm=$LLVM" tests/sanitize.sh \
        --together tests/commands_test.py tests/oracle/run.sh tests/pyarrow.sh tests/cuda/run.py tests/fuzz/run.sh \
        "tests/differential/run.py --gpu --count 24 --seed 500 --processes 1"
    ;;
demo)
    build
    exec sh examples/demo.sh
    ;;
*)
    sed -n '2,12s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
