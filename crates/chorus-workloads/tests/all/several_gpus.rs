//! Do programs compute their references on machines of any shape? Under the protocols of several GPUs that keep caches
//! coherent, on 1, 2, 4 and 8 GPUs with 1, 2 and 4 modules each, on 2 to 16 GPUs of the REC paper, and on 2 to 16
//! chiplets of the CPElide paper.

use chorus_protocol::registry::{PROTOCOLS, Protocol, Reach, Values, find};
use chorus_workloads::{Paper, Workload};

use crate::run::cycles;

/// GPUs and modules of each.
const SHAPES: [(u32, u32); 12] =
    [(1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (2, 4), (4, 1), (4, 2), (4, 4), (8, 1), (8, 2), (8, 4)];

/// Numbers of GPUs that the REC paper's workloads run on.
const REC_GPUS: [u32; 4] = [2, 4, 8, 16];

/// The machines of the CPElide paper, with 2 to 16 chiplets and with one that has everything.
const CHIPLETS: [&str; 7] =
    ["cpelide-2", "cpelide", "cpelide-6", "cpelide-7", "cpelide-8", "cpelide-16", "cpelide-mono"];

/// The workloads that a paper measures, and others by name.
fn workloads(paper: Paper, others: &[&str]) -> Vec<&'static dyn Workload> {
    let chosen = |workload: &&dyn Workload| workload.papers().contains(&paper) || others.contains(&workload.name());
    chorus_workloads::workloads().filter(chosen).collect()
}

fn protocols() -> Vec<&'static dyn Protocol> {
    let coherent =
        |protocol: &&dyn Protocol| protocol.reach() == Reach::AnyMachine && protocol.values() == Values::Carried;
    PROTOCOLS.iter().copied().filter(coherent).collect()
}

fn run_on_shape(system: &str, workload: &dyn Workload, protocol: &'static dyn Protocol, (gpus, gpms): (u32, u32)) {
    let shape = [format!("hierarchy.gpus={gpus}"), format!("hierarchy.gpms={gpms}")];
    cycles(system, &shape, protocol, &[], workload);
}

/// One program on each shape, so that all shapes and protocols have their turn.
#[test]
fn results_are_right_on_a_sample_of_shapes_under_every_protocol() {
    let (workloads, protocols) = (workloads(Paper::Hmg, &[]), protocols());
    assert_eq!(workloads.len(), 20);
    for (index, shape) in SHAPES.into_iter().enumerate() {
        run_on_shape("hmg", workloads[(index * 7) % workloads.len()], protocols[index % protocols.len()], shape);
    }
}

/// Every program once, so that all directories and numbers of GPUs have their turn.
#[test]
fn results_of_the_rec_workloads_are_right_on_2_to_16_gpus_under_every_directory() {
    let workloads = workloads(Paper::Rec, &["bitonic"]);
    assert_eq!(workloads.len(), 15);
    let directories = ["dir", "dir-hmg", "rec", "dir-ideal"].map(|name| find(name).unwrap());
    for (index, workload) in workloads.into_iter().enumerate() {
        run_on_shape("rec", workload, directories[index % 4], (REC_GPUS[(index + index / 4) % 4], 1));
    }
}

/// Every program once, so that all protocols and numbers of chiplets have their turn.
#[test]
fn results_of_the_cpelide_workloads_are_right_on_1_to_16_chiplets_under_every_protocol() {
    let workloads = workloads(Paper::CpElide, &[]);
    assert_eq!(workloads.len(), 24);
    let protocols = ["viper-chiplet", "cpelide", "cpelide-range", "nhcc-wt", "nhcc-wb"].map(|name| find(name).unwrap());
    for (index, workload) in workloads.into_iter().enumerate() {
        cycles(CHIPLETS[index % CHIPLETS.len()], &[], protocols[index % protocols.len()], &[], workload);
    }
}
