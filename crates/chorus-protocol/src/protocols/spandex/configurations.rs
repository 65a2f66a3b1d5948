//! The configurations of the Spandex paper (Table V), and others that its interface allows.

use crate::protocols::spandex::device::{Device, Fleet};
use crate::protocols::spandex::protocol::{
    FLAT, HIERARCHICAL_MESI, HIERARCHICAL_SPANDEX, PARAMETERS_OF_DENOVO, PARAMETERS_OF_OWNERS_BEHIND_L2,
    SpandexProtocol,
};
use crate::protocols::spandex::seeds::{Group, count, specs};
use crate::protocols::spandex::tu::gpu_vi::messages::MESSAGES as WITH_GPU_VI;
use crate::registry::{Declaration, FaultSpec, Structure};

const GPU_BEHIND_MESI: [Group; 2] = [Group::Llc, Group::Gpu];
const DENOVO_BEHIND_MESI: [Group; 5] = [Group::Llc, Group::Owned, Group::Words, Group::DeNovo, Group::DeNovoUnit];
const MESI_AND_GPU: [Group; 8] =
    [Group::Llc, Group::Owned, Group::Through, Group::Shared, Group::Mesi, Group::MesiUnit, Group::Gpu, Group::GpuUnit];
const MESI_AND_DENOVO: [Group; 8] = [
    Group::Llc,
    Group::Owned,
    Group::Words,
    Group::Shared,
    Group::Mesi,
    Group::MesiUnit,
    Group::DeNovo,
    Group::DeNovoUnit,
];
const DENOVO_AND_GPU: [Group; 9] = [
    Group::Llc,
    Group::Owned,
    Group::Words,
    Group::Lines,
    Group::Through,
    Group::DeNovo,
    Group::DeNovoUnit,
    Group::Gpu,
    Group::GpuUnit,
];
const DENOVO_ALONE: [Group; 5] = [Group::Llc, Group::Owned, Group::Words, Group::DeNovo, Group::DeNovoUnit];
const ALL_THREE: [Group; 11] = [
    Group::Llc,
    Group::Owned,
    Group::Words,
    Group::Through,
    Group::Shared,
    Group::Mesi,
    Group::MesiUnit,
    Group::Gpu,
    Group::GpuUnit,
    Group::DeNovo,
    Group::DeNovoUnit,
];
const MESI_AND_GPU_VI: [Group; 7] =
    [Group::Llc, Group::Owned, Group::Through, Group::Shared, Group::Mesi, Group::MesiUnit, Group::GpuViUnit];
const MESI_OVER_GPU: [Group; 6] = [Group::Llc, Group::Owned, Group::Shared, Group::Mesi, Group::MesiUnit, Group::Gpu];
const DENOVO_OVER_GPU: [Group; 6] =
    [Group::Llc, Group::Owned, Group::Words, Group::DeNovo, Group::DeNovoUnit, Group::Gpu];

static GPU_BEHIND_MESI_FAULTS: [FaultSpec; count(&GPU_BEHIND_MESI)] = specs(&GPU_BEHIND_MESI);
static DENOVO_BEHIND_MESI_FAULTS: [FaultSpec; count(&DENOVO_BEHIND_MESI)] = specs(&DENOVO_BEHIND_MESI);
static MESI_AND_GPU_FAULTS: [FaultSpec; count(&MESI_AND_GPU)] = specs(&MESI_AND_GPU);
static MESI_AND_DENOVO_FAULTS: [FaultSpec; count(&MESI_AND_DENOVO)] = specs(&MESI_AND_DENOVO);
static DENOVO_AND_GPU_FAULTS: [FaultSpec; count(&DENOVO_AND_GPU)] = specs(&DENOVO_AND_GPU);
static DENOVO_ALONE_FAULTS: [FaultSpec; count(&DENOVO_ALONE)] = specs(&DENOVO_ALONE);
static ALL_THREE_FAULTS: [FaultSpec; count(&ALL_THREE)] = specs(&ALL_THREE);
static MESI_AND_GPU_VI_FAULTS: [FaultSpec; count(&MESI_AND_GPU_VI)] = specs(&MESI_AND_GPU_VI);
static MESI_OVER_GPU_FAULTS: [FaultSpec; count(&MESI_OVER_GPU)] = specs(&MESI_OVER_GPU);
static DENOVO_OVER_GPU_FAULTS: [FaultSpec; count(&DENOVO_OVER_GPU)] = specs(&DENOVO_OVER_GPU);

static HMESI_GPU_DECLARATION: Declaration = Declaration {
    name: "hmesi-gpu",
    title: "H-MESI, GPU coherence",
    summary: "MESI CPU caches and an L2 of write-through, self-invalidating GPU caches under a MESI L3.",
    faults: &GPU_BEHIND_MESI_FAULTS,
    ..HIERARCHICAL_MESI
};

/// The paper's HMG: hierarchical MESI with GPU coherence.
pub static HMESI_GPU: SpandexProtocol = SpandexProtocol {
    declaration: &HMESI_GPU_DECLARATION,
    structure: Structure::ThreeLevels,
    fleet: Fleet::new(Device::Mesi, Device::GpuCoherence),
    seeds: &GPU_BEHIND_MESI,
};

