//! The coherence of NVIDIA's Hopper GPUs, as probes of an H200 show it.
//!
//! The L2 is two halves, and every line has its home in one of them. In the words of Chorus these are two modules, kept
//! coherent as in [`nhcc`](super::nhcc), with four differences:
//!
//! - Stores take a place in private caches for the bytes that they write, and change copies that are there.
//! - Loads of any scope may hit in the half of their module, where an invalidation may still be on its way to the copy.
//!   So not all threads see a write at the same moment.
//! - Homes keep what is stored until its place is needed.
//! - A release asks the other half only if something was stored there since it was asked last.
//!
//! Each home notes for each of its lines whether the other half has loaded it. No probe shows that a note is ever given
//! up. `docs/protocols/hopper.md` lists the probes and what each of them says.

use crate::directory::DirectoryKind;
use crate::protocols::scoped::declarations::SCOPED;
use crate::protocols::scoped::faults::L1Fault;
use crate::protocols::scoped::l1::Acquire;
use crate::protocols::scoped::policy::{
    Asked, Coherence, GROUPS, L2Policy, PLAIN, Policy, PrivateStores, Sharing, Tracking, WideLoads, WriteBack,
};
use crate::protocols::scoped::protocol::ScopedProtocol;
use crate::protocols::scoped::seeds::{OF_READERS_ALONE, ScopedSeed};
use crate::registry::{Declaration, FaultSpec, Promise};
use crate::rows::appended;
use crate::seed::{in_l1, specs};

/// A note for each line of a home's memory.
const NOTES: Tracking = Tracking {
    entries: DirectoryKind::Unbounded,
    lines_per_entry: Some(1),
    sharing: Sharing::Loads,
    wide_loads: WideLoads::Anywhere,
    ..GROUPS
};

const POLICY: Policy = Policy {
    acquire: Acquire::DropsPrivate,
    stores: PrivateStores::LeaveBytes,
    l2: L2Policy {
        coherence: Coherence::Directory(NOTES),
        write_back: WriteBack::AtHome,
        asked: Asked::WhereStored,
        ..PLAIN
    },
};

/// Mistakes that need parts of lines in private caches.
const OWN: [ScopedSeed; 6] = [
    in_l1(L1Fault::PartHit, "part-hit", "a load hits in a part of a private copy that lacks its bytes"),
    in_l1(L1Fault::WholePart, "whole-part", "a store to an absent line takes the whole private line for stored"),
    in_l1(L1Fault::KeptParts, "kept-parts", "an acquire keeps the bytes that stores have left in a private cache"),
    in_l1(L1Fault::StoredLost, "stored-lost", "a line that arrives overwrites what was stored in its place meanwhile"),
    in_l1(L1Fault::OwnStore, "own-store", "a load that waits for a line gets what its own thread stores later"),
    in_l1(L1Fault::WaitsForStored, "waits-for-stored", "a load waits for a line, though some of its bytes were stored"),
];

const SEEDS: [ScopedSeed; OF_READERS_ALONE.len() + OWN.len()] = appended(&OF_READERS_ALONE, &OWN);

static FAULTS: [FaultSpec; SEEDS.len()] = specs(&SEEDS);

static DECLARATION: Declaration = Declaration {
    name: "hopper",
    title: "Hopper",
    summary: "Private caches that keep stored bytes over an L2 of two halves with copies of each other's lines: NVIDIA's Hopper GPUs, as probes show them.",
    citation: "probes of an H200 by this project, 2026, docs/protocols/hopper.md, section What the probes show",
    promises: &[Promise::Tracking, Promise::Progress, Promise::ReleaseAtHomes, Promise::Communication],
    faults: &FAULTS,
    ..SCOPED
};

/// The protocol of Hopper GPUs, for the registry.
pub static HOPPER: ScopedProtocol =
    ScopedProtocol { declaration: &DECLARATION, extends: None, policy: POLICY, seeds: &SEEDS };
