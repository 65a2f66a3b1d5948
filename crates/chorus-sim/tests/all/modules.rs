//! Does a machine of several modules place pages and work-groups as configured, and are its links as far and as wide as
//! configured?

use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mismatch, Verdict};
use chorus_protocol::access::Scope;
use chorus_protocol::registry::{self, PROTOCOLS, Promise, Protocol, Reach};
use chorus_sim::synthetic::{Pattern, Synthetic};
use chorus_sim::{SimError, Simulated, simulate};
use chorus_system::{Scale, SystemConfig, resolve};

use crate::histogram::histogram;
use crate::once::Once;

/// Size of a page at quick scale, in words.
const PAGE_WORDS: u32 = 16384 / 4;
/// Modules of the machine.
const MODULES: u32 = 16;

fn config(scale: Scale, set: &[&str]) -> SystemConfig {
    let set: Vec<String> = set.iter().map(|text| text.to_string()).collect();
    resolve("hmg", scale, &set).unwrap().config
}

fn run(protocol: &str, config: &SystemConfig, kernels: Vec<Kernel>, memory: HostMemory) -> Simulated {
    let mut program = Once { kernels, check: |_: &HostMemory| Ok(()) };
    simulate(config, registry::find(protocol).unwrap(), &mut program, memory).unwrap()
}

/// The protocols that reach across modules.
fn far_reaching() -> impl Iterator<Item = &'static dyn Protocol> {
    PROTOCOLS.iter().copied().filter(|protocol| protocol.reach() == Reach::AnyMachine)
}

/// Every work-group stores to a page of its own.
fn own_pages(data: Buf<u32>) -> Kernel {
    Kernel::new("own-pages", MODULES, 1, move |w| async move {
        let first = w.work_group() * PAGE_WORDS;
        for line in 0..8 {
            w.store(data, w.lane_ids() + (first + line * LANES as u32), Lanes::splat(1));
        }
    })
}

#[test]
fn first_touch_places_a_page_where_it_is_used() {
    let remote = |placement: &str| {
        let mut memory = HostMemory::default();
        let data = memory.alloc::<u32>((MODULES * PAGE_WORDS) as usize);
        let set = [&format!("memory.placement={placement}")[..]];
        // One page further on than work-groups, so that interleaved pages lie elsewhere.
        let shifted = data.slice(PAGE_WORDS as usize, ((MODULES - 1) * PAGE_WORDS) as usize);
        let kernel = Kernel::new("shifted", MODULES - 1, 1, move |w| async move {
            w.store_one(shifted, w.work_group() * PAGE_WORDS, 1);
        });
        let result = run("hmg", &config(Scale::Quick, &set), vec![kernel], memory);
        result.metrics["inter_gpm.bytes.st"] + result.metrics["inter_gpu.bytes.st"]
    };
    assert_eq!(remote("first-touch"), 0.0);
    assert!(remote("interleaved") > 0.0);
    assert!(remote("single") > 0.0);
}

#[test]
fn a_page_stays_with_the_module_that_touched_it_first() {
    let mut memory = HostMemory::default();
    let data = memory.alloc::<u32>((MODULES * PAGE_WORDS) as usize);
    // The second kernel reads the page of the module with the next number: three of four lie in the same GPU.
    let next = Kernel::new("next", MODULES, 1, move |w| async move {
        w.load_one(data, (w.work_group() + 1) % MODULES * PAGE_WORDS).await;
    });
    let result = run("no-remote", &config(Scale::Quick, &[]), vec![next, own_pages(data)], memory);
    let loads = |kernel: usize| result.kernels[kernel].metrics["inter_gpu.loads"];
    assert_eq!((loads(0), loads(1)), (0.0, 4.0));
    assert_eq!(result.kernels[1].metrics["inter_gpm.messages.ld"], 12.0);
}

