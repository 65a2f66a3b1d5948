// Two L1 questions that need care: does a kernel find what the last one left in its SM's L1, and does a store of a whole sector allocate? `l1_kernels OUT.csv`
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)
#define ASM asm volatile
typedef unsigned long long u64; typedef unsigned u32;
__device__ u64 ld(u64 p) { u64 v; ASM("ld.global.ca.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory"); return v; }
__device__ u64 ldg(u64 p) { u64 v; ASM("ld.global.cg.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory"); return v; }
__device__ u64 next(u64 ring, int i) { return ring + (u64)((i * 5 + 12345) & 63) * 128; }
// mode 0: warm only; 1: time only; 2: warm then time; 3: store whole sectors, wait, time; 4: the same after ld.cg of the lines, so that the L2 has them; 5: as 4 without stores
__global__ void probe(u64 ring, int mode, u32* smid, u64* out, u64* sink) {
    extern __shared__ char room[]; if (threadIdx.x) return; u32 sm; ASM("mov.u32 %0, %%smid;" : "=r"(sm)); smid[blockIdx.x] = sm; u64 p = ring;
    if (mode == 0 || mode == 2) { for (int i = 0; i < 256; ++i) p = ld(p); sink[blockIdx.x] = p; }
    if (mode == 4 || mode == 5) { for (int i = 0; i < 64; ++i) p = ldg(p); sink[blockIdx.x] = p; }
    if (mode == 3 || mode == 4) for (int i = 0; i < 64; ++i) { u64 a = ring + i * 128, n = next(ring, i); ASM("st.weak.global.v2.u64 [%0], {%1, %2};" :: "l"(a), "l"(n), "l"(n) : "memory"); ASM("st.weak.global.v2.u64 [%0], {%1, %2};" :: "l"(a + 16), "l"(n), "l"(n) : "memory"); }
    { u64 w = clock64(); while (clock64() - w < 20000) {} }
    if (mode) { p = ring; u64 t = clock64(); for (int i = 0; i < 64; ++i) p = ld(p); out[blockIdx.x] = clock64() - t; sink[blockIdx.x + 256] = p; }
    if (ring == 1) sink[0] = room[0];
}
__global__ void fill(u64 ring) { *(u64*)(ring + threadIdx.x * 128) = next(ring, threadIdx.x); }
static int SMS; // SMs of the GPU
static void look() { int d; CK(cudaGetDevice(&d)); CK(cudaDeviceGetAttribute(&SMS, cudaDevAttrMultiProcessorCount, d)); }
int main(int, char** v) {
    FILE* f = fopen(v[1], "w"); fprintf(f, "group,name,param,value,unit\n"); char* m; u64 *o, *s, h[1024]; u32 *d, a[1024], b[1024]; look(); CK(cudaMalloc(&m, 512 << 20)); CK(cudaMalloc(&o, 8192)); CK(cudaMalloc(&s, 8192)); CK(cudaMalloc(&d, 4096)); CK(cudaFuncSetAttribute(probe, cudaFuncAttributeMaxDynamicSharedMemorySize, 120000)); u64 ring = (u64)m;
    const char* names[] = {"", "kernel after one that warmed every SM", "warm and time in one kernel", "whole sectors stored, lines nowhere cached", "whole sectors stored, lines in the L2", "lines in the L2, no stores"};
    for (int rep = 0; rep < 3; ++rep) for (int mode : {2, 1, 5, 3, 4}) { int blocks = mode == 3 || mode == 4 || mode == 5 ? 1 : SMS; fill<<<1, 64>>>(ring); CK(cudaMemset(m + (64 << 20), rep, 256 << 20)); CK(cudaDeviceSynchronize()); int same = -1;
        if (mode == 1) { probe<<<SMS, 32, 120000>>>(ring, 0, d, o, s); CK(cudaMemcpy(a, d, SMS * 4, cudaMemcpyDeviceToHost)); }
        probe<<<blocks, 32, 120000>>>(ring, mode, d, o, s); CK(cudaDeviceSynchronize()); CK(cudaMemcpy(h, o, blocks * 8, cudaMemcpyDeviceToHost)); CK(cudaMemcpy(b, d, blocks * 4, cudaMemcpyDeviceToHost));
        if (mode == 1) { std::sort(a, a + SMS); std::sort(b, b + SMS); same = std::unique(a, a + SMS) - a == SMS && std::unique(b, b + SMS) - b == SMS; }
        double mean = 0; for (int i = 0; i < blocks; ++i) mean += h[i] / 64.0 / blocks; fprintf(f, "l1_probe_2,\"%s%s\",%d,%.2f,cycles_per_load\n", names[mode], same < 0 ? "" : same ? " (132 different SMs both times)" : " (SMs differ)", rep, mean); }
    fclose(f); return 0;
}
