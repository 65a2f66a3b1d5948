//! Does an atomic order nothing but itself, or everything before it and behind it, as `core.atomic_order` says?

use chorus_kernel::{Buf, Cpu, HostMemory, Kernel, Lanes, Mask, Mismatch, Verdict, Wave};
use chorus_protocol::access::{AtomicOp, Scope};
use chorus_protocol::registry;
use chorus_sim::{Simulated, simulate};
use chorus_system::{Scale, resolve};

use crate::once::Once;

/// Systems and protocols whose wavefronts may read old copies of what others have written.
const MACHINES: [(&str, &str); 6] = [
    ("spandex", "smg"),
    ("spandex", "smd"),
    ("spandex", "sdg"),
    ("spandex", "sdd"),
    ("spandex-hier", "hmesi-gpu"),
    ("spandex-hier", "hmesi-denovo"),
];

/// Systems and protocols among them whose CPU threads may read old copies, too.
const DENOVO_CPUS: [(&str, &str); 2] = [("spandex", "sdg"), ("spandex", "sdd")];

/// The words of the test. Each is 0 at first and lies in a line of its own.
#[derive(Clone, Copy)]
struct Data {
    /// Written before the first atomic.
    before: Buf<u32>,
    /// The word that the partner writes before its answer.
    behind: Buf<u32>,
    ready: Buf<u32>,
    answer: Buf<u32>,
    /// The values that each partner has read.
    seen: Buf<u32>,
}

/// Takes a copy of a word, writes another word, announces this with an atomic, and waits with atomics for the answer.
async fn wavefront_asks(w: Wave, data: Data) {
    let add = |buf, value| {
        let (at, value) = (Lanes::splat(0), Lanes::splat(value));
        w.atomic_in(Scope::System, AtomicOp::Add, Mask::lane(0), buf, at, value)
    };
    w.load_one(data.behind, 0).await;
    w.store_one(data.before, 0, 7u32);
    add(data.ready, 1).await;
    while add(data.answer, 0).await[0] == 0 {}
    let seen = w.load_one(data.behind, 0).await;
    w.store_one(data.seen, 0, seen);
}

/// The CPU thread that does what [`wavefront_asks`] does.
async fn thread_asks(cpu: Cpu, data: Data) {
    cpu.load(data.behind, 0).await;
    cpu.store(data.before, 0, 7);
    cpu.atomic(AtomicOp::Add, data.ready, 0, 1).await;
    while cpu.atomic(AtomicOp::Add, data.answer, 0, 0).await == 0 {}
    let seen = cpu.load(data.behind, 0).await;
    cpu.store(data.seen, 0, seen);
}

/// Reads the word that was written before the atomic, writes the word that the partner has a copy of, and answers. It
/// orders its operations.
async fn wavefront_answers(w: Wave, data: Data) {
    while w.load_acquire(data.ready, 0, Scope::System).await == 0 {}
    let seen = w.load_one(data.before, 0).await;
    w.store_one(data.seen, 64, seen);
    w.store_one(data.behind, 0, 7);
    w.store_release(data.answer, 0, 1, Scope::System).await;
}

/// The CPU thread that does what [`wavefront_answers`] does.
async fn thread_answers(cpu: Cpu, data: Data) {
    while cpu.load_acquire(data.ready, 0).await == 0 {}
    let seen = cpu.load(data.before, 0).await;
    cpu.store(data.seen, 64, seen);
    cpu.store(data.behind, 0, 7);
    cpu.store_release(data.answer, 0, 1).await;
}

fn by_wavefront(data: Data) -> Kernel {
    Kernel::new("ask", 1, 1, move |w| wavefront_asks(w, data)).with_cpu(1, move |cpu| thread_answers(cpu, data))
}

fn by_thread(data: Data) -> Kernel {
    Kernel::new("ask", 1, 1, move |w| wavefront_answers(w, data)).with_cpu(1, move |cpu| thread_asks(cpu, data))
}

/// Runs the kernel and checks the values that were read: behind the atomics by one partner, before them by the other.
fn run(order: &str, (system, protocol): (&str, &str), kernel: fn(Data) -> Kernel, expected: [u32; 2]) -> Simulated {
    let config = resolve(system, Scale::Quick, &[format!("core.atomic_order={order}")]).unwrap().config;
    let mut memory = HostMemory::default();
    let [before, behind, ready, answer, seen] = [(); 5].map(|()| memory.alloc(128));
    let check = move |memory: &HostMemory| {
        let seen = memory.read(seen);
        let got = [seen[0], seen[64]];
        if got == expected { Ok(()) } else { Err(Mismatch(format!("{got:?}"))) }
    };
    let kernels = vec![kernel(Data { before, behind, ready, answer, seen })];
    simulate(&config, registry::find(protocol).unwrap(), &mut Once { kernels, check }, memory).unwrap()
}

#[test]
fn relaxed_atomics_leave_old_copies_and_waiting_stores_where_they_are() {
    for machine in MACHINES {
        assert_eq!(run("relaxed", machine, by_wavefront, [0, 0]).check, Verdict::Checked, "{machine:?}");
    }
    for machine in DENOVO_CPUS {
        assert_eq!(run("relaxed", machine, by_thread, [0, 0]).check, Verdict::Checked, "{machine:?}");
    }
}

#[test]
fn acq_rel_atomics_publish_what_was_stored_before_and_drop_old_copies() {
    for machine in MACHINES {
        assert_eq!(run("acq-rel", machine, by_wavefront, [7, 7]).check, Verdict::Checked, "{machine:?}");
        assert_eq!(run("acq-rel", machine, by_thread, [7, 7]).check, Verdict::Checked, "{machine:?}");
    }
}

/// Fences of a wavefront that makes atomics with these lanes.
fn fences(order: &str, lanes: Mask) -> f64 {
    let config = resolve("spandex", Scale::Quick, &[format!("core.atomic_order={order}")]).unwrap().config;
    let mut memory = HostMemory::default();
    let words = memory.alloc::<u32>(32);
    let kernel = Kernel::new("add", 1, 1, move |w| async move {
        for _ in 0..3 {
            drop(w.atomic_where(AtomicOp::Add, lanes, words, w.lane_ids(), Lanes::splat(1)));
        }
    });
    let mut program = Once { kernels: vec![kernel], check: |_: &HostMemory| Ok(()) };
    simulate(&config, registry::find("sdd").unwrap(), &mut program, memory).unwrap().metrics["core.fences"]
}

#[test]
fn an_atomic_has_a_fence_on_each_side_if_it_touches_anything() {
    assert_eq!(fences("acq-rel", Mask::ALL), 6.0);
    assert_eq!(fences("acq-rel", Mask::NONE), 0.0);
    assert_eq!(fences("relaxed", Mask::ALL), 0.0);
}
