//! The table that `chorus check` prints of explorations of the Chiplet Coherence Table.

use chorus_proof::elided::Elided;

use crate::failure::Failure;
use crate::output::{align_right, count, leave_out, table};
use crate::session::Session;

/// Prints the results as a table, and the histories of violations.
pub fn print(all: &[Elided], session: &mut Session) -> Result<(), Failure> {
    if all.is_empty() {
        return Ok(());
    }
    let heads = ["table", "histories", "states", "operations", "needed", "beyond", "seconds", "verdict", ""];
    let mut shown = table(heads);
    for Elided { report, seconds } in all {
        let counts = &report.counts;
        shown.add_row([
            report.config.to_owned(),
            count(counts.histories),
            count(counts.states as u64),
            count(counts.operations),
            count(counts.least),
            count(counts.excess.iter().sum()),
            format!("{seconds:.1}"),
            report.verdict().to_owned(),
            report.description.clone(),
        ]);
    }
    align_right(&mut shown, 1..7);
    leave_out(&mut shown, &[8, 2, 6], &[(8, 24)]);
    session.output.line("")?;
    session.output.table(&shown)?;
    for timed in all.iter().filter(|timed| !timed.report.passed()) {
        session.output.line("")?;
        session.output.print(&timed.report.to_text())?;
    }
    let passed = all.iter().filter(|timed| timed.report.passed()).count();
    let (histories, seconds) = all.iter().fold((0, 0.0), |(histories, seconds), timed| {
        (histories + timed.report.counts.histories, seconds + timed.seconds)
    });
    let histories = count(histories);
    session.output.line(&format!("\n{passed} of {} tables pass, {histories} histories, {seconds:.1} s", all.len()))
}
