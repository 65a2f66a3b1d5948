//! Does the machine do what its configuration says, and does a program that cannot go on end with an explanation?

use chorus_kernel::{Buf, HostMemory, Kernel, Lanes, Mask, Mismatch, Verdict};
use chorus_protocol::access::{AtomicOp, Scope};
use chorus_protocol::registry::{self, PROTOCOLS, Promise, Protocol, Structure};
use chorus_sim::SimError;
use chorus_sim::synthetic::{Pattern, Synthetic};
use chorus_sim::{Settings, Simulated, simulate, simulate_with};
use chorus_system::{Scale, SystemConfig, resolve};

use crate::once::Once;

fn config(set: &[&str]) -> SystemConfig {
    let set: Vec<String> = set.iter().map(|text| text.to_string()).collect();
    resolve("tc", Scale::Quick, &set).unwrap().config
}

/// A machine for a protocol, with three levels of caches if the protocol has as many.
fn fitting(protocol: &dyn Protocol, set: &[&str]) -> SystemConfig {
    let system = if protocol.structure().has_l3() { "spandex-hier" } else { "tc" };
    let set: Vec<String> = set.iter().map(|text| text.to_string()).collect();
    resolve(system, Scale::Quick, &set).unwrap().config
}

fn run(protocol: &str, set: &[&str], kernel: Kernel, memory: HostMemory) -> Result<Simulated, SimError> {
    let mut program = Once { kernels: vec![kernel], check: |_: &HostMemory| Ok(()) };
    simulate(&config(set), registry::find(protocol).unwrap(), &mut program, memory)
}

fn stuck(result: Result<Simulated, SimError>) -> String {
    match result {
        Err(SimError::Stuck(report)) => report.to_string(),
        other => panic!("not stuck: {other:?}"),
    }
}

/// Work-group 1 waits for a flag that nobody sets.
fn wait_forever(flag: Buf<u32>) -> Kernel {
    Kernel::new("wait", 2, 1, move |w| async move {
        if w.work_group() == 1 {
            while w.load_acquire(flag, 0, Scope::Gpu).await == 0 {}
        }
    })
}

#[test]
fn a_livelocked_program_ends_with_the_wavefronts_that_spin_and_their_line() {
    let mut memory = HostMemory::default();
    memory.alloc::<u32>(1);
    let flag = memory.alloc::<u32>(1);
    let message = stuck(run("gpu-vi", &["watchdog.idle_cycles=20000"], wait_forever(flag), memory));
    assert!(message.contains("kernel wait is livelocked"), "{message}");
    assert!(message.contains("work-group 1 wavefront 0 (compute unit 1, slot 0)"), "{message}");
    assert!(message.contains("last line 0x100"), "{message}");
    assert!(message.contains("1 wavefronts are unfinished"), "{message}");
}

#[test]
fn a_spin_lock_that_nobody_frees_is_a_livelock_although_atomics_complete() {
    let mut memory = HostMemory::default();
    let lock = memory.alloc_from(&[1u32]);
    let kernel =
        Kernel::new(
            "lock",
            1,
            1,
            move |w| async move { while w.atomic_one(AtomicOp::Exchange, lock, 0, 1).await == 1 {} },
        );
    let message = stuck(run("gpu-vi", &["watchdog.idle_cycles=20000"], kernel, memory));
    assert!(message.contains("last operation atomic, last line 0x0"), "{message}");
}

/// A network that takes longer for one message than the watchdog waits on other machines.
const SLOW: [&str; 2] = ["network.latency_cycles=100000", "watchdog.idle_cycles=20000"];

#[test]
fn a_slow_machine_is_not_livelocked() {
    for protocol in ["gpu-vi", "mesi", "tc-strong"] {
        let mut memory = HostMemory::default();
        let flag = memory.alloc::<u32>(1);
        // Work-group 0 spins, in its own cache where the protocol keeps the line, while the store is on its way.
        let kernel = Kernel::new("meet", 2, 1, move |w| async move {
            match w.work_group() {
                0 => while w.load_acquire(flag, 0, Scope::Gpu).await == 0 {},
                _ => w.store_release(flag, 0, 1, Scope::Gpu).await,
            }
        });
        let simulated = run(protocol, &SLOW, kernel, memory);
        assert!(simulated.as_ref().is_ok_and(|simulated| simulated.cycles > 200_000), "{protocol}: {simulated:?}");
    }
}

#[test]
fn a_livelock_of_a_slow_machine_is_found_on_any_number_of_threads() {
    let report = |threads: u32| {
        let mut memory = HostMemory::default();
        let flag = memory.alloc::<u32>(1);
        let mut program = Once { kernels: vec![wait_forever(flag)], check: |_: &HostMemory| Ok(()) };
        let protocol = registry::find("no-l1").unwrap();
        let settings = Settings { threads, ..Settings::defaults(protocol) };
        stuck(simulate_with(&config(&SLOW), protocol, settings, &mut program, memory))
    };
    let one = report(1);
    assert!(one.contains("kernel wait is livelocked"), "{one}");
    assert_eq!(report(3), one);
}

