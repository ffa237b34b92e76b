#!/usr/bin/env bash
# Records the results of this folder: record.sh FOLDER PART …, on a machine that does nothing else.
#
#   gpu           products, whole calls, a relaxation and an image on a GPU, beside cuBLAS and CUDA
#   rates         those of a GPU's executors, as gpgpu_legacy/chips/profiles/recorded has them
#   sizes         products there at sizes between the powers of two, where waves of work groups decide
#   solver        conjugate gradients there and on its host's cores: many small passes, and questions
#   every-method  every method there
#   cores         products and the relaxation on all cores, beside NumPy's BLAS and numba's loop
#   two-cores     the same on two cores, with AVX-512 and with AVX2 on both sides
#   llvmpipe      the relaxation and programs of a user's where OpenGL runs on the CPU
#   browser       a product in the page beside TensorFlow.js's, where WebGL runs on the CPU
#   browser-gpu   the same on a GPU
#
# GPU_SIZES, CORES_SIZES, TWO_SIZES, GRIDS and ROUNDS make it shorter; PYTHON names the interpreter.
set -u
out=$1
shift
mkdir -p "$out"
cd "$(dirname "$0")/.." || exit 1

methods="hall-carr-hart-multi larson-mcallister hall-carr-hart-single"
gpu_sizes=${GPU_SIZES:-1024,2048,4096,8192}
cores_sizes=${CORES_SIZES:-1024,2048,4096}
two_sizes=${TWO_SIZES:-512,1024,2048,4096}
grids=${GRIDS:-1024,2048,4096}
peers=benchmarks/peers/jacobi.py
programs=benchmarks/recipes/user_programs.py
export GPGPU_LEGACY_TUNING=off GPGPU_LEGACY_PROFILES="$out/profiles" COLUMNS=140
pinned=

run() {
    echo "== $*"
    $pinned "${PYTHON:-python3}" -m gpgpu_legacy "$@" --quiet 2>&1
}

measured() { # a command with rounds and results: measured NAME COMMAND …
    local name=$1
    shift
    run "$@" --repeat "${ROUNDS:-5}" --budget "${BUDGET:-120}" --output "$out/$name.json"
}

products() { # NAME WORD …
    local name=$1
    shift
    measured "$name" bench $methods "$@"
}

relaxation() { # NAME WORD …
    local name=$1
    shift
    measured "$name" bench jacobi passes=200 --no-reference "$@"
}

gpu() {
    products bench-h200 n=$gpu_sizes --executor gl-compute --peer cublas
    products bench-h200-small n=128,256,512 --executor gl-compute --peer cublas
    products bench-h200-drawn n=128,256,512,1024 --executor gl-raster --peer cublas
    relaxation jacobi-h200 n=$grids --executor gl-compute --peers $peers:CupyKernels
    products whole-h200 n=$gpu_sizes --whole --executor gl-compute --peer cublas
    measured filter-h200 bench image-filter width=1920 height=1080 --whole \
        --executor jit gl-compute gl-arbfp
    measured bench-h200-raster bench hall-carr-hart-multi n=1024,2048 \
        --executor gl-raster gl-arbfp --peer cublas
}

rates() {
    run calibrate --executor gl-compute gl-raster --budget "${BUDGET:-120}"
    for executor in gl-compute gl-raster; do
        sed 's/^name = "this-/name = "h200-/' "$out/profiles/this-$executor.toml" \
            >"$out/h200-$executor.toml"
    done
}

sizes() {
    products products-h200 n=640,768,900,1000,1024,1280,1536,1700,2048,3000 \
        --executor gl-compute --peer cublas
}

solver() {
    measured solver-h200 bench conjugate-gradient n=32,64,90,128 --no-reference \
        --executor jit gl-compute
}

every_method() { # on a GPU and its host
    run study lineage --budget "${BUDGET:-120}" --output "$out/lineage-h200-lowered.json"
    run study lineage n=2048 --budget "${BUDGET:-120}" --output "$out/lineage-h200-lowered-2048.json"
}

cores() {
    products bench-cpu16 n=$cores_sizes --executor jit --peer numpy-blas
    relaxation jacobi-cpu16 n=$grids --executor jit --peers $peers:NumbaLoop
}

two_cores() {
    pinned="taskset -c 0,1"
    OPENBLAS_CORETYPE=SkylakeX \
        products bench-cpu n=$two_sizes --executor jit --peer numpy-blas
    OPENBLAS_CORETYPE=Haswell GPGPU_LEGACY_AVX512=off \
        products bench-cpu-avx2 n=$two_sizes --executor jit --peer numpy-blas
    relaxation jacobi-cpu n=2048 --executor jit --peers $peers:NumbaLoop
    pinned=
}

llvmpipe() {
    relaxation jacobi-llvmpipe n=512 --executor gl-raster gl-compute
    for name in arithmetic transcendental scattered filtered; do
        measured "$name-llvmpipe" bench $programs:$name n=1024 \
            --executor jit gl-compute gl-raster gl-arbfp
    done
    run study lineage --budget "${BUDGET:-120}" --output "$out/lineage-cpu-lowered.json"
}

browser() {
    in_browser llvmpipe browser-llvmpipe
    in_browser swiftshader browser-swiftshader
}

in_browser() { # RENDERER NAME
    local file=$out/$2.json
    "${PYTHON:-python3}" benchmarks/browser.py "$1" >"$file.part" && mv "$file.part" "$file" ||
        rm -f "$file.part"
}

for part in "$@"; do
    case $part in
        gpu) gpu ;;
        rates) rates ;;
        sizes) sizes ;;
        solver) solver ;;
        every-method) every_method ;;
        cores) cores ;;
        two-cores) two_cores ;;
        llvmpipe) llvmpipe ;;
        browser) browser ;;
        browser-gpu) in_browser hardware browser-h200 ;;
        *) echo "there is no part $part" >&2; exit 2 ;;
    esac
done
