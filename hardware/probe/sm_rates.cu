// Throughput of one SM by stride. `sm_rates OUT.csv`. Addresses change from iteration to iteration, since the assembler hoists loads that do not.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)
#define ASM asm volatile
typedef unsigned u32; typedef unsigned long long u64;
// OP 0 ld.ca u32, 1 ld.cg u32, 2 st u32, 3 red.add u32, 4 atom.add u32, 5 ld.ca v4
template <int OP> __global__ void rate(u32* p, int stride, int spread, u64* out, void** sink) {
    u32* q = (u32*)__cvta_generic_to_global(p) + (threadIdx.x & 31) * stride + (threadIdx.x >> 5) * spread; u32 a = 0; u64 t0 = 0, t1 = 0;
    for (int rep = 0; rep < 3; ++rep) { __syncthreads(); t0 = clock64();
        for (int i = 0; i < 8; ++i) {
            u32* r = q + i * 1024; // 128 KiB in all at stride 32
#pragma unroll
            for (int k = 0; k < 4; ++k) { u32* s = r + k * 8192; u32 v = 0, w, x, y;
                if (OP == 0) ASM("ld.global.ca.u32 %0, [%1];" : "=r"(v) : "l"(s) : "memory"); if (OP == 1) ASM("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(s) : "memory");
                if (OP == 2) ASM("st.weak.global.u32 [%0], %1;" :: "l"(s), "r"(i + k) : "memory"); if (OP == 3) ASM("red.relaxed.gpu.global.add.u32 [%0], %1;" :: "l"(s), "r"(threadIdx.x) : "memory"); if (OP == 4) ASM("atom.relaxed.gpu.global.add.u32 %0, [%1], %2;" : "=r"(v) : "l"(s), "r"(threadIdx.x) : "memory");
                if (OP == 5) { ASM("ld.global.ca.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v), "=r"(w), "=r"(x), "=r"(y) : "l"(s) : "memory"); v ^= w ^ x ^ y; }
                a ^= v; } }
        if (OP == 2 || OP == 3) ASM("fence.acq_rel.gpu;" ::: "memory");
        __syncthreads(); t1 = clock64(); }
    if (threadIdx.x == 0) out[0] = t1 - t0; if (a == 0x12345) sink[0] = 0;
}
// Shared memory: 8 or 32 warps, `way` lanes per bank
__global__ void lds(int way, u64* out, void** sink) {
    __shared__ u32 m[8192]; for (int i = threadIdx.x; i < 8192; i += blockDim.x) m[i] = i; __syncthreads(); u32 s = (u32)__cvta_generic_to_shared(m), lane = threadIdx.x & 31, at = ((lane % way) * 32 + lane / way) * 4, a = 0; u64 t0 = 0, t1 = 0;
    for (int rep = 0; rep < 3; ++rep) { __syncthreads(); t0 = clock64(); for (int i = 0; i < 16; ++i) { u32 r = s + at + ((i * 3 + rep) & 7) * 4096;
#pragma unroll
            for (int k = 0; k < 16; ++k) { u32 v; ASM("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(r ^ (k * 4 * 0))); a ^= v + k; r = s + ((r - s + 4096) & 32767); } } __syncthreads(); t1 = clock64(); }
    if (threadIdx.x == 0) out[0] = t1 - t0; if (a == 0x12345) sink[0] = 0;
}
// Independent arithmetic: warp instructions per cycle of one SM
__global__ void issue(u64* out, void** sink, float b) { float f[8]; for (int k = 0; k < 8; ++k) f[k] = threadIdx.x + k; u64 t0 = 0, t1 = 0; for (int rep = 0; rep < 3; ++rep) { __syncthreads(); t0 = clock64(); for (int i = 0; i < 64; ++i)
#pragma unroll
        for (int k = 0; k < 8; ++k) ASM("fma.rn.f32 %0, %0, %1, %1;" : "+f"(f[k]) : "f"(b)); __syncthreads(); t1 = clock64(); } float s = 0; for (int k = 0; k < 8; ++k) s += f[k]; if (threadIdx.x == 0) out[0] = t1 - t0; if (s == 1.5f) sink[0] = 0; }
// One warp, n independent misses (a line per lane), then use: how many misses are in flight
__global__ void mlp(const char* p, int n, u64* out, void** sink) { u32 acc = 0; const char* q = (const char*)__cvta_generic_to_global(p) + (size_t)threadIdx.x * 128; u64 t0 = clock64();
#pragma unroll 32
    for (int i = 0; i < n; ++i) { u32 v; ASM("ld.global.ca.u32 %0, [%1];" : "=r"(v) : "l"(q + (size_t)i * blockDim.x * 128) : "memory"); acc ^= v; }
    if (acc == 0x1234567) sink[0] = 0; __syncthreads(); if (threadIdx.x == 0) out[0] = clock64() - t0; }
int main(int, char** v) {
    FILE* f = fopen(v[1], "w"); fprintf(f, "group,name,param,value,unit\n"); u32* m; u64 *o, h; void** k; size_t bytes = (size_t)1 << 30; CK(cudaMalloc(&m, bytes)); CK(cudaMemset(m, 0, bytes)); CK(cudaMalloc(&o, 64)); CK(cudaMalloc(&k, 64));
    auto get = [&] { CK(cudaDeviceSynchronize()); CK(cudaMemcpy(&h, o, 8, cudaMemcpyDeviceToHost)); return (double)h; };
    const char* names[] = {"ld.ca.u32", "ld.cg.u32", "st.u32", "red.add.u32", "atom.add.u32", "ld.ca.v4.u32"};
    for (int w : {8, 32}) for (int s : {0, 1, 2, 4, 8, 16, 32}) { double n = w * 32.0; auto put = [&](int op) { fprintf(f, "sm_rate,\"%s %d warps\",%d,%.4f,cycles_per_warp_instruction\n", names[op], w, s, get() / n); };
        rate<0><<<1, w * 32>>>(m, s, 0, o, k); put(0); // all warps touch the same lines
        rate<1><<<1, w * 32>>>(m, s, 0, o, k); put(1); rate<2><<<1, w * 32>>>(m, s, 0, o, k); put(2); rate<3><<<1, w * 32>>>(m, s, 0, o, k); put(3); rate<4><<<1, w * 32>>>(m, s, 0, o, k); put(4); if (s == 4) { rate<5><<<1, w * 32>>>(m, s, 0, o, k); put(5); } }
    for (int w : {8, 32}) for (int way : {1, 2, 4, 8, 16, 32}) { lds<<<1, w * 32>>>(way, o, k); fprintf(f, "lds_rate,\"%d warps\",%d,%.4f,cycles_per_warp_instruction\n", w, way, get() / (w * 256.0)); }
    for (int w : {1, 4, 8, 16, 32}) { issue<<<1, w * 32>>>(o, k, 1.5f); fprintf(f, "issue,\"fma.f32\",%d,%.4f,warp_instructions_per_cycle\n", w, w * 512.0 / get()); }
    for (int t : {32, 256, 1024}) for (int n : {1, 2, 4, 8, 16, 32}) { CK(cudaMemset(m, 0, 256 << 20)); mlp<<<1, t>>>((char*)m + (512 << 20), n, o, k); double c = get(); CK(cudaMemset(m, 0, 256 << 20)); mlp<<<1, t>>>((char*)m + (512 << 20), n, o, k); c = get(); fprintf(f, "mlp,\"%d threads a line each, cold\",%d,%.1f,cycles\n", t, n, c); mlp<<<1, t>>>((char*)m + (512 << 20), n, o, k); fprintf(f, "mlp,\"%d threads a line each, L2\",%d,%.1f,cycles\n", t, n, get()); }
    fclose(f); return 0;
}
