//! Do the pages of the documentation show the output of the binary and the metrics of a run?

use std::collections::BTreeSet;
use std::process::Command;

use chorus_kernel::{HostMemory, Kernel, Program, Verdict};
use chorus_protocol::registry::{self, PROTOCOLS, Protocol, Reach, Structure};
use chorus_registry::{NamedExperiment, Registry};
use chorus_sim::definitions::definitions;
use chorus_system::{Scale, resolve};
use chorus_workloads::Workload;

use crate::markdown::table;
use crate::pages::Page;

/// The rows of the table of metrics: key, unit and meaning.
fn metrics() -> Vec<[String; 3]> {
    definitions(PROTOCOLS)
        .into_iter()
        .map(|metric| [format!("`{}`", metric.key), metric.unit.to_owned(), metric.meaning])
        .collect()
}

/// The output of the binary, without the line about the time that it took.
fn printed(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_chorus")).arg("--no-progress").args(arguments).output();
    let output = output.expect("the binary is built with its tests");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).expect("the binary prints text");
    let lines = text.lines().map(str::trim_end).filter(|line| !line.trim_start().starts_with("took "));
    format!("```text\n{}\n```", lines.collect::<Vec<_>>().join("\n").trim_end())
}

/// A row for each paper: how many systems, protocols and workloads its experiment and its workloads name.
fn papers() -> Vec<[String; 5]> {
    let registry = Registry::standard();
    let row = |experiment: &NamedExperiment| {
        let name = experiment.name;
        let paper = chorus_lab::paper::load(&registry, name).unwrap();
        let runs = paper.experiment.runs(Scale::Quick);
        let protocols: BTreeSet<&str> = runs.iter().map(|run| &*run.protocol).collect();
        let is_of_paper = |system: &&str| *system == name || system.starts_with(&format!("{name}-"));
        let measured = |workload: &&&dyn Workload| workload.papers().iter().any(|paper| paper.name() == name);
        [
            paper.experiment.title.clone(),
            format!("`{name}`"),
            registry.system_names().into_iter().filter(is_of_paper).count().to_string(),
            protocols.len().to_string(),
            registry.workloads().iter().filter(measured).count().to_string(),
        ]
    };
    registry.experiments().iter().map(row).collect()
}

#[test]
fn the_readme_lists_the_papers() {
    let mut page = Page::read("README.md");
    page.expect("papers", |_| table(["paper", "experiment", "systems", "protocols", "workloads"], papers()));
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

    fn check(&self, _: &HostMemory) -> Verdict {
        Verdict::Unchecked
    }
}

#[test]
fn every_metric_of_a_run_is_on_the_page_on_statistics() {
    let systems = ["tc", "cpelide", "spandex", "spandex-hier", "h200"];
    let [one_module, several, flat, hierarchical, sectored] =
        systems.map(|system| resolve(system, Scale::Quick, &[]).unwrap().config);
    let mut measured = BTreeSet::new();
    // Every protocol counts metrics of its own. Machines with several modules, with an L3, with a mesh or with sectors
    // count further metrics.
    let machine = |protocol: &dyn Protocol| match (protocol.structure(), protocol.reach()) {
        (Structure::Translated, _) => &flat,
        (Structure::ThreeLevels | Structure::ThreeLevelsTranslated, _) => &hierarchical,
        (Structure::TwoLevels, Reach::AnyMachine) => &several,
        (Structure::TwoLevels, Reach::OneModule) => &one_module,
    };
    let runs = PROTOCOLS.iter().map(|&protocol| (protocol, machine(protocol)));
    for (protocol, config) in runs.chain([(PROTOCOLS[0], &flat), (registry::find("nhcc").unwrap(), &sectored)]) {
        let run = chorus_sim::simulate(config, protocol, &mut Idle(true), HostMemory::default()).unwrap();
        measured.extend(run.metrics.into_keys().map(|key| format!("`{key}`")));
    }
    let explained: BTreeSet<String> = metrics().into_iter().map(|[key, ..]| key).collect();
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
