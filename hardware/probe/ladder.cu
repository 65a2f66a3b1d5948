// Latencies, bandwidths and coherence probes. `ladder OUT.csv MATRIX.csv`. Rows: group,name,param,value,unit.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)
typedef unsigned u32; typedef unsigned long long u64;
static FILE* csv;
static void emit(const char* g, const char* n, double p, double v, const char* u) { fprintf(csv, "%s,\"%s\",%.10g,%.5g,%s\n", g, n, p, v, u); fflush(csv); }
static u64 *dout, hout[4096]; static void* dsink;
static void fetch(int n) { CK(cudaDeviceSynchronize()); CK(cudaMemcpy(hout, dout, n * 8, cudaMemcpyDeviceToHost)); }
#define ASM asm volatile
// ---- loads by kind
enum { CA, CG, RLXCTA, RLX, ACQ, VOL, NC, CV, WEAK, RLXSYS, ACQCTA, ACQSYS, KINDS };
static const char* kinds[] = {"ld.ca", "ld.cg", "ld.relaxed.cta", "ld.relaxed.gpu", "ld.acquire.gpu", "ld.volatile", "ld.nc", "ld.cv", "ld.weak", "ld.relaxed.sys", "ld.acquire.cta", "ld.acquire.sys"};
template <int K> __device__ __forceinline__ u64 ld(const u64* p) {
    u64 v; const u64* g = (const u64*)__cvta_generic_to_global(p);
#define L(op) ASM(op " %0, [%1];" : "=l"(v) : "l"(g) : "memory")
    if (K == CA) L("ld.global.ca.u64"); else if (K == CG) L("ld.global.cg.u64"); else if (K == RLXCTA) L("ld.relaxed.cta.global.u64"); else if (K == RLX) L("ld.relaxed.gpu.global.u64");
    else if (K == ACQ) L("ld.acquire.gpu.global.u64"); else if (K == VOL) L("ld.volatile.global.u64"); else if (K == NC) L("ld.global.nc.u64"); else if (K == CV) L("ld.global.cv.u64");
    else if (K == WEAK) L("ld.weak.global.u64"); else if (K == RLXSYS) L("ld.relaxed.sys.global.u64"); else if (K == ACQCTA) L("ld.acquire.cta.global.u64"); else L("ld.acquire.sys.global.u64");
    return v;
}
__global__ void fill_lcg(char* base, u64 lines, u64 stride, u64 mul) { // full-period LCG over 2^k lines: one cycle
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < lines; i += (u64)gridDim.x * blockDim.x) *(u64*)(base + i * stride) = (u64)(base + ((i * mul + 12345) & (lines - 1)) * stride);
}
// One block of 1024 threads touches everything twice, then thread 0 chases.
template <int K> __global__ void chase(char* base, u64 lines, u64 stride, u32 warm, u32 steps, u64* out, void** sink) {
    u64 acc = 0;
    for (int pass = 0; pass < 2; ++pass) { for (u64 i = threadIdx.x; i < lines; i += blockDim.x) acc += ld<K>((u64*)(base + i * stride)); __syncthreads(); }
    if (threadIdx.x == 0) {
        u64* p = (u64*)base; for (u32 i = 0; i < warm; ++i) p = (u64*)ld<K>(p);
        u64 t0 = clock64();
#pragma unroll 16
        for (u32 i = 0; i < steps; ++i) p = (u64*)ld<K>(p);
        u64 t1 = clock64(); out[0] = t1 - t0; sink[0] = p;
    }
    if (acc == 1) sink[1] = 0;
}
// Strided pages: line i at page i (2 MiB) plus a spread inside the page.
__global__ void fill_pages(char* base, u64 pages, u64 page) { for (u64 i = threadIdx.x; i < pages; i += blockDim.x) { u64 j = (i * 5 + 12345) & (pages - 1); *(u64*)(base + i * page + i * 4224 % page) = (u64)(base + j * page + j * 4224 % page); } }
__global__ void chase_pages(char* base, u64 pages, u32 steps, u64* out, void** sink) {
    u64* p = (u64*)base; for (u32 i = 0; i < 2 * pages && i < 40000; ++i) p = (u64*)ld<CG>(p);
    u64 t0 = clock64(); for (u32 i = 0; i < steps; ++i) p = (u64*)ld<CG>(p); u64 t1 = clock64(); out[0] = t1 - t0; sink[0] = p;
}
// ---- arithmetic chains
template <int OP> __global__ void chain(u64* out, void** sink, int a, int b, const u32* zero) {
    __shared__ u32 ring[256]; for (int i = threadIdx.x; i < 256; i += blockDim.x) ring[i] = 4 * ((i + 33) & 255); __syncthreads();
    float f = a; double d = a; u32 x = OP == 6 ? a : threadIdx.x, y = b + threadIdx.x, off = zero[threadIdx.x]; u64 wide = x; u32 s = (u32)__cvta_generic_to_shared(ring); u64 t0 = 0, t1 = 0;
    for (int rep = 0; rep < 2; ++rep) { t0 = clock64();
#pragma unroll
        for (int i = 0; i < 256; ++i) {
            if (OP == 0) ASM("fma.rn.f32 %0, %0, %1, %1;" : "+f"(f) : "f"((float)b));
            if (OP == 1) ASM("mad.lo.s32 %0, %0, %1, %1;" : "+r"(x) : "r"(y));
            if (OP == 2) { ASM("add.s32 %0, %0, %1;" : "+r"(x) : "r"(y)); ASM("xor.b32 %0, %0, %1;" : "+r"(x) : "r"(a)); }
            if (OP == 3) ASM("ex2.approx.ftz.f32 %0, %0;" : "+f"(f));
            if (OP == 4) ASM("fma.rn.f64 %0, %0, %1, %1;" : "+d"(d) : "d"((double)b));
            if (OP == 5) ASM("shfl.sync.idx.b32 %0, %0, %1, 31, 0xffffffff;" : "+r"(x) : "r"(y));
            if (OP == 6) ASM("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(s + x));
            if (OP == 7) ASM("bar.sync 0;" ::: "memory");
            if (OP == 8) ASM("{ .reg .pred p; setp.ne.u32 p, %0, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }" : "+r"(x));
            if (OP == 9) ASM("atom.shared.add.u32 %0, [%1], %0;" : "+r"(x) : "r"(s + off));
            if (OP == 10) ASM("rcp.approx.ftz.f32 %0, %0;" : "+f"(f));
            if (OP == 12) ASM("mad.lo.s64 %0, %0, %1, %1;" : "+l"(wide) : "l"((u64)y));
            if (OP == 13) ASM("add.s64 %0, %0, %1; xor.b64 %0, %0, %1;" : "+l"(wide) : "l"((u64)y));
            if (OP == 14) ASM("atom.shared.add.u32 %0, [%1], %0;" : "+r"(x) : "r"(s + off + threadIdx.x * 4));
            if (OP == 15) ASM("{ .reg .pred p; setp.lt.u32 p, %0, %1; selp.u32 %0, %0, %1, p; add.u32 %0, %0, %1; }" : "+r"(x) : "r"(y));
        }
        t1 = clock64(); }
    if (threadIdx.x == 0) out[0] = t1 - t0; if (x == 123456789 && f == 1.0f && d == 3.0) sink[0] = 0; if (wide == 99) sink[2] = 0; if (x == 0x1234567) sink[1] = (void*)(u64)(x + (u32)f + (u32)d);
}
__global__ void conflicts(u64* out, void** sink, u32 way, u32 bytes) { // one warp, dependent, `way` lanes per bank
    __shared__ u32 m[8192]; for (int i = threadIdx.x; i < 8192; i += 32) m[i] = 0; __syncthreads();
    u32 s = (u32)__cvta_generic_to_shared(m), at = ((threadIdx.x % way) * 32 + threadIdx.x / way) * 4, x = 0; u64 t0 = 0, t1 = 0; (void)bytes;
    for (int rep = 0; rep < 2; ++rep) { t0 = clock64();
#pragma unroll 64
        for (int i = 0; i < 256; ++i) ASM("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(s + at + x));
        t1 = clock64(); }
    if (threadIdx.x == 0) out[0] = t1 - t0; if (x) sink[0] = 0;
}
// ---- atomics, one thread, dependent
template <int OP> __global__ void atoms(u32* p, u64* out, void** sink) {
    u32 x = 0; u64 t0 = 0, t1 = 0; p = (u32*)__cvta_generic_to_global(p) + threadIdx.x; // not uniform, or else the assembler aggregates over the warp
    for (int rep = 0; rep < 2; ++rep) { t0 = clock64();
        for (int i = 0; i < 256; ++i) {
#define A(op) ASM(op " %0, [%1], %0;" : "+r"(x) : "l"(p + (x & 0)) : "memory")
            if (OP == 0) A("atom.relaxed.gpu.global.add.u32"); if (OP == 1) A("atom.relaxed.gpu.global.exch.b32"); if (OP == 2) ASM("atom.relaxed.gpu.global.cas.b32 %0, [%1], %0, %0;" : "+r"(x) : "l"(p) : "memory");
            if (OP == 3) A("atom.relaxed.cta.global.add.u32"); if (OP == 4) A("atom.relaxed.sys.global.add.u32"); if (OP == 5) A("atom.acq_rel.gpu.global.add.u32"); if (OP == 6) A("atom.acquire.gpu.global.add.u32"); if (OP == 7) A("atom.release.gpu.global.add.u32");
            if (OP == 8) { float f = __uint_as_float(x); ASM("atom.relaxed.gpu.global.add.f32 %0, [%1], %0;" : "+f"(f) : "l"(p) : "memory"); x = __float_as_uint(f); }
            if (OP == 9) { u64 q = x; ASM("atom.relaxed.gpu.global.add.u64 %0, [%1], %0;" : "+l"(q) : "l"(p) : "memory"); x = (u32)q; }
        } t1 = clock64(); }
    out[0] = t1 - t0; sink[0] = (void*)(u64)x;
}
// Throughput: every thread K atomics. pattern 0: one word; 1: the 32 words of one line; 2: a line per warp; 3: random words of 4 MiB; 4: one word per block
template <bool RET> __global__ void atom_rate(u32* base, int pattern, int k, void** sink) {
    u32 t = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, acc = 0, h = t * 2654435761u;
    for (int i = 0; i < k; ++i) {
        u32 w = pattern == 0 ? 0 : pattern == 1 ? lane : pattern == 2 ? (t & ~31u) + lane : pattern == 3 ? (h = h * 1664525u + 1013904223u) >> 12 : blockIdx.x * 32;
        u32* p = (u32*)__cvta_generic_to_global(base + w);
        if (RET) { u32 o; ASM("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;" : "=r"(o) : "l"(p), "r"(lane + i) : "memory"); acc += o; }
        else ASM("red.relaxed.gpu.global.add.u32 [%0], %1;" :: "l"(p), "r"(lane + i) : "memory");
    }
    if (acc == 0x7fffffff) sink[0] = 0;
}
// ---- fences: `stores` lines stored by lane 0 (or a whole warp) before each
template <int F> __device__ __forceinline__ void fence() {
    if (F == 0) ASM("fence.acq_rel.cta;" ::: "memory"); if (F == 1) ASM("fence.acq_rel.gpu;" ::: "memory"); if (F == 2) ASM("fence.acq_rel.sys;" ::: "memory");
    if (F == 3) ASM("fence.sc.cta;" ::: "memory"); if (F == 4) ASM("fence.sc.gpu;" ::: "memory"); if (F == 5) ASM("fence.sc.sys;" ::: "memory");
}
static const char* fences[] = {"fence.acq_rel.cta", "fence.acq_rel.gpu", "fence.acq_rel.sys", "fence.sc.cta", "fence.sc.gpu", "fence.sc.sys"};
template <int F> __global__ void fence_cost(u32* p, int stores, u64* out) {
    p += (blockIdx.x * blockDim.x + threadIdx.x) * 1; u64 t0 = 0, t1 = 0;
    for (int rep = 0; rep < 2; ++rep) { t0 = clock64(); for (int i = 0; i < 64; ++i) { for (int s = 0; s < stores; ++s) ASM("st.relaxed.gpu.global.u32 [%0], %1;" :: "l"(__cvta_generic_to_global(p + (size_t)s * 8192 * 32)), "r"(i) : "memory"); fence<F>(); } t1 = clock64(); }
    if (threadIdx.x == 0) out[blockIdx.x] = t1 - t0;
}
// ---- what invalidates or fills an L1: warm a ring of 64 lines, do something, time a chase
template <int OP, int K> __global__ void probe(char* ring, char* other, u64* out, void** sink) {
    if (threadIdx.x >= 64) return; u64* o = (u64*)__cvta_generic_to_global(other); u64 v = 0; u64* p = (u64*)ring;
    if (threadIdx.x == 0 && OP != 30 && OP != 31) { for (int i = 0; i < 256; ++i) p = (u64*)ld<CA>(p); if (p == (u64*)1) sink[3] = 0; } // used, or else the assembler drops the loads
    ASM("bar.sync 1, 64;" ::: "memory");
    bool me = OP >= 40 ? threadIdx.x == 32 : threadIdx.x == 0; // from 40 on another warp does it
    if (me) { const int Q = OP >= 40 ? OP - 40 : OP;
        if (Q == 1) fence<0>(); if (Q == 2) fence<1>(); if (Q == 3) fence<2>(); if (Q == 4) fence<3>(); if (Q == 5) fence<4>();
        if (Q == 6) v = ld<ACQ>(o); if (Q == 7) v = ld<ACQCTA>(o); if (Q == 8) v = ld<RLX>(o); if (Q == 9) ASM("st.release.gpu.global.u64 [%0], %1;" :: "l"(o), "l"(v) : "memory");
        if (Q == 10) ASM("atom.relaxed.gpu.global.add.u64 %0, [%1], 1;" : "=l"(v) : "l"(o) : "memory"); if (Q == 11) ASM("atom.acquire.gpu.global.add.u64 %0, [%1], 1;" : "=l"(v) : "l"(o) : "memory"); if (Q == 12) ASM("atom.acq_rel.gpu.global.add.u64 %0, [%1], 1;" : "=l"(v) : "l"(o) : "memory"); if (Q == 13) ASM("atom.release.gpu.global.add.u64 %0, [%1], 1;" : "=l"(v) : "l"(o) : "memory");
        for (int i = 0; i < 64 && Q >= 20; ++i) { u64* q = (u64*)__cvta_generic_to_global(ring + i * 128 + 64); // another sector of the same line
            u64* w = (u64*)__cvta_generic_to_global(ring + i * 128 + 8);                                        // the same sector
            if (Q == 20) ASM("st.weak.global.u64 [%0], %1;" :: "l"(w), "l"(v) : "memory"); if (Q == 21) ASM("st.weak.global.u64 [%0], %1;" :: "l"(q), "l"(v) : "memory"); if (Q == 22) ASM("st.relaxed.gpu.global.u64 [%0], %1;" :: "l"(w), "l"(v) : "memory");
            if (Q == 23) ASM("red.relaxed.gpu.global.add.u64 [%0], %1;" :: "l"(w), "l"(v) : "memory"); if (Q == 24) ASM("red.relaxed.gpu.global.add.u64 [%0], %1;" :: "l"(q), "l"(v) : "memory"); if (Q == 25) { u64 z; ASM("atom.relaxed.gpu.global.add.u64 %0, [%1], %2;" : "=l"(z) : "l"(w), "l"(v) : "memory"); v ^= z; }
            if (Q == 26) v ^= ld<RLX>(w); if (Q == 27) v ^= ld<CG>(w); if (Q == 28) v ^= ld<CV>(w); if (Q == 29) ASM("st.relaxed.cta.global.u64 [%0], %1;" :: "l"(w), "l"(v) : "memory");
            if (Q == 30) ASM("st.weak.global.u64 [%0], %1;" :: "l"(w), "l"(v) : "memory"); } // absent line: does a store allocate?
    }
    ASM("bar.sync 1, 64;" ::: "memory");
    for (int w = 0; w < 2000; ++w) ASM("" ::: "memory");
    { u64 w0 = clock64(); while (clock64() - w0 < 20000) {} }
    if (threadIdx.x == 0) { u64 t0 = clock64(); p = (u64*)ring;
#pragma unroll 16
        for (int i = 0; i < 64; ++i) p = (u64*)ld<K>(p);
        u64 t1 = clock64(); out[0] = t1 - t0; sink[0] = p; }
    if (v == 12345) sink[1] = 0;
}
__global__ void warm_ring(char* ring, void** sink) { u64* p = (u64*)ring; for (int i = 0; i < 256; ++i) p = (u64*)ld<CA>(p); sink[0] = p; }
__global__ void time_ring(char* ring, u64* out, void** sink) { u64* p = (u64*)ring; u64 t0 = clock64(); for (int i = 0; i < 64; ++i) p = (u64*)ld<CA>(p); out[0] = clock64() - t0; sink[0] = p; }
// ---- every SM x 256 lines: minimum of 8 timed accesses after a warm one
__global__ void matrix(char* base, int atomic, unsigned short* out, u32* smids, void** sink) {
    extern __shared__ volatile u64 big[]; if (threadIdx.x) return; u32 sm; ASM("mov.u32 %0, %%smid;" : "=r"(sm)); smids[blockIdx.x] = sm; u64 acc = 0;
    for (int k = 0; k < 256; ++k) { int l = (k + blockIdx.x * 67) & 255; u64* p = (u64*)(base + l * 4096 + (l & 31) * 128); u32 best = 60000; acc += ld<CG>(p); acc += ld<CG>(p);
        for (int r = 0; r < 8; ++r) { u64 v = acc, t0 = clock64(); // memory is zero, so that the four accesses depend on each other and hit one word
            for (int q = 0; q < 4; ++q) { u64* a = (u64*)__cvta_generic_to_global(p + v); if (atomic) ASM("atom.relaxed.gpu.global.add.u64 %0, [%1], 0;" : "=l"(v) : "l"(a) : "memory"); else v = ld<CG>(a); }
            big[0] = v; u64 t1 = clock64(); acc += v; best = min(best, (u32)(t1 - t0) / 4); }
        out[blockIdx.x * 256 + l] = best; }
    if (acc == 1) sink[0] = 0;
}
// ---- ping-pong between two blocks (or two warps of a block): cycles per round trip
template <int M> __device__ __forceinline__ void give(u32* p, u32 v) { p = (u32*)__cvta_generic_to_global(p); if (M == 0) ASM("st.relaxed.gpu.global.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); if (M == 1) ASM("st.release.gpu.global.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); if (M == 2) { u32 o; ASM("atom.relaxed.gpu.global.exch.b32 %0, [%1], %2;" : "=r"(o) : "l"(p), "r"(v) : "memory"); } if (M == 3) ASM("st.relaxed.cta.global.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); if (M == 4) ASM("st.release.cta.global.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); if (M == 5) ASM("st.release.sys.global.u32 [%0], %1;" :: "l"(p), "r"(v) : "memory"); }
template <int M> __device__ __forceinline__ u32 see(u32* p) { u32 v = 0; p = (u32*)__cvta_generic_to_global(p); if (M == 0) ASM("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); if (M == 1) ASM("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); if (M == 2) ASM("atom.relaxed.gpu.global.add.u32 %0, [%1], 0;" : "=r"(v) : "l"(p) : "memory"); if (M == 3) ASM("ld.relaxed.cta.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); if (M == 4) ASM("ld.acquire.cta.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); if (M == 5) ASM("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory"); return v; }
template <int M> __global__ void pingpong(u32* f, int partner, bool same, u64* out) {
    extern __shared__ char big2[]; int who = same ? (threadIdx.x == 0 ? 0 : threadIdx.x == 32 ? 1 : -1) : threadIdx.x ? -1 : blockIdx.x == 0 ? 0 : blockIdx.x == (u32)partner ? 1 : -1; if (who < 0 || (same && blockIdx.x)) return;
    u32 sm; ASM("mov.u32 %0, %%smid;" : "=r"(sm)); u64 t0 = 0; const u32 N = 500; u64 limit = clock64() + 400000000ull;
    for (u32 i = 1; i <= N; ++i) { if (i == 51) t0 = clock64(); if (who == 0) { give<M>(f, i); while (see<M>(f + 32) != i) if (clock64() > limit) return; } else { while (see<M>(f) != i) if (clock64() > limit) return; give<M>(f + 32, i); } }
    out[who * 2] = clock64() - t0; out[who * 2 + 1] = sm; if (f == 0) out[9] = big2[0];
}
// ---- bandwidth
template <int K> __device__ __forceinline__ uint4 ld4(const uint4* p) { uint4 v; const void* g = (const void*)__cvta_generic_to_global(p); if (K == 0) ASM("ld.global.ca.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(g)); else ASM("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(g)); return v; }
template <int K> __global__ void read_bw(const uint4* p, size_t n, size_t own, int reps, void** sink) { // own != 0: each block re-reads its own piece of that many elements
    u32 acc = 0; const uint4* q = own ? p + blockIdx.x * own : p; size_t len = own ? own : n, first = own ? threadIdx.x : blockIdx.x * (size_t)blockDim.x + threadIdx.x, step = own ? blockDim.x : (size_t)gridDim.x * blockDim.x;
    for (int r = 0; r < reps; ++r) {
#pragma unroll 8
        for (size_t i = first; i < len; i += step) { uint4 v = ld4<K>(q + i); acc ^= v.x ^ v.y ^ v.z ^ v.w; } }
    if (acc == 0x12345) sink[0] = 0;
}
__global__ void write_bw(uint4* p, size_t n, int reps) { uint4 v = make_uint4(1, 2, 3, threadIdx.x); for (int r = 0; r < reps; ++r) for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) p[i] = v; }
__global__ void copy_bw(uint4* d, const uint4* s, size_t n) { for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) d[i] = s[i]; }
// L1-resident warp loads of 4 B with a stride in words: cycles per warp instruction, throughput of one SM (8 warps, independent loads)
__global__ void l1_stride(const u32* p, int stride, u64* out, void** sink) {
    const u32* q = (const u32*)__cvta_generic_to_global(p + (threadIdx.x & 31) * stride); u32 a = 0; u64 t0 = 0, t1 = 0;
    for (int rep = 0; rep < 3; ++rep) { __syncthreads(); t0 = clock64();
        for (int i = 0; i < 16; ++i) {
#pragma unroll
            for (int k = 0; k < 16; ++k) { u32 v; ASM("ld.global.ca.u32 %0, [%1];" : "=r"(v) : "l"(q + k * 1024) : "memory"); a ^= v + i; } }
        __syncthreads(); t1 = clock64(); }
    if (threadIdx.x == 0) out[0] = t1 - t0; if (a == 99) sink[0] = 0;
}
__global__ void store_rate(u32* p, int stride, u64* out) { // one SM, 8 warps, coalesced or strided stores to 64 KiB
    u32* q = (u32*)__cvta_generic_to_global(p + (threadIdx.x & 31) * stride + (threadIdx.x >> 5) * 32); u64 t0 = 0, t1 = 0;
    for (int rep = 0; rep < 3; ++rep) { __syncthreads(); t0 = clock64(); for (int i = 0; i < 256; ++i) ASM("st.weak.global.u32 [%0], %1;" :: "l"(q + (i & 15) * 1024), "r"(i) : "memory"); ASM("fence.acq_rel.gpu;" ::: "memory"); __syncthreads(); t1 = clock64(); }
    if (threadIdx.x == 0) out[0] = t1 - t0;
}
// SM a reads lines (ld.cg, twice), SM b does something to them, then SM a times one ld.cg of each
__global__ void l2_probe(char* base, int op, u32 partner, u32* flags, unsigned short* out, u32* sms, void** sink) {
    extern __shared__ volatile u64 room[]; if (threadIdx.x || (blockIdx.x && blockIdx.x != partner)) return; u32 sm; ASM("mov.u32 %0, %%smid;" : "=r"(sm)); u64 acc = 0; u32* f = (u32*)__cvta_generic_to_global(flags); u32 v;
    if (blockIdx.x == 0) { sms[0] = sm; for (int r = 0; r < 2; ++r) for (int l = 0; l < 256; ++l) acc ^= ld<CG>((u64*)(base + l * 4096 + (l & 31) * 128));
        if (acc == 77) sink[0] = 0; ASM("st.release.gpu.global.u32 [%0], 1;" :: "l"(f) : "memory"); do ASM("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(f + 64) : "memory"); while (v == 0);
        { u64 w0 = clock64(); while (clock64() - w0 < 20000) {} }
        for (int l = 0; l < 256; ++l) { u64 t0 = clock64(); room[0] = ld<CG>((u64*)(base + l * 4096 + (l & 31) * 128)); u64 t1 = clock64(); out[l] = (unsigned short)(t1 - t0); }
    } else { sms[1] = sm; do ASM("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(f) : "memory"); while (v == 0);
        for (int l = 0; l < 256; ++l) { u64* p = (u64*)__cvta_generic_to_global(base + l * 4096 + (l & 31) * 128); if (op == 1) acc ^= ld<CG>(p); if (op == 2) ASM("st.weak.global.u64 [%0], %1;" :: "l"(p), "l"(acc) : "memory"); if (op == 3) ASM("st.relaxed.gpu.global.u64 [%0], %1;" :: "l"(p), "l"(acc) : "memory"); if (op == 4) ASM("red.relaxed.gpu.global.add.u64 [%0], %1;" :: "l"(p), "l"(acc) : "memory"); if (op == 5) ASM("st.weak.global.u64 [%0], %1;" :: "l"(p + 8), "l"(acc) : "memory"); }
        if (acc == 77) sink[0] = 0; ASM("st.release.gpu.global.u32 [%0], 1;" :: "l"(f + 64) : "memory"); }
}
__global__ void stride_bw(const u32* p, size_t words, int stride, int reps, void** sink) { u32 a = 0; size_t t = blockIdx.x * (size_t)blockDim.x + threadIdx.x, n = (size_t)gridDim.x * blockDim.x; for (int r = 0; r < reps; ++r) { size_t i = (t + r * n) * stride % words; u32 v; ASM("ld.global.ca.u32 %0, [%1];" : "=r"(v) : "l"(__cvta_generic_to_global(p + i))); a += v; } if (a == 99) sink[0] = 0; }
__global__ void ghz(u64* out) { u64 g0, g1; ASM("mov.u64 %0, %%globaltimer;" : "=l"(g0)); u64 c0 = clock64(); do ASM("mov.u64 %0, %%globaltimer;" : "=l"(g1)); while (g1 - g0 < 20000000); out[0] = clock64() - c0; out[1] = g1 - g0; }
__global__ void barriers(u64* out) { u64 t0 = clock64(); for (int i = 0; i < 256; ++i) ASM("bar.sync 0;" ::: "memory"); if (threadIdx.x == 0) out[0] = clock64() - t0; }
__global__ void nop() {}
static cudaEvent_t ea, eb; static float best_ms(int reps, void (*f)(void*), void* x) { float best = 1e9; for (int i = 0; i < reps; ++i) { CK(cudaEventRecord(ea)); f(x); CK(cudaEventRecord(eb)); CK(cudaEventSynchronize(eb)); float m; CK(cudaEventElapsedTime(&m, ea, eb)); best = std::min(best, m); } CK(cudaGetLastError()); return best; }
template <class F> static float timed(int reps, F f) { return best_ms(reps, [](void* x) { (*(F*)x)(); }, &f); }
static char* mem; static size_t MEM; static int SMS; // bytes that the probes may use, and SMs of the GPU
static void look() { int d; CK(cudaGetDevice(&d)); CK(cudaDeviceGetAttribute(&SMS, cudaDevAttrMultiProcessorCount, d)); size_t left, all; CK(cudaMemGetInfo(&left, &all)); MEM = std::min((size_t)64 << 30, left / 10 * 9 >> 21 << 21); }

template <int K> static void ladder(double ghz_) {
    static const u64 kib[] = {8, 32, 64, 128, 160, 192, 208, 224, 240, 256, 512, 1024, 2048, 4096, 8192, 12288, 16384, 20480, 24576, 28672, 32768, 40960, 49152, 57344, 65536, 98304, 131072, 262144, 1048576, 4194304};
    for (u64 k : kib) { if (k * 1024 > MEM) break; u64 lines = k * 8, pow2 = 1; while (pow2 < lines) pow2 *= 2; if ((K != CA && K != CG) && k > 512) break;
        if (pow2 == lines) fill_lcg<<<1024, 256>>>(mem, lines, 128, 0x5851F42D4C957F2Dull);
        else { std::vector<u64> order(lines), next(lines * 16); for (u64 i = 0; i < lines; ++i) order[i] = i; u64 s = 88172645463325252ull; for (u64 i = lines - 1; i > 0; --i) { s ^= s << 13; s ^= s >> 7; s ^= s << 17; std::swap(order[i], order[s % (i + 1)]); } for (u64 i = 0; i < lines; ++i) next[order[i] * 16] = (u64)(mem + order[(i + 1) % lines] * 128); CK(cudaMemcpy(mem, next.data(), lines * 128, cudaMemcpyHostToDevice)); }
        u32 steps = 8192; chase<K><<<1, 1024>>>(mem, lines, 128, (u32)std::min<u64>(lines, 4096), steps, dout, (void**)dsink); fetch(1); emit("chase", kinds[K], (double)k * 1024, hout[0] / (double)steps, "cycles"); if (K == CA) emit("chase_ns", kinds[K], (double)k * 1024, hout[0] / (double)steps / ghz_, "ns"); }
}
template <int OP> static void alu(const char* n, int per) { chain<OP><<<1, 32>>>(dout, (void**)dsink, 0, 3, (u32*)mem); fetch(1); emit("alu_latency", n, 1, hout[0] / 256.0 / per, "cycles"); }
template <int OP> static void atom1(const char* n) { atoms<OP><<<1, 1>>>((u32*)mem, dout, (void**)dsink); fetch(1); emit("atomic_latency", n, 1, hout[0] / 256.0, "cycles"); }
template <int F> static void fence1() { for (int st : {0, 1, 4}) for (int thr : {1, 32}) { fence_cost<F><<<1, thr>>>((u32*)mem, st, dout); fetch(1); char n[64]; sprintf(n, "%s idle stores=%d threads=%d", fences[F], st, thr); emit("fence", n, st, hout[0] / 64.0, "cycles"); }
    fence_cost<F><<<SMS, 256>>>((u32*)mem, 1, dout); fetch(SMS); double m = 0; for (int i = 0; i < SMS; ++i) m += hout[i] / 64.0 / SMS; char n[64]; sprintf(n, "%s all SMs 8 warps each", fences[F]); emit("fence", n, 1, m, "cycles"); }
static char *ring, *other;
template <int OP, int K> static void probe1(const char* n) { double best = 1e9; for (int r = 0; r < 5; ++r) { if (OP == 30) { CK(cudaMemset(mem + (1 << 28), 1, 256 << 20)); } probe<OP, K><<<1, 64>>>(ring, other, dout, (void**)dsink); fetch(1); best = std::min(best, hout[0] / 64.0); } emit("l1_probe", n, OP, best, "cycles_per_load"); }
template <int M> static void pp(const char* n, bool same, int partner) { CK(cudaMemset(mem, 0, 4096)); CK(cudaMemset(dout, 0, 256)); auto k = pingpong<M>; CK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 120000)); k<<<same ? 1 : SMS, 64, 120000>>>((u32*)mem, partner, same, dout); fetch(4); char b[96]; sprintf(b, "%s sm%d-sm%d", n, (int)hout[1], (int)hout[3]); emit("pingpong_roundtrip", b, partner, hout[0] / 450.0, "cycles"); }
int main(int argc, char** argv) {
    csv = fopen(argv[1], "w"); fprintf(csv, "group,name,param,value,unit\n"); look(); CK(cudaMalloc(&mem, MEM)); CK(cudaMalloc(&dout, 65536)); CK(cudaMalloc(&dsink, 4096)); CK(cudaEventCreate(&ea)); CK(cudaEventCreate(&eb));
    ring = mem + (1 << 20); other = mem + (2 << 20); CK(cudaMemset(mem, 0, (size_t)1 << 30));
    write_bw<<<8 * SMS, 1024>>>((uint4*)mem, (size_t)1 << 28, 20); CK(cudaMemset(mem, 0, (size_t)1 << 30)); for (int i = 0; i < 3; ++i) { ghz<<<1, 1>>>(dout); fetch(2); } double g = (double)hout[0] / hout[1]; emit("clock", "sm", 1, g, "GHz");
    nop<<<1, 32>>>(); CK(cudaDeviceSynchronize()); emit("launch", "empty kernel between events", 1, 1000 * timed(50, [] { nop<<<1, 32>>>(); }), "us"); emit("launch", "100 empty kernels, each", 1, 10 * timed(10, [] { for (int i = 0; i < 100; ++i) nop<<<1, 32>>>(); }), "us");
    emit("launch", "one million empty blocks of 32, each", 1, timed(3, [] { nop<<<1000000, 32>>>(); }), "ns"); emit("launch", "one million empty blocks of 256, each", 1, timed(3, [] { nop<<<1000000, 256>>>(); }), "ns");
    alu<0>("fma.f32", 1); alu<1>("mad.lo.s32", 1); alu<2>("add/xor.s32", 2); alu<3>("ex2.approx.f32", 1); alu<10>("rcp.approx.f32", 1); alu<4>("fma.f64", 1); alu<5>("shfl.sync", 1); alu<6>("ld.shared", 1); alu<7>("bar.sync 1 warp", 1); alu<8>("setp+vote.ballot", 1); alu<9>("atom.shared.add 32 lanes one word", 1); alu<14>("atom.shared.add 32 words", 1); alu<12>("mad.lo.s64", 1); alu<13>("add/xor.s64", 2); alu<15>("setp+selp+add", 1);
    for (int t : {32, 128, 256, 512, 1024}) { barriers<<<1, t>>>(dout); fetch(1); emit("barrier", "bar.sync", t, hout[0] / 256.0, "cycles"); }
    for (int w : {1, 2, 4, 8, 16, 32}) { conflicts<<<1, 32>>>(dout, (void**)dsink, w, 4); fetch(1); emit("shared_conflict", "ld.shared latency", w, hout[0] / 256.0, "cycles"); }
    for (int s : {0, 1, 2, 4, 8, 16, 32}) { l1_stride<<<1, 256>>>((u32*)mem, s, dout, (void**)dsink); fetch(1); emit("l1_stride", "warp ld.u32 L1 hit, one SM, 8 warps", s, hout[0] / 256.0 / 8, "cycles_per_warp_load"); }
    for (int s : {1, 2, 4, 8, 16, 32}) { size_t words = std::min((size_t)1 << 31, MEM / 4); float ms = timed(3, [=] { stride_bw<<<8 * SMS, 1024>>>((u32*)mem, words, s, 64, (void**)dsink); }); emit("stride_dram", "ld.u32 useful bandwidth", s, 8.0 * SMS * 1024 * 64 * 4 / ms / 1e6, "GB/s"); }
    ladder<CA>(g); ladder<CG>(g); ladder<RLX>(g); ladder<RLXCTA>(g); ladder<VOL>(g); ladder<NC>(g); ladder<ACQ>(g); ladder<ACQCTA>(g); ladder<CV>(g);
    for (u64 pages = 8; pages <= 32768 && pages * (2 << 20) <= MEM; pages *= 2) { fill_pages<<<1, 1024>>>(mem, pages, 2 << 20); chase_pages<<<1, 1>>>(mem, pages, 4096, dout, (void**)dsink); fetch(1); emit("tlb", "one line per 2 MiB page", pages, hout[0] / 4096.0, "cycles"); }
    fill_lcg<<<1, 256>>>(ring, 64, 128, 5); CK(cudaMemset(other, 0, 4096));
    probe1<0, CA>("nothing"); probe1<1, CA>("fence.acq_rel.cta"); probe1<2, CA>("fence.acq_rel.gpu"); probe1<3, CA>("fence.acq_rel.sys"); probe1<4, CA>("fence.sc.cta"); probe1<5, CA>("fence.sc.gpu"); probe1<6, CA>("ld.acquire.gpu elsewhere"); probe1<7, CA>("ld.acquire.cta elsewhere"); probe1<8, CA>("ld.relaxed.gpu elsewhere"); probe1<9, CA>("st.release.gpu elsewhere");
    probe1<10, CA>("atom.relaxed.gpu elsewhere"); probe1<11, CA>("atom.acquire.gpu elsewhere"); probe1<12, CA>("atom.acq_rel.gpu elsewhere"); probe1<13, CA>("atom.release.gpu elsewhere");
    probe1<20, CA>("st.weak same sectors"); probe1<21, CA>("st.weak other sectors of the lines"); probe1<22, CA>("st.relaxed.gpu same sectors"); probe1<29, CA>("st.relaxed.cta same sectors"); probe1<23, CA>("red same sectors"); probe1<24, CA>("red other sectors of the lines"); probe1<25, CA>("atom same sectors"); probe1<26, CA>("ld.relaxed.gpu same sectors"); probe1<27, CA>("ld.cg same sectors"); probe1<28, CA>("ld.cv same sectors"); probe1<30, CA>("st.weak to absent lines, then ld.ca");
    probe1<42, CA>("other warp: fence.acq_rel.gpu"); probe1<46, CA>("other warp: ld.acquire.gpu"); probe1<52, CA>("other warp: atom.acq_rel.gpu"); probe1<60, CA>("other warp: st.weak same sectors"); probe1<63, CA>("other warp: red same sectors");
    probe1<0, RLX>("timed with ld.relaxed.gpu"); probe1<0, RLXCTA>("timed with ld.relaxed.cta"); probe1<0, VOL>("timed with ld.volatile"); probe1<0, CG>("timed with ld.cg"); probe1<0, NC>("timed with ld.nc"); probe1<0, WEAK>("timed with ld.weak"); probe1<0, RLXSYS>("timed with ld.relaxed.sys"); probe1<2, NC>("fence.acq_rel.gpu, timed with ld.nc");
    for (int r = 0; r < 3; ++r) { warm_ring<<<1, 1>>>(ring, (void**)dsink); time_ring<<<1, 1>>>(ring, dout, (void**)dsink); fetch(1); emit("l1_probe", "next kernel", 100 + r, hout[0] / 64.0, "cycles_per_load"); }
    atom1<0>("atom.relaxed.gpu.add.u32"); atom1<1>("atom.relaxed.gpu.exch"); atom1<2>("atom.relaxed.gpu.cas"); atom1<3>("atom.relaxed.cta.add (global)"); atom1<4>("atom.relaxed.sys.add"); atom1<5>("atom.acq_rel.gpu.add"); atom1<6>("atom.acquire.gpu.add"); atom1<7>("atom.release.gpu.add"); atom1<8>("atom.relaxed.gpu.add.f32"); atom1<9>("atom.relaxed.gpu.add.u64");
    const char* pat[] = {"one word", "32 words of one line", "a line per warp", "random words of 4 MiB", "one word per block"};
    for (int p = 0; p < 5; ++p) { int k = p == 0 || p == 1 ? 8 : 32; double ops = 8.0 * SMS * 256 * k; float m0 = timed(3, [=] { atom_rate<false><<<8 * SMS, 256>>>((u32*)mem, p, k, (void**)dsink); }), m1 = timed(3, [=] { atom_rate<true><<<8 * SMS, 256>>>((u32*)mem, p, k, (void**)dsink); }); char n[96]; sprintf(n, "red.add %s", pat[p]); emit("atomic_rate", n, p, ops / (m0 * 1e6 * g), "lane_ops_per_cycle"); sprintf(n, "atom.add %s", pat[p]); emit("atomic_rate", n, p, ops / (m1 * 1e6 * g), "lane_ops_per_cycle"); }
    fence1<0>(); fence1<1>(); fence1<2>(); fence1<3>(); fence1<4>(); fence1<5>();
    for (int k : {1, 2, 3, 17, SMS / 2, SMS * 3 / 4, SMS - 1}) pp<0>("relaxed.gpu", false, k);
    for (int k : {1, SMS / 2, SMS * 3 / 4, SMS - 1}) { pp<1>("acq/rel.gpu", false, k); pp<5>("acq/rel.sys", false, k); pp<2>("atomics", false, k); } // some in each half of the L2
    pp<0>("two warps relaxed.gpu", true, 0); pp<1>("two warps acq/rel.gpu", true, 0); pp<3>("two warps relaxed.cta", true, 0); pp<4>("two warps acq/rel.cta", true, 0);
    for (size_t kb : {16, 64, 128, 192}) { size_t own = kb * 1024 / 16; float ms = timed(3, [=] { read_bw<0><<<SMS, 1024>>>((uint4*)mem, 0, own, 200, (void**)dsink); }); emit("bandwidth", "L1 read ld.ca.v4, KiB per SM", kb, SMS * 1.0 * own * 16 * 200 / ms / 1e6, "GB/s"); emit("bandwidth", "L1 read per SM and cycle", kb, own * 16 * 200.0 / (ms * 1e6 * g), "B/cycle"); }
    for (size_t mb : {4, 8, 16, 24, 32, 40, 48, 56, 64, 96, 128, 512}) { size_t n = mb << 16; float ms = timed(3, [=] { read_bw<1><<<2 * SMS, 1024>>>((uint4*)mem, n, 0, 10, (void**)dsink); }); emit("bandwidth", "L2 read ld.cg.v4, MiB shared by all", mb, n * 160.0 / ms / 1e6, "GB/s"); }
    for (size_t mb : {4, 16, 24, 32, 48, 64, 512}) { size_t n = mb << 16; float ms = timed(3, [=] { write_bw<<<2 * SMS, 1024>>>((uint4*)mem, n, 10); }); emit("bandwidth", "write st.v4, MiB shared by all", mb, n * 160.0 / ms / 1e6, "GB/s"); }
    { size_t n = std::min((size_t)8 << 26, MEM / 32); double mib = n * 16.0 / (1 << 20); float ms = timed(3, [=] { read_bw<1><<<16 * SMS, 1024>>>((uint4*)mem, n, 0, 1, (void**)dsink); }); emit("bandwidth", "HBM read 8 GiB", mib, n * 16.0 / ms / 1e6, "GB/s"); ms = timed(3, [=] { write_bw<<<16 * SMS, 1024>>>((uint4*)mem, n, 1); }); emit("bandwidth", "HBM write 8 GiB", mib, n * 16.0 / ms / 1e6, "GB/s"); ms = timed(3, [=] { copy_bw<<<16 * SMS, 1024>>>((uint4*)mem, (uint4*)mem + n, n); }); emit("bandwidth", "HBM copy 8 GiB, read + write", mib, n * 32.0 / ms / 1e6, "GB/s"); }
    for (int sm : {1, 2, 8, SMS / 4, SMS / 2, SMS}) { size_t n = (size_t)16 << 16, m = (size_t)2048 << 16; float a = timed(3, [=] { read_bw<1><<<sm, 1024>>>((uint4*)mem, n, 0, 10, (void**)dsink); }), b = timed(3, [=] { read_bw<1><<<sm, 1024>>>((uint4*)mem, m / 8, 0, 1, (void**)dsink); }); emit("bandwidth_by_sms", "L2 read per SM, 16 MiB", sm, n * 160.0 / (a * 1e6 * g) / sm, "B/cycle/SM"); emit("bandwidth_by_sms", "HBM read per SM, 256 MiB", sm, m * 2.0 / (b * 1e6 * g) / sm, "B/cycle/SM"); }
    for (int s : {1, 2, 4, 8, 16, 32}) { store_rate<<<1, 256>>>((u32*)mem, s, dout); fetch(1); emit("store_rate", "warp st.u32, one SM, 8 warps", s, hout[0] / 2048.0, "cycles_per_warp_store"); }
    { unsigned short* dm; u32 *ds, *fl; CK(cudaMalloc(&dm, 512)); CK(cudaMalloc(&ds, 8)); CK(cudaMalloc(&fl, 4096)); CK(cudaFuncSetAttribute(l2_probe, cudaFuncAttributeMaxDynamicSharedMemorySize, 120000)); const char* ops[] = {"nothing", "ld.cg", "st.weak same sector", "st.relaxed.gpu same sector", "red same sector", "st.weak other sector"};
        for (int op = 0; op < 6; ++op) for (u32 k : {1u, 2u, 3u, 5u, 17u, SMS / 3u, SMS / 2u, SMS * 2u / 3u, SMS * 3u / 4u, SMS - 1u}) { CK(cudaMemset(mem, 0, 4 << 20)); CK(cudaMemset(fl, 0, 4096)); l2_probe<<<SMS, 32, 120000>>>(mem, op, k, fl, dm, ds, (void**)dsink); CK(cudaDeviceSynchronize()); unsigned short h[256]; u32 sm[2]; CK(cudaMemcpy(h, dm, 512, cudaMemcpyDeviceToHost)); CK(cudaMemcpy(sm, ds, 8, cudaMemcpyDeviceToHost)); double s = 0; int far = 0; for (int l = 0; l < 256; ++l) { s += h[l]; far += h[l] > 420; } char n[96]; sprintf(n, "sm%u reads after sm%u: %s", sm[0], sm[1], ops[op]); emit("l2_probe_mean", n, op, s / 256, "cycles"); emit("l2_probe_far_lines", n, op, far, "of 256"); } }
    { // SM x line matrices
        unsigned short* dm; u32* ds; CK(cudaMalloc(&dm, SMS * 256 * 2)); CK(cudaMalloc(&ds, SMS * 4)); CK(cudaFuncSetAttribute(matrix, cudaFuncAttributeMaxDynamicSharedMemorySize, 120000)); FILE* f = fopen(argv[2], "w"); fprintf(f, "access,sm"); for (int l = 0; l < 256; ++l) fprintf(f, ",l%d", l); fprintf(f, "\n"); CK(cudaMemset(mem, 0, 4 << 20));
        for (int at = 0; at < 2; ++at) { matrix<<<SMS, 32, 120000>>>(mem, at, dm, ds, (void**)dsink); CK(cudaDeviceSynchronize()); std::vector<unsigned short> m(SMS * 256); std::vector<u32> sm(SMS); CK(cudaMemcpy(m.data(), dm, m.size() * 2, cudaMemcpyDeviceToHost)); CK(cudaMemcpy(sm.data(), ds, SMS * 4, cudaMemcpyDeviceToHost)); double s = 0; u32 lo = 1 << 20, hi = 0; for (int i = 0; i < SMS; ++i) { fprintf(f, "%s,%u", at ? "atom" : "ld.cg", sm[i]); for (int l = 0; l < 256; ++l) { u32 v = m[i * 256 + l]; s += v; lo = std::min(lo, v); hi = std::max(hi, v); fprintf(f, ",%u", v); } fprintf(f, "\n"); } emit("l2_matrix", at ? "atom mean" : "ld.cg mean", 0, s / m.size(), "cycles"); emit("l2_matrix", at ? "atom min" : "ld.cg min", 0, lo, "cycles"); emit("l2_matrix", at ? "atom max" : "ld.cg max", 0, hi, "cycles"); }
        fclose(f); }
    fclose(csv); return 0;
}
