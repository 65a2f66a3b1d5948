//! Do the pages of the documentation show what the binary prints and what a run measures?

#[path = "../../chorus-verify/tests/pages/mod.rs"]
mod pages;

use std::process::Command;

use chorus_protocol::message::TrafficClass;
use chorus_protocol::registry;
use chorus_sim::frontend::{HostMemory, Kernel, Mismatch, Program};
use chorus_sim::stats::{COUNTERS, Unit};
use chorus_system::{Scale, resolve};
use pages::{Page, table};

fn contents(class: TrafficClass) -> &'static str {
    match class {
        TrafficClass::Load => "data of loads",
        TrafficClass::Store => "data of stores",
        TrafficClass::Atomic => "data of atomics, with operands and old values",
        TrafficClass::Request => "control messages of any protocol",
        TrafficClass::Invalidation => "invalidations and their acknowledgements",
        TrafficClass::Recall => "recalls and their acknowledgements",
    }
}

/// A row for each metric.
fn metrics() -> Vec<[String; 3]> {
    let row = |key: String, unit: &str, meaning: &str| [format!("`{key}`"), unit.to_owned(), meaning.to_owned()];
    let mut rows: Vec<[String; 3]> = COUNTERS
        .iter()
        .map(|counter| {
            let unit = match counter.unit {
                Unit::Count => "count",
                Unit::Cycles => "core cycles",
            };
            row(counter.key.to_owned(), unit, counter.definition)
        })
        .collect();
    for unit in ["flits", "bytes"] {
        rows.push(row(format!("traffic.{unit}"), unit, "all classes together, through both crossbars"));
        for class in TrafficClass::ALL {
            let (label, key) = (class.label(), class.label().to_lowercase());
            rows.push(row(format!("traffic.{unit}.{key}"), unit, &format!("{label}: {}", contents(class))));
        }
    }
    rows.push(row("energy.nj".to_owned(), "nJ", "interconnect energy, dynamic and static"));
    rows.push(row("energy.dynamic_nj".to_owned(), "nJ", "interconnect energy spent per flit"));
    rows.push(row(
        "energy.static_nj".to_owned(),
        "nJ",
        "interconnect energy spent per virtual-channel buffer and time",
    ));
    rows
}

/// What the binary prints, without the line that says how long it took.
fn printed(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_chorus")).arg("--no-progress").args(arguments).output();
    let output = output.expect("the binary is built with its tests");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("the binary prints text");
    let lines = text.lines().map(str::trim_end).filter(|line| !line.trim_start().starts_with("took "));
    format!("```text\n{}\n```", lines.collect::<Vec<_>>().join("\n").trim_end())
}

#[test]
fn the_page_on_statistics_lists_every_metric() {
    let mut page = Page::read("docs/concepts/statistics.md");
    page.expect("metrics", |_| table(["metric", "unit", "meaning"], metrics()));
}

/// A kernel that does nothing.
struct Idle(bool);

impl Program for Idle {
    fn next_kernel(&mut self, _: &HostMemory) -> Option<Kernel> {
        std::mem::take(&mut self.0).then(|| Kernel::new("idle", 1, 1, |_| async {}))
    }

    fn check(&self, _: &HostMemory) -> Result<(), Mismatch> {
        Ok(())
    }
}

#[test]
fn every_metric_of_a_run_is_on_the_page_on_statistics() {
    let config = resolve("tc", Scale::Quick, &[]).unwrap().config;
    let protocol = registry::find("gpu-vi").unwrap();
    let run = chorus_sim::simulate(&config, protocol, &mut Idle(true), HostMemory::default()).unwrap();
    let mut measured: Vec<String> = run.metrics.keys().map(|key| format!("`{key}`")).collect();
    let mut explained: Vec<String> = metrics().into_iter().map(|[key, ..]| key).collect();
    measured.sort();
    explained.sort();
    assert_eq!(measured, explained);
}

#[test]
fn the_first_run_of_the_tutorial_prints_what_the_tutorial_shows() {
    let mut page = Page::read("docs/tutorials/first-run.md");
    page.expect("run", |_| printed(&["run", "--system", "tc", "--protocol", "gpu-vi", "--workload", "stn"]));
    page.expect("refusal", |_| printed(&["run", "--system", "tc", "--protocol", "no-coh", "--workload", "stn"]));
    let misspelt =
        ["run", "--system", "tc", "--protocol", "gpu-vi", "--workload", "stn", "--set", "l1.sizebytes=65536"];
    page.expect("misspelt", |_| printed(&misspelt));
}
