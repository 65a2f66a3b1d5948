//! The mistakes that can be built into protocols with several kinds of devices, each in one kind of controller.

use crate::protocols::denovo::faults::{L1_FAULTS as DENOVO, L1Fault as DeNovoFault};
use crate::protocols::gpu_coherence::faults::{L1_FAULTS as GPU, L1Fault as GpuFault};
use crate::protocols::mesi::faults::L1Fault as MesiFault;
use crate::protocols::spandex::llc::faults::{
    LINE_FAULTS, LLC_FAULTS, LlcFault, OWNED_FAULTS, SHARED_FAULTS, THROUGH_FAULTS, WORD_FAULTS,
};
use crate::protocols::spandex::tu::denovo::faults::{TU_FAULTS as DENOVO_UNIT, TuFault as DeNovoUnitFault};
use crate::protocols::spandex::tu::gpu::faults::{TU_FAULTS as GPU_UNIT, TuFault as GpuUnitFault};
use crate::protocols::spandex::tu::gpu_vi::faults::{SEEDS as GPU_VI_UNIT, TuFault as GpuViUnitFault};
use crate::protocols::spandex::tu::mesi::faults::{L1_SEEDS as MESI, SEEDS as MESI_UNIT, TuFault as MesiUnitFault};
use crate::registry::{BuildConfig, FaultSpec};

/// The mistakes of one kind of controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// Mistakes of the Spandex LLC that matter on every machine.
    Llc,
    /// Mistakes of the Spandex LLC that matter where devices own something.
    Owned,
    /// Mistakes of the Spandex LLC that matter where devices own words and not lines.
    Words,
    /// Mistakes of the Spandex LLC that matter where CPU cores own words of lines that others read whole.
    Lines,
    /// Mistakes of the Spandex LLC that matter where some devices own words that others write through.
    Through,
    /// Mistakes of the Spandex LLC that matter where devices have Shared state.
    Shared,
    /// Mistakes of MESI caches behind translation units.
    Mesi,
    /// Mistakes of the translation units of MESI caches.
    MesiUnit,
    /// Mistakes of GPU coherence caches.
    Gpu,
    /// Mistakes of the translation units of GPU coherence caches.
    GpuUnit,
    /// Mistakes of DeNovo caches.
    DeNovo,
    /// Mistakes of the translation units of DeNovo caches.
    DeNovoUnit,
    /// Mistakes of the translation units of GPU-VI caches.
    GpuViUnit,
}

/// A mistake, and the kind of controller that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A mistake in the LLC.
    Llc(LlcFault),
    /// A mistake in MESI caches.
    Mesi(MesiFault),
    /// A mistake in the translation units of MESI caches.
    MesiUnit(MesiUnitFault),
    /// A mistake in GPU coherence caches.
    Gpu(GpuFault),
    /// A mistake in the translation units of GPU coherence caches.
    GpuUnit(GpuUnitFault),
    /// A mistake in DeNovo caches.
    DeNovo(DeNovoFault),
    /// A mistake in the translation units of DeNovo caches.
    DeNovoUnit(DeNovoUnitFault),
    /// A mistake in the translation units of GPU-VI caches.
    GpuViUnit(GpuViUnitFault),
}

impl Group {
    /// The number of mistakes of the group.
    const fn len(self) -> usize {
        match self {
            Group::Llc => LLC_FAULTS.len(),
            Group::Owned => OWNED_FAULTS.len(),
            Group::Words => WORD_FAULTS.len(),
            Group::Lines => LINE_FAULTS.len(),
            Group::Through => THROUGH_FAULTS.len(),
            Group::Shared => SHARED_FAULTS.len(),
            Group::Mesi => MESI.len(),
            Group::MesiUnit => MESI_UNIT.len(),
            Group::Gpu => GPU.len(),
            Group::GpuUnit => GPU_UNIT.len(),
            Group::DeNovo => DENOVO.len(),
            Group::DeNovoUnit => DENOVO_UNIT.len(),
            Group::GpuViUnit => GPU_VI_UNIT.len(),
        }
    }

