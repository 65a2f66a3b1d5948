//! Do stores wait in store buffers, become one, and reach other cores after a release?

use chorus_kernel::{Buf, HostMemory, Kernel, Lanes, Mask, Mismatch, Verdict, Wave};
use chorus_protocol::access::{AtomicOp, Scope};
use chorus_protocol::registry;
use chorus_sim::{Simulated, simulate};
use chorus_system::{Scale, resolve};

use crate::once::Once;

/// The systems and protocols of these tests.
const MACHINES: [(&str, &str); 11] = [
    ("tc", "mesi"),
    ("tc", "gpu-vi"),
    ("tc", "gpu-vini"),
    ("tc", "tc-strong"),
    ("spandex", "smg"),
    ("spandex", "smd"),
    ("spandex", "sdg"),
    ("spandex", "sdd"),
    ("spandex", "smv"),
    ("spandex-hier", "hmesi-gpu"),
    ("spandex-hier", "hmesi-denovo"),
];

/// Runs kernels on two CPU cores and two compute units that all have store buffers of this many lines.
fn run_with(
    entries: u32,
    (system, protocol): (&str, &str),
    kernel: Kernel,
    memory: HostMemory,
    check: impl Fn(&HostMemory) -> Result<(), Mismatch>,
) -> Simulated {
    let set = [
        "core.count=2".to_string(),
        "cpu.count=2".to_string(),
        "cpu.clock_mhz=2000".to_string(),
        format!("core.store_buffer_entries={entries}"),
        format!("cpu.store_buffer_entries={entries}"),
    ];
    let config = resolve(system, Scale::Quick, &set).unwrap().config;
    let mut program = Once { kernels: vec![kernel], check };
    simulate(&config, registry::find(protocol).unwrap(), &mut program, memory).unwrap()
}

fn equal(got: Vec<u32>, expected: impl Iterator<Item = u32>) -> Result<(), Mismatch> {
    let wrong = got.iter().zip(expected).position(|(&got, expected)| got != expected);
    wrong.map_or(Ok(()), |at| Err(Mismatch(format!("element {at} is {}", got[at]))))
}

/// Words that a thread writes before it raises a flag.
const WORDS: u32 = 300;

/// A thread writes many words, one of them in every other line, and raises a flag. A work-group then reads the words
/// and answers. The thread reads the answers.
fn hand_over(data: Buf<u32>, answers: Buf<u32>, seen: Buf<u32>, flags: Buf<u32>) -> Kernel {
    let gpu = move |w: Wave| async move {
        while w.load_acquire(flags, 0, Scope::System).await == 0 {}
        for first in (0..WORDS).step_by(32) {
            let at = w.lane_ids() + first;
            let values = w.load_where(at.below(WORDS), data, at * 17).await;
            w.store_where(at.below(WORDS), answers, at, values * 3);
        }
        w.store_release(flags, 64, 1, Scope::System).await;
    };
    Kernel::new("hand-over", 1, 1, gpu).with_cpu(1, move |cpu| async move {
        for word in 0..WORDS {
            cpu.store(data, word * 17, word + 1);
        }
        cpu.store_release(flags, 0, 1).await;
        while cpu.load_acquire(flags, 64).await == 0 {}
        for word in 0..WORDS {
            let answer = cpu.load(answers, word).await;
            cpu.store(seen, word, answer);
        }
    })
}

#[test]
fn what_is_written_before_a_release_is_read_after_the_acquire() {
    for machine in MACHINES {
        for entries in [1, 4, 128] {
            let mut memory = HostMemory::default();
            let data = memory.alloc(WORDS as usize * 17);
            let [answers, seen] = [(); 2].map(|()| memory.alloc(WORDS as usize));
            let kernel = hand_over(data, answers, seen, memory.alloc(128));
            let check = move |memory: &HostMemory| equal(memory.read(seen), (1..).map(|word| 3 * word));
            assert_eq!(
                run_with(entries, machine, kernel, memory, check).check,
                Verdict::Checked,
                "{machine:?} {entries}"
            );
        }
    }
}

