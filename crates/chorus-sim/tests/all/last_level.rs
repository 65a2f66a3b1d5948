//! Is a memory-side L3 as far, as large and as wide as configured, and are the results of programs right?

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Mismatch, Verdict};
use chorus_protocol::access::{AtomicOp, Scope};
use chorus_protocol::registry::{self, PROTOCOLS, Protocol, Reach};
use chorus_sim::{Simulated, simulate};
use chorus_system::{Scale, SystemConfig, resolve};

use crate::once::Once;

/// Words of a line.
const LINE_WORDS: u32 = 16;
/// Words of a page.
const PAGE_WORDS: u32 = 1024;
/// An L2 of one set in the only bank of each chiplet.
const SMALL_L2: &str = "l2.bank_bytes=2048";

fn config(system: &str, scale: Scale, set: &[&str]) -> SystemConfig {
    let set: Vec<String> = set.iter().map(|text| text.to_string()).collect();
    resolve(system, scale, &set).unwrap().config
}

fn run(protocol: &str, config: &SystemConfig, kernels: Vec<Kernel>, memory: HostMemory) -> Simulated {
    let mut program = Once { kernels, check: |_: &HostMemory| Ok(()) };
    simulate(config, registry::find(protocol).unwrap(), &mut program, memory).unwrap()
}

/// A kernel of one work-group for each of 4 chiplets. The work-group of `chiplet` loads the lines one after the other.
fn load(data: Buf<u32>, chiplet: u32, lines: Vec<u32>) -> Kernel {
    Kernel::new("load", 4, 1, move |w| {
        let lines = lines.clone();
        async move {
            if w.work_group() == chiplet {
                for line in lines {
                    w.load_one(data, line * LINE_WORDS).await;
                }
            }
        }
    })
}

/// The latency of all loads of the last of several kernels. Each kernel loads lines by one chiplet. The chiplet of the
/// first kernel is the home of all lines.
fn latency(set: &[&str], kernels: &[(u32, Vec<u32>)]) -> f64 {
    let mut memory = HostMemory::default();
    let data = memory.alloc::<u32>(PAGE_WORDS as usize);
    let kernels: Vec<Kernel> =
        kernels.iter().rev().map(|(chiplet, lines)| load(data, *chiplet, lines.clone())).collect();
    let result = run("nhcc", &config("cpelide", Scale::Paper, set), kernels, memory);
    result.kernels.last().unwrap().metrics["l1.load_latency_cycles"]
}

#[test]
fn the_least_latency_of_the_l1_is_140_cycles() {
    let loads = |count: usize| latency(&[], &[(0, vec![0; count])]);
    assert_eq!(loads(2) - loads(1), 140.0);
}

#[test]
fn the_least_latency_of_the_own_l2_is_269_cycles() {
    assert_eq!(latency(&[], &[(0, vec![0]), (0, vec![0])]), 269.0);
}

#[test]
fn the_least_latency_of_another_chiplets_l2_is_390_cycles() {
    for chiplet in 1..4 {
        assert_eq!(latency(&[], &[(0, vec![0]), (chiplet, vec![0])]), 390.0);
    }
}

#[test]
fn the_least_latency_of_the_l3_is_330_cycles() {
    // Line 0 has left an L2 of one set of 32 ways, which the lines after it fill.
    let set = ["l2.banks=1", SMALL_L2];
    assert_eq!(latency(&set, &[(0, (0..40).collect()), (0, vec![0])]), 330.0);
}

#[test]
fn memory_is_as_far_as_the_l3_and_its_own_latency_and_burst() {
    // 64 bytes at 4 per cycle. Another line of the page has been loaded before, so the page lies somewhere.
    assert_eq!(latency(&[], &[(0, vec![1]), (0, vec![0])]), 330.0 + 180.0 + 16.0);
}

