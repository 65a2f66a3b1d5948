//! Does the model have the latencies that the paper gives?

use chorus_kernel::{Buf, HostMemory, Kernel, Program, Verdict};
use chorus_protocol::registry::{self, PROTOCOLS, Protocol, Structure};
use chorus_sim::{Simulated, simulate};
use chorus_system::{Scale, resolve};

/// One wavefront loads one word `loads` times, each after the one before, with a kernel start in between.
struct Chase {
    word: Buf<u32>,
    loads: u32,
}

impl Program for Chase {
    fn next_kernel(&mut self, _: &HostMemory) -> Option<Kernel> {
        self.loads = self.loads.checked_sub(1)?;
        let word = self.word;
        Some(Kernel::new("chase", 1, 1, move |w| async move {
            w.load_one(word, 0).await;
        }))
    }

    fn check(&self, _: &HostMemory) -> Verdict {
        Verdict::Unchecked
    }
}

/// Protocols of the machine that the paper describes: without translation units.
fn protocols() -> impl Iterator<Item = &'static dyn Protocol> {
    PROTOCOLS.iter().copied().filter(|protocol| protocol.structure() == Structure::TwoLevels)
}

fn chase(protocol: &str, loads: u32) -> Simulated {
    let config = resolve("tc", Scale::Paper, &[]).unwrap().config;
    let mut memory = HostMemory::default();
    let word = memory.alloc::<u32>(1);
    simulate(&config, registry::find(protocol).unwrap(), &mut Chase { word, loads }, memory).unwrap()
}

fn latency(run: &Simulated, kernel: usize) -> f64 {
    run.kernels[kernel].metrics["l1.load_latency_cycles"]
}

#[test]
fn the_least_latency_of_memory_is_460_core_cycles() {
    for protocol in protocols() {
        assert_eq!(latency(&chase(protocol.name(), 1), 0), 460.0, "{}", protocol.name());
    }
}

/// Several compute units load one word, each long after the one before it.
struct Readers {
    word: Buf<u32>,
    units: u32,
    launched: bool,
}

impl Program for Readers {
    fn next_kernel(&mut self, _: &HostMemory) -> Option<Kernel> {
        let word = self.word;
        (!std::mem::replace(&mut self.launched, true)).then(|| {
            Kernel::new("readers", self.units, 1, move |w| async move {
                w.alu(3000 * w.work_group()).await;
                w.load_one(word, 0).await;
            })
        })
    }

    fn check(&self, _: &HostMemory) -> Verdict {
        Verdict::Unchecked
    }
}

/// The third reader is the first that finds the line at the L2 under every protocol: under MESI the second takes it
/// from the first, which has the only copy.
#[test]
fn the_least_latency_of_the_l2_is_340_core_cycles() {
    let config = resolve("tc", Scale::Paper, &[]).unwrap().config;
    for protocol in protocols() {
        let all = |units| {
            let mut memory = HostMemory::default();
            let word = memory.alloc::<u32>(1);
            let mut program = Readers { word, units, launched: false };
            latency(&simulate(&config, protocol, &mut program, memory).unwrap(), 0)
        };
        assert_eq!(all(3) - all(2), 340.0, "{}", protocol.name());
    }
}

#[test]
fn coherent_private_caches_keep_their_lines_across_kernels() {
    let config = resolve("tc", Scale::Paper, &[]).unwrap().config;
    for protocol in ["gpu-vi", "mesi", "ideal-coh"] {
        assert_eq!(latency(&chase(protocol, 2), 1), f64::from(config.l1.latency_cycles), "{protocol}");
    }
}
