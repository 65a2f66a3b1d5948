// Runs the kernels under examples/cuda/ at three sizes. `suite time OUT.csv`: CUDA events, median of 31, warm and with a
// flushed L2. `suite profile ORDER.csv`: one warm launch sequence of each inside cudaProfilerStart/Stop, for ncu.
// A third argument names a file of cases, `kernel,size` at the beginning of each line: no others run.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>
#include <cmath>
#include <cuda_runtime.h>
extern "C" cudaError_t cudaProfilerStart(void);
extern "C" cudaError_t cudaProfilerStop(void);
#include "../../examples/cuda/saxpy/saxpy.cu"
#include "../../examples/cuda/stencil2d/stencil2d.cu"
#include "../../examples/cuda/transpose_naive/transpose_naive.cu"
#include "../../examples/cuda/transpose_tiled/transpose_tiled.cu"
#include "../../examples/cuda/matmul_naive/matmul_naive.cu"
#include "../../examples/cuda/matmul_tiled/matmul_tiled.cu"
#include "../../examples/cuda/reduce_atomic/reduce_atomic.cu"
#include "../../examples/cuda/histogram_global/histogram_global.cu"
#include "../../examples/cuda/histogram_shared/histogram_shared.cu"
#include "../../examples/cuda/bfs/bfs.cu"
#include "../../examples/cuda/spmv_pr/spmv_pr.cu"
#include "../../examples/cuda/fir/fir.cu"
#include "../../examples/cuda/spin_lock/spin_lock.cu"
#include "../../examples/cuda/spin_lock_lanes/spin_lock_lanes.cu"
#include "../../examples/cuda/ticket_lock/ticket_lock.cu"
#include "../../examples/cuda/work_queue/work_queue.cu"
#include "../../examples/cuda/pipeline_flags/pipeline_flags.cu"
#include "../../examples/cuda/scan_lookback/scan_lookback.cu"
#include "../../examples/cuda/grid_barrier/grid_barrier.cu"
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)
extern "C" __global__ void empty_kernel() {}
typedef unsigned u32;
static u32 hash(u32 x) { x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16; return x; }
static char* pool; static size_t used, room = (size_t)3 << 30;
template <class T> T* dalloc(size_t n) { T* p = (T*)(pool + used); used += (n * sizeof(T) + 4095) / 4096 * 4096; if (used > room) { fprintf(stderr, "pool\n"); exit(1); } return p; }
template <class T> T* up(const std::vector<T>& v) { T* p = dalloc<T>(v.size()); CK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice)); return p; }
template <class T> std::vector<T> down(const T* p, size_t n) { std::vector<T> v(n); CK(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost)); return v; }
struct Case { std::string kernel, params; int size, launches; std::function<void()> reset, launch; std::function<bool()> check; };
static std::vector<float> floats(size_t n, u32 seed) { std::vector<float> v(n); for (size_t i = 0; i < n; ++i) v[i] = (hash(i * 2654435761u + seed) >> 8) * (2.0f / (1 << 24)) - 1.0f; return v; }
static bool near(const std::vector<float>& a, const std::vector<float>& b, float tol) { for (size_t i = 0; i < a.size(); ++i) if (!(fabsf(a[i] - b[i]) <= tol * (1 + fabsf(b[i])))) { fprintf(stderr, "at %zu: %g want %g\n", i, a[i], b[i]); return false; } return true; }
struct Graph { u32 n; std::vector<u32> row, col; };
static Graph graph(u32 n) { Graph g{n, {0}, {}}; for (u32 v = 0; v < n; ++v) { u32 d = 4 + hash(v + 77) % 9; for (u32 k = 0; k < d; ++k) g.col.push_back(hash(v * 31 + k * 7919 + 5) % n); g.row.push_back(g.col.size()); } return g; }
static void nothing() {}

