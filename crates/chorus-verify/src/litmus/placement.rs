//! The places of a litmus test's threads and locations on machines of several modules.
//!
//! The outcomes of a protocol depend on distances. Threads of different GPUs are always on different GPUs; work-groups
//! and the homes of lines are placed in several ways.

use chorus_litmus::test::{Instruction, LocationId, Program, Thread};
use chorus_protocol::access::Order;
use chorus_protocol::registry::{MemoryModel, Promise, Protocol, Reach};

use crate::heterogeneous;

/// A place for every thread and every line of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Placement {
    /// Everything lies in one module, whichever GPU a thread names.
    OneModule,
    /// Each work-group is in a module of its own. Where that is too much to search, two neighbours in the program share
    /// a module. Lines lie in all modules in turn, the first in the last module, so that the first write travels
    /// farthest.
    Apart,
    /// The work-groups of a GPU are beside private caches of one module. Lines lie on all GPUs in turn, the first on
    /// the last GPU.
    Together,
    /// Work-groups are apart, and each line lies in the memory of the first module that writes it. Where work-groups
    /// must share two modules, they take turns, so that other ones are neighbours.
    AtWriter,
    /// Work-groups are apart, and each line lies in the memory of the first module that only reads it.
    AtReader,
    /// Work-groups are apart, and all lines lie in the memory of a GPU without threads.
    Elsewhere,
    /// Two neighbours in the program share a module. Lines lie as in [`Placement::Apart`]. It is tried where those who
    /// share a module with a writer may see its writes before others do.
    Neighbours,
    /// Everything lies in one module with CPU cores and compute units, and each work-group is beside one of them.
    Devices(Devices),
}

/// The kind of device beside each work-group, in the order of the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Devices {
    /// The number of kinds of devices: CPU cores, and one kind of compute units or two that take turns.
    kinds: u8,
    groups: u8,
    /// The kind beside each group, as digits of a number.
    assignment: u32,
}

/// The letters of the kinds of devices, CPU cores first, by the number of kinds.
const LETTERS: [(u8, &str); 2] = [(2, "cg"), (3, "cab")];

impl Devices {
    /// Every assignment of the work-groups of a test.
    fn all(kinds: u8, groups: usize) -> impl Iterator<Item = Devices> {
        let assignments = u32::from(kinds).pow(groups as u32);
        (0..assignments).map(move |assignment| Devices { kinds, groups: groups as u8, assignment })
    }

    fn kind(self, group: usize) -> u8 {
        (self.assignment / u32::from(self.kinds).pow(group as u32) % u32::from(self.kinds)) as u8
    }

    fn name(self) -> String {
        let letters = LETTERS.iter().find(|(kinds, _)| *kinds == self.kinds).map_or("", |(_, letters)| letters);
        (0..usize::from(self.groups)).filter_map(|group| letters.chars().nth(usize::from(self.kind(group)))).collect()
    }

    fn parse(name: &str) -> Option<Devices> {
        LETTERS.iter().find_map(|&(kinds, letters)| {
            let digits = name.chars().rev().map(|letter| letters.find(letter));
            let digits: Vec<u32> = digits.map(|digit| Some(digit? as u32)).collect::<Option<_>>()?;
            let assignment =
                digits.iter().try_fold(0u32, |sum, digit| sum.checked_mul(u32::from(kinds))?.checked_add(*digit))?;
            let groups = u8::try_from(digits.len()).ok().filter(|&groups| groups > 0)?;
            Some(Devices { kinds, groups, assignment })
        })
    }

    /// The number of CPU cores of the machine.
    pub fn cpus(self) -> u16 {
        (0..usize::from(self.groups)).filter(|&group| self.kind(group) == 0).count() as u16
    }

    /// The private cache that a group is beside.
    fn cache(self, group: usize) -> u16 {
        let kind = self.kind(group);
        let earlier = (0..group).filter(|&earlier| self.kind(earlier) == kind).count() as u16;
        match kind {
            0 => earlier,
            _ => self.cpus() + earlier * u16::from(self.kinds - 1) + u16::from(kind - 1),
        }
    }
}

/// The ways in which tests are placed on machines of several modules.
const SEVERAL_MODULES: [Placement; 5] =
    [Placement::Apart, Placement::Together, Placement::AtWriter, Placement::AtReader, Placement::Elsewhere];

