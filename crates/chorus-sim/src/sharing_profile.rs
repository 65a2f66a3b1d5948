//! The sharing of lines: a property of the program and of the place of its work-groups, not of the protocol.
//!
//! Every access counts when it is issued, so hits and misses are alike. For each line and compute unit the words that
//! it reads and those that it writes are kept, and the line is classified when the run is over. The classes do not
//! depend on the order of accesses.

use std::collections::BTreeMap;

use chorus_protocol::save::{self, Save};

/// Most lines with false sharing that are listed.
const LISTED: usize = 20;

/// The way in which a line is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// One sharer accesses it.
    Private,
    /// Several read it, and none writes it.
    ReadOnly,
    /// Several access it, in another way than those below.
    ReadWrite,
    /// Several access it, and each of them reads and writes the same words, as those that a lock protects.
    Migratory,
    /// Several access it, and no word that one of them writes is accessed by another one.
    False,
}

impl Class {
    /// All classes, in order.
    pub const ALL: [Class; 5] = [Class::Private, Class::ReadOnly, Class::ReadWrite, Class::Migratory, Class::False];

    /// The name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Class::Private => "private",
            Class::ReadOnly => "read-only",
            Class::ReadWrite => "read-write",
            Class::Migratory => "migratory",
            Class::False => "falsely-shared",
        }
    }
}

/// The parts of a machine that count as sharers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Compute units, and CPU cores where there are any.
    Units,
    /// The modules of all GPUs.
    Modules,
    /// The GPUs of the machine.
    Gpus,
}

impl Level {
    /// All levels, the smallest first.
    pub const ALL: [Level; 3] = [Level::Units, Level::Modules, Level::Gpus];

    /// The name in tables and JSON.
    pub fn name(self) -> &'static str {
        ["compute-units", "modules", "gpus"][self as usize]
    }
}

/// The number of lines of each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Classes([u64; Class::ALL.len()]);

impl Classes {
    /// The number of lines of a class.
    pub fn get(&self, class: Class) -> u64 {
        self.0[class as usize]
    }

    fn note(&mut self, class: Class) {
        self.0[class as usize] += 1;
    }
}

/// A line that several compute units share although they share none of its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FalseLine {
    /// The number of the line among those of the program's memory.
    pub line: u64,
    /// The buffer that it belongs to, in the order in which the program allocated them.
    pub buffer: usize,
    /// The compute units that access it.
    pub units: usize,
    /// The number of accesses to it.
    pub accesses: u64,
}

/// The sharing of the lines that a run accessed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharingReport {
    /// Lines that were accessed.
    pub lines: u64,
    /// Lines by class, for each level of sharers.
    pub classes: [Classes; Level::ALL.len()],
    /// Lines by their number of sharers, for each level of sharers.
    pub sharers: [BTreeMap<usize, u64>; Level::ALL.len()],
    /// Lines of each buffer by class, with compute units as sharers.
    pub buffers: Vec<Classes>,
    /// Lines with false sharing among compute units, those with the most accesses first.
    pub false_lines: Vec<FalseLine>,
}

/// Everything that a sharer does to a line.
#[derive(Clone, Copy, Debug, Save)]
struct Touch {
    sharer: u16,
    /// The words that it reads, one bit each.
    read: u32,
    /// The words that it writes, one bit each.
    written: u32,
    accesses: u64,
}

/// An access to a line.
#[derive(Clone, Copy)]
pub(crate) struct Issued {
    pub(crate) line: u64,
    pub(crate) unit: u16,
    /// The words that it touches, one bit each.
    pub(crate) words: u32,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

/// The sharers of lines, as a part of a machine has noted them.
#[derive(Clone, Debug, Default, Save)]
pub(crate) struct SharingProfile(BTreeMap<u64, Vec<Touch>>);

impl SharingProfile {
    /// Notes the words that an access touches.
    pub(crate) fn note(&mut self, Issued { line, unit, words, reads, writes }: Issued) {
        let [read, written] = [reads, writes].map(|does| if does { words } else { 0 });
        join(self.0.entry(line).or_default(), Touch { sharer: unit, read, written, accesses: 1 });
    }

    /// Adds what another part of the machine has noted.
    pub(crate) fn add(&mut self, other: SharingProfile) {
        for (line, touches) in other.0 {
            let all = self.0.entry(line).or_default();
            touches.into_iter().for_each(|touch| join(all, touch));
        }
    }