static Case make(const std::string& k, int s) {
    char p[128] = ""; Case c{k, "", s, 1, nothing, nothing, [] { return true; }};
    auto pick = [&](int a, int b, int d) { return s == 0 ? a : s == 1 ? b : d; };
    used = 0;
    if (k == "empty") { c.launch = [] { empty_kernel<<<1, 32>>>(); }; }
    else if (k == "saxpy") {
        u32 n = 1u << pick(16, 20, 24); sprintf(p, "n=%u", n); auto x = floats(n, 1), y = floats(n, 2);
        float *dx = up(x), *dy = up(y), *y0 = up(y);
        c.reset = [=] { CK(cudaMemcpy(dy, y0, n * 4, cudaMemcpyDeviceToDevice)); };
        c.launch = [=] { saxpy<<<n / 256, 256>>>(n, 1.5f, dx, dy); };
        c.check = [=] { auto r = y; for (u32 i = 0; i < n; ++i) r[i] = fmaf(1.5f, x[i], y[i]); return near(down(dy, n), r, 1e-5f); };
    } else if (k == "stencil2d") {
        int w = pick(256, 1024, 4096); sprintf(p, "w=%d h=%d", w, w); auto in = floats((size_t)w * w, 3);
        float *di = up(in), *dout = dalloc<float>((size_t)w * w);
        c.launch = [=] { stencil2d<<<dim3(w / 32, w / 8), dim3(32, 8)>>>(w, w, di, dout); };
        c.check = [=] { std::vector<float> r(in); for (int y = 1; y < w - 1; ++y) for (int x = 1; x < w - 1; ++x) { int i = y * w + x; r[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - w] + in[i + w]); } return near(down(dout, r.size()), r, 1e-5f); };
    } else if (k == "transpose_naive" || k == "transpose_tiled") {
        int n = pick(256, 1024, 4096); sprintf(p, "n=%d", n); auto in = floats((size_t)n * n, 4);
        float *di = up(in), *dout = dalloc<float>((size_t)n * n); bool tiled = k == "transpose_tiled";
        c.launch = [=] { if (tiled) transpose_tiled<<<dim3(n / 32, n / 32), dim3(32, 8)>>>(n, di, dout); else transpose_naive<<<dim3(n / 32, n / 32), dim3(32, 8)>>>(n, di, dout); };
        c.check = [=] { auto o = down(dout, (size_t)n * n); for (int y = 0; y < n; ++y) for (int x = 0; x < n; ++x) if (o[x * n + y] != in[y * n + x]) return false; return true; };
    } else if (k == "matmul_naive" || k == "matmul_tiled") {
        int n = pick(128, 512, 1024); sprintf(p, "n=%d", n); auto a = floats((size_t)n * n, 5), b = floats((size_t)n * n, 6);
        float *da = up(a), *db = up(b), *dc = dalloc<float>((size_t)n * n); bool tiled = k == "matmul_tiled";
        c.launch = [=] { if (tiled) matmul_tiled<<<dim3(n / 16, n / 16), dim3(16, 16)>>>(n, da, db, dc); else matmul_naive<<<dim3(n / 32, n / 8), dim3(32, 8)>>>(n, da, db, dc); };
        c.check = [=] { auto o = down(dc, (size_t)n * n); for (int q = 0; q < 2000; ++q) { int y = hash(q) % n, x = hash(q + 9999) % n; double t = 0; for (int z = 0; z < n; ++z) t += (double)a[y * n + z] * b[z * n + x]; if (fabs(o[y * n + x] - t) > 1e-3) return false; } return true; };
    } else if (k == "reduce_atomic") {
        u32 n = 1u << pick(16, 20, 24); int blocks = std::min(n / 256, 1056u); sprintf(p, "n=%u blocks=%d", n, blocks); std::vector<int> in(n); int want = 0; for (u32 i = 0; i < n; ++i) want += in[i] = hash(i) % 100;
        int *di = up(in), *d = dalloc<int>(1);
        c.reset = [=] { CK(cudaMemset(d, 0, 4)); }; c.launch = [=] { reduce_atomic<<<blocks, 256>>>(n, di, d); }; c.check = [=] { return down(d, 1)[0] == want; };
    } else if (k == "histogram_global" || k == "histogram_shared") {
        u32 n = 1u << pick(16, 20, 24); int blocks = std::min(n / 256, 1056u); sprintf(p, "n=%u blocks=%d", n, blocks); std::vector<u32> in(n), want(256); for (u32 i = 0; i < n; ++i) { in[i] = hash(i); want[in[i] & 255]++; }
        u32 *di = up(in), *d = dalloc<u32>(256); bool sh = k == "histogram_shared";
        c.reset = [=] { CK(cudaMemset(d, 0, 1024)); }; c.launch = [=] { if (sh) histogram_shared<<<blocks, 256>>>(n, di, d); else histogram_global<<<blocks, 256>>>(n, di, d); }; c.check = [=] { return down(d, 256) == want; };
    } else if (k == "bfs" || k == "spmv_pr") {
        u32 n = 1u << pick(12, 16, 20); Graph g = graph(n); u32 *dr = up(g.row), *dc = up(g.col);
        if (k == "bfs") {
            std::vector<int> lv(n, -1); lv[0] = 0; std::vector<u32> q{0}; int depth = 0; for (size_t i = 0; i < q.size(); ++i) { u32 v = q[i]; for (u32 e = g.row[v]; e < g.row[v + 1]; ++e) if (lv[g.col[e]] < 0) { lv[g.col[e]] = lv[v] + 1; q.push_back(g.col[e]); } depth = std::max(depth, lv[v]); }
            std::vector<int> start(n, -1); start[0] = 0; int *d0 = up(start), *dl = dalloc<int>(n), *da = dalloc<int>(1); c.launches = depth + 1; sprintf(p, "n=%u edges=%zu levels=%d", n, g.col.size(), depth + 1);
            c.reset = [=] { CK(cudaMemcpy(dl, d0, n * 4, cudaMemcpyDeviceToDevice)); };
            c.launch = [=] { for (int d = 0; d <= depth; ++d) bfs<<<n / 256, 256>>>(n, dr, dc, dl, d, da); };
            c.check = [=] { return down(dl, n) == lv; };
        } else {
            auto sh = floats(n, 8); float *ds = up(sh), *dk = dalloc<float>(n); sprintf(p, "n=%u edges=%zu", n, g.col.size());
            c.launch = [=] { spmv_pr<<<n / 256, 256>>>(n, dr, dc, ds, dk); };
            c.check = [=] { std::vector<float> r(n); for (u32 v = 0; v < n; ++v) { float t = 0; for (u32 e = g.row[v]; e < g.row[v + 1]; ++e) t += sh[g.col[e]]; r[v] = 0.15f / n + 0.85f * t; } return near(down(dk, n), r, 1e-4f); };
        }
    } else if (k == "fir") {
        u32 n = 1u << pick(16, 20, 23); sprintf(p, "n=%u taps=32", n); auto in = floats(n, 9), tp = floats(32, 10); float *di = up(in), *dt = up(tp), *dout = dalloc<float>(n);
        c.launch = [=] { fir<<<n / 256, 256>>>(n, di, dt, dout); };
        c.check = [=] { std::vector<float> r(n); for (u32 i = 0; i < n; ++i) { float t = 0; for (u32 q = 0; q < 32; ++q) if (i >= q) t = fmaf(tp[q], in[i - q], t); r[i] = t; } return near(down(dout, n), r, 1e-4f); };
    } else if (k == "spin_lock" || k == "ticket_lock") {
        int b = pick(8, 64, 132), r = 16; sprintf(p, "blocks=%d rounds=%d", b, r); u32* d = dalloc<u32>(4096); bool t = k == "ticket_lock";
        c.reset = [=] { CK(cudaMemset(d, 0, 16384)); }; c.launch = [=] { if (t) ticket_lock<<<b, 32>>>(r, d, d + 1024, d + 2048); else spin_lock<<<b, 32>>>(r, d, d + 2048); };
        c.check = [=] { return down(d + 2048, 1)[0] == (u32)(b * r); };
    } else if (k == "spin_lock_lanes") {
        int b = pick(1, 4, 32); sprintf(p, "blocks=%d threads=32", b); u32* d = dalloc<u32>(4096);
        c.reset = [=] { CK(cudaMemset(d, 0, 16384)); }; c.launch = [=] { spin_lock_lanes<<<b, 32>>>(d, d + 2048); }; c.check = [=] { return down(d + 2048, 1)[0] == (u32)(b * 32); };
    } else if (k == "work_queue") {
        u32 n = pick(256, 2048, 16384), cap = 2 * n; int b = 132; sprintf(p, "leaves=%u blocks=%d", n, b); u32* d = dalloc<u32>(4096 + cap);
        c.reset = [=] { CK(cudaMemset(d, 0, (4096 + cap) * 4)); u32 one = 1; CK(cudaMemcpy(d + 1024, &one, 4, cudaMemcpyHostToDevice)); CK(cudaMemcpy(d + 2048, &one, 4, cudaMemcpyHostToDevice)); CK(cudaMemcpy(d + 4096, &n, 4, cudaMemcpyHostToDevice)); };
        c.launch = [=] { work_queue<<<b, 64>>>(cap, d, d + 1024, d + 2048, d + 4096, d + 3072); }; c.check = [=] { return down(d + 3072, 1)[0] == n; };
    } else if (k == "pipeline_flags") {
        int r = pick(16, 64, 256), b = 132; sprintf(p, "rounds=%d pairs=%d", r, b / 2); u32 *d = dalloc<u32>(66 * 256), *f = dalloc<u32>(66 * 64), *o = dalloc<u32>(66 * 256);
        c.reset = [=] { CK(cudaMemset(f, 0, 66 * 64 * 4)); }; c.launch = [=] { pipeline_flags<<<b, 256>>>(r, d, f, o); };
        c.check = [=] { auto v = down(o, 66 * 256); for (u32 i = 0; i < 66 * 256; ++i) if (v[i] != 1000u * r * (r + 1) / 2 + r * (i % 256)) return false; return true; };
    } else if (k == "scan_lookback") {
        u32 n = 1u << pick(16, 20, 24); sprintf(p, "n=%u", n); std::vector<u32> in(n), want(n); u32 t = 0; for (u32 i = 0; i < n; ++i) want[i] = t += in[i] = hash(i) & 3;
        u32 *di = up(in), *dout = dalloc<u32>(n), *nx = dalloc<u32>(1), *st = dalloc<u32>(n / 256);
        c.reset = [=] { CK(cudaMemset(nx, 0, 4)); CK(cudaMemset(st, 0, n / 256 * 4)); }; c.launch = [=] { scan_lookback<<<n / 256, 256>>>(n, di, dout, nx, st); }; c.check = [=] { return down(dout, n) == want; };
    } else if (k == "grid_barrier") {
        int r = pick(8, 32, 128), b = 132; sprintf(p, "rounds=%d blocks=%d threads=256", r, b); u32 n = b * 256; std::vector<u32> x(n), y(n); for (u32 i = 0; i < n; ++i) x[i] = hash(i);
        u32 *x0 = up(x), *da = dalloc<u32>(n), *db = dalloc<u32>(n), *ar = dalloc<u32>(1);
        for (int q = 0; q < r; ++q) { for (u32 i = 0; i < n; ++i) y[i] = x[i] + x[i ? i - 1 : n - 1]; std::swap(x, y); }
        c.reset = [=] { CK(cudaMemset(ar, 0, 4)); CK(cudaMemcpy(da, x0, n * 4, cudaMemcpyDeviceToDevice)); }; c.launch = [=] { grid_barrier<<<b, 256>>>(r, da, db, ar); };
        c.check = [=] { return down(r % 2 ? db : da, n) == x; };
    }
    c.params = p; return c;
}

