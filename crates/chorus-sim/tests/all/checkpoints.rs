//! Does a run that goes on from a checkpoint equal the run that was never interrupted, to the bit, on every machine and
//! under every protocol?

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use chorus_kernel::generator::SplitMix64;
use chorus_kernel::{Buf, HostMemory, Kernel, LANES, Lanes, Mask, Program, Verdict};
use chorus_protocol::access::{AtomicOp, Scope};
use chorus_protocol::registry::{PROTOCOLS, Protocol, find};
use chorus_ptx::{Device, GLOBAL_MEMORY, Launch, Memory, Module};
use chorus_sim::{Checkpoints, Noted, Settings, SimError, Simulated, Stream, Watch, simulate_watched};
use chorus_system::{SYSTEMS, Scale, SystemConfig, resolve};

/// Words that kernels work on: more than small caches hold.
const WORDS: u32 = 2048;
/// Counters that all threads add to.
const COUNTERS: u32 = 40;

/// Loads, stores, atomics with and without an answer, fences, barriers, local data and lanes that part.
const PTX: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry mix(.param .u64 data, .param .u32 shift) {
    .reg .b32 %r<20>; .reg .b64 %l<8>; .reg .pred %p<4>;
    .shared .align 4 .b8 s[256];
    ld.param.u64 %l1, [data];
    ld.param.u32 %r9, [shift];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    mov.u32 %r5, 0;
    mov.u32 %r10, s;
    shl.b32 %r11, %r1, 2;
    add.u32 %r12, %r10, %r11;
    xor.b32 %r13, %r11, 252;
    add.u32 %r13, %r10, %r13;
LOOP:
    mad.lo.u32 %r6, %r5, 97, %r4;
    mad.lo.u32 %r6, %r9, 61, %r6;
    and.b32 %r6, %r6, 2047;
    mul.wide.u32 %l2, %r6, 4;
    add.u64 %l3, %l1, %l2;
    ld.global.u32 %r7, [%l3];
    add.u32 %r7, %r7, %r4;
    st.shared.u32 [%r12], %r7;
    bar.sync 0;
    ld.shared.u32 %r8, [%r13];
    rem.u32 %r14, %r8, 40;
    mul.wide.u32 %l4, %r14, 4;
    add.u64 %l4, %l1, %l4;
    atom.relaxed.gpu.global.add.u32 %r15, [%l4+8192], 1;
    and.b32 %r16, %r15, 1;
    setp.eq.u32 %p1, %r16, 0;
    @%p1 bra ODD;
    st.global.u32 [%l3], %r8;
    fence.acq_rel.gpu;
ODD:
    red.relaxed.gpu.global.add.u32 [%l4+8192], %r16;
    bar.sync 0;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p2, %r5, 3;
    @%p2 bra LOOP;
    ret;
}
";

/// A program that launches kernels in PTX and async ones, as many as a word of memory tells it, and shows memory at its
/// end.
struct Mixed {
    data: Buf<u32>,
    module: Module,
    launched: u32,
    /// Whether all kernels are in PTX.
    only_ptx: bool,
    seen: RefCell<Vec<u32>>,
}

impl Mixed {
    fn new(only_ptx: bool, memory: &mut HostMemory) -> Mixed {
        let values: Vec<u32> = (0..WORDS + COUNTERS).map(|word| word.wrapping_mul(2_654_435_761) >> 7).collect();
        let module = Module::parse("mix.ptx", PTX).unwrap();
        Mixed { data: memory.alloc_from(&values), module, launched: 0, only_ptx, seen: RefCell::default() }
    }

    fn ptx(&self) -> Kernel {
        let address = GLOBAL_MEMORY + u64::from(self.data.start()) * 4;
        let arguments = vec![address.to_le_bytes().to_vec(), self.launched.to_le_bytes().to_vec()];
        let (grid, block) = ([9, 1, 1], [64, 1, 1]);
        let launch = Launch { grid, block, dynamic_shared_bytes: 0, arguments, device: Device::Machine };
        let end = address + self.data.len() as u64 * 4;
        let memory = Memory { buffers: Arc::new(std::iter::once(address..end).collect()), variables: end };
        self.module.entry("mix").unwrap().kernel(&launch, &memory).unwrap().0
    }