#[test]
fn work_groups_are_dispatched_in_contiguous_blocks() {
    for (gpus, gpms, groups) in [(4u32, 4u32, 64u32), (2, 2, 7), (8, 4, 40)] {
        let mut memory = HostMemory::default();
        let seen = memory.alloc::<u32>(groups as usize);
        let kernel = Kernel::new("where", groups, 1, move |w| async move {
            w.store_one(seen, w.work_group(), w.id().gpu * 100 + w.id().gpus);
        });
        let check = move |memory: &HostMemory| {
            let expected = (0..groups).map(|group| group * gpus / groups * 100 + gpus);
            let seen = memory.read(seen);
            if expected.eq(seen.iter().copied()) { Ok(()) } else { Err(Mismatch(format!("{seen:?}"))) }
        };
        let set = [&format!("hierarchy.gpus={gpus}")[..], &format!("hierarchy.gpms={gpms}")];
        let mut program = Once { kernels: vec![kernel], check };
        let protocol = registry::find("hmg").unwrap();
        let result = simulate(&config(Scale::Quick, &set), protocol, &mut program, memory).unwrap();
        assert_eq!(result.check, Verdict::Checked, "{gpus} x {gpms}");
    }
}

/// The latency of one load of a line that is in the L2 of module 0, its home, by the first compute unit of `module`.
fn latency(module: u32) -> f64 {
    let mut memory = HostMemory::default();
    let word = memory.alloc::<u32>(1);
    let kernel = |reader: u32| {
        Kernel::new("load", MODULES, 1, move |w| async move {
            if w.work_group() == reader {
                w.load_one(word, 0).await;
            }
        })
    };
    let result = run("nhcc", &config(Scale::Paper, &[]), vec![kernel(module), kernel(0)], memory);
    result.kernels[1].metrics["l1.load_latency_cycles"]
}

/// The parts of the latency: lookup in the L1, request, lookup in the L2, data, and an answer of three flits.
const LOCAL: u32 = 28 + (50 + 1) + 30 + 25 + (50 + 3);
/// The latency of a bank on the path: a lookup for the request, and a lookup and data for the answer.
const ON_THE_WAY: u32 = 30 + 30 + 25;

#[test]
fn the_least_latency_of_an_l2_hit_in_the_own_module_is_187_cycles() {
    assert_eq!(LOCAL, 187);
    assert_eq!(latency(0), f64::from(LOCAL));
}

#[test]
fn the_least_latency_of_another_module_adds_two_links_between_modules() {
    // 16 bytes and 144 bytes both take less than a cycle at 250 GB/s.
    let links = (40 + 1) + (40 + 1);
    assert_eq!(latency(1), f64::from(LOCAL + ON_THE_WAY + links));
}

#[test]
fn the_least_latency_of_another_gpu_adds_two_switches_and_the_links_before_and_behind_them() {
    let request = 1 + (400 + 1) + 1;
    // 144 bytes take 1.9 cycles at 100 GB/s.
    let answer = 1 + (400 + 2) + 1;
    assert_eq!(latency(4), f64::from(LOCAL + ON_THE_WAY + request + answer));
}

/// GPU 1 reads memory of GPU 0 as fast as it can.
fn stream(set: &[&str]) -> Simulated {
    let mut memory = HostMemory::default();
    let lines = 4096;
    let data = memory.alloc::<u32>(lines as usize * LANES);
    let touch = Kernel::new("touch", 1, 1, move |w| async move {
        for page in 0..lines * LANES as u32 / PAGE_WORDS {
            w.store_one(data, page * PAGE_WORDS, 1);
        }
    });
    let read = Kernel::new("read", 32, 8, move |w| async move {
        if w.id().gpu == 1 {
            let wave = (w.work_group() % 8) * 8 + w.id().wave;
            for round in 0..lines / 128 {
                let line = |load: u32| w.lane_ids() + (round * 128 + load * 64 + wave) * LANES as u32;
                w.join_all([0, 1].map(|load| w.load(data, line(load)))).await;
            }
        }
    });
    run("no-remote", &config(Scale::Quick, set), vec![read, touch], memory)
}

