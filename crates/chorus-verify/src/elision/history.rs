//! Histories: kernels with the accesses that they declare, launched one after the other in one stream or two.

use std::fmt::Write as _;
use std::ops::Range;

use chorus_protocol::chiplet_table::ranges::Ranges;
use chorus_protocol::chiplet_table::{Access, Limits, Mode};

/// The access that a chiplet declares of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Declared {
    /// The chiplet does not access it.
    Nothing,
    /// The chiplet may read it.
    Read,
    /// The chiplet may read and write it.
    Write,
}

/// The way in which accesses of different chiplets are kept apart where one of them writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// A line that a chiplet writes is not accessed by another in the same kernel. Chiplets use its first word.
    LinesApart,
    /// Chiplets share such lines, and each uses a word of its own.
    WordsApart,
}

/// How many of what a configuration has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Chiplets that run kernels.
    pub chiplets: usize,
    /// Data structures, which lie behind each other in memory.
    pub structures: usize,
    /// Lines of each data structure. Each is on a page of its own.
    pub lines: usize,
    /// Kernels of the longest histories.
    pub launches: usize,
    /// The way in which chiplets are kept apart.
    pub sharing: Sharing,
    /// Whether chiplets do everything that they declare. Otherwise they may leave out any part of it.
    pub does_all: bool,
    /// Whether there is also a kernel that declares nothing and may access anything.
    pub undeclared: bool,
    /// Streams whose kernels overlap. With more than one, a kernel accesses one line from one chiplet.
    pub streams: usize,
    /// The capacity of the table.
    pub limits: Limits,
}

/// A kernel: by line of all data structures, then by chiplet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The access of each chiplet to each line.
    pub lines: Vec<Vec<Declared>>,
    /// Whether the command processor is told. A kernel that declares nothing may access anything.
    pub is_declared: bool,
}

impl Kernel {
    /// The access of a chiplet to a line.
    pub fn of(&self, chiplet: usize, line: usize) -> Declared {
        self.lines[line][chiplet]
    }

    /// Whether a chiplet takes part in the kernel.
    pub fn uses(&self, chiplet: usize) -> bool {
        self.lines.iter().any(|line| line[chiplet] != Declared::Nothing)
    }

    /// Whether another chiplet may write a line.
    pub fn others_write(&self, chiplet: usize, line: usize) -> bool {
        self.others(chiplet, line).any(|declared| declared == Declared::Write)
    }

    /// Whether another chiplet may access a line.
    pub fn others_use(&self, chiplet: usize, line: usize) -> bool {
        self.others(chiplet, line).any(|declared| declared != Declared::Nothing)
    }

    fn others(&self, chiplet: usize, line: usize) -> impl Iterator<Item = Declared> {
        let all = self.lines[line].iter().enumerate();
        all.filter(move |(other, _)| *other != chiplet).map(|(_, declared)| *declared)
    }

    /// Whether two kernels may run at the same time: neither writes a line that the other accesses.
    pub fn may_run_beside(&self, other: &Kernel) -> bool {
        let strongest = |line: &Vec<Declared>| line.iter().copied().max().unwrap_or(Declared::Nothing);
        self.lines.iter().zip(&other.lines).all(|(one, other)| {
            let (one, other) = (strongest(one), strongest(other));
            one.max(other) < Declared::Write || one.min(other) == Declared::Nothing
        })
    }
}

impl Size {
    /// A machine of two chiplets with one line, in one stream, with the paper's table.
    pub const SMALLEST: Size = Size {
        chiplets: 2,
        structures: 1,
        lines: 1,
        launches: 4,
        sharing: Sharing::LinesApart,
        does_all: true,
        undeclared: false,
        streams: 1,
        limits: Limits::PAPER,
    };

    /// Lines of all data structures.
    pub fn all_lines(&self) -> usize {
        self.structures * self.lines
    }

    /// The data structure of a line.
    pub fn structure_of(&self, line: usize) -> usize {
        line / self.lines
    }

    /// The lines of a data structure.
    pub fn lines_of(&self, structure: usize) -> Range<usize> {
        structure * self.lines..(structure + 1) * self.lines
    }

    /// Words of a line that kernels use.
    pub fn words(&self) -> usize {
        match self.sharing {
            Sharing::LinesApart => 1,
            Sharing::WordsApart => 2,
        }
    }