static HMESI_DENOVO_DECLARATION: Declaration = Declaration {
    name: "hmesi-denovo",
    title: "H-MESI, DeNovo",
    summary: "MESI CPU caches and an L2 of DeNovo GPU caches, which own words, under a MESI L3.",
    parameters: &PARAMETERS_OF_DENOVO,
    faults: &DENOVO_BEHIND_MESI_FAULTS,
    ..HIERARCHICAL_MESI
};

/// The paper's HMD: hierarchical MESI with DeNovo.
pub static HMESI_DENOVO: SpandexProtocol = SpandexProtocol {
    declaration: &HMESI_DENOVO_DECLARATION,
    structure: Structure::ThreeLevels,
    fleet: Fleet::new(Device::Mesi, Device::DeNovo),
    seeds: &DENOVO_BEHIND_MESI,
};

static SMG_DECLARATION: Declaration = Declaration {
    name: "smg",
    title: "Spandex, MESI and GPU coherence",
    summary: "A Spandex LLC shared by MESI CPU caches and write-through, self-invalidating GPU caches.",
    faults: &MESI_AND_GPU_FAULTS,
    ..FLAT
};

/// The paper's SMG: Spandex with MESI CPU cores and GPU coherence.
pub static SMG: SpandexProtocol = SpandexProtocol {
    declaration: &SMG_DECLARATION,
    structure: Structure::Translated,
    fleet: Fleet::new(Device::Mesi, Device::GpuCoherence),
    seeds: &MESI_AND_GPU,
};

static SMD_DECLARATION: Declaration = Declaration {
    name: "smd",
    title: "Spandex, MESI and DeNovo",
    summary: "A Spandex LLC shared by MESI CPU caches and DeNovo GPU caches, which own words.",
    parameters: &PARAMETERS_OF_DENOVO,
    faults: &MESI_AND_DENOVO_FAULTS,
    ..FLAT
};

/// The paper's SMD: Spandex with MESI CPU cores and DeNovo compute units.
pub static SMD: SpandexProtocol = SpandexProtocol {
    declaration: &SMD_DECLARATION,
    structure: Structure::Translated,
    fleet: Fleet::new(Device::Mesi, Device::DeNovo),
    seeds: &MESI_AND_DENOVO,
};

static SDG_DECLARATION: Declaration = Declaration {
    name: "sdg",
    title: "Spandex, DeNovo and GPU coherence",
    summary: "A Spandex LLC shared by DeNovo CPU caches with atomics at the LLC and write-through GPU caches.",
    parameters: &PARAMETERS_OF_DENOVO,
    faults: &DENOVO_AND_GPU_FAULTS,
    ..FLAT
};

/// The paper's SDG: Spandex with DeNovo CPU cores and GPU coherence.
pub static SDG: SpandexProtocol = SpandexProtocol {
    declaration: &SDG_DECLARATION,
    structure: Structure::Translated,
    fleet: Fleet::new(Device::DeNovoAtLlc, Device::GpuCoherence),
    seeds: &DENOVO_AND_GPU,
};

static SDD_DECLARATION: Declaration = Declaration {
    name: "sdd",
    title: "Spandex, DeNovo everywhere",
    summary: "A Spandex LLC shared by DeNovo CPU and GPU caches, which own words.",
    parameters: &PARAMETERS_OF_DENOVO,
    faults: &DENOVO_ALONE_FAULTS,
    ..FLAT
};

/// The paper's SDD: Spandex with DeNovo caches everywhere.
pub static SDD: SpandexProtocol = SpandexProtocol {
    declaration: &SDD_DECLARATION,
    structure: Structure::Translated,
    fleet: Fleet::new(Device::DeNovo, Device::DeNovo),
    seeds: &DENOVO_ALONE,
};

static SPANDEX_MIXED_DECLARATION: Declaration = Declaration {
    name: "spandex-mixed",
    title: "Spandex, three kinds of devices",
    summary: "A Spandex LLC shared by MESI CPU caches and GPU caches of GPU coherence and DeNovo in turn.",
    parameters: &PARAMETERS_OF_DENOVO,
    faults: &ALL_THREE_FAULTS,
    ..FLAT
};

/// Spandex with all three kinds of devices at once.
pub static SPANDEX_MIXED: SpandexProtocol = SpandexProtocol {
    declaration: &SPANDEX_MIXED_DECLARATION,
    structure: Structure::Translated,
    fleet: Fleet { odd_gpu: Device::DeNovo, ..Fleet::new(Device::Mesi, Device::GpuCoherence) },
    seeds: &ALL_THREE,
};