    fn asynchronous(&self) -> Kernel {
        let data = self.data;
        Kernel::new("async", 12, 2, move |w| async move {
            let at = w.global_ids().map(|id| (id * 5 + 3) % WORDS);
            let values = w.load(data, at).await;
            let counters = values % COUNTERS + WORDS;
            w.atomic_in(Scope::System, AtomicOp::Add, Mask::ALL, data, counters, Lanes::splat(1)).await;
            w.barrier().await;
            w.store(data, w.global_ids().map(|id| id % WORDS), values + w.lane_ids());
        })
        .lds(4 * LANES as u32)
    }
}

impl Program for Mixed {
    fn next_kernel(&mut self, memory: &HostMemory) -> Option<Kernel> {
        // What the host reads decides how many kernels there are.
        let count = 3 + memory.get(self.data, WORDS as usize) % 2;
        self.launched += 1;
        match self.launched {
            launched if launched > count => None,
            launched if self.only_ptx || launched % 2 == 0 => Some(self.ptx()),
            _ => Some(self.asynchronous()),
        }
    }

    fn check(&self, memory: &HostMemory) -> Verdict {
        *self.seen.borrow_mut() = memory.read(self.data);
        Verdict::Unchecked
    }
}

/// Counts the turns of a run, and keeps checkpoints behind some of them.
#[derive(Default)]
struct Moments {
    turns: AtomicU64,
    wanted: Vec<u64>,
    kept: Mutex<Vec<Vec<u8>>>,
}

impl Checkpoints for Moments {
    fn are_due(&self) -> bool {
        let turn = self.turns.fetch_add(1, Ordering::Relaxed);
        let kept = self.kept.lock().unwrap().len();
        self.wanted.get(kept).is_some_and(|&wanted| wanted <= turn)
    }

    fn keep(&self, state: &[u8]) {
        self.kept.lock().unwrap().push(state.to_vec());
    }
}

type Outcome = (Simulated, Noted, Vec<u32>);

/// A machine, a protocol on it, and the number of threads.
#[derive(Clone, Copy)]
struct Case<'c> {
    config: &'c SystemConfig,
    protocol: &'static dyn Protocol,
    only_ptx: bool,
    threads: u32,
}

impl Case<'_> {
    /// A run with everything that can be noted beside counters.
    fn run(self, moments: Option<&Moments>, resume: Option<&[u8]>) -> Result<Outcome, SimError> {
        let mut memory = HostMemory::aligned(self.config.memory.alignment_bytes);
        let mut program = Mixed::new(self.only_ptx, &mut memory);
        let settings =
            Settings { threads: self.threads, check_annotations: false, ..Settings::defaults(self.protocol) };
        let watch = Watch {
            every: Some(1000),
            distributions: true,
            sharing: true,
            checkpoints: moments.map(|moments| moments as &dyn Checkpoints),
            resume,
            ..Watch::default()
        };
        let modules = 0..self.config.hierarchy.modules() as u16;
        let streams = &mut [Stream { program: &mut program, modules }];
        let (simulated, noted) = simulate_watched(self.config, self.protocol, settings, watch, streams, memory)?;
        Ok((simulated, noted, program.seen.take()))
    }

    /// Compares a run with one that keeps checkpoints at random moments, with those that go on from each of them, and
    /// with those that go on from checkpoints which such a run keeps. Returns how many checkpoints there were.
    fn check(self, seed: u64) -> usize {
        let name = format!("{} on {} with seed {seed}", self.protocol.name(), self.config.name);
        let counting = Moments::default();
        let expected = match self.run(Some(&counting), None) {
            Ok(expected) => expected,
            Err(SimError::Unsupported(_)) => return 0,
            Err(error) => panic!("{name}: {error}"),
        };
        let same = |found: Outcome, how: &str| {
            assert_eq!(found.0, expected.0, "{name}, {how}");
            assert!(found.1 == expected.1, "{name}, {how}: notes differ");
            assert!(found.2 == expected.2, "{name}, {how}: memory differs");
        };
        same(self.run(None, None).unwrap(), "without anybody who asks");
        let mut random = SplitMix64::new(seed);
        let turns = counting.turns.into_inner() as u32;
        let mut moment = || u64::from(random.below(turns));
        let mut wanted = vec![moment(), moment()];
        wanted.sort_unstable();
        let keeping = Moments { wanted, ..Moments::default() };
        same(self.run(Some(&keeping), None).unwrap(), "with checkpoints");
        let kept = keeping.kept.into_inner().unwrap();
        for state in &kept {
            same(self.run(None, Some(state)).unwrap(), "from a checkpoint");
        }
        if let Some(first) = kept.first() {
            let keeping = Moments { wanted: vec![moment() / 2], ..Moments::default() };
            same(self.run(Some(&keeping), Some(first)).unwrap(), "from a checkpoint, with another");
            for state in keeping.kept.into_inner().unwrap() {
                same(self.run(None, Some(&state)).unwrap(), "from a checkpoint of a run from a checkpoint");
            }
        }
        kept.len()
    }
}

