//! Seeded faults: mistakes built into a protocol on request, which the checks must find.

use std::fmt::Write;

use chorus_protocol::registry::{Counters, FaultSpec, Protocol};

use crate::chart::Chart;
use crate::check::{CheckConfig, Verdict, check, configurations, smoke_configurations};
use crate::config::Stores;
use crate::litmus::{SuiteTest, run_litmus, tests};

/// How a fault was found.
#[derive(Clone, Debug)]
pub struct Catch {
    /// The fault.
    pub fault: FaultSpec,
    /// The kind of check that found it, and which.
    pub by: Catcher,
    /// The way to the violation.
    pub chart: Chart,
}

/// A check that finds faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Catcher {
    /// A configuration, by name.
    Configuration(&'static str),
    /// A litmus test, by name.
    Litmus(String),
}

impl Catch {
    /// One line: what was wrong, what found it, and how it showed.
    pub fn summary(&self) -> String {
        let by = match &self.by {
            Catcher::Configuration(name) => format!("configuration {name}"),
            Catcher::Litmus(name) => format!("litmus test {name}"),
        };
        format!("{} ({}): caught by {by}: {}", self.fault.name, self.fault.breaks, self.chart.violation)
    }

    /// The line and the chart.
    pub fn to_text(&self) -> String {
        let mut text = self.summary();
        let _ = write!(text, "\n\n{}", self.chart.to_text());
        text
    }
}

/// The index of a protocol's fault, by name.
pub fn find_fault(protocol: &dyn Protocol, name: &str) -> Option<u8> {
    protocol.faults().iter().position(|fault| fault.name == name).map(|index| index as u8)
}

/// Looks for fault number `fault` of a protocol: first in the cheapest configurations and by litmus tests from few private caches to
/// many, then in the larger configurations. Nothing if none of them finds it. Where time counts, one program has fewer states than all
/// short ones have, so litmus tests come first, those about leases before the others.
pub fn caught(protocol: &'static dyn Protocol, fault: u8) -> Option<Catch> {
    let in_any = |configs: &[CheckConfig]| configs.iter().find_map(|config| by_configuration(protocol, fault, config));
    let timed = protocol.counters() == Counters::Synchronised;
    let by_tests = || {
        let mut tests = tests();
        if timed {
            tests.reverse();
        }
        tests.sort_by_key(|test| test.test.program.threads.iter().map(|thread| (thread.gpu, thread.cta)).max());
        tests.iter().find_map(|test| by_litmus(protocol, fault, test))
    };
    let in_small = || in_any(&smoke_configurations());
    let found = if timed { by_tests().or_else(in_small) } else { in_small().or_else(by_tests) };
    found.or_else(|| in_any(&configurations(protocol)))
}

fn by_configuration(protocol: &'static dyn Protocol, fault: u8, config: &CheckConfig) -> Option<Catch> {
    let spec = *protocol.faults().get(usize::from(fault))?;
    match check(protocol, Some(fault), config).verdict {
        Verdict::Violated(chart) => Some(Catch { fault: spec, by: Catcher::Configuration(config.name), chart }),
        Verdict::Pass | Verdict::Bounded(_) => None,
    }
}

fn by_litmus(protocol: &'static dyn Protocol, fault: u8, test: &SuiteTest) -> Option<Catch> {
    let spec = *protocol.faults().get(usize::from(fault))?;
    let chart = run_litmus(protocol, Some(fault), test, Stores::Posted).ok()?.failure?;
    Some(Catch { fault: spec, by: Catcher::Litmus(test.name().to_owned()), chart })
}