static std::vector<std::string> chosen; // `kernel,size` of the cases to run, or none for all
static void choose(const char* path) { FILE* f = fopen(path, "r"); if (!f) { perror(path); exit(1); } char line[4096]; while (fgets(line, sizeof line, f)) { std::string s = line; size_t one = s.find(','); if (one != std::string::npos) chosen.push_back(s.substr(0, s.find_first_of(",\n", one + 1))); } fclose(f); }
static bool runs(const char* kernel, int size) { return chosen.empty() || std::find(chosen.begin(), chosen.end(), std::string(kernel) + "," + std::to_string(size)) != chosen.end(); }
int main(int argc, char** argv) {
    if (argc > 3) choose(argv[3]);
    bool profile = !strcmp(argv[1], "profile"); FILE* f = fopen(argv[2], "w");
    CK(cudaMalloc(&pool, room)); char* junk; size_t js = (size_t)256 << 20; CK(cudaMalloc(&junk, js));
    const char* names[] = {"empty", "saxpy", "stencil2d", "transpose_naive", "transpose_tiled", "matmul_naive", "matmul_tiled", "reduce_atomic", "histogram_global", "histogram_shared", "bfs", "spmv_pr", "fir", "spin_lock", "spin_lock_lanes", "ticket_lock", "work_queue", "pipeline_flags", "scan_lookback", "grid_barrier"};
    fprintf(f, profile ? "kernel,size,params,launches\n" : "kernel,size,params,launches,us_warm_median,us_warm_p10,us_warm_p90,us_cold_median,us_cold_p10,us_cold_p90,check\n");
    cudaEvent_t a, b; CK(cudaEventCreate(&a)); CK(cudaEventCreate(&b));
    for (auto name : names) for (int s = 0; s < 3; ++s) {
        if ((!strcmp(name, "empty") && s) || !runs(name, s)) continue;
        Case c = make(name, s);
        auto once = [&](bool cold) { c.reset(); if (cold) CK(cudaMemset(junk, 1, js)); CK(cudaDeviceSynchronize()); CK(cudaEventRecord(a)); c.launch(); CK(cudaEventRecord(b)); CK(cudaEventSynchronize(b)); CK(cudaGetLastError()); float ms; CK(cudaEventElapsedTime(&ms, a, b)); return ms * 1000.0f; };
        if (profile) {
            once(false); c.reset(); CK(cudaDeviceSynchronize()); CK(cudaProfilerStart()); c.launch(); CK(cudaDeviceSynchronize()); CK(cudaProfilerStop());
            fprintf(f, "%s,%d,%s,%d\n", name, s, c.params.c_str(), c.launches); fflush(f); continue;
        }
        for (int w = 0; w < 5; ++w) once(false);
        bool ok = c.check(); std::vector<float> t[2];
        for (int cold = 0; cold < 2; ++cold) { for (int r = 0; r < 31; ++r) t[cold].push_back(once(cold)); std::sort(t[cold].begin(), t[cold].end()); }
        ok = ok && c.check();
        fprintf(f, "%s,%d,%s,%d,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%s\n", name, s, c.params.c_str(), c.launches, t[0][15], t[0][3], t[0][27], t[1][15], t[1][3], t[1][27], ok ? "ok" : "WRONG"); fflush(f);
    }
    fclose(f); return 0;
}
