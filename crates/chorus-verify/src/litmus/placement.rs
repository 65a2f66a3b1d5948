//! Where the threads and locations of a litmus test lie on machines of several modules.
//!
//! What a protocol shows depends on who is near to whom: threads of different GPUs are always on different GPUs, and work-groups and the homes of
//! lines are placed in several ways.

use chorus_litmus::test::{Instruction, LocationId, Program, Thread};
use chorus_protocol::registry::{Protocol, Reach};

/// One way to place a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Placement {
    /// Everything in one module, whichever GPU a thread says that it is on.
    OneModule,
    /// Each work-group in a module of its own, and lines in all modules in turn, the first in the last module: what is written first has the longest way.
    Apart,
    /// The work-groups of a GPU beside private caches of one module, and lines on all GPUs in turn, likewise.
    Together,
    /// As apart, each line in the memory of the first module that writes it.
    AtWriter,
    /// As apart, each line in the memory of the first module that only reads it.
    AtReader,
    /// As apart, all lines in the memory of a GPU without threads.
    Elsewhere,
}

/// The ways in which tests are placed on machines of several modules.
const SEVERAL_MODULES: [Placement; 5] =
    [Placement::Apart, Placement::Together, Placement::AtWriter, Placement::AtReader, Placement::Elsewhere];

impl Placement {
    /// The ways in which tests are placed for a protocol.
    pub fn of_protocol(protocol: &dyn Protocol) -> &'static [Placement] {
        match protocol.reach() {
            Reach::OneModule => &[Placement::OneModule],
            Reach::AnyMachine => &SEVERAL_MODULES,
        }
    }

    /// A name.
    pub fn name(self) -> &'static str {
        match self {
            Placement::OneModule => "one-module",
            Placement::Apart => "apart",
            Placement::Together => "together",
            Placement::AtWriter => "at-writer",
            Placement::AtReader => "at-reader",
            Placement::Elsewhere => "elsewhere",
        }
    }

    /// The name of a test placed so: its own, followed by the placement's where there are several.
    pub fn name_of(self, test: &str) -> String {
        if self == Placement::OneModule { test.to_owned() } else { format!("{test}@{}", self.name()) }
    }

    /// The name of the test and the placement that a name of a placed test stands for.
    pub fn parse(name: &str) -> (&str, Placement) {
        let placed = name.rsplit_once('@').and_then(|(test, placement)| {
            let placement = SEVERAL_MODULES.into_iter().find(|other| other.name() == placement)?;
            Some((test, placement))
        });
        placed.unwrap_or((name, Placement::OneModule))
    }
}

/// The machine that a test needs, and where its parts lie on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// GPUs, and modules of each.
    pub modules: [u16; 2],
    /// Private caches of each module.
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
    /// Places a test.
    pub fn new(program: &Program, placement: Placement) -> Places {
        let groups = work_groups(program);
        let largest = groups.iter().map(Vec::len).max().unwrap_or(1).max(1) as u16;
        let used = groups.len().max(1) as u16;
        let seat = |thread: &Thread| {
            let gpu = groups.iter().position(|groups| groups.contains(&(thread.gpu, thread.cta))).unwrap_or(0);
            let group = groups[gpu].iter().position(|&other| other == (thread.gpu, thread.cta)).unwrap_or(0);
            gpu as u16 * largest + group as u16
        };
        let caches: Vec<u16> = program.threads.iter().map(seat).collect();
        let (modules, l1s) = match placement {
            Placement::OneModule => ([1, 1], used * largest),
            Placement::Together => ([used, 1], largest),
            Placement::Apart | Placement::AtWriter | Placement::AtReader => ([used, largest], 1),
            Placement::Elsewhere => ([used + 1, largest], 1),
        };
        let count = modules[0] * modules[1];
        let home = |(index, &line): (usize, &u8)| {
            let in_turn = count - 1 - index as u16 % count;
            match placement {
                Placement::OneModule => 0,
                Placement::Apart | Placement::Together => in_turn,
                Placement::AtWriter => first(program, &caches, line, writes).unwrap_or(in_turn),
                Placement::AtReader => {
                    first(program, &caches, line, |instruction, at| !writes(instruction, at) && uses(instruction, at))
                        .unwrap_or(in_turn)
                }
                Placement::Elsewhere => used * largest + index as u16 % largest,
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
    fn lines_lie_at_their_writer_their_reader_or_at_neither() {
        assert_eq!(places("MP+sys+gpus", Placement::AtWriter).lines, [0, 2]);
        assert_eq!(places("MP+sys+gpus", Placement::AtReader).lines, [1, 3]);
        assert_eq!(places("MP+sys+gpus", Placement::Elsewhere).lines, [2, 5]);
    }

    #[test]
    fn a_placed_test_is_found_by_its_name() {
        for placement in SEVERAL_MODULES {
            assert_eq!(Placement::parse(&placement.name_of("MP")), ("MP", placement));
        }
        assert_eq!(Placement::parse("MP"), ("MP", Placement::OneModule));
    }
}