impl Placement {
    /// The placements in which a test is run on a protocol.
    pub fn all(protocol: &dyn Protocol, program: &Program) -> Vec<Placement> {
        if heterogeneous::applies(protocol) {
            let groups = work_groups(program).concat().len();
            let kinds = heterogeneous::devices(protocol).len() as u8;
            return Devices::all(kinds, groups).map(Placement::Devices).collect();
        }
        match protocol.reach() {
            Reach::OneModule => vec![Placement::OneModule],
            Reach::AnyMachine if neighbours_see_first(protocol) => {
                [&SEVERAL_MODULES[..], &[Placement::Neighbours]].concat()
            }
            Reach::AnyMachine => SEVERAL_MODULES.to_vec(),
        }
    }

    /// The name of the placement, as replays and reports write it.
    pub fn name(self) -> String {
        let name = match self {
            Placement::OneModule => "one-module",
            Placement::Apart => "apart",
            Placement::Together => "together",
            Placement::AtWriter => "at-writer",
            Placement::AtReader => "at-reader",
            Placement::Elsewhere => "elsewhere",
            Placement::Neighbours => "neighbours",
            Placement::Devices(devices) => return devices.name(),
        };
        name.to_owned()
    }

    /// The name of a test in this placement. The name of the placement follows that of the test, unless there is only
    /// one placement.
    pub fn name_of(self, test: &str) -> String {
        if self == Placement::OneModule { test.to_owned() } else { format!("{test}@{}", self.name()) }
    }

    /// The test and the placement that the name of a placed test stands for.
    pub fn parse(name: &str) -> (&str, Placement) {
        let placed = name.rsplit_once('@').and_then(|(test, placement)| {
            let mut of_modules = SEVERAL_MODULES.into_iter().chain([Placement::Neighbours]);
            let of_modules = of_modules.find(|other| other.name() == placement);
            let of_devices = || Devices::parse(placement).map(Placement::Devices);
            Some((test, of_modules.or_else(of_devices)?))
        });
        placed.unwrap_or((name, Placement::OneModule))
    }
}

/// Whether those who share a module with a writer may see its strong writes before others do.
fn neighbours_see_first(protocol: &dyn Protocol) -> bool {
    protocol.model() == MemoryModel::Ptx && !protocol.promises().contains(&Promise::MultiCopyAtomicity)
}

/// The machine that a test needs, with the places of its threads and lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The number of GPUs, and of modules of each.
    pub modules: [u16; 2],
    /// The number of private caches of each module.
    pub l1s: u16,
    /// The private cache of each thread.
    pub caches: Vec<u16>,
    /// The machine's number for each line that the test uses, in their order.
    pub lines: Vec<u8>,
}

/// The lines that the test uses, in the order of its locations.
pub fn lines_used(program: &Program) -> Vec<u8> {
    let mut lines = Vec::new();
    for (index, at) in program.locations.iter().enumerate() {
        if program.uses(LocationId(index as u8)) && !lines.contains(&at.line) {
            lines.push(at.line);
        }
    }
    lines
}