#[test]
fn links_between_gpus_move_what_is_configured_and_no_more() {
    let result = stream(&[]);
    let read = &result.kernels[1];
    let bytes = read.metrics["inter_gpu.bytes.ld"];
    assert_eq!(bytes, 4096.0 * 144.0);
    // One port of 6.25 GB/s at 1.3 GHz.
    let per_cycle = bytes / read.cycles as f64;
    let most = 6.25 / 1.3;
    assert!((0.8 * most..=most).contains(&per_cycle), "{per_cycle} of {most} bytes per cycle");
    let faster = stream(&["inter_gpu.megabytes_per_second=12500"]);
    assert!(faster.kernels[1].cycles < read.cycles * 6 / 10, "{} and {}", faster.kernels[1].cycles, read.cycles);
}

/// GPU 1 writes memory of GPU 0 as fast as it can.
fn flood(set: &[&str]) -> Simulated {
    let mut memory = HostMemory::default();
    let data = memory.alloc::<u32>(PAGE_WORDS as usize);
    let touch = Kernel::new("touch", 1, 1, move |w| async move { w.store_one(data, 0, 1) });
    let write = Kernel::new("write", 32, 8, move |w| async move {
        if w.id().gpu == 1 {
            for round in 0..32 {
                let line = (w.id().wave * 32 + round) % (PAGE_WORDS / LANES as u32);
                w.store(data, w.lane_ids() + line * LANES as u32, Lanes::splat(round));
            }
        }
    });
    run("no-remote", &config(Scale::Quick, set), vec![write, touch], memory)
}

#[test]
fn stores_wait_at_their_bank_while_too_much_waits_at_a_port() {
    assert!(flood(&[]).metrics["inter_gpm.stall_cycles"] > 0.0);
    assert_eq!(
        flood(&["inter_gpm.queue_bytes=10000000", "inter_gpu.queue_bytes=10000000"]).metrics["inter_gpm.stall_cycles"],
        0.0
    );
}

#[test]
fn loads_that_modules_of_a_gpu_could_share_are_counted() {
    let mut memory = HostMemory::default();
    let data = memory.alloc::<u32>(LANES * 2);
    let read = Kernel::new("read", MODULES, 1, move |w| async move {
        // Modules 4, 5 and 8 read one line of module 0, module 9 another.
        match w.work_group() {
            4 | 5 | 8 => drop(w.load_one(data, 0).await),
            9 => drop(w.load_one(data, LANES as u32).await),
            _ => {}
        }
    });
    let touch = Kernel::new("touch", 1, 1, move |w| async move { w.store_one(data, 0, 1) });
    let result = run("hmg", &config(Scale::Quick, &[]), vec![read, touch], memory);
    assert_eq!((result.metrics["inter_gpu.loads"], result.metrics["inter_gpu.loads_shared"]), (4.0, 2.0));
    assert_eq!(result.metrics["core.kernels"], 2.0);
}

#[test]
fn atomics_lose_no_update_on_any_number_of_gpus_and_modules() {
    for protocol in far_reaching() {
        for (gpus, gpms) in [(1, 1), (1, 4), (2, 1), (2, 2), (4, 4), (8, 4)] {
            let set = [&format!("hierarchy.gpus={gpus}")[..], &format!("hierarchy.gpms={gpms}")];
            let check = histogram(&config(Scale::Quick, &set), protocol).check;
            assert_eq!(check, Verdict::Checked, "{} on {gpus} x {gpms}", protocol.name());
        }
    }
}

#[test]
fn atomics_lose_no_update_where_everything_is_scarce() {
    let variants: &[&[&str]] = &[
        &["l1.mshrs=1", "l2.mshrs=3", "core.lsu_queue=1", "dram.queue=2", "network.vc_buffer_flits=1"],
        &["inter_gpm.queue_bytes=1", "inter_gpu.queue_bytes=1", "directory.entries=16"],
        &["l2.banks=4", "l2.bank_bytes=49152", "memory.placement=interleaved"],
        &["clocks.l2_mhz=900", "clocks.network_mhz=650", "l1.line_bytes=64"],
    ];
    for protocol in far_reaching() {
        for set in variants {
            assert_eq!(
                histogram(&config(Scale::Quick, set), protocol).check,
                Verdict::Checked,
                "{} {set:?}",
                protocol.name()
            );
        }
    }
}

