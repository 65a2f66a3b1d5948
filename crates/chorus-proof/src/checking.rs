//! The check of one protocol: the configurations that somebody asks for, explored one after the other.

use std::time::Instant;

use chorus_protocol::registry::Protocol;
use chorus_registry::unknown;
use chorus_verify::chart::Chart;
use chorus_verify::check::{
    CheckConfig, Verdict, check_with, configurations, find_configuration, larger_configurations, quick_configurations,
};
use chorus_verify::elision::ElisionConfig;
use chorus_verify::faults::{Catch, caught, find_fault};
use chorus_verify::settings::Settings;
use chorus_verify::shape::Shape;
use serde_json::{Value, json};

use crate::checked::Checked;
use crate::elided::{self, Elided};
use crate::steps::Steps;
use crate::words::count;

/// The version of the JSON that [`Findings::to_json`] writes.
const JSON_SCHEMA_VERSION: u32 = 1;

/// The part of a protocol's configurations that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// The configurations that take seconds.
    Usual,
    /// The smallest configurations, which take a moment.
    Smoke,
    /// Larger machines, too, which take minutes.
    Full,
    /// One configuration by its name.
    Config(&'a str),
    /// A machine by a line of text that describes its size.
    Machine(&'a str),
}

/// A check that somebody asks for.
#[derive(Clone)]
pub struct Asked {
    /// The protocol to check.
    pub protocol: &'static dyn Protocol,
    /// The index of the seeded fault that is built in.
    pub fault: Option<u8>,
    /// The configurations to explore.
    pub configurations: Vec<CheckConfig>,
    /// The configurations of the Chiplet Coherence Table.
    pub tables: Vec<ElisionConfig>,
    /// Whether a fault that no configuration shows is searched for by other means.
    hunts: bool,
}

/// The results of a check.
pub struct Findings {
    /// The configurations that were explored.
    pub checked: Vec<Checked>,
    /// The configurations of the Chiplet Coherence Table that were explored.
    pub tables: Vec<Elided>,
    /// The catch of a seeded fault that no configuration shows.
    pub catch: Option<Catch>,
}

impl Asked {
    /// Finds everything that is asked for. The error names what does not exist, with what does.
    pub fn of(protocol: &'static dyn Protocol, fault: Option<&str>, part: Part<'_>) -> Result<Asked, String> {
        let fault = fault.map(|name| self::fault(protocol, name)).transpose()?;
        let tables = match part {
            Part::Config(name) => elided::named(protocol, name),
            Part::Machine(_) => Vec::new(),
            Part::Usual | Part::Smoke | Part::Full if fault.is_some() => Vec::new(),
            Part::Usual | Part::Smoke | Part::Full => elided::of(protocol, part == Part::Smoke),
        };
        let configurations = match part {
            Part::Config(_) if !tables.is_empty() => Vec::new(),
            Part::Config(name) => vec![configuration(protocol, name)?],
            Part::Machine(shape) => vec![machine(protocol, shape)?],
            // The search for a seeded fault begins with the small configurations, where it shows soonest.
            Part::Usual | Part::Full if fault.is_some() => quick_configurations(protocol),
            Part::Smoke => quick_configurations(protocol),
            Part::Full => [configurations(protocol), larger_configurations(protocol)].concat(),
            Part::Usual => configurations(protocol),
        };
        Ok(Asked { protocol, fault, configurations, tables, hunts: matches!(part, Part::Usual | Part::Full) })
    }

    /// Explores one configuration after the other. With a seeded fault, the first violation ends the search.
    pub fn explore(&self, settings: &Settings, steps: &dyn Steps) -> Vec<Checked> {
        let mut all = Vec::new();
        for configuration in &self.configurations {
            if settings.is_stopped() {
                break;
            }
            steps.begin(&format!("{}: {}", configuration.name, configuration.description));
            let start = Instant::now();
            let report = check_with(self.protocol, self.fault, configuration, settings);
            let checked = Checked::new(configuration, report, start.elapsed().as_secs_f64());
            let (states, verdict) = (count(checked.report.states as u64), checked.verdict());
            steps.finish(&format!("{}: {verdict}, {states} states, {:.1} s", configuration.name, checked.seconds));
            let is_caught = self.fault.is_some() && matches!(checked.report.verdict, Verdict::Violated(_));
            all.push(checked);
            if is_caught {
                break;
            }
        }
        all
    }

    /// Searches for a seeded fault that the small configurations do not show: with single programs, with litmus tests
    /// and in the larger configurations. Nothing is searched for if one configuration was asked for.
    pub fn hunt(&self, findings: &Findings, steps: &dyn Steps) -> Option<Catch> {
        let fault = self.fault.filter(|_| self.hunts && findings.passed())?;
        steps.begin("single programs, litmus tests and larger configurations");
        caught(self.protocol, fault)
    }
}

impl Findings {
    /// Whether nothing was found to be wrong, and every search came to its end.
    pub fn passed(&self) -> bool {
        self.checked.iter().all(|checked| checked.report.passed())
            && self.tables.iter().all(|table| table.report.passed())
            && self.catch.is_none()
    }

    /// The chart of the first violation.
    pub fn chart(&self) -> Option<&Chart> {
        let first = self.checked.iter().find_map(|checked| checked.report.chart());
        first.or(self.catch.as_ref().map(|catch| &catch.chart))
    }

    /// The results as `chorus check --json` prints them, with the names of the fault and the mutant that were built in.
    pub fn to_json(&self, protocol: &dyn Protocol, fault: Option<&str>, mutant: Option<&str>) -> Value {
        json!({
            "schema_version": JSON_SCHEMA_VERSION,
            "protocol": protocol.name(),
            "fault": fault,
            "mutant": mutant,
            "passed": self.passed(),
            "states": self.checked.iter().map(|checked| checked.report.states).sum::<usize>(),
            "configurations": self.checked.iter().map(Checked::to_json).collect::<Vec<_>>(),
            "tables": self.tables.iter().map(Elided::to_json).collect::<Vec<_>>(),
            "caught_elsewhere": self.catch.as_ref().map(|catch| {
                json!({
                    "summary": catch.summary(),
                    "chart": catch.chart.to_text(),
                    "replay": catch.replay().to_string(),
                })
            }),
        })
    }
}

fn configuration(protocol: &'static dyn Protocol, name: &str) -> Result<CheckConfig, String> {
    let configurations = configurations(protocol);
    let mut known: Vec<&str> = configurations.iter().map(|config| config.name).collect();
    known.extend(elided::of(protocol, false).iter().map(|config| config.name));
    find_configuration(protocol, name).ok_or_else(|| unknown("configuration", name, &known))
}

/// The configuration of the machine that `text` describes.
fn machine(protocol: &dyn Protocol, text: &str) -> Result<CheckConfig, String> {
    let shape = text.parse().and_then(|shape: Shape| shape.configuration(protocol));
    shape.map_err(|error| format!("--machine {text}: {error}"))
}

/// The index of the fault of this name, or a message that lists the known names.
pub fn fault(protocol: &dyn Protocol, name: &str) -> Result<u8, String> {
    let known: Vec<&str> = protocol.faults().iter().map(|fault| fault.name).collect();
    let what = format!("fault of {}", protocol.name());
    find_fault(protocol, name).ok_or_else(|| unknown(&what, name, &known))
}
