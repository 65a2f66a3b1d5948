//! The largest machines that were explored to their end, and the table of them.

use std::cmp::Reverse;

use chorus_lab::html::{Cell, Narrow, escape, table};
use chorus_verify::size::MachineSize;

use crate::Proofs;
use crate::checked::Checked;
use crate::collect::Proof;
use crate::words::count;

/// The most machines of one protocol that the table shows.
const SHOWN: usize = 10;

/// The configurations that passed and than which no other one that passed is larger, most states first. Of
/// configurations of one size, the one with most states stands for all.
pub fn largest(all: &[Checked]) -> Vec<&Checked> {
    let mut passed: Vec<&Checked> = all.iter().filter(|checked| checked.report.passed()).collect();
    passed.sort_by_key(|checked| Reverse(checked.report.states));
    let is_exceeded = |checked: &Checked| {
        passed.iter().any(|other| other.size != checked.size && other.size.is_at_least(&checked.size))
    };
    let mut largest: Vec<&Checked> = Vec::new();
    for &checked in &passed {
        if !is_exceeded(checked) && largest.iter().all(|other| other.size != checked.size) {
            largest.push(checked);
        }
    }
    largest
}

/// The table of all protocols as HTML.
pub fn of(all: &Proofs) -> String {
    let (mut rows, mut left_out) = (Vec::new(), Vec::new());
    for proof in &all.proofs {
        let machines = largest(&proof.configurations);
        rows.extend(machines.iter().take(SHOWN).map(|checked| row(proof, checked)));
        if machines.len() > SHOWN {
            left_out.push(format!("{} of {}", machines.len() - SHOWN, proof.protocol.title()));
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let left_out = match left_out.as_slice() {
        [] => String::new(),
        all => format!(" Left out are machines with fewer states: {}.", escape(&all.join(", "))),
    };
    format!(
        "<h2 id=\"largest\">How far each protocol was proven</h2>\n{}<p class=\"soft\">The largest machines that were \
         explored to their end. No other one of the protocol is at least as large in every column from the modules to \
         the operations; of machines of one size the one with most states is shown. Banks: those of each module. \
         Caches: private caches that have threads. Words: the most of one line. Operations: those of the longest \
         thread.{left_out}</p>\n",
        table(Narrow::Scroll, &headers(), &rows)
    )
}

fn headers() -> [Cell; 11] {
    [
        Cell::text("Protocol"),
        Cell::text("Configuration"),
        Cell::number("GPUs × modules"),
        Cell::number("Banks"),
        Cell::number("Caches"),
        Cell::number("Threads"),
        Cell::number("Lines"),
        Cell::number("Words"),
        Cell::number("Operations"),
        Cell::number("States"),
        Cell::number("Seconds"),
    ]
}

fn row(proof: &Proof, checked: &Checked) -> Vec<Cell> {
    let MachineSize { gpus, modules, banks, caches, cpus, threads, lines, words, operations } = checked.size;
    let cores = if cpus > 0 { format!("{cpus} of CPU cores") } else { String::new() };
    vec![
        Cell::link(&format!("#{}", proof.protocol.name()), proof.protocol.title()),
        // The zero-width space allows a line break after each comma.
        Cell::text(checked.report.config.replace(',', ",\u{200b}")),
        Cell::number(format!("{gpus} × {modules}")),
        Cell::number(banks.to_string()),
        Cell::number(caches.to_string()).with_remark(&cores),
        Cell::number(threads.to_string()),
        Cell::number(lines.to_string()),
        Cell::number(words.to_string()),
        Cell::number(operations.to_string()),
        Cell::number(count(checked.report.states as u64)),
        Cell::number(format!("{:.1}", checked.seconds)),
    ]
}

#[cfg(test)]
mod tests {
    use chorus_protocol::registry::find;
    use chorus_verify::check::{check_bounded, find_configuration};

    use super::*;

    /// The result of a machine of this shape, explored as far as `limit` states.
    fn checked(shape: &str, limit: usize) -> Checked {
        let protocol = find("no-l1").expect("a protocol of this name");
        let config = find_configuration(protocol, shape).expect("a shape");
        Checked::new(&config, check_bounded(protocol, None, &config, limit), 0.0)
    }

    #[test]
    fn only_the_largest_machines_are_kept_and_most_states_come_first() {
        let of = |shape| checked(shape, usize::MAX);
        let all = [of("caches=1"), of("caches=2"), of("caches=1,operations=2"), of("caches=2,fences=0")];
        assert!(all.iter().all(|checked| checked.report.passed()));
        let mut kept = [&all[1], &all[2]];
        kept.sort_by_key(|checked| Reverse(checked.report.states));
        let names = |all: &[&Checked]| all.iter().map(|checked| checked.report.config).collect::<Vec<_>>();
        assert_eq!(names(&largest(&all)), names(&kept));
    }

    #[test]
    fn a_machine_that_was_not_explored_to_its_end_is_none_of_them() {
        assert!(largest(&[checked("caches=2", 10)]).is_empty());
    }
}