#[test]
fn banks_that_all_wait_for_each_other_get_on() {
    for protocol in far_reaching() {
        let mut memory = HostMemory::default();
        let mut program = Synthetic::new(Pattern::RemoteHeavy, 64, 4, &mut memory);
        let result = simulate(&config(Scale::Quick, &["l2.mshrs=3"]), protocol, &mut program, memory).unwrap();
        assert_eq!(result.check, Verdict::Checked, "{}", protocol.name());
    }
}

#[test]
fn a_value_handed_to_all_gpus_behind_a_release_arrives() {
    for protocol in far_reaching().filter(|protocol| protocol.promises().contains(&Promise::Communication)) {
        let mut memory = HostMemory::default();
        let (value, flag) = (memory.alloc::<u32>(1), memory.alloc::<u32>(1));
        let seen = memory.alloc::<u32>(MODULES as usize);
        let kernel = Kernel::new("hand-over", MODULES, 1, move |w| async move {
            let me = w.work_group();
            // Everybody caches the old value first.
            w.load_one(value, 0).await;
            if me == 6 {
                w.alu(3000).await;
                w.store_one(value, 0, 42);
                w.store_release(flag, 0, 1, Scope::System).await;
            }
            while w.load_acquire(flag, 0, Scope::System).await == 0 {}
            let got = w.load_one(value, 0).await;
            w.store_one(seen, me, got);
        });
        let check = move |memory: &HostMemory| {
            let seen = memory.read(seen);
            if seen == [42; MODULES as usize] { Ok(()) } else { Err(Mismatch(format!("{seen:?}"))) }
        };
        let mut program = Once { kernels: vec![kernel], check };
        let result = simulate(&config(Scale::Quick, &[]), protocol, &mut program, memory).unwrap();
        assert_eq!(result.check, Verdict::Checked, "{}", protocol.name());
    }
}

#[test]
fn the_same_run_gives_the_same_statistics_bit_for_bit() {
    for protocol in far_reaching() {
        let run = || histogram(&config(Scale::Quick, &[]), protocol);
        assert_eq!(run(), run(), "{}", protocol.name());
    }
}

#[test]
fn a_protocol_of_one_module_is_refused_on_several() {
    let kernel = Kernel::new("nothing", 1, 1, |_| async {});
    let mut program = Once { kernels: vec![kernel], check: |_: &HostMemory| Ok(()) };
    let protocol = registry::find("gpu-vi").unwrap();
    let error = simulate(&config(Scale::Quick, &[]), protocol, &mut program, HostMemory::default()).unwrap_err();
    assert!(matches!(error, SimError::Unsupported(_)));
    let text = error.to_string();
    assert!(text.starts_with("GPU-VI is a protocol for the caches of one module; the system hmg has 16"), "{text}");
    assert!(text.contains("hint: --set hierarchy.gpus=1"), "{text}");
}

#[test]
fn a_protocol_of_one_module_is_refused_on_more_caches_than_it_tells_apart() {
    let machine = chorus_system::resolve("tc", Scale::Quick, &["core.count=65".to_owned()]).unwrap().config;
    let run = |name: &str| {
        let kernel = Kernel::new("nothing", 1, 1, |_| async {});
        let mut program = Once { kernels: vec![kernel], check: |_: &HostMemory| Ok(()) };
        simulate(&machine, registry::find(name).unwrap(), &mut program, HostMemory::default())
    };
    let text = run("mesi").unwrap_err().to_string();
    assert!(
        text.starts_with("MESI tells at most 64 private caches apart; the system tc has 65 (core.count)"),
        "{text}"
    );
    assert!(text.contains("hint: --set core.count=64"), "{text}");
    assert!(run("nhcc").is_ok());
}