    /// A mistake of the group, with its declaration.
    const fn seed(self, index: usize) -> (FaultSpec, Fault) {
        match self {
            Group::Llc => (LLC_FAULTS[index].0, Fault::Llc(LLC_FAULTS[index].1)),
            Group::Owned => (OWNED_FAULTS[index].0, Fault::Llc(OWNED_FAULTS[index].1)),
            Group::Words => (WORD_FAULTS[index].0, Fault::Llc(WORD_FAULTS[index].1)),
            Group::Lines => (LINE_FAULTS[index].0, Fault::Llc(LINE_FAULTS[index].1)),
            Group::Through => (THROUGH_FAULTS[index].0, Fault::Llc(THROUGH_FAULTS[index].1)),
            Group::Shared => (SHARED_FAULTS[index].0, Fault::Llc(SHARED_FAULTS[index].1)),
            Group::Mesi => (MESI[index].1, Fault::Mesi(MESI[index].0)),
            Group::MesiUnit => (MESI_UNIT[index].1, Fault::MesiUnit(MESI_UNIT[index].0)),
            Group::Gpu => (GPU[index].0, Fault::Gpu(GPU[index].1)),
            Group::GpuUnit => (GPU_UNIT[index].0, Fault::GpuUnit(GPU_UNIT[index].1)),
            Group::DeNovo => (DENOVO[index].0, Fault::DeNovo(DENOVO[index].1)),
            Group::DeNovoUnit => (DENOVO_UNIT[index].0, Fault::DeNovoUnit(DENOVO_UNIT[index].1)),
            Group::GpuViUnit => (GPU_VI_UNIT[index].1, Fault::GpuViUnit(GPU_VI_UNIT[index].0)),
        }
    }
}

/// The number of mistakes that groups have together.
pub const fn count(groups: &[Group]) -> usize {
    let (mut total, mut index) = (0, 0);
    while index < groups.len() {
        total += groups[index].len();
        index += 1;
    }
    total
}

/// The fault declarations of a protocol with these groups.
pub const fn specs<const N: usize>(groups: &[Group]) -> [FaultSpec; N] {
    let mut specs = [FaultSpec { name: "", breaks: "" }; N];
    let (mut place, mut group) = (0, 0);
    while group < groups.len() {
        let mut index = 0;
        while index < groups[group].len() {
            specs[place] = groups[group].seed(index).0;
            (place, index) = (place + 1, index + 1);
        }
        group += 1;
    }
    specs
}

/// The mistake that `config` asks for, in a protocol with these groups.
pub fn built_in(groups: &[Group], config: &BuildConfig) -> Option<Fault> {
    let mut index = usize::from(config.fault?);
    for group in groups {
        if index < group.len() {
            return Some(group.seed(index).1);
        }
        index -= group.len();
    }
    None
}

impl Fault {
    /// The mistake, if it is in the LLC.
    pub fn of_llc(self) -> Option<LlcFault> {
        if let Fault::Llc(fault) = self { Some(fault) } else { None }
    }

    /// The mistake, if it is in MESI caches.
    pub fn of_mesi(self) -> Option<MesiFault> {
        if let Fault::Mesi(fault) = self { Some(fault) } else { None }
    }

    /// The mistake, if it is in the translation units of MESI caches.
    pub fn of_mesi_unit(self) -> Option<MesiUnitFault> {
        if let Fault::MesiUnit(fault) = self { Some(fault) } else { None }
    }

    /// The mistake, if it is in GPU coherence caches.
    pub fn of_gpu(self) -> Option<GpuFault> {
        if let Fault::Gpu(fault) = self { Some(fault) } else { None }
    }

    /// The mistake, if it is in the translation units of GPU coherence caches.
    pub fn of_gpu_unit(self) -> Option<GpuUnitFault> {
        if let Fault::GpuUnit(fault) = self { Some(fault) } else { None }
    }

    /// The mistake, if it is in DeNovo caches.
    pub fn of_denovo(self) -> Option<DeNovoFault> {
        if let Fault::DeNovo(fault) = self { Some(fault) } else { None }
    }

    /// The mistake, if it is in the translation units of DeNovo caches.
    pub fn of_denovo_unit(self) -> Option<DeNovoUnitFault> {
        if let Fault::DeNovoUnit(fault) = self { Some(fault) } else { None }
    }

    /// The mistake, if it is in the translation units of GPU-VI caches.
    pub fn of_gpu_vi_unit(self) -> Option<GpuViUnitFault> {
        if let Fault::GpuViUnit(fault) = self { Some(fault) } else { None }
    }
}
