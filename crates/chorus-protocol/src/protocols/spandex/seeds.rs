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
use crate::seed::Seed;

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

    /// A row of the group's table.
    const fn seed(self, index: usize) -> Seed<Fault> {
        match self {
            Group::Llc => in_llc(&LLC_FAULTS[index]),
            Group::Owned => in_llc(&OWNED_FAULTS[index]),
            Group::Words => in_llc(&WORD_FAULTS[index]),
            Group::Lines => in_llc(&LINE_FAULTS[index]),
            Group::Through => in_llc(&THROUGH_FAULTS[index]),
            Group::Shared => in_llc(&SHARED_FAULTS[index]),
            Group::Mesi => Seed { spec: MESI[index].spec, fault: Fault::Mesi(MESI[index].fault) },
            Group::MesiUnit => Seed { spec: MESI_UNIT[index].spec, fault: Fault::MesiUnit(MESI_UNIT[index].fault) },
            Group::Gpu => Seed { spec: GPU[index].spec, fault: Fault::Gpu(GPU[index].fault) },
            Group::GpuUnit => Seed { spec: GPU_UNIT[index].spec, fault: Fault::GpuUnit(GPU_UNIT[index].fault) },
            Group::DeNovo => Seed { spec: DENOVO[index].spec, fault: Fault::DeNovo(DENOVO[index].fault) },
            Group::DeNovoUnit => {
                Seed { spec: DENOVO_UNIT[index].spec, fault: Fault::DeNovoUnit(DENOVO_UNIT[index].fault) }
            }
            Group::GpuViUnit => {
                Seed { spec: GPU_VI_UNIT[index].spec, fault: Fault::GpuViUnit(GPU_VI_UNIT[index].fault) }
            }
        }
    }
}

const fn in_llc(seed: &Seed<LlcFault>) -> Seed<Fault> {
    Seed { spec: seed.spec, fault: Fault::Llc(seed.fault) }
}

/// How many mistakes groups have together.
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
            specs[place] = groups[group].seed(index).spec;
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
            return Some(group.seed(index).fault);
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