impl Places {
    /// The places of a program's threads and lines.
    pub fn new(program: &Program, placement: Placement) -> Places {
        let groups = work_groups(program);
        let largest = groups.iter().map(Vec::len).max().unwrap_or(1).max(1) as u16;
        let used = groups.len().max(1) as u16;
        let in_turn = placement == Placement::AtWriter;
        let (gpms, beside) = match placement {
            Placement::OneModule | Placement::Together | Placement::Devices(_) => (1, largest),
            Placement::Apart => spread(largest, traffic(program) <= MOST_TRAFFIC),
            Placement::Neighbours => (largest.div_ceil(2), 2),
            Placement::AtWriter | Placement::AtReader | Placement::Elsewhere => {
                spread(largest, orderings(program) <= MOST_ORDERINGS)
            }
        };
        let module_and_cache = |thread: &Thread| {
            let gpu = groups.iter().position(|groups| groups.contains(&(thread.gpu, thread.cta))).unwrap_or(0) as u16;
            let of_gpu = groups.get(usize::from(gpu)).map_or(&[][..], Vec::as_slice);
            let group = of_gpu.iter().position(|&other| other == (thread.gpu, thread.cta)).unwrap_or(0) as u16;
            let (of_gpu, of_module) =
                if in_turn { (group % gpms, group / gpms) } else { (group / beside, group % beside) };
            let module = gpu * gpms + of_gpu;
            (module, module * beside + of_module)
        };
        let (threads, mut caches): (Vec<u16>, Vec<u16>) = program.threads.iter().map(module_and_cache).unzip();
        if let Placement::Devices(devices) = placement {
            let all = groups.concat();
            let group = |thread: &Thread| all.iter().position(|&other| other == (thread.gpu, thread.cta)).unwrap_or(0);
            caches = program.threads.iter().map(|thread| devices.cache(group(thread))).collect();
        }
        let (modules, l1s) = match placement {
            Placement::OneModule | Placement::Devices(_) => ([1, 1], caches.iter().max().map_or(1, |cache| cache + 1)),
            Placement::Together
            | Placement::Apart
            | Placement::Neighbours
            | Placement::AtWriter
            | Placement::AtReader => ([used, gpms], beside),
            Placement::Elsewhere => ([used + 1, gpms], beside),
        };
        let count = modules[0] * modules[1];
        let home = |(index, &line): (usize, &u8)| {
            let any = count - 1 - index as u16 % count;
            match placement {
                Placement::OneModule | Placement::Devices(_) => 0,
                Placement::Apart | Placement::Neighbours | Placement::Together => any,
                Placement::AtWriter => first(program, &threads, line, writes).unwrap_or(any),
                Placement::AtReader => {
                    first(program, &threads, line, |instruction, at| !writes(instruction, at) && uses(instruction, at))
                        .unwrap_or(any)
                }
                Placement::Elsewhere => used * gpms + index as u16 % gpms,
            }
        };
        let homes: Vec<u16> = lines_used(program).iter().enumerate().map(home).collect();
        let number = |(index, &home): (usize, &u16)| {
            let earlier = homes[..index].iter().filter(|&&other| other == home).count() as u16;
            (home + count * earlier) as u8
        };
        Places { modules, l1s, lines: homes.iter().enumerate().map(number).collect(), caches }
    }
}

/// The most operations with messages between modules of a program whose work-groups lie in three modules, where that is
/// tried in one placement. Programs with more have over ten million states there.
const MOST_TRAFFIC: usize = 5;

/// The most operations that order others of a program whose work-groups lie in three modules in all placements.
const MOST_ORDERINGS: usize = 1;

/// The modules for so many work-groups of a GPU, and the work-groups of each module. A fence sends a message to every
/// other module, so several fences among three modules have more states than can be searched. Two modules with two
/// work-groups each still have a reader that is near to one writer and far from the other.
fn spread(groups: u16, three: bool) -> (u16, u16) {
    let most = if three { 3 } else { 2 };
    if groups > most { (groups.div_ceil(2), 2) } else { (groups, 1) }
}

/// The number of operations that wait for messages between modules: those that order others, and writes.
fn traffic(program: &Program) -> usize {
    let writes =
        |instruction: &&Instruction| matches!(instruction, Instruction::Store { .. } | Instruction::Atomic { .. });
    orderings(program) + program.threads.iter().flat_map(|thread| &thread.code).filter(writes).count()
}

/// The number of operations that order others: fences, and accesses that acquire or release.
fn orderings(program: &Program) -> usize {
    let orders = |instruction: &&Instruction| match **instruction {
        Instruction::Fence { .. } => true,
        Instruction::Load { order, .. } | Instruction::Store { order, .. } | Instruction::Atomic { order, .. } => {
            !matches!(order, Order::Weak | Order::Relaxed)
        }
        Instruction::Barrier { .. }
        | Instruction::Add { .. }
        | Instruction::Branch { .. }
        | Instruction::Jump { .. } => false,
    };
    program.threads.iter().flat_map(|thread| &thread.code).filter(orders).count()
}

/// The work-groups of each GPU, in the order of their threads.
fn work_groups(program: &Program) -> Vec<Vec<(u32, u32)>> {
    let mut gpus: Vec<Vec<(u32, u32)>> = Vec::new();
    for thread in &program.threads {
        let group = (thread.gpu, thread.cta);
        match gpus.iter_mut().find(|groups| groups[0].0 == thread.gpu) {
            Some(groups) if groups.contains(&group) => {}
            Some(groups) => groups.push(group),
            None => gpus.push(vec![group]),
        }
    }
    gpus
}