    /// Whether a chiplet uses a word of a line in a kernel. Where another chiplet writes, it keeps to its own word.
    pub fn uses_word(&self, kernel: &Kernel, chiplet: usize, line: usize, word: usize) -> bool {
        let is_alone = match kernel.of(chiplet, line) {
            Declared::Nothing => return false,
            Declared::Read => !kernel.others_write(chiplet, line),
            Declared::Write => !kernel.others_use(chiplet, line),
        };
        is_alone || word == chiplet % 2
    }

    /// Every kernel that accesses something.
    pub fn kernels(&self) -> Vec<Kernel> {
        let kinds = [Declared::Nothing, Declared::Read, Declared::Write];
        let combinations = 3_usize.pow(self.chiplets as u32);
        let of_line = (0..combinations).map(|number| {
            (0..self.chiplets).map(|chiplet| kinds[number / 3_usize.pow(chiplet as u32) % 3]).collect::<Vec<_>>()
        });
        let of_line: Vec<Vec<Declared>> = of_line.filter(|line| self.is_race_free(line)).collect();
        let mut lines: Vec<Vec<Vec<Declared>>> = vec![Vec::new()];
        for _ in 0..self.all_lines() {
            let longer = |kernel: &Vec<Vec<Declared>>| {
                let kernel = kernel.clone();
                of_line.iter().map(move |line| [kernel.clone(), vec![line.clone()]].concat()).collect::<Vec<_>>()
            };
            lines = lines.iter().flat_map(longer).collect();
        }
        lines.retain(|kernel| {
            match kernel.iter().flatten().filter(|declared| **declared > Declared::Nothing).count() {
                0 => false,
                1 => true,
                2.. => self.streams == 1,
            }
        });
        let mut kernels: Vec<Kernel> = lines.into_iter().map(|lines| Kernel { lines, is_declared: true }).collect();
        if self.undeclared {
            let lines = vec![vec![Declared::Write; self.chiplets]; self.all_lines()];
            kernels.push(Kernel { lines, is_declared: false });
        }
        kernels
    }

    fn is_race_free(&self, line: &[Declared]) -> bool {
        let accesses = line.iter().filter(|declared| **declared != Declared::Nothing).count();
        accesses <= 1 || !line.contains(&Declared::Write) || self.sharing == Sharing::WordsApart
    }

    /// The accesses that the command processor is told of. Nothing if the kernel declares nothing. `places` has the
    /// addresses of each line.
    pub fn told(&self, kernel: &Kernel, places: &[Range<u64>]) -> Option<Vec<Access>> {
        if !kernel.is_declared {
            return None;
        }
        let mut accesses = Vec::new();
        for structure in 0..self.structures {
            let lines = self.lines_of(structure);
            for (mode, wanted) in [(Mode::Read, Declared::Read), (Mode::ReadWrite, Declared::Write)] {
                let of_chiplet = |chiplet: usize| -> Ranges {
                    let declared = lines.clone().filter(|&line| kernel.of(chiplet, line) == wanted);
                    declared.map(|line| places[line].clone()).collect()
                };
                let by_chiplet: Vec<Ranges> = (0..self.chiplets).map(of_chiplet).collect();
                if by_chiplet.iter().any(|ranges| !ranges.is_empty()) {
                    let structure = places[lines.start].start..places[lines.end - 1].end;
                    accesses.push(Access { structure, mode, by_chiplet });
                }
            }
        }
        Some(accesses)
    }

    /// The name of a line: the letter of its data structure, with a number where that has several lines.
    pub fn name(&self, line: usize) -> String {
        let letter = char::from(b'A' + self.structure_of(line) as u8);
        if self.lines == 1 { letter.to_string() } else { format!("{letter}{}", line % self.lines) }
    }

    /// A kernel in words.
    pub fn describe(&self, kernel: &Kernel) -> String {
        if !kernel.is_declared {
            return "declares nothing".to_owned();
        }
        let mut text = String::new();
        for chiplet in (0..self.chiplets).filter(|&chiplet| kernel.uses(chiplet)) {
            let separator = if text.is_empty() { "" } else { "; " };
            let _ = write!(text, "{separator}chiplet {chiplet}");
            for (verb, wanted) in [("reads", Declared::Read), ("writes", Declared::Write)] {
                let lines: Vec<String> = (0..self.all_lines())
                    .filter(|&line| kernel.of(chiplet, line) == wanted)
                    .map(|line| self.name(line))
                    .collect();
                if !lines.is_empty() {
                    let _ = write!(text, " {verb} {}", lines.join(", "));
                }
            }
        }
        text
    }
}
