//! The least that is sound before a kernel, from what L2s may hold and not from the table.
//!
//! The account knows of every line and chiplet whether the L2 may hold the line, whether it may hold it dirty, and
//! whether its copy may be out of date. It follows from the accesses that kernels declared and from the operations that
//! were carried out. A dirty line has to be written back before another chiplet accesses it. A copy that is out of date
//! has to go before its own chiplet accesses it. Nothing else is needed. Operations as late as this are also the fewest
//! over a whole history: each need is an interval of launches, and one operation at the end of an interval meets all
//! needs of that L2 that are open then.
//!
//! The paper's table asks for more than that, by design. [`Reason`] says where, and how much more is right there.

use chorus_protocol::chiplet_table::Holdings;

use super::history::{Declared, Kernel, Size};

/// The operation of an L2, on all of it or on a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Need {
    /// It keeps all its lines as they are.
    #[default]
    Nothing,
    /// It writes dirty lines back and keeps them.
    WriteBack,
    /// It writes dirty lines back and drops everything.
    Empty,
}

/// Operations by chiplet, then by line.
pub type Needs = Vec<Vec<Need>>;

/// A reason why the paper's table asks for more than the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The kernel declares nothing.
    Undeclared,
    /// A row has one state for all lines of its data structure.
    Row,
    /// Figure 6 does not know the homes of lines, at which this protocol's L2s need no command.
    Home,
    /// A row or a declaration has no room, so that several data structures are treated as one or given up.
    Capacity,
}

impl Reason {
    /// Every reason, in the order of reports.
    pub const ALL: [Reason; 4] = [Reason::Undeclared, Reason::Row, Reason::Home, Reason::Capacity];

    /// The reason in a word.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Undeclared => "undeclared",
            Reason::Row => "row",
            Reason::Home => "home",
            Reason::Capacity => "capacity",
        }
    }
}

/// The lines of other modules' memory that an L2 keeps until a command comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeps {
    /// Lines that it has written.
    pub dirty: bool,
    /// Copies that nothing else keeps up to date.
    pub copies: bool,
}

/// The rules of a machine: what its L2s keep, what its table assumes, and where lines lie.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The numbers of chiplets, data structures and lines.
    pub size: Size,
    /// The lines of other modules' memory that L2s keep.
    pub keeps: Keeps,
    /// The lines that L2s hold in the belief of the table.
    pub holdings: Holdings,
    /// The module in whose memory each line lies.
    pub homes: Vec<usize>,
    /// Whether operations concern whole L2s.
    pub whole: bool,
}

/// The states in which an L2 may hold a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Held {
    touched: bool,
    dirty: bool,
    stale: bool,
}

/// The states of all lines in all L2s: by chiplet, then by line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Account(Vec<Vec<Held>>);

/// The part of an account that a rule looks at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    /// The needs of this machine's values.
    Values,
    /// The needs by Figure 6, whose table does not know homes.
    Table,
}

impl Account {
    /// The account of empty L2s.
    pub fn new(size: &Size) -> Account {
        Account(vec![vec![Held::default(); size.all_lines()]; size.chiplets])
    }

    /// The least that is sound before a kernel.
    pub fn least(&self, rules: &Rules, kernel: &Kernel) -> Needs {
        rules.whole_or_not(rules.each(|chiplet, line| {
            let seen = self.seen(rules, View::Values, chiplet, line);
            if seen.stale && kernel.of(chiplet, line) != Declared::Nothing {
                Need::Empty
            } else if seen.dirty && kernel.others_use(chiplet, line) {
                Need::WriteBack
            } else {
                Need::Nothing
            }
        }))
    }

    /// The least that is sound before everything is read from outside: all that is dirty is written back.
    pub fn least_finally(&self, rules: &Rules) -> Needs {
        rules.whole_or_not(rules.each(|chiplet, line| self.dirty_need(rules, View::Values, chiplet, line)))
    }

    fn dirty_need(&self, rules: &Rules, view: View, chiplet: usize, line: usize) -> Need {
        if self.seen(rules, view, chiplet, line).dirty { Need::WriteBack } else { Need::Nothing }
    }

    /// Why an operation that is not among the least is asked for before a kernel, if there is a reason.
    pub fn reason(&self, rules: &Rules, kernel: &Kernel, chiplet: usize, line: usize, asked: Need) -> Option<Reason> {
        let by_rows = |view| rules.whole_or_not(self.by_rows(rules, view, kernel))[chiplet][line];
        Reason::ALL.into_iter().find(|reason| match reason {
            Reason::Undeclared => !kernel.is_declared,
            Reason::Row => by_rows(View::Values) >= asked,
            Reason::Home => by_rows(View::Table) >= asked,
            Reason::Capacity => {
                let has_room = rules.size.limits.per_kernel >= rules.size.structures;
                !has_room && self.0[chiplet].iter().any(|held| held.touched)
            }
        })
    }

