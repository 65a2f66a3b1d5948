// Hardware litmus tests in the style of parallel testing environments: many instances at a time, roles on permuted lanes, a barrier
// before each round, optional warm L1s, stress and jitter. `litmus OUT.csv CONFIG.csv SECONDS_PER_COMBINATION_LAUNCHES`.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)
#define ASM asm volatile
typedef unsigned u32; typedef unsigned long long u64;
enum { MP, SB, LB, IRIW, WRC, CORR, W22, TESTS };
static const char* tests[] = {"MP", "SB", "LB", "IRIW", "WRC", "CoRR", "2+2W"};
enum { WEAK, RLX, RA, FAR_, FSC, WFAR, WFSC, RAW, NC, MIX, VARIANTS };
static const char* variants[] = {"weak", "relaxed", "acq-rel", "relaxed+fence.acq_rel", "relaxed+fence.sc", "weak+fence.acq_rel", "weak+fence.sc", "acq-rel, weak data", "acq-rel, ld.nc data", "relaxed flag, weak data"};
static const char* scopes[] = {"cta", "gpu", "sys"};
#define LD(op) ASM(op " %0, [%1];" : "=r"(v) : "l"(p) : "memory")
#define ST(op) ASM(op " [%0], %1;" :: "l"(p), "r"(v) : "memory")
template <int S> __device__ __forceinline__ u32 ld_rlx(u32* p) { u32 v; if (S == 0) LD("ld.relaxed.cta.global.u32"); else if (S == 1) LD("ld.relaxed.gpu.global.u32"); else LD("ld.relaxed.sys.global.u32"); return v; }
template <int S> __device__ __forceinline__ u32 ld_acq(u32* p) { u32 v; if (S == 0) LD("ld.acquire.cta.global.u32"); else if (S == 1) LD("ld.acquire.gpu.global.u32"); else LD("ld.acquire.sys.global.u32"); return v; }
__device__ __forceinline__ u32 ld_weak(u32* p) { u32 v; LD("ld.weak.global.u32"); return v; }
__device__ __forceinline__ u32 ld_nc(u32* p) { u32 v; LD("ld.global.nc.u32"); return v; }
template <int S> __device__ __forceinline__ void st_rlx(u32* p, u32 v) { if (S == 0) ST("st.relaxed.cta.global.u32"); else if (S == 1) ST("st.relaxed.gpu.global.u32"); else ST("st.relaxed.sys.global.u32"); }
template <int S> __device__ __forceinline__ void st_rel(u32* p, u32 v) { if (S == 0) ST("st.release.cta.global.u32"); else if (S == 1) ST("st.release.gpu.global.u32"); else ST("st.release.sys.global.u32"); }
__device__ __forceinline__ void st_weak(u32* p, u32 v) { ST("st.weak.global.u32"); }
template <int V, int S> __device__ __forceinline__ u32 R(u32* p) { if (V == NC) return ld_nc(p); return V == WEAK || V == WFAR || V == WFSC || V == RAW || V == MIX ? ld_weak(p) : ld_rlx<S>(p); }
template <int V, int S> __device__ __forceinline__ u32 Ra(u32* p) { if (V == MIX) return ld_rlx<S>(p); return V == RA || V == RAW || V == NC ? ld_acq<S>(p) : R<V, S>(p); }
template <int V, int S> __device__ __forceinline__ void W(u32* p, u32 v) { if (V == WEAK || V == WFAR || V == WFSC || V == RAW || V == NC || V == MIX) st_weak(p, v); else st_rlx<S>(p, v); }
template <int V, int S> __device__ __forceinline__ void Wr(u32* p, u32 v) { if (V == MIX) st_rlx<S>(p, v); else if (V == RA || V == RAW || V == NC) st_rel<S>(p, v); else W<V, S>(p, v); }
template <int V, int S> __device__ __forceinline__ void F() {
    if (V == FAR_ || V == WFAR) { if (S == 0) ASM("fence.acq_rel.cta;" ::: "memory"); else if (S == 1) ASM("fence.acq_rel.gpu;" ::: "memory"); else ASM("fence.acq_rel.sys;" ::: "memory"); }
    if (V == FSC || V == WFSC) { if (S == 0) ASM("fence.sc.cta;" ::: "memory"); else if (S == 1) ASM("fence.sc.gpu;" ::: "memory"); else ASM("fence.sc.sys;" ::: "memory"); }
}
struct Params { u32 *x, *y, *regs, *bar, *scratch, *claim; const u32* order; u32 stride, iters, groups, per_role, same, warm, jitter, stress_blocks, seed, zero, mul[4], add[4], muly, addy; };
template <int T, int V, int S> __global__ void test(Params p) {
    constexpr int N = T == IRIW ? 4 : T == WRC ? 3 : 2; u32 tests_blocks = p.same == 1 ? p.groups : p.groups * N; __shared__ u32 slot;
    if (blockIdx.x >= tests_blocks) { // stress: loads and stores of scratch lines until the barrier counters say the end
        u32 h = (blockIdx.x * 1024 + threadIdx.x) * 2654435761u + p.seed, acc = 0; for (u32 i = 0; i < p.iters * 24; ++i) { h = h * 1664525u + 1013904223u; u32* q = p.scratch + (h >> 12) % (1 << 18) * 4; if (h & 256) acc += ld_weak(q); else st_weak(q, h); if (i % 8 == 0) acc += ld_rlx<1>(q); }
        if (acc == 0x13572468) p.scratch[0] = acc; return; }
    u32 c = p.order[blockIdx.x], role, g, t; if (p.same == 2) { u32 sm; ASM("mov.u32 %0, %%smid;" : "=r"(sm)); if (threadIdx.x == 0) slot = atomicAdd(&p.claim[sm], 1u); __syncthreads(); role = slot; g = sm; t = threadIdx.x; if (role >= N) return; __syncthreads(); if (threadIdx.x == 0) { slot = 0; for (u32 spin = 0; spin < 100 && slot < N; ++spin) slot = ld_rlx<1>((u32*)__cvta_generic_to_global(&p.claim[sm])); } __syncthreads(); if (slot < N) return; } else if (p.same) { role = threadIdx.x / p.per_role; g = c; t = threadIdx.x % p.per_role; } else { role = c % N; g = c / N; t = threadIdx.x; }
    u32 m = p.per_role - 1, tt = (t * p.mul[role] + p.add[role]) & m, ty = (tt * p.muly + p.addy) & m;
    for (u32 it = 0; it < p.iters; ++it) {
        u64 block = ((u64)it * p.groups + g) * p.per_role; u64 j = block + tt; u32* x = p.x + j * p.stride; u32* y = p.y + (block + ty) * p.stride; x = (u32*)__cvta_generic_to_global(x); y = (u32*)__cvta_generic_to_global(y);
        u32 r0 = 0, r1 = 0, w = 0;
        if (p.warm & 1) w += V == NC ? ld_nc(x) : ld_weak(x); if (p.warm & 2) w += V == NC ? ld_nc(y) : ld_weak(y);
        if (w > 100) p.regs[0] = w;
        __syncthreads();
        if (p.same != 1) { if (threadIdx.x == 0) { u32* b = (u32*)__cvta_generic_to_global(p.bar + g * 32); u32 o; ASM("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;" : "=r"(o) : "l"(b) : "memory"); for (u32 spin = 0; spin < 1000 && ld_rlx<1>(b) < (it + 1) * N; ++spin) {} } __syncthreads(); }
        if (p.jitter) { u32 h = (t + it * 977 + role * 7919 + p.seed) * 2654435761u >> 26; for (u32 d = 0; d < (h & p.jitter); ++d) ASM("" ::: "memory"); u64 c0 = clock64(); while (clock64() - c0 < (h & p.jitter) * 8) {} }
        if (T == MP) { if (role == 0) { W<V, S>(x, 1); F<V, S>(); Wr<V, S>(y, 1); } else { r0 = Ra<V, S>(y); F<V, S>(); r1 = R<V, S>(x); } }
        if (T == SB) { if (role == 0) { Wr<V, S>(x, 1); F<V, S>(); r0 = Ra<V, S>(y); } else { Wr<V, S>(y, 1); F<V, S>(); r0 = Ra<V, S>(x); } }
        if (T == LB) { if (role == 0) { r0 = Ra<V, S>(x); F<V, S>(); Wr<V, S>(y, 1); } else { r0 = Ra<V, S>(y); F<V, S>(); Wr<V, S>(x, 1); } }
        if (T == IRIW) { if (role == 0) Wr<V, S>(x, 1); else if (role == 1) Wr<V, S>(y, 1); else if (role == 2) { r0 = Ra<V, S>(x); F<V, S>(); r1 = Ra<V, S>(y); } else { r0 = Ra<V, S>(y); F<V, S>(); r1 = Ra<V, S>(x); } }
        if (T == WRC) { if (role == 0) Wr<V, S>(x, 1); else if (role == 1) { r0 = Ra<V, S>(x); F<V, S>(); Wr<V, S>(y, 1); } else { r0 = Ra<V, S>(y); F<V, S>(); r1 = R<V, S>(x); } }
        if (T == CORR) { if (role == 0) Wr<V, S>(x, 1); else { r0 = Ra<V, S>(x); F<V, S>(); r1 = R<V, S>(x + p.zero); } } // an address that the assembler cannot know to be the same, lest it drop a weak load
        if (T == W22) { if (role == 0) { Wr<V, S>(x, 1); F<V, S>(); Wr<V, S>(y, 2); } else { Wr<V, S>(y, 1); F<V, S>(); Wr<V, S>(x, 2); } }
        u32* out = p.regs + j * 4; // a pair of registers for each of two reading roles
        if (T == MP || T == CORR) { if (role == 1) { out[0] = r0; out[1] = r1; } }
        else if (T == SB || T == LB) out[role] = r0;
        else if (T == IRIW) { if (role >= 2) { out[(role - 2) * 2] = r0; out[(role - 2) * 2 + 1] = r1; } }
        else if (T == WRC) { if (role == 1) out[0] = r0; else if (role == 2) { out[1] = r0; out[2] = r1; } }
        __syncthreads();
    }
}
__global__ void count(Params p, u32 n, int w22, u64* bins) {
    __shared__ u32 local[256]; for (u32 i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0; __syncthreads();
    for (u32 j = blockIdx.x * blockDim.x + threadIdx.x; j < n; j += gridDim.x * blockDim.x) { u32 code; if (p.same == 2 && p.claim[j / p.per_role % p.groups] < (u32)p.stress_blocks) continue; if (w22) { u32 block = j & ~(p.per_role - 1), tt = j & (p.per_role - 1), ty = (tt * p.muly + p.addy) & (p.per_role - 1); code = p.x[(u64)j * p.stride] | p.y[(u64)(block + ty) * p.stride] << 2; } else { u32* r = p.regs + (u64)j * 4; code = r[0] | r[1] << 2 | r[2] << 4 | r[3] << 6; } atomicAdd(&local[code & 255], 1u); }
    __syncthreads(); for (u32 i = threadIdx.x; i < 256; i += blockDim.x) if (local[i]) atomicAdd(&bins[i], (u64)local[i]);
}
static int SMS; // SMs of the GPU
static void look() { int d; CK(cudaGetDevice(&d)); CK(cudaDeviceGetAttribute(&SMS, cudaDevAttrMultiProcessorCount, d)); }
static u32 *x, *y, *regs, *bar, *scratch, *order, *claim; static u64* bins; static u32 rng = 2463534242u; static u32 rnd() { rng ^= rng << 13; rng ^= rng >> 17; rng ^= rng << 5; return rng; }
static FILE *out, *conf; static int launches_per_config; static const size_t CELLS = (size_t)2200000 * 32;
static const char* places[] = {"different SMs", "same CTA", "same SM"};
template <int T, int V, int S> static void combo(int same) {
    const int N = T == IRIW ? 4 : T == WRC ? 3 : 2; std::map<u32, u64> total; u64 runs = 0; u32 weak = T == MP || T == CORR ? 1 : T == SB ? 0 : T == LB ? 5 : T == IRIW ? 1 | 1 << 4 : T == WRC ? 1 | 1 << 2 : 1 | 1 << 2;
    for (u32 warm = 0; warm < 4; ++warm) for (u32 stress = 0; stress < 2; ++stress) for (u32 stride : {1u, 8u, 32u}) for (u32 jitter : {0u, 63u}) { u64 hits = 0, tried = 0;
        for (int l = 0; l < launches_per_config; ++l) {
            Params p; p.x = x; p.y = y + (rnd() % 16) * 8; p.regs = regs; p.bar = bar; p.scratch = scratch; p.order = order; p.stride = stride; p.same = same; p.warm = warm; p.jitter = jitter; p.seed = rnd(); p.zero = 0; p.per_role = 256; p.groups = same ? SMS : SMS / N; p.iters = same ? 32 : 64; p.claim = claim; p.stress_blocks = stress ? SMS : 0;
            for (int i = 0; i < 4; ++i) { p.mul[i] = rnd() | 1; p.add[i] = rnd(); if (i == 0 && (l & 1)) p.mul[0] = 1; } p.muly = l & 2 ? 1 : rnd() | 1; p.addy = l & 2 ? 0 : rnd();
            u32 blocks = same == 1 ? p.groups : p.groups * N; std::vector<u32> o(blocks); for (u32 i = 0; i < blocks; ++i) o[i] = i; for (u32 i = blocks - 1; i > 0; --i) std::swap(o[i], o[rnd() % (i + 1)]);
            CK(cudaMemcpyAsync(order, o.data(), blocks * 4, cudaMemcpyHostToDevice)); u32 n = p.iters * p.groups * p.per_role; CK(cudaMemsetAsync(x, 0, (size_t)n * stride * 4)); CK(cudaMemsetAsync(y, 0, (size_t)n * stride * 4 + 4096)); CK(cudaMemsetAsync(regs, 0, (size_t)n * 16)); CK(cudaMemsetAsync(bar, 0, SMS * 128)); CK(cudaMemsetAsync(bins, 0, 256 * 8)); CK(cudaMemsetAsync(claim, 0, 1024));
            u32 threads = same == 1 ? 256 * N : 256; test<T, V, S><<<blocks + p.stress_blocks, threads>>>(p); CK(cudaGetLastError()); p.stress_blocks = N; count<<<264, 256>>>(p, n, T == W22, bins);
            u64 h[256]; CK(cudaMemcpy(h, bins, sizeof h, cudaMemcpyDeviceToHost)); for (int i = 0; i < 256; ++i) if (h[i]) total[i] += h[i]; u64 seen = 0; for (int i = 0; i < 256; ++i) seen += h[i]; hits += h[weak]; tried += seen; runs += seen; }
        fprintf(conf, "%s,%s,%s,%s,%u,%u,%u,%u,%llu,%llu\n", tests[T], V == WEAK ? "-" : scopes[S], variants[V], places[same], warm, stress, stride, jitter, hits, tried); }
    for (auto& [code, n] : total) { char o[64]; u32 a = code & 3, b = code >> 2 & 3, c = code >> 4 & 3, d = code >> 6 & 3;
        if (T == MP) sprintf(o, "y=%u;x=%u", a, b); else if (T == SB) sprintf(o, "y=%u;x=%u", a, b); else if (T == LB) sprintf(o, "x=%u;y=%u", a, b); else if (T == IRIW) sprintf(o, "x=%u;y=%u;y=%u;x=%u", a, b, c, d); else if (T == WRC) sprintf(o, "x=%u;y=%u;x=%u", a, b, c); else if (T == CORR) sprintf(o, "x=%u;x=%u", a, b); else sprintf(o, "[x]=%u;[y]=%u", a, b);
        fprintf(out, "%s,%s,\"%s\",%s,%s,%llu,%s,%llu\n", tests[T], V == WEAK ? "-" : scopes[S], variants[V], places[same], o, n, code == weak ? "weak" : "", runs); }
    if (!total.count(weak)) fprintf(out, "%s,%s,\"%s\",%s,%s,0,weak,%llu\n", tests[T], V == WEAK ? "-" : scopes[S], variants[V], places[same], "(weak outcome)", runs);
    fflush(out); fflush(conf);
}
template <int T, int V> static void scoped() { for (int same = 0; same < 3; ++same) { combo<T, V, 0>(same); combo<T, V, 1>(same); } }
template <int T> static void all() { for (int same = 0; same < 3; ++same) combo<T, WEAK, 1>(same); scoped<T, RLX>(); scoped<T, RA>(); scoped<T, FAR_>(); scoped<T, FSC>(); scoped<T, WFAR>(); }
int main(int argc, char** argv) {
    out = fopen(argv[1], "w"); conf = fopen(argv[2], "w"); launches_per_config = atoi(argv[3]); fprintf(out, "test,scope,variant,placement,outcome,count,kind,instances\n"); fprintf(conf, "test,scope,variant,placement,warm,stress,stride_words,jitter,weak,instances\n");
    look(); CK(cudaMalloc(&x, CELLS * 4 + 65536)); CK(cudaMalloc(&y, CELLS * 4 + 65536)); CK(cudaMalloc(&regs, (size_t)2200000 * 16)); CK(cudaMalloc(&bar, SMS * 128)); CK(cudaMalloc(&scratch, 8 << 20)); CK(cudaMalloc(&order, 4096)); CK(cudaMalloc(&bins, 2048)); CK(cudaMalloc(&claim, 1024));
    all<MP>(); combo<MP, WFSC, 1>(0); scoped<MP, RAW>(); scoped<MP, NC>(); scoped<MP, MIX>(); combo<MP, RA, 2>(0); all<SB>(); combo<SB, WFSC, 1>(0); combo<SB, FSC, 2>(0); all<LB>(); all<IRIW>(); combo<IRIW, FSC, 2>(0); all<WRC>(); all<CORR>(); scoped<CORR, MIX>(); all<W22>();
    fclose(out); fclose(conf); return 0;
}
