//! The time of all accesses by cause, for people.

use std::collections::{BTreeMap, BTreeSet};

use chorus_lab::why::Told;
use chorus_lab::why::stack::{Layer, Sum, Time};
use chorus_sim::observe::Purpose;
use comfy_table::Table;

use crate::chains::bar;
use crate::failure::Failure;
use crate::output::{align_right, count, percent, table};
use crate::session::Session;

/// Rows of a split. Of more kernels or buffers, those with the most time are shown.
const ROWS_MAX: usize = 12;

fn headline(purpose: Purpose, sum: &Sum, cycle: u64) -> String {
    let average = sum.ticks() as f64 / cycle as f64 / sum.accesses.max(1) as f64;
    let (accesses, cycles) = (count(sum.accesses), count(sum.ticks() / cycle));
    format!("{accesses} {}: {cycles} cycles of latency, {average:.1} each", purpose.name())
}

/// Prints the time of all accesses by cause, and that of loads by kernel and by buffer.
pub fn print(told: &Told, session: &mut Session) -> Result<(), Failure> {
    let cycle = told.cycle();
    session.output.line(&told.result.spec.to_string())?;
    for (purpose, sum) in told.sums() {
        session.output.line(&format!("\n{}", headline(purpose, &sum, cycle)))?;
        session.output.table(&by_cause(&sum, cycle))?;
    }
    let stack = &told.why.stack;
    for purpose in [Purpose::Load, Purpose::Atomic] {
        let kernels = stack.split(purpose, |group| group.kernel.to_string());
        let buffers = stack.split(purpose, |group| group.buffer.map_or_else(String::new, |buffer| buffer.to_string()));
        for (property, split) in [("kernel", kernels), ("buffer", buffers)] {
            if !split.is_empty() {
                session.output.line(&format!("\n{} by {property}", purpose.name()))?;
                session.output.table(&by_property(property, split, cycle))?;
            }
        }
    }
    Ok(())
}

fn by_cause(sum: &Sum, cycle: u64) -> Table {
    let mut table = table(["cause", "cycles", "share", "", "for others"]);
    let (layers, total) = (sum.by_time(), sum.ticks());
    let longest = layers.first().map_or(0, |(_, time)| time.ticks);
    for (layer, Time { ticks, for_others }) in layers {
        table.add_row([
            layer.name().to_owned(),
            count(ticks / cycle),
            percent(ticks as f64, total as f64),
            bar(ticks, longest),
            percent(for_others as f64, ticks as f64),
        ]);
    }
    align_right(&mut table, [1, 2, 4]);
    table
}

fn by_property(property: &str, split: BTreeMap<String, Sum>, cycle: u64) -> Table {
    let mut table = table([property, "accesses", "cycles", "each", "mostly"]);
    let mut rows: Vec<(String, Sum)> = split.into_iter().collect();
    rows.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.ticks()));
    let hidden = rows.len().saturating_sub(ROWS_MAX);
    for (name, sum) in rows.iter().take(ROWS_MAX) {
        let each = sum.ticks() as f64 / cycle as f64 / sum.accesses.max(1) as f64;
        let mostly = sum.largest().map_or("", Layer::name);
        let cycles = count(sum.ticks() / cycle);
        table.add_row([name.as_str(), &count(sum.accesses), &cycles, &format!("{each:.1}"), mostly]);
    }
    if hidden > 0 {
        table.add_row([format!("{hidden} more")]);
    }
    align_right(&mut table, 1..4);
    table
}

/// Prints where the time of loads and atomics differs between two runs: why one beats the other.
pub fn print_difference(one: &Told, other: &Told, session: &mut Session) -> Result<(), Failure> {
    let [name, other_name] = [one, other].map(|told| told.result.spec.protocol.as_str());
    let [cycles, other_cycles] = [one, other].map(|told| told.result.cycles);
    session.output.line(&one.result.spec.to_string())?;
    let (faster, slower, least, most) = match cycles <= other_cycles {
        true => (name, other_name, cycles, other_cycles),
        false => (other_name, name, other_cycles, cycles),
    };
    let ratio = most as f64 / least.max(1) as f64;
    let verdict = match least == most {
        true => format!("{name} and {other_name} take {} cycles each", count(least)),
        false => format!("{faster} takes {} cycles, {slower} {}: {ratio:.2} times as many", count(least), count(most)),
    };
    session.output.line(&verdict)?;
    for purpose in Purpose::AWAITED {
        let sums = [one, other].map(|told| told.why.stack.of(purpose));
        if sums.iter().any(|sum| sum.accesses > 0) {
            let [ours, theirs] = sums.each_ref().map(|sum| count(sum.accesses));
            session.output.line(&format!("\n{}: {ours} under {name}, {theirs} under {other_name}", purpose.name()))?;
            session.output.table(&difference([name, other_name], &sums, [one.cycle(), other.cycle()]))?;
        }
    }
    Ok(())
}

fn difference(names: [&str; 2], sums: &[Sum; 2], cycle: [u64; 2]) -> Table {
    let mut table = table(["cycles", names[0], names[1], "difference", ""]);
    let layers: BTreeSet<Layer> = sums.iter().flat_map(|sum| sum.layers().map(|(layer, _)| layer)).collect();
    let cycles = |run: usize, layer| sums[run].time(layer).ticks / cycle[run];
    let mut rows: Vec<(Layer, u64, u64)> =
        layers.into_iter().map(|layer| (layer, cycles(0, layer), cycles(1, layer))).collect();
    rows.sort_by_key(|&(layer, ours, theirs)| (std::cmp::Reverse(ours.abs_diff(theirs)), layer));
    let longest = rows.first().map_or(0, |&(_, ours, theirs)| ours.abs_diff(theirs));
    let mut add = |label: &str, ours: u64, theirs: u64, longest: u64| {
        let sign = if theirs >= ours { "+" } else { "−" };
        let apart = ours.abs_diff(theirs);
        let difference = if apart == 0 { "0".to_owned() } else { format!("{sign}{}", count(apart)) };
        table.add_row([label.to_owned(), count(ours), count(theirs), difference, bar(apart, longest)]);
    };
    for (layer, ours, theirs) in rows {
        add(layer.name(), ours, theirs, longest);
    }
    add("all", sums[0].ticks() / cycle[0], sums[1].ticks() / cycle[1], 0);
    align_right(&mut table, 1..4);
    table
}
