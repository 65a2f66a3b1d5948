#!/usr/bin/env python3
"""Measures a GPU: ladder, rates, litmus tests and suite, as the CSV files that `chorus validate` reads.

    hardware/probe/measure.py OUT [--only CASES.csv] [--launches N] [--skip-litmus] [--skip-profile]

It needs nvcc and ncu on the path and takes a few minutes. Files that are there already are not made again.
"""
import argparse
import csv
import io
import pathlib
import re
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

# Columns of suite_ncu.csv, and the counter of ncu behind each. All are summed over the launches of a case.
COUNTERS = {
    "ns": "gpu__time_duration.sum",
    "sm_cycles": "sm__cycles_elapsed.max",
    "warp_inst": "sm__inst_executed.sum",
    "thread_inst": "smsp__thread_inst_executed.sum",
    "l1_ld_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1_ld_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1_ld_sector_hits": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
    "l1_st_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1_st_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1_atom_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
    "l1_red_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "shared_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "xbar_read_bytes": "l1tex__m_xbar2l1tex_read_bytes.sum",
    "xbar_write_bytes": "l1tex__m_l1tex2xbar_write_bytes.sum",
    "l2_sectors": "lts__t_sectors.sum",
    "l2_sector_hits": "lts__t_sectors_lookup_hit.sum",
    "l2_sectors_from_l1": "lts__t_sectors_srcunit_tex.sum",
    "l2_hits_from_l1": "lts__t_sectors_srcunit_tex_lookup_hit.sum",
    "l2_fabric_sectors": "lts__t_sectors_srcunit_ltcfabric.sum",
    "l2_read": "lts__t_sectors_op_read.sum",
    "l2_write": "lts__t_sectors_op_write.sum",
    "l2_atom": "lts__t_sectors_op_atom.sum",
    "l2_red": "lts__t_sectors_op_red.sum",
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
}


def run(*command, **more):
    print("+", *command, file=sys.stderr, flush=True)
    return subprocess.run([str(part) for part in command], check=True, **more)


def build(name, folder):
    binary = folder / name
    if not binary.exists():
        run("nvcc", "-O3", "-arch=native", "-std=c++17", "-o", binary, HERE / f"{name}.cu")
    return binary


def ladder(out, programs):
    """The ladder, with the rows of the two programs beside it behind its own."""
    target = out / "ladder.csv"
    if target.exists():
        return
    first, second, third = (programs / f"{part}.csv" for part in ("ladder", "l1_kernels", "matrix"))
    run(build("ladder", programs), first, third)
    run(build("l1_kernels", programs), second)
    matrix = third.read_text().splitlines()
    for access, name in (("ld.cg", "l2_matrix_ld.csv"), ("atom", "l2_matrix_atom.csv")):
        rows = [line for line in matrix[1:] if line.startswith(access + ",")]
        (out / name).write_text("\n".join(matrix[:1] + rows) + "\n")
    text = first.read_text() + "\n".join(second.read_text().splitlines()[1:]) + "\n"
    target.write_text(text + by_half(text, halves(csv.DictReader(matrix))))


def halves(rows):
    """The half of the L2 that each SM is in, as 1 or -1, from its atomics on lines whose homes lie in both halves.

    Atomics are performed at home, and a home that is near to one half is far from the other. So the latencies of two
    SMs rise and fall together over the lines if the SMs share a half, and against each other if they do not. Where an
    L2 has no halves, nothing rises or falls by much, and all SMs are in one.
    """
    atomics = {row["sm"]: [float(row[name]) for name in row if name[0] == "l"] for row in rows if row["access"] == "atom"}
    means = [statistics.mean(line) for line in zip(*atomics.values())]
    own = {sm: [value - mean for value, mean in zip(line, means)] for sm, line in atomics.items()}
    first = next(iter(own.values()))
    if statistics.mean(map(abs, first)) < 0.1 * statistics.mean(means):
        return dict.fromkeys(own, 1)
    return {sm: 1 if sum(a * b for a, b in zip(first, line)) > 0 else -1 for sm, line in own.items()}