/// Chiplet 0 stores `lines` whole lines, and then loads them.
fn stream(protocol: &str, lines: u32, set: &[&str]) -> Simulated {
    let mut memory = HostMemory::default();
    let data = memory.alloc::<u32>((lines * LINE_WORDS) as usize);
    let pairs = lines / 2;
    let store = Kernel::new("store", 4, 4, move |w| async move {
        if w.work_group() == 0 {
            for pair in (w.id().wave..pairs).step_by(4) {
                w.store(data, w.lane_ids() + pair * LANES as u32, Lanes::splat(pair));
            }
        }
    });
    let read = Kernel::new("read", 4, 4, move |w| async move {
        if w.work_group() == 0 {
            for pair in (w.id().wave..pairs).step_by(4) {
                w.load(data, w.lane_ids() + pair * LANES as u32).await;
            }
        }
    });
    let mut small = vec!["l2.banks=1", SMALL_L2];
    small.extend(set);
    run(protocol, &config("cpelide", Scale::Quick, &small), vec![read, store], memory)
}

/// An L3 that keeps what is written until it needs the place.
const WRITTEN_BACK: &str = "l3.write_policy=write-back";

#[test]
fn an_l3_that_writes_back_keeps_what_is_written_until_it_is_full() {
    for protocol in ["viper-chiplet", "sw-flat"] {
        let fits = stream(protocol, 1024, &[WRITTEN_BACK]);
        assert_eq!((fits.metrics["l3.hits"], fits.metrics["l3.misses"]), (1024.0, 0.0), "{protocol}");
        assert_eq!((fits.metrics["dram.reads"], fits.metrics["dram.writes"]), (0.0, 0.0), "{protocol}");
    }
}

#[test]
fn an_l3_that_writes_through_keeps_lines_that_memory_has_too() {
    for protocol in ["viper-chiplet", "sw-flat"] {
        let fits = stream(protocol, 1024, &["l3.write_policy=write-through"]);
        assert_eq!((fits.metrics["l3.hits"], fits.metrics["l3.misses"]), (1024.0, 0.0), "{protocol}");
        assert_eq!((fits.metrics["dram.reads"], fits.metrics["dram.writes"]), (0.0, 1024.0), "{protocol}");
    }
}

#[test]
fn dirty_lines_that_give_way_are_written_to_memory() {
    let spills = stream("viper-chiplet", 1024, &["l3.bank_bytes=32768", WRITTEN_BACK]);
    // 512 of 1024 lines fit, and those that are read in about the same order are seldom those that are still there.
    let metric = |key: &str| spills.metrics[key];
    assert_eq!(metric("l3.hits") + metric("l3.misses"), 1024.0);
    assert!(metric("l3.hits") < 64.0, "{} hits", metric("l3.hits"));
    assert_eq!(metric("dram.reads"), metric("l3.misses"));
    assert!((960.0..=1024.0).contains(&metric("dram.writes")), "{} lines written", metric("dram.writes"));
}

#[test]
fn flits_between_l2_and_l3_are_those_of_fetches_lines_and_write_backs() {
    let run = stream("viper-chiplet", 1024, &[]);
    // A write-back has a header and a line, a fetch a header, and its answer a header and a line.
    assert_eq!(run.metrics["traffic.l2_l3.flits"], 1024.0 * (5.0 + 1.0 + 5.0));
}

#[test]
fn a_narrow_link_to_the_l3_is_a_bottleneck() {
    let cycles = |set: &str| stream("sw-flat", 4096, &[set]).kernels[1].cycles as f64;
    let (narrow, wide) = (cycles("l3.bytes_per_cycle=1"), cycles("l3.bytes_per_cycle=64"));
    assert!(narrow > 4096.0 * 64.0 && wide < 0.7 * narrow, "{narrow} and {wide} cycles");
}

#[test]
fn stores_wait_for_a_narrow_link_to_the_l3_and_for_memory_behind_it() {
    let cycles = |set: &[&str]| stream("sw-flat", 4096, set).kernels[0].cycles as f64;
    let narrow = cycles(&["l3.bytes_per_cycle=1"]);
    assert!(narrow > 4096.0 * 64.0 * 0.9, "{narrow} cycles");
    let slow = cycles(&["dram.bytes_per_cycle=1"]);
    assert!(slow > 4096.0 * 64.0 * 0.9, "{slow} cycles");
    let neither = cycles(&[]);
    assert!(neither < 4096.0 * 64.0 * 0.6, "{neither} cycles");
}

/// The protocols that reach across modules.
fn far_reaching() -> impl Iterator<Item = &'static dyn Protocol> {
    PROTOCOLS.iter().copied().filter(|protocol| protocol.reach() == Reach::AnyMachine)
}