fn uses(instruction: &Instruction, location: LocationId) -> bool {
    match *instruction {
        Instruction::Load { at, .. } | Instruction::Store { at, .. } | Instruction::Atomic { at, .. } => at == location,
        Instruction::Fence { .. }
        | Instruction::Barrier { .. }
        | Instruction::Add { .. }
        | Instruction::Branch { .. }
        | Instruction::Jump { .. } => false,
    }
}

fn writes(instruction: &Instruction, location: LocationId) -> bool {
    uses(instruction, location) && !matches!(instruction, Instruction::Load { .. })
}

/// The module of the first thread that does this to a line.
fn first(program: &Program, modules: &[u16], line: u8, does: impl Fn(&Instruction, LocationId) -> bool) -> Option<u16> {
    let locations = || program.locations.iter().enumerate().filter(|(_, at)| at.line == line);
    let found = program.threads.iter().position(|thread| {
        thread.code.iter().any(|instruction| locations().any(|(index, _)| does(instruction, LocationId(index as u8))))
    });
    found.map(|thread| modules[thread])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::litmus::find;

    fn places(test: &str, placement: Placement) -> Places {
        Places::new(&find(test).unwrap().test.program, placement)
    }

    #[test]
    fn work_groups_lie_in_modules_and_threads_of_other_gpus_on_other_gpus() {
        let apart = places("ISA2+gpu-sys", Placement::Apart);
        assert_eq!((apart.modules, apart.l1s, apart.caches), ([2, 2], 1, vec![0, 1, 2]));
        let together = places("ISA2+gpu-sys", Placement::Together);
        assert_eq!((together.modules, together.l1s, together.caches), ([2, 1], 2, vec![0, 1, 2]));
        let group = places("ISA2+cta-gpu", Placement::Apart);
        assert_eq!((group.modules, group.caches), ([1, 2], vec![0, 0, 1]));
    }

    #[test]
    fn neighbours_share_a_module() {
        let places = places("WWC", Placement::Neighbours);
        assert_eq!((places.modules, places.l1s, places.caches, places.lines), ([1, 2], 2, vec![0, 1, 2], vec![1, 0]));
    }

    #[test]
    fn four_work_groups_lie_in_two_modules() {
        let apart = places("IRIW+fences", Placement::Apart);
        assert_eq!((apart.modules, apart.l1s, apart.caches), ([1, 2], 2, vec![0, 1, 2, 3]));
        let in_turn = places("IRIW+fences", Placement::AtWriter);
        assert_eq!((in_turn.caches, in_turn.lines), (vec![0, 2, 1, 3], vec![0, 1]));
    }

    #[test]
    fn lines_lie_at_their_writer_their_reader_or_at_neither() {
        assert_eq!(places("MP+sys+gpus", Placement::AtWriter).lines, [0, 2]);
        assert_eq!(places("MP+sys+gpus", Placement::AtReader).lines, [1, 3]);
        assert_eq!(places("MP+sys+gpus", Placement::Elsewhere).lines, [2, 5]);
    }

    #[test]
    fn work_groups_are_beside_every_kind_of_device() {
        let program = find("MP").unwrap().test.program;
        let caches = |name: &str| {
            let (_, placement) = Placement::parse(name);
            assert_eq!(placement.name_of("MP"), name);
            Places::new(&program, placement).caches
        };
        let names = ["MP@cc", "MP@gc", "MP@cg", "MP@gg"];
        assert_eq!(names.map(caches), [[0, 1], [1, 0], [0, 1], [0, 1]]);
        assert_eq!(["MP@aa", "MP@ab", "MP@cb"].map(caches), [[0, 2], [0, 1], [0, 2]]);
    }

    #[test]
    fn a_placed_test_is_found_by_its_name() {
        for placement in SEVERAL_MODULES.into_iter().chain([Placement::Neighbours]) {
            assert_eq!(Placement::parse(&placement.name_of("MP")), ("MP", placement));
        }
        assert_eq!(Placement::parse("MP"), ("MP", Placement::OneModule));
    }
}