#[test]
fn wavefronts_of_one_unit_see_the_latest_of_stores_and_atomics_to_a_word() {
    for machine in MACHINES {
        let mut memory = HostMemory::default();
        let (words, out) = (memory.alloc::<u32>(128), memory.alloc::<u32>(128));
        let kernel = Kernel::new("mix", 1, 4, move |w| async move {
            let at = w.local_ids();
            w.store(words, at, at);
            // Misaligned, so that a load touches what waits and what does not, of this wavefront and the next one.
            w.barrier().await;
            let beside = w.load_where(at.below(127), words, at + 1).await;
            w.barrier().await;
            w.store(words, at, beside);
            w.atomic_where(AtomicOp::Add, Mask::ALL, words, at, Lanes::splat(1000)).await;
            w.store_where(Mask(0x0f0f_0f0f), words, at, beside + 5000);
            let last = w.load(words, at).await;
            w.store(out, at, last);
        });
        let expected = (0..128u32).map(|at| {
            let beside = if at < 127 { at + 1 } else { 0 };
            if 0x0f0f_0f0f_u32 >> (at % 32) & 1 == 1 { beside + 5000 } else { beside + 1000 }
        });
        let check = move |memory: &HostMemory| equal(memory.read(out), expected.clone());
        assert_eq!(run_with(2, machine, kernel, memory, check).check, Verdict::Checked, "{machine:?}");
    }
}

/// Stores that reach private caches when a thread writes `lines` lines four times each.
fn stores(entries: u32, lines: u32) -> f64 {
    let mut memory = HostMemory::default();
    let data = memory.alloc::<u32>(32 * lines as usize);
    let kernel = Kernel::new("write", 0, 1, |_| async {}).with_cpu(1, move |cpu| async move {
        for word in 0..4 {
            for line in 0..lines {
                cpu.store(data, 32 * line + word, 1 + word);
            }
        }
    });
    let check = move |memory: &HostMemory| {
        let word = |at: u32| if at % 32 < 4 { 1 + at % 32 } else { 0 };
        equal(memory.read(data), (0..32 * lines).map(word))
    };
    let ran = run_with(entries, ("tc", "mesi"), kernel, memory, check);
    assert_eq!(ran.check, Verdict::Checked);
    ran.metrics["l1.stores"]
}

#[test]
fn stores_to_a_line_that_waits_become_one() {
    assert_eq!(stores(0, 8), 32.0);
    assert_eq!(stores(8, 8), 8.0);
    assert_eq!(stores(4, 8), 32.0, "every line has left when its next word comes");
}

#[test]
fn a_load_of_what_waits_does_not_reach_the_private_cache() {
    let mut memory = HostMemory::default();
    let (data, out) = (memory.alloc::<u32>(32), memory.alloc::<u32>(32));
    let kernel = Kernel::new("read", 0, 1, |_| async {}).with_cpu(1, move |cpu| async move {
        cpu.store(data, 3, 7);
        let seen = cpu.load(data, 3).await;
        cpu.store(out, 0, seen);
    });
    let check = move |memory: &HostMemory| equal(memory.read(out), [7].into_iter());
    let ran = run_with(4, ("tc", "mesi"), kernel, memory, check);
    assert_eq!((ran.check, ran.metrics["l1.loads"]), (Verdict::Checked, 0.0));
}

#[test]
fn spinning_wavefronts_do_not_hold_up_the_release_of_another_one() {
    for machine in MACHINES {
        let mut memory = HostMemory::default();
        let (lock, count) = (memory.alloc::<u32>(1), memory.alloc::<u32>(1));
        let kernel = Kernel::new("lock", 4, 4, move |w| async move {
            let (at, one) = (Lanes::splat(0), Lanes::splat(1u32));
            while w.atomic_in(Scope::System, AtomicOp::Exchange, Mask::lane(0), lock, at, one).await[0] == 1 {}
            w.fence(Scope::System).await;
            let seen = w.load_one(count, 0).await;
            w.store_one(count, 0, seen + 1);
            w.store_release(lock, 0, 0, Scope::System).await;
        });
        let check = move |memory: &HostMemory| equal(memory.read(count), [16].into_iter());
        assert_eq!(run_with(8, machine, kernel, memory, check).check, Verdict::Checked, "{machine:?}");
    }
}