/// Checks protocols on a machine: one of every `step`, from number `first` on. Returns how many the machine can have.
fn check_protocols(machine: &str, set: &[&str], (first, step): (usize, usize)) -> usize {
    let set: Vec<String> = set.iter().map(|text| text.to_string()).collect();
    let config = resolve(machine, Scale::Quick, &set).unwrap().config;
    let chosen = PROTOCOLS.iter().enumerate().skip(first % step).step_by(step);
    let kept = chosen.map(|(number, &protocol)| {
        // Programs of several kernels, all in PTX or every other one.
        let case = Case { config: &config, protocol, only_ptx: number % 2 == 0, threads: 1 };
        case.check((1000 * first + number) as u64)
    });
    kept.filter(|&kept| kept > 0).count()
}

/// Machines whose caches are organised in different ways.
const KINDS: [&str; 6] = ["tc", "hmg", "rec", "cpelide", "spandex", "spandex-hier"];

#[test]
fn every_protocol_goes_on_from_checkpoints_on_every_kind_of_machine() {
    let checked: usize = KINDS.iter().map(|machine| check_protocols(machine, &[], (0, 1))).sum();
    assert!(checked > 2 * PROTOCOLS.len(), "only {checked} machines with protocols");
}

#[test]
fn every_other_machine_goes_on_from_checkpoints() {
    // REC's protocols alone tell more than 64 caches apart, as a machine of 64 GPUs has.
    let others = SYSTEMS.iter().filter(|system| !KINDS.contains(&system.name) && system.name != "rec-64gpu");
    for (first, system) in others.enumerate() {
        assert!(check_protocols(system.name, &[], (first, 4)) > 0, "no protocol is for {}", system.name);
    }
}

#[test]
fn parts_that_few_machines_have_are_in_checkpoints() {
    for (first, set) in [
        &["timing.jitter=7"][..],
        &["core.store_buffer_entries=4"],
        &["l1.line_bytes=64"],
        &["l1.sector_bytes=32"],
        &["l1.banks=4", "core.scheduler=greedy-then-oldest"],
        &["network.kind=mesh", "network.width=3", "network.latency_cycles=3", "network.diameter_cycles=9"],
        &["l1.mshrs=1", "l2.mshrs=1", "core.lsu_queue=1", "dram.queue=2", "network.vc_buffer_flits=1"],
    ]
    .into_iter()
    .enumerate()
    {
        assert!(check_protocols("tc", set, (first, 6)) > 0, "{set:?}");
    }
}

#[test]
fn a_machine_on_several_threads_goes_on_from_checkpoints() {
    for (machine, protocol) in [("tc", "gpu-vi"), ("hmg", "hmg")] {
        let config = resolve(machine, Scale::Quick, &[]).unwrap().config;
        let case = Case { config: &config, protocol: find(protocol).unwrap(), only_ptx: true, threads: 2 };
        assert!(case.check(7) > 0, "{protocol} on {machine}");
    }
}

#[test]
fn a_state_that_is_cut_short_or_of_another_machine_is_refused() {
    let [config, other] =
        ["core.count=15", "core.count=14"].map(|set| resolve("tc", Scale::Quick, &[set.to_owned()]).unwrap().config);
    let case = Case { config: &config, protocol: find("gpu-vi").unwrap(), only_ptx: true, threads: 1 };
    let keeping = Moments { wanted: vec![100], ..Moments::default() };
    case.run(Some(&keeping), None).unwrap();
    let state = keeping.kept.into_inner().unwrap().remove(0);
    let refused = |case: Case<'_>, state: &[u8]| matches!(case.run(None, Some(state)), Err(SimError::Damaged(_)));
    for share in 0..16 {
        assert!(refused(case, &state[..state.len() * share / 16]), "{share} of 16 parts");
    }
    assert!(refused(case, &[&state[..], &[0]].concat()), "a byte too many");
    assert!(refused(Case { config: &other, ..case }, &state), "a machine with fewer compute units");
}