#[test]
fn a_deadlocked_program_ends_at_once() {
    let kernel = Kernel::new("never", 1, 1, |_| std::future::pending());
    let message = stuck(run("gpu-vi", &[], kernel, HostMemory::default()));
    assert!(message.contains("deadlocked"), "{message}");
    assert!(message.contains("last operation start"), "{message}");
}

#[test]
fn work_groups_that_wait_for_others_without_room_are_told() {
    let mut memory = HostMemory::default();
    let arrived = memory.alloc::<u32>(1);
    let kernel = Kernel::new("meet", 12, 1, move |w| async move {
        w.atomic_one(AtomicOp::Add, arrived, 0, 1).await;
        while w.load_acquire(arrived, 0, Scope::Gpu).await < 12 {}
    });
    let message = stuck(run("gpu-vi", &["core.count=1", "watchdog.idle_cycles=20000"], kernel, memory));
    assert!(message.contains("4 work-groups have not found room"), "{message}");
}

#[test]
fn a_run_that_is_longer_than_allowed_is_given_up() {
    let mut memory = HostMemory::default();
    let count = memory.alloc::<u32>(1);
    let kernel = Kernel::new("count", 1, 1, move |w| async move {
        loop {
            w.atomic_one(AtomicOp::Add, count, 0, 1).await;
        }
    });
    let message = stuck(run("gpu-vi", &["watchdog.cycles=50000"], kernel, memory));
    assert!(message.contains("is not finished at cycle 5"), "{message}");
}

/// Cycles that a kernel takes longer whose wavefronts compute 10,000 instructions each than one that does nothing.
fn compute_cycles(set: &[&str], work_groups: u32, kernel: impl Fn(Kernel) -> Kernel) -> u64 {
    let cycles = |instructions: u32| {
        let body = Kernel::new("compute", work_groups, 1, move |w| async move {
            w.alu(instructions).await;
        });
        run("gpu-vi", set, kernel(body), HostMemory::default()).unwrap().cycles
    };
    cycles(10_000) - cycles(0)
}

#[test]
fn one_instruction_issues_per_cycle_and_compute_unit() {
    let set = &["core.count=1", "core.launch_latency_cycles=0", "core.wavefronts=48", "core.work_groups=8"];
    let one = compute_cycles(set, 1, |kernel| kernel);
    let four = compute_cycles(set, 4, |kernel| kernel);
    assert!((10_000..10_200).contains(&one), "{one}");
    assert!((40_000..40_200).contains(&four), "{four}");
}

/// The number of work-groups that a compute unit holds at a time, from a counter that each raises, watches and lowers.
fn resident(set: &[&str], shape: impl Fn(Kernel) -> Kernel) -> u32 {
    let mut memory = HostMemory::default();
    let (inside, most) = (memory.alloc::<u32>(1), memory.alloc::<u32>(1));
    let kernel = Kernel::new("resident", 24, 2, move |w| async move {
        if w.id().wave == 0 {
            let before = w.atomic_one(AtomicOp::Add, inside, 0, 1).await;
            w.atomic_one(AtomicOp::Max, most, 0, before + 1).await;
            w.alu(20_000).await;
            w.atomic_one(AtomicOp::Add, inside, 0, u32::MAX).await;
        }
        w.barrier().await;
    });
    let mut set = set.to_vec();
    set.push("core.count=1");
    let seen = std::cell::Cell::new(0);
    let check = |memory: &HostMemory| {
        seen.set(memory.get(most, 0));
        Ok(())
    };
    let mut program = Once { kernels: vec![shape(kernel)], check };
    simulate(&config(&set), registry::find("gpu-vi").unwrap(), &mut program, memory).unwrap();
    seen.get()
}

#[test]
fn occupancy_is_limited_by_work_groups_wavefronts_registers_and_local_data() {
    assert_eq!(resident(&[], |kernel| kernel), 8);
    assert_eq!(resident(&["core.wavefronts=12"], |kernel| kernel), 6);
    assert_eq!(resident(&[], |kernel| kernel.registers(128)), 4);
    assert_eq!(resident(&[], |kernel| kernel.lds(16 * 1024)), 3);
}

#[test]
fn a_work_group_that_fits_no_compute_unit_is_refused_with_what_it_lacks() {
    let kernel = Kernel::new("large", 1, 1, |_| async {}).lds(64 * 1024);
    let error = run("gpu-vi", &[], kernel, HostMemory::default()).unwrap_err();
    let expected = "a work-group of kernel large needs 65536 bytes of local data share; a compute unit has 49152";
    assert_eq!(error.to_string(), expected);
}

