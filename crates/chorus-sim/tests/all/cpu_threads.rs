//! CPU threads beside work-groups: do they run at the same time, and do they see what the others write?

use chorus_kernel::{Buf, Cpu, HostMemory, Kernel, Lanes, Mask, Mismatch, Verdict, Wave, flat};
use chorus_protocol::access::{AtomicOp, Scope};
use chorus_protocol::registry;
use chorus_sim::SimError;
use chorus_sim::{Simulated, simulate};
use chorus_system::{Scale, SystemConfig, resolve};

use crate::once::Once;

const ROUNDS: u32 = 15;

/// A CPU thread and a work-group add to a value in turns.
fn ping_pong(turn: Buf<u32>, value: Buf<u32>) -> Kernel {
    let gpu = move |w: Wave| async move {
        for round in 0..ROUNDS {
            while w.load_acquire(turn, 0, Scope::System).await != 2 * round + 1 {}
            let seen = w.load_one(value, 0).await;
            w.store_one(value, 0, 3 * seen);
            w.store_release(turn, 0, 2 * round + 2, Scope::System).await;
        }
    };
    Kernel::new("ping-pong", 1, 1, gpu).with_cpu(1, move |cpu| async move {
        for round in 0..ROUNDS {
            while cpu.load_acquire(turn, 0).await != 2 * round {
                cpu.alu(1);
            }
            let seen = cpu.load(value, 0).await;
            cpu.store(value, 0, seen + 1);
            cpu.store_release(turn, 0, 2 * round + 1).await;
        }
    })
}

fn ping_pong_program() -> (Once<impl Fn(&HostMemory) -> Result<(), Mismatch>>, HostMemory) {
    let mut memory = HostMemory::default();
    let (turn, value) = (memory.alloc::<u32>(1), memory.alloc::<u32>(1));
    let expected = (0..ROUNDS).fold(0u32, |value, _| (value + 1) * 3);
    let check = move |memory: &HostMemory| match memory.get(value, 0) {
        got if got == expected => Ok(()),
        got => Err(Mismatch(format!("{got} instead of {expected}"))),
    };
    (Once { kernels: vec![ping_pong(turn, value)], check }, memory)
}

fn run(system: &str, protocol: &str, set: &[&str], kernel: Kernel, memory: HostMemory) -> Result<Simulated, SimError> {
    let set: Vec<String> = set.iter().map(|text| text.to_string()).collect();
    let config = resolve(system, Scale::Quick, &set).unwrap().config;
    let mut program = Once { kernels: vec![kernel], check: |_: &HostMemory| Ok(()) };
    simulate(&config, registry::find(protocol).unwrap(), &mut program, memory)
}

#[test]
fn a_thread_and_a_work_group_take_turns_on_flat_memory() {
    let (mut program, memory) = ping_pong_program();
    assert_eq!(flat::run(&mut program, &memory), Ok(()));
}

#[test]
fn a_thread_and_a_work_group_take_turns_on_compute_units() {
    for (system, protocol) in [("tc", "mesi"), ("tc", "gpu-vi"), ("hmg", "hmg"), ("cpelide", "cpelide")] {
        let (mut program, memory) = ping_pong_program();
        let config = resolve(system, Scale::Quick, &[]).unwrap().config;
        let ran = simulate(&config, registry::find(protocol).unwrap(), &mut program, memory).unwrap();
        assert_eq!(ran.check, Verdict::Checked, "{protocol}");
    }
}

