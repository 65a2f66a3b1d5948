//! Chains of accesses for people: what each waited for, from its issue to its end.

use chorus_lab::why::{Kept, Told};
use chorus_protocol::address::Topology;
use chorus_sim::observe::{Access, Interval, Scene, Served};
use comfy_table::Table;

use crate::failure::Failure;
use crate::output::{align_right, count, table};
use crate::session::Session;

/// The columns of the longest bar.
const BAR: usize = 14;

/// A bar of so many parts of the longest one, to an eighth of a column.
pub fn bar(part: u64, longest: u64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (part * 8 * BAR as u64).checked_div(longest).unwrap_or(0) as usize;
    let eighths = eighths.max(usize::from(part > 0));
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// Prints the slowest of the accesses that were asked for, each as a table.
pub fn print(told: &Told, session: &mut Session) -> Result<(), Failure> {
    let Some(scene) = &told.why.scene else { return Ok(()) };
    session.output.line(&told.result.spec.to_string())?;
    for kept in &told.why.kept {
        session.output.line(&format!("\n{}", headline(&kept.access, scene)))?;
        session.output.table(&chain(kept, scene))?;
    }
    Ok(())
}

/// The access in one line or two.
fn headline(access: &Access, scene: &Scene) -> String {
    let Served { number, purpose, cache, wave } = access.served;
    let cycles = (access.ended - access.issued) / scene.cycle;
    let place = access.line.map_or_else(String::new, |line| {
        let address = line * u64::from(scene.line_bytes);
        let buffer = scene.buffer_of(line).map_or_else(String::new, |buffer| format!(" in buffer {buffer}"));
        format!(", line {address:#x}{buffer}")
    });
    let (what, from, until) = (purpose.one(), access.issued / scene.cycle, access.ended / scene.cycle);
    format!(
        "{what} {}: {} cycles, from cycle {} to {}\n{}, slot {wave}, kernel {}{place}",
        number.0,
        count(cycles),
        count(from),
        count(until),
        scene.topology.name(cache),
        access.kernel,
    )
}

/// Intervals of one cause, place and message that follow each other, as one, and the other accesses that they were for.
fn joined(chain: &[Interval]) -> Vec<(Interval, Vec<Served>)> {
    let mut joined: Vec<(Interval, Vec<Served>)> = Vec::new();
    let key = |interval: &Interval| (interval.cause, interval.place, interval.message, interval.is_probe);
    for interval in chain {
        match joined.last_mut().filter(|(last, _)| key(last) == key(interval)) {
            Some((last, _)) => last.until = interval.until,
            None => joined.push((*interval, Vec::new())),
        }
        if let (Some((_, others)), Some(other)) = (joined.last_mut(), interval.other)
            && !others.contains(&other)
        {
            others.push(other);
        }
    }
    joined
}

fn chain(kept: &Kept, scene: &Scene) -> Table {
    let mut table = table(["cycles", "", "cause", "at", "message", "for"]);
    let intervals = joined(&kept.chain);
    let longest = intervals.iter().map(|(interval, _)| interval.until - interval.from).max().unwrap_or(0);
    let issued = kept.access.issued;
    for (interval, others) in &intervals {
        // Cycles are counted from the issue, so that those of all intervals add up although they are whole.
        let cycles = (interval.until - issued) / scene.cycle - (interval.from - issued) / scene.cycle;
        let ticks = interval.until - interval.from;
        let others = match others.as_slice() {
            [] => String::new(),
            [other] => name(*other, scene.topology),
            others => format!("{} accesses", others.len()),
        };
        table.add_row([
            count(cycles),
            bar(ticks, longest),
            interval.cause.name().to_owned(),
            scene.topology.name(interval.place),
            scene.message_name(interval).to_owned(),
            others,
        ]);
    }
    align_right(&mut table, [0]);
    table
}

fn name(other: Served, topology: Topology) -> String {
    format!("{} {} ({})", other.purpose.one(), other.number.0, topology.name(other.cache))
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn bars_show_the_least_part_and_end_at_the_longest() {
        assert_eq!((bar(0, 9).as_str(), bar(1, 1_000_000).as_str()), ("", "▏"));
        assert_eq!(bar(9, 9).chars().count(), 14);
        assert_eq!(bar(1, 0), "▏");
    }
}