    /// Why an L2 that needs not be written back in the end is, if there is a reason.
    pub fn final_reason(&self, rules: &Rules, chiplet: usize) -> Option<Reason> {
        let may_be_dirty = self.0[chiplet].iter().any(|held| held.dirty);
        let has_room = rules.size.limits.per_kernel >= rules.size.structures;
        match (may_be_dirty, has_room) {
            (true, _) => Some(Reason::Home),
            (false, false) => Some(Reason::Capacity),
            (false, true) => None,
        }
    }

    /// The needs by a table of rows with one state each. It takes a copy that this kernel makes stale for stale.
    fn by_rows(&self, rules: &Rules, view: View, kernel: &Kernel) -> Needs {
        rules.each(|chiplet, line| {
            let lines = || rules.size.lines_of(rules.size.structure_of(line));
            let seen = |line| self.seen(rules, view, chiplet, line);
            let may_be_dirty = lines().any(|line| seen(line).dirty);
            let becomes_stale = |line| seen(line).touched && kernel.others_write(chiplet, line);
            let keeps_copies = match view {
                View::Values => rules.keeps.copies,
                View::Table => rules.holdings == Holdings::Copies,
            };
            let is_stale = keeps_copies && lines().any(|line| seen(line).stale || becomes_stale(line));
            if !seen(line).touched {
                Need::Nothing
            } else if is_stale && lines().any(|line| kernel.of(chiplet, line) != Declared::Nothing) {
                Need::Empty
            } else if may_be_dirty && lines().any(|line| seen(line).touched && kernel.others_use(chiplet, line)) {
                Need::WriteBack
            } else {
                Need::Nothing
            }
        })
    }

    /// The part of a line's state that a view looks at.
    fn seen(&self, rules: &Rules, view: View, chiplet: usize, line: usize) -> Held {
        let held = self.0[chiplet][line];
        let is_home = rules.homes[line] == chiplet;
        let Keeps { dirty, copies } = rules.keeps;
        match (view, rules.holdings) {
            (View::Values, _) => Held {
                touched: held.touched && !is_home && (dirty || copies),
                dirty: held.dirty && !is_home && dirty,
                stale: held.stale && !is_home && copies,
            },
            (View::Table, Holdings::Copies) => held,
            // A row is dirty if any of its lines is, and concerns the lines that lie here.
            (View::Table, Holdings::OwnMemory) => Held { touched: held.touched && is_home, stale: false, ..held },
        }
    }

    /// Notes operations that were carried out.
    pub fn carry_out(&mut self, needs: &Needs) {
        for (held, need) in self.0.iter_mut().flatten().zip(needs.iter().flatten()) {
            match need {
                Need::Nothing => {}
                Need::WriteBack => held.dirty = false,
                Need::Empty => *held = Held::default(),
            }
        }
    }

    /// Notes the accesses of a kernel that runs now.
    pub fn run(&mut self, kernel: &Kernel) {
        for (chiplet, lines) in self.0.iter_mut().enumerate() {
            for (line, held) in lines.iter_mut().enumerate() {
                let declared = kernel.of(chiplet, line);
                held.touched |= declared != Declared::Nothing;
                held.dirty |= declared == Declared::Write;
                held.stale |= held.touched && kernel.others_write(chiplet, line);
            }
        }
    }
}

impl Rules {
    /// Needs of every chiplet and line.
    fn each(&self, need: impl Fn(usize, usize) -> Need) -> Needs {
        let lines = |chiplet| (0..self.size.all_lines()).map(|line| need(chiplet, line)).collect();
        (0..self.size.chiplets).map(lines).collect()
    }

    /// The needs of whole L2s, where operations concern these: the strongest of all lines.
    fn whole_or_not(&self, mut needs: Needs) -> Needs {
        for lines in needs.iter_mut().filter(|_| self.whole) {
            let strongest = lines.iter().copied().max().unwrap_or_default();
            lines.fill(strongest);
        }
        needs
    }

    /// Operations that are carried out one by one: one for each L2, or one for each line.
    pub fn operations<'a>(&'a self, needs: &'a Needs) -> impl Iterator<Item = (usize, usize, Need)> + 'a {
        let lines = if self.whole { 1 } else { self.size.all_lines() };
        let all = needs.iter().enumerate();
        all.flat_map(move |(chiplet, needs)| {
            needs[..lines].iter().enumerate().map(move |(line, need)| (chiplet, line, *need))
        })
    }
}