static SPANDEX_ADAPTIVE_DECLARATION: Declaration = Declaration {
    name: "spandex-adaptive",
    title: "Spandex, a choice for each line",
    summary: "As Spandex with MESI and DeNovo, where GPU caches learn for each line whether its stores own or write through.",
    citation: "Alsop et al., Spandex: A Flexible Interface for Efficient Heterogeneous Coherence, ISCA 2018, section VII",
    parameters: &PARAMETERS_OF_DENOVO,
    faults: &MESI_AND_DENOVO_FAULTS,
    ..FLAT
};

/// Spandex with a request type that is chosen line by line.
pub static SPANDEX_ADAPTIVE: SpandexProtocol = SpandexProtocol {
    declaration: &SPANDEX_ADAPTIVE_DECLARATION,
    structure: Structure::Translated,
    fleet: Fleet::new(Device::Mesi, Device::Adaptive),
    seeds: &MESI_AND_DENOVO,
};

static SMV_DECLARATION: Declaration = Declaration {
    name: "smv",
    title: "Spandex, MESI and GPU-VI",
    summary: "A Spandex LLC shared by MESI CPU caches and the writer-invalidated, write-through caches of GPU-VI.",
    messages: &WITH_GPU_VI,
    faults: &MESI_AND_GPU_VI_FAULTS,
    ..FLAT
};

/// Spandex with caches of another paper's protocol behind translation units.
pub static SMV: SpandexProtocol = SpandexProtocol {
    declaration: &SMV_DECLARATION,
    structure: Structure::Translated,
    fleet: Fleet::new(Device::Mesi, Device::GpuVi),
    seeds: &MESI_AND_GPU_VI,
};

static SPANDEX_HIER_MG_DECLARATION: Declaration = Declaration {
    name: "spandex-hier-mg",
    title: "Hierarchical Spandex, SMG",
    summary: "MESI CPU caches and an L2 of GPU coherence caches, both under a Spandex L3.",
    faults: &MESI_OVER_GPU_FAULTS,
    ..HIERARCHICAL_SPANDEX
};

/// Hierarchical Spandex with the devices of SMG: an L2 of Spandex behind an L3 of Spandex.
pub static SPANDEX_HIER_MG: SpandexProtocol = SpandexProtocol {
    declaration: &SPANDEX_HIER_MG_DECLARATION,
    structure: Structure::ThreeLevelsTranslated,
    fleet: Fleet::new(Device::Mesi, Device::GpuCoherence),
    seeds: &MESI_OVER_GPU,
};

static SPANDEX_HIER_MD_DECLARATION: Declaration = Declaration {
    name: "spandex-hier-md",
    title: "Hierarchical Spandex, SMD",
    summary: "MESI CPU caches and an L2 of DeNovo GPU caches, both under a Spandex L3.",
    parameters: &PARAMETERS_OF_OWNERS_BEHIND_L2,
    faults: &MESI_AND_DENOVO_FAULTS,
    ..HIERARCHICAL_SPANDEX
};

/// Hierarchical Spandex with the devices of SMD: an L2 of Spandex behind an L3 of Spandex.
pub static SPANDEX_HIER_MD: SpandexProtocol = SpandexProtocol {
    declaration: &SPANDEX_HIER_MD_DECLARATION,
    structure: Structure::ThreeLevelsTranslated,
    fleet: Fleet::new(Device::Mesi, Device::DeNovo),
    seeds: &MESI_AND_DENOVO,
};

static SPANDEX_HIER_DG_DECLARATION: Declaration = Declaration {
    name: "spandex-hier-dg",
    title: "Hierarchical Spandex, SDG",
    summary: "DeNovo CPU caches and an L2 of GPU coherence caches, both under a Spandex L3.",
    parameters: &PARAMETERS_OF_DENOVO,
    faults: &DENOVO_OVER_GPU_FAULTS,
    ..HIERARCHICAL_SPANDEX
};

/// Hierarchical Spandex with the devices of SDG: an L2 of Spandex behind an L3 of Spandex.
pub static SPANDEX_HIER_DG: SpandexProtocol = SpandexProtocol {
    declaration: &SPANDEX_HIER_DG_DECLARATION,
    structure: Structure::ThreeLevelsTranslated,
    fleet: Fleet::new(Device::DeNovoAtLlc, Device::GpuCoherence),
    seeds: &DENOVO_OVER_GPU,
};

static SPANDEX_HIER_DD_DECLARATION: Declaration = Declaration {
    name: "spandex-hier-dd",
    title: "Hierarchical Spandex, SDD",
    summary: "DeNovo CPU caches and an L2 of DeNovo GPU caches, both under a Spandex L3.",
    parameters: &PARAMETERS_OF_OWNERS_BEHIND_L2,
    faults: &DENOVO_ALONE_FAULTS,
    ..HIERARCHICAL_SPANDEX
};

/// Hierarchical Spandex with the devices of SDD: an L2 of Spandex behind an L3 of Spandex.
pub static SPANDEX_HIER_DD: SpandexProtocol = SpandexProtocol {
    declaration: &SPANDEX_HIER_DD_DECLARATION,
    structure: Structure::ThreeLevelsTranslated,
    fleet: Fleet::new(Device::DeNovo, Device::DeNovo),
    seeds: &DENOVO_ALONE,
};