    /// The report of a run. `place` says in which module and GPU a compute unit is, and `buffer` to which buffer a line
    /// belongs.
    pub(crate) fn report(&self, place: impl Fn(u16) -> (u16, u16), buffer: impl Fn(u64) -> usize) -> SharingReport {
        let mut report = SharingReport { lines: self.0.len() as u64, ..SharingReport::default() };
        for (&line, touches) in &self.0 {
            for level in Level::ALL {
                let group = |unit: u16| match level {
                    Level::Units => unit,
                    Level::Modules => place(unit).0,
                    Level::Gpus => place(unit).1,
                };
                let mut groups = Vec::new();
                touches.iter().for_each(|touch| join(&mut groups, Touch { sharer: group(touch.sharer), ..*touch }));
                let class = class_of(&groups);
                report.classes[level as usize].note(class);
                *report.sharers[level as usize].entry(groups.len()).or_default() += 1;
                if level == Level::Units {
                    let buffer = buffer(line);
                    if buffer >= report.buffers.len() {
                        report.buffers.resize(buffer + 1, Classes::default());
                    }
                    report.buffers[buffer].note(class);
                    if class == Class::False {
                        let accesses = groups.iter().map(|touch| touch.accesses).sum();
                        report.false_lines.push(FalseLine { line, buffer, units: groups.len(), accesses });
                    }
                }
            }
        }
        report.false_lines.sort_by_key(|line| (std::cmp::Reverse(line.accesses), line.line));
        report.false_lines.truncate(LISTED);
        report
    }
}

/// Adds what a sharer does to a line to what it and others do.
fn join(touches: &mut Vec<Touch>, touch: Touch) {
    match touches.iter_mut().find(|other| other.sharer == touch.sharer) {
        Some(known) => {
            known.read |= touch.read;
            known.written |= touch.written;
            known.accesses += touch.accesses;
        }
        None => touches.push(touch),
    }
}

fn class_of(touches: &[Touch]) -> Class {
    if touches.len() == 1 {
        return Class::Private;
    }
    if touches.iter().all(|touch| touch.written == 0) {
        return Class::ReadOnly;
    }
    // Words that are accessed by one sharer before, by several, and that are written by any.
    let (mut one, mut several, mut written) = (0, 0, 0);
    for touch in touches {
        let words = touch.read | touch.written;
        several |= one & words;
        one |= words;
        written |= touch.written;
    }
    if several & written == 0 {
        return Class::False;
    }
    match touches.iter().all(|touch| touch.read & touch.written != 0) {
        true => Class::Migratory,
        false => Class::ReadWrite,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The class of a line whose accesses are these: unit, words, reads, writes.
    fn class(accesses: &[(u16, u32, bool, bool)]) -> Class {
        let mut profile = SharingProfile::default();
        for &(unit, words, reads, writes) in accesses {
            profile.note(Issued { line: 7, unit, words, reads, writes });
        }
        let report = profile.report(|unit| (unit / 2, unit / 4), |_| 0);
        Class::ALL.into_iter().find(|&class| report.buffers[0].get(class) == 1).expect("one line has one class")
    }

    const READ: (bool, bool) = (true, false);
    const WRITE: (bool, bool) = (false, true);
    const BOTH: (bool, bool) = (true, true);

    fn by(unit: u16, words: u32, (reads, writes): (bool, bool)) -> (u16, u32, bool, bool) {
        (unit, words, reads, writes)
    }

    #[test]
    fn lines_are_classified_by_what_their_sharers_do() {
        assert_eq!(class(&[by(0, 1, READ), by(0, 2, WRITE)]), Class::Private);
        assert_eq!(class(&[by(0, 1, READ), by(1, 1, READ)]), Class::ReadOnly);
        assert_eq!(class(&[by(0, 1, WRITE), by(1, 1, READ)]), Class::ReadWrite);
        assert_eq!(class(&[by(0, 1, BOTH), by(1, 1, READ), by(1, 1, WRITE)]), Class::Migratory);
        assert_eq!(class(&[by(0, 1, WRITE), by(1, 2, WRITE)]), Class::False);
        assert_eq!(class(&[by(0, 1, WRITE), by(1, 2, READ), by(2, 2, READ)]), Class::False);
        assert_eq!(class(&[by(0, 1, WRITE), by(1, 2, READ), by(2, 1, READ)]), Class::ReadWrite);
    }

    #[test]
    fn sharers_are_counted_at_every_level_and_the_order_of_parts_does_not_matter() {
        let mut parts = [SharingProfile::default(), SharingProfile::default()];
        for unit in [0, 1, 5] {
            let issued = Issued { line: 3, unit, words: 1 << unit, reads: false, writes: true };
            parts[usize::from(unit > 1)].note(issued);
        }
        let report = |order: [usize; 2]| {
            let mut profile = SharingProfile::default();
            order.into_iter().for_each(|part| profile.add(parts[part].clone()));
            profile.report(|unit| (unit / 2, unit / 4), |_| 1)
        };
        let found = report([0, 1]);
        assert_eq!(found, report([1, 0]));
        assert_eq!(found.sharers.clone().map(|sharers| sharers.into_keys().collect::<Vec<_>>()), [[3], [2], [2]]);
        assert_eq!(found.classes.map(|classes| classes.get(Class::False)), [1, 1, 1]);
        assert_eq!(found.false_lines, [FalseLine { line: 3, buffer: 1, units: 3, accesses: 3 }]);
    }
}