def by_half(ladder, half):
    """The probes of two SMs once more: their means over pairs in one half of the L2, and over pairs in two.

    Which SMs share a half is not the same on two GPUs of one kind, so that these rows can be compared and rows of named
    SMs cannot.
    """
    groups = {}
    for row in csv.DictReader(io.StringIO(ladder)):
        pair = re.fullmatch(r"sm(\d+) reads after sm(\d+): (.*)", row["name"])
        if pair:
            one, other, what = pair.groups()
        elif pair := re.fullmatch(r"(.*) sm(\d+)-sm(\d+)", row["name"]):
            what, one, other = pair.groups()
        if not pair or one == other:
            continue
        place = "one half" if half[one] == half[other] else "two halves"
        param = row["param"] if row["group"].startswith("l2_probe") else "0"
        groups.setdefault((row["group"], f"{place}: {what}", param, row["unit"]), []).append(float(row["value"]))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for (group, name, param, unit), values in groups.items():
        writer.writerow([group, name, param, f"{statistics.mean(values):.5g}", unit])
    return out.getvalue()


def times(out, programs, only):
    target, part = out / "suite_time.csv", programs / "suite_time.csv"
    if not target.exists():
        run(build("suite", programs), "time", part, *only)
        part.rename(target)


def profile(out, programs, only):
    """Counters of every case, warm and with caches that ncu flushes."""
    target = out / "suite_ncu.csv"
    if target.exists():
        return
    suite, order = build("suite", programs), programs / "order.csv"
    rows = []
    for caches, control in (("warm", "none"), ("flushed", "all")):
        metrics = ",".join(COUNTERS.values())
        command = ["ncu", "--csv", "--page", "raw", "--print-units", "base", "--profile-from-start", "off"]
        command += ["--cache-control", control, "--metrics", metrics, suite, "profile", order, *only]
        made = run(*command, capture_output=True, text=True).stdout
        lines = [line for line in made.splitlines() if line.startswith('"')]
        launches = iter([row for row in csv.DictReader(lines) if row["ID"]])
        for case in csv.DictReader(order.open()):
            counted = [next(launches) for _ in range(int(case["launches"]))]
            total = {name: sum(number(row.get(metric)) for row in counted) for name, metric in COUNTERS.items()}
            rows.append({**case, "caches": caches, **total})
    with target.open("w", newline="") as file:
        names = ["kernel", "size", "params", "launches", "caches", *COUNTERS]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def number(text):
    """A number of ncu, which writes commas between thousands and leaves out what a GPU does not count."""
    try:
        return round(float((text or "0").replace(",", "")))
    except ValueError:
        return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, help="folder of the CSV files, such as hardware/my-gpu")
    parser.add_argument("--only", type=pathlib.Path, help="a CSV file whose cases of the suite run alone")
    parser.add_argument("--launches", default=8, type=int, help="launches of each litmus configuration")
    parser.add_argument("--skip-litmus", action="store_true", help="leave the litmus tests out")
    parser.add_argument("--skip-profile", action="store_true", help="leave ncu out")
    arguments = parser.parse_args()
    programs = arguments.out / "programs"
    programs.mkdir(parents=True, exist_ok=True)
    only = [arguments.only] if arguments.only else []
    ladder(arguments.out, programs)
    if not (arguments.out / "sm_rates.csv").exists():
        run(build("sm_rates", programs), arguments.out / "sm_rates.csv")
    times(arguments.out, programs, only)
    if not arguments.skip_profile:
        profile(arguments.out, programs, only)
    if not arguments.skip_litmus and not (arguments.out / "litmus.csv").exists():
        part = programs / "litmus.csv"
        run(build("litmus", programs), part, programs / "litmus_config.csv", arguments.launches)
        part.rename(arguments.out / "litmus.csv")


if __name__ == "__main__":
    main()