/// Every chiplet adds to shared bins and writes a part of an array that another reads in the next kernel.
fn exchange(protocol: &'static dyn Protocol, system: &str, scale: Scale, set: &[&str]) -> Simulated {
    const GROUPS: u32 = 32;
    let items = GROUPS * 2 * LANES as u32;
    let mut memory = HostMemory::default();
    let (bins, data) = (memory.alloc::<u32>(40), memory.alloc::<u32>(items as usize));
    let copy = memory.alloc::<u32>(items as usize);
    let write = Kernel::new("write", GROUPS, 2, move |w| async move {
        w.atomic_in(Scope::System, AtomicOp::Add, Mask::ALL, bins, w.global_ids() % 40, Lanes::splat(1)).await;
        w.store(data, w.global_ids(), w.global_ids() + 7);
    });
    let read = Kernel::new("read", GROUPS, 2, move |w| async move {
        let there = w.global_ids().map(|id| (id + items / 2) % items);
        let values = w.load(data, there).await;
        w.store(copy, w.global_ids(), values);
    });
    let check = move |memory: &HostMemory| {
        let sum: u32 = memory.read(bins).iter().sum();
        let wrong =
            (0..items).zip(memory.read(copy)).filter(|(id, value)| (id + items / 2) % items + 7 != *value).count();
        if (sum, wrong) == (items, 0) { Ok(()) } else { Err(Mismatch(format!("{sum} updates, {wrong} wrong values"))) }
    };
    let mut program = Once { kernels: vec![read, write], check };
    simulate(&config(system, scale, set), protocol, &mut program, memory).unwrap()
}

#[test]
fn programs_come_out_right_before_an_l3_that_is_large_small_or_slow() {
    let scarce = ["l3.bank_bytes=1024", "dram.queue=2", SMALL_L2];
    let slow = ["l3.bank_bytes=1024", "l3.bytes_per_cycle=1", "l3.latency_cycles=500", "dram.queue=2", SMALL_L2];
    for protocol in far_reaching() {
        for set in [&[][..], &scarce, &slow] {
            let run = exchange(protocol, "cpelide", Scale::Quick, set);
            assert_eq!(run.check, Verdict::Checked, "{} {set:?}", protocol.name());
        }
    }
}

#[test]
fn a_monolithic_machine_of_240_compute_units_is_one() {
    let run = exchange(registry::find("sw-flat").unwrap(), "cpelide-mono", Scale::Paper, &[]);
    assert_eq!(run.check, Verdict::Checked);
    assert_eq!(run.metrics["traffic.remote.flits"], 0.0);
}

#[test]
fn energies_are_counts_times_what_the_machine_says() {
    let protocol = registry::find("nhcc").unwrap();
    let (config, run) = (config("cpelide", Scale::Quick, &[]), exchange(protocol, "cpelide", Scale::Quick, &[]));
    let (energy, metric) = (config.access_energy.as_ref().unwrap(), |key: &str| run.metrics[key]);
    let close = |key: &str, picojoules: f64| assert!((metric(key) - picojoules / 1e3).abs() < 1e-6, "{key}");
    close("energy.l1i_nj", metric("core.instructions") / 8.0 * energy.l1i_pj);
    close("energy.l1d_nj", metric("l1.accesses") * energy.l1d_pj);
    close("energy.lds_nj", metric("core.lds_accesses") * energy.lds_pj);
    close("energy.l2_nj", metric("l2.inputs") * energy.l2_pj);
    close("energy.dram_nj", (metric("dram.reads") + metric("dram.writes")) * energy.dram_pj);
    let flits = |part: &str| metric(&format!("traffic.{part}.flits"));
    let noc = flits("l1_l2") * energy.l1_l2_flit_pj + flits("l2_l3") * energy.l2_l3_flit_pj;
    close("energy.noc_nj", noc + flits("remote") * energy.remote_flit_pj);
    assert!(flits("remote") > 0.0);
}

#[test]
fn machines_without_an_l3_report_nothing_of_it() {
    let run = exchange(registry::find("nhcc").unwrap(), "hmg", Scale::Quick, &[]);
    for key in ["l3.hits", "traffic.l2_l3.flits", "traffic.remote.flits", "traffic.l1_l2.flits", "energy.noc_nj"] {
        assert!(!run.metrics.contains_key(key), "{key}");
    }
}
