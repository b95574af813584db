#!/bin/sh
# gpu.sh [build | run [NAME...]]: kernels on a real GPU. Same bytes as the CPU, then figures beside
# torch. NAMEs are those of cases in tests/cuda/kernels.
#
# `build` needs sbc and NVRTC, and no GPU: it leaves build/gpu.tar.xz. `run` needs a GPU with its
# driver, Python with torch, and that file: neither sbc nor a compiler. Without a word it does what
# the machine can: builds where sbc is, runs where a GPU is.
cd "$(dirname "$0")/.." || exit 2
packed=build/gpu.tar.xz

build() {
    python3 tests/cuda/device.py build && tar -C build -cJf "$packed" gpu && ls -l "$packed" || return
    [ "$(wc -c <"$packed")" -le $((64 << 20)) ] || { echo "gpu.sh: $packed is more than the 64 MiB that are carried"; return 1; }
}

run() {
    [ -f "$packed" ] && rm -rf build/gpu && { tar -C build -xJf "$packed" || return 2; }
    [ -d build/gpu/jobs ] || { echo "gpu.sh: $packed is not there; make it where sbc and NVRTC are: $0 build"; return 2; }
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
    python3 tests/cuda/device.py run "$@"
    status=$?
    python3 tests/cuda/bench.py || status=1
    python3 tests/cuda/bench.py jobs || status=1
    python3 tests/cuda/bench.py opening || status=1
    return $status
}

case ${1:-} in
build) build ;;
run) shift; run "$@" ;;
'')
    status=0
    [ -x zig-out/bin/sbc ] && { build || status=1; }
    if ls /dev/nvidia[0-9]* >/dev/null 2>&1; then run || status=1
    else echo "skip: this machine has no GPU"; fi
    exit $status ;;
*) sed -n '2,7p' "$0"; exit 2 ;;
esac