/// Threads and work-groups that write their numbers after each has met all of the others.
fn roll_call(threads: u32, groups: u32, met: Buf<u32>, cpus: Buf<u32>, gpus: Buf<u32>) -> Kernel {
    let gpu = move |w: Wave| async move {
        let (at, one) = (Lanes::splat(0), Lanes::splat(1));
        w.atomic_in(Scope::System, AtomicOp::Add, Mask::lane(0), met, at, one).await;
        while w.load_acquire(met, 0, Scope::System).await < threads + groups {}
        w.store_one(gpus, w.work_group(), w.work_group() + 100 * w.id().work_groups);
    };
    Kernel::new("roll-call", groups, 1, gpu).with_cpu(threads, move |cpu| async move {
        cpu.atomic(AtomicOp::Add, met, 0, 1).await;
        while cpu.load_acquire(met, 0).await < threads + groups {}
        let [seen, none] = cpu.load_vec::<u32, 2>(met, 0).await;
        cpu.store(cpus, cpu.id(), cpu.id() + 100 * cpu.threads() + 10_000 * (seen + none));
        cpu.fence().await;
    })
}

#[test]
fn threads_and_work_groups_start_together_under_numbers_of_their_own() {
    let (threads, groups) = (3, 5);
    let mut memory = HostMemory::default();
    let met = memory.alloc::<u32>(2);
    let (cpus, gpus) = (memory.alloc::<u32>(threads as usize), memory.alloc::<u32>(groups as usize));
    let kernel = || roll_call(threads, groups, met, cpus, gpus);
    let check = move |memory: &HostMemory| {
        let expected = [memory.read(cpus) == [80_300, 80_301, 80_302], memory.read(gpus) == [500, 501, 502, 503, 504]];
        if expected == [true; 2] {
            Ok(())
        } else {
            Err(Mismatch(format!("{:?}", memory.words(0..memory.word_count()))))
        }
    };
    assert_eq!(flat::run(&mut Once { kernels: vec![kernel()], check }, &memory.clone()), Ok(()));
    for protocol in ["mesi", "gpu-vi"] {
        let set = ["core.count=1".to_string()];
        let config = resolve("tc", Scale::Quick, &set).unwrap().config;
        let mut program = Once { kernels: vec![kernel()], check };
        let ran = simulate(&config, registry::find(protocol).unwrap(), &mut program, memory.clone()).unwrap();
        assert_eq!(ran.check, Verdict::Checked, "{protocol}");
        assert_eq!((ran.metrics["core.work_groups"], ran.metrics["core.wavefronts"]), (5.0, 8.0));
    }
}

#[test]
fn more_threads_than_compute_units_have_room_for_are_refused() {
    let kernel = Kernel::new("crowd", 1, 1, |_| async {}).with_cpu(9, |_| async {});
    let error = run("tc", "mesi", &["core.count=1"], kernel, HostMemory::default()).unwrap_err().to_string();
    assert!(error.contains("kernel crowd has 9 CPU threads") && error.contains("have room for 8"), "{error}");
}

#[test]
fn a_thread_that_waits_forever_is_named() {
    let mut memory = HostMemory::default();
    let flag = memory.alloc::<u32>(1);
    let kernel = Kernel::new("wait", 1, 1, |_| async {})
        .with_cpu(2, move |cpu| async move { while cpu.id() == 1 && cpu.load_acquire(flag, 0).await == 0 {} });
    let error = run("tc", "mesi", &["watchdog.idle_cycles=20000"], kernel, memory).unwrap_err().to_string();
    assert!(error.contains("CPU thread 1 (compute unit 1, slot 0): last operation"), "{error}");
}

/// A machine of two compute units and two CPU cores.
fn with_cores(set: &[&str]) -> SystemConfig {
    let cores = ["core.count=2", "cpu.count=2", "cpu.clock_mhz=2000", "cpu.store_buffer_entries=0"];
    let all = cores.iter().chain(set).map(|text| text.to_string());
    resolve("tc", Scale::Quick, &all.collect::<Vec<_>>()).unwrap().config
}

#[test]
fn a_thread_and_a_work_group_take_turns_where_there_are_cpu_cores() {
    for protocol in ["mesi", "gpu-vi", "gpu-vini", "tc-strong", "tc-weak"] {
        let (mut program, memory) = ping_pong_program();
        let ran = simulate(&with_cores(&[]), registry::find(protocol).unwrap(), &mut program, memory).unwrap();
        assert_eq!(ran.check, Verdict::Checked, "{protocol}");
    }
}

