//! The table of the configurations that `chorus check` explored, and what it says of them together.

use chorus_proof::Checked;

use crate::failure::Failure;
use crate::output::{align_right, count, leave_out, table};
use crate::session::Session;

/// Prints the table, then the violations, then the sum.
pub fn print(all: &[Checked], session: &mut Session) -> Result<(), Failure> {
    let mut table = table([
        "configuration",
        "states",
        "symmetries",
        "transitions",
        "depth",
        "executions",
        "bytes/state",
        "seconds",
        "verdict",
        "",
    ]);
    rows(all).iter().for_each(|row| _ = table.add_row(row.cells()));
    align_right(&mut table, 1..8);
    leave_out(&mut table, &[4, 3, 2, 5, 6], &[(9, 24)]);
    session.output.table(&table)?;
    for checked in all.iter().filter(|checked| !checked.report.passed()) {
        session.output.line("")?;
        session.output.print(&checked.report.to_text())?;
    }
    let states: usize = all.iter().map(|checked| checked.report.states).sum();
    let seconds: f64 = all.iter().map(|checked| checked.seconds).sum();
    let passed = all.iter().filter(|checked| checked.report.passed()).count();
    let (configurations, states) = (all.len(), count(states as u64));
    session
        .output
        .line(&format!("\n{passed} of {configurations} configurations pass, {states} states, {seconds:.1} s"))?;
    let missed = all.iter().filter_map(|checked| checked.report.omission_probability);
    match missed.reduce(|a, b| a + b) {
        Some(probability) => session.output.line(&format!(
            "states were told apart by fingerprints: one was missed with a probability of at most {probability:.1e}"
        )),
        None => Ok(()),
    }
}

/// The configurations of one row. Their names begin alike: they are one machine with several values of parameters.
struct Row<'a> {
    machine: &'a str,
    all: Vec<&'a Checked>,
}

/// A row for each configuration, but one for a machine whose parameters vary. A name such as `smoke[lease=2]` is that
/// of a machine with a value for each parameter.
fn rows(all: &[Checked]) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for checked in all {
        let name = checked.report.config;
        let machine = name.find('[').map_or(name, |bracket| &name[..=bracket]);
        match rows.iter_mut().find(|row| row.machine == machine) {
            Some(row) => row.all.push(checked),
            None => rows.push(Row { machine, all: vec![checked] }),
        }
    }
    rows
}

impl Row<'_> {
    fn cells(&self) -> [String; 10] {
        let sum = |part: fn(&Checked) -> u64| self.all.iter().map(|checked| part(checked)).sum::<u64>();
        let most = |part: fn(&Checked) -> usize| self.all.iter().map(|checked| part(checked)).max().unwrap_or(0);
        [
            self.name(),
            count(sum(|checked| checked.report.states as u64)),
            most(|checked| checked.report.symmetry).to_string(),
            count(sum(|checked| checked.report.transitions)),
            most(|checked| checked.report.depth as usize).to_string(),
            count(most(|checked| checked.report.executions) as u64),
            most(|checked| checked.report.bytes_per_state()).to_string(),
            format!("{:.1}", self.all.iter().map(|checked| checked.seconds).sum::<f64>()),
            self.verdict(),
            self.description(),
        ]
    }

    fn name(&self) -> String {
        match self.machine.strip_suffix('[') {
            Some(machine) => format!("{machine}[…]"),
            None => broken_at_commas(self.machine),
        }
    }

    /// The verdict that all share, or the number of configurations that did not pass.
    fn verdict(&self) -> String {
        let failed: Vec<_> = self.all.iter().filter(|checked| !checked.report.passed()).collect();
        match (failed.as_slice(), self.all.as_slice()) {
            ([], [first, ..]) | (_, [first]) => first.verdict().to_owned(),
            ([first, ..], all) => format!("{} of {} {}", failed.len(), all.len(), first.verdict()),
            ([], []) => String::new(),
        }
    }

    fn description(&self) -> String {
        match self.machine.strip_suffix('[') {
            Some(machine) => format!("{machine} with {} other choices of parameters", self.all.len()),
            None => self.all[0].report.description.to_owned(),
        }
    }
}

/// A name in lines that leave room for the other columns. The name of a machine lists its parts with commas between.
fn broken_at_commas(name: &str) -> String {
    const WIDTH: usize = 20;
    let mut lines: Vec<String> = Vec::new();
    for part in name.split_inclusive(',') {
        match lines.last_mut() {
            Some(line) if line.len() + part.len() <= WIDTH => line.push_str(part),
            Some(_) | None => lines.push(part.to_owned()),
        }
    }
    lines.join("\n")
}