/// All lanes of all wavefronts add to one counter and to a shared histogram.
fn histogram(protocol: &'static dyn Protocol, set: &[&str]) -> Simulated {
    let mut memory = HostMemory::default();
    let (total, bins) = (memory.alloc::<u32>(1), memory.alloc::<u32>(40));
    let kernel = Kernel::new("histogram", 32, 4, move |w| async move {
        let bin = w.global_ids() % 40;
        w.atomic_where(AtomicOp::Add, Mask::ALL, bins, bin, Lanes::splat(1)).await;
        w.atomic_where(AtomicOp::Add, Mask::ALL, total, Lanes::splat(0), Lanes::splat(1)).await;
    });
    let check = move |memory: &HostMemory| {
        let items = 32 * 4 * 32;
        let sum: u32 = memory.read(bins).iter().sum();
        if (memory.get(total, 0), sum) == (items, items) { Ok(()) } else { Err(Mismatch(format!("{sum}"))) }
    };
    let mut program = Once { kernels: vec![kernel], check };
    simulate(&fitting(protocol, set), protocol, &mut program, memory)
        .unwrap_or_else(|error| panic!("{} {set:?}: {error}", protocol.name()))
}

#[test]
fn atomics_lose_no_update_under_any_protocol_and_configuration() {
    let variants: &[&[&str]] = &[
        &[],
        &["core.scheduler=greedy-then-oldest"],
        &["dram.model=fixed"],
        &["l1.replacement=fifo", "l2.replacement=fifo"],
        &["clocks.core_mhz=1300", "clocks.l2_mhz=900", "clocks.network_mhz=600"],
        &["l1.line_bytes=64"],
        &["l2.banks=3", "core.count=5"],
        &["l1.mshrs=1", "l2.mshrs=1", "core.lsu_queue=1", "dram.queue=2", "network.vc_buffer_flits=1"],
    ];
    for &protocol in PROTOCOLS {
        for set in variants {
            assert_eq!(histogram(protocol, set).check, Verdict::Checked, "{} {set:?}", protocol.name());
        }
    }
}

#[test]
fn a_value_handed_over_behind_a_release_arrives_under_every_coherent_protocol() {
    for protocol in PROTOCOLS.iter().filter(|protocol| protocol.promises().contains(&Promise::Communication)) {
        let mut memory = HostMemory::default();
        let (value, flag, seen) = (memory.alloc::<u32>(1), memory.alloc::<u32>(1), memory.alloc::<u32>(8));
        let kernel = Kernel::new("hand-over", 8, 1, move |w| async move {
            let me = w.work_group();
            // Everybody caches the old value first.
            w.load_one(value, 0).await;
            if me == 3 {
                w.alu(500).await;
                w.store_one(value, 0, 42);
                w.store_release(flag, 0, 1, Scope::Gpu).await;
            }
            while w.load_acquire(flag, 0, Scope::Gpu).await == 0 {}
            let got = w.load_one(value, 0).await;
            w.store_one(seen, me, got);
        });
        let check = move |memory: &HostMemory| {
            let seen = memory.read(seen);
            if seen == [42; 8] { Ok(()) } else { Err(Mismatch(format!("{seen:?}"))) }
        };
        let mut program = Once { kernels: vec![kernel], check };
        let run = simulate(&fitting(*protocol, &[]), *protocol, &mut program, memory);
        let run = run.unwrap_or_else(|error| panic!("{}: {error}", protocol.name()));
        assert_eq!(run.check, Verdict::Checked, "{}", protocol.name());
    }
}

#[test]
fn the_same_run_gives_the_same_statistics_bit_for_bit() {
    for pattern in Pattern::OF_ONE_MODULE {
        let once = || {
            let mut memory = HostMemory::default();
            let mut program = Synthetic::new(pattern, 16, 20, &mut memory);
            simulate(&config(&[]), registry::find("gpu-vi").unwrap(), &mut program, memory).unwrap()
        };
        assert_eq!(once(), once(), "{}", pattern.name());
    }
}

#[test]
fn traffic_by_class_adds_up_and_only_directory_protocols_invalidate() {
    for protocol in PROTOCOLS.iter().filter(|protocol| protocol.structure() == Structure::TwoLevels) {
        let mut memory = HostMemory::default();
        let mut program = Synthetic::new(Pattern::ShareHeavy, 16, 20, &mut memory);
        let run = simulate(&config(&[]), *protocol, &mut program, memory).unwrap();
        let class = |class: &str| run.metrics[&format!("traffic.flits.{class}")];
        let sum: f64 = ["ld", "st", "ato", "req", "inv", "rcl"].iter().map(|name| class(name)).sum();
        assert_eq!(sum, run.metrics["traffic.flits"], "{}", protocol.name());
        let has_directory = ["mesi", "gpu-vi", "gpu-vini"].contains(&protocol.name());
        assert_eq!(class("inv") > 0.0, has_directory, "{}", protocol.name());
    }
}

#[test]
fn energy_grows_with_flits_and_with_virtual_networks() {
    let run = histogram(registry::find("gpu-vi").unwrap(), &[]);
    let config = config(&[]);
    let dynamic = run.metrics["traffic.flits"] * config.energy.flit_pj / 1e3;
    assert!((run.metrics["energy.dynamic_nj"] - dynamic).abs() < 1e-6);
    let buffers = 4.0 * f64::from(config.core.count + config.l2.banks);
    let fixed = buffers * config.energy.vc_buffer_uw * run.simulated_ns / 1e6;
    assert!((run.metrics["energy.static_nj"] - fixed).abs() < 1e-6);
}