#[test]
fn threads_share_cpu_cores_and_leave_compute_units_to_work_groups() {
    let (threads, groups) = (5, 16);
    let mut memory = HostMemory::default();
    let met = memory.alloc::<u32>(2);
    let (cpus, gpus) = (memory.alloc::<u32>(threads as usize), memory.alloc::<u32>(groups as usize));
    let kernel = roll_call(threads, groups, met, cpus, gpus);
    let mut program = Once { kernels: vec![kernel], check: |_: &HostMemory| Ok(()) };
    let ran = simulate(&with_cores(&[]), registry::find("mesi").unwrap(), &mut program, memory).unwrap();
    assert_eq!(ran.metrics["core.work_groups"], 16.0);
}

/// Nanoseconds of a launch whose only CPU thread does `work`.
fn thread_ns<F: Future<Output = ()> + 'static>(
    set: &[&str],
    work: impl Fn(Cpu, Buf<u32>) -> F + Send + Sync + 'static,
) -> f64 {
    let mut memory = HostMemory::default();
    let buf = memory.alloc::<u32>(64);
    let kernel = Kernel::new("work", 0, 1, |_| async {}).with_cpu(1, move |cpu| work(cpu, buf));
    let mut program = Once { kernels: vec![kernel], check: |_: &HostMemory| Ok(()) };
    let config = with_cores(&[set, &["core.launch_latency_cycles=0", "l1.latency_cycles=1"]].concat());
    simulate(&config, registry::find("mesi").unwrap(), &mut program, memory).unwrap().simulated_ns
}

#[test]
fn a_cpu_core_issues_one_instruction_per_cycle_of_its_own_clock() {
    let at = |mhz: &str| {
        let thread = |instructions: u32| {
            thread_ns(&[&format!("cpu.clock_mhz={mhz}")], move |cpu, _| async move { cpu.alu(instructions) })
        };
        thread(10_000) - thread(0)
    };
    assert!((5000.0..5010.0).contains(&at("2000")), "{}", at("2000"));
    assert!((10_000.0..10_010.0).contains(&at("1000")), "{}", at("1000"));
}

#[test]
fn loads_of_a_cpu_core_block_and_hits_take_a_cycle_of_its_clock() {
    let loads = |count: u32| {
        thread_ns(&[], move |cpu, buf| async move {
            cpu.load(buf, 0).await;
            for _ in 0..count {
                cpu.load(buf, 0).await;
            }
        })
    };
    let each = (loads(3000) - loads(1000)) / 2000.0;
    // One cycle of issue and one of the cache, each half a nanosecond.
    assert!((0.5..1.01).contains(&each), "{each}");
}

#[test]
fn a_thread_of_a_cpu_core_that_waits_forever_is_named_with_its_core() {
    let mut memory = HostMemory::default();
    let flag = memory.alloc::<u32>(1);
    let wait = move |w: Wave| async move { while w.load_acquire(flag, 0, Scope::System).await == 0 {} };
    let kernel = Kernel::new("wait", 1, 1, wait)
        .with_cpu(4, move |cpu| async move { while cpu.id() == 3 && cpu.load_acquire(flag, 0).await == 0 {} });
    let mut program = Once { kernels: vec![kernel], check: |_: &HostMemory| Ok(()) };
    let config = with_cores(&["watchdog.idle_cycles=20000"]);
    let error = simulate(&config, registry::find("mesi").unwrap(), &mut program, memory).unwrap_err().to_string();
    assert!(error.contains("CPU thread 3 (CPU core 1, slot 1): last operation"), "{error}");
    assert!(error.contains("work-group 0 wavefront 0 (compute unit 0, slot 0): last operation"), "{error}");
}
