//! Outcomes of litmus tests that a GPU showed, judged by the memory model of PTX and by a protocol.

use std::collections::{BTreeMap, BTreeSet};

use chorus_lab::validation::LitmusVerdict;
use chorus_lab::validation::measured::OutcomeRow;
use chorus_litmus::judge::allowed;
use chorus_litmus::model::Model;
use chorus_litmus::parse::{Parsed, parse};
use chorus_litmus::test::{LitmusTest, Outcome};
use chorus_protocol::registry::Protocol;
use chorus_verify::config::{Loads, MachineConfig};
use chorus_verify::explore::{End, Exploration, OnForbidden};
use chorus_verify::litmus::Placement;
use chorus_verify::settings::Settings;

/// The most states of an exploration. A test that has more is judged by the model alone.
const STATES_MAX: usize = 200_000;

/// The placement on a GPU in which blocks share a private cache.
const SAME_SM: &str = "same SM";

/// Judges every test of the rows. Tests whose shape or variant is unknown are left out with a reason.
pub fn judge(protocol: &'static dyn Protocol, rows: &[OutcomeRow], explores: bool) -> Vec<LitmusVerdict> {
    let mut tests: BTreeMap<[&str; 4], BTreeSet<&str>> = BTreeMap::new();
    for row in rows {
        let seen = tests.entry([&row.test, &row.scope, &row.variant, &row.placement]).or_default();
        if row.count > 0 {
            seen.insert(&row.outcome);
        }
    }
    tests.into_iter().map(|(key, seen)| judge_one(protocol, key, &seen, explores)).collect()
}

fn judge_one(protocol: &'static dyn Protocol, key: [&str; 4], seen: &BTreeSet<&str>, explores: bool) -> LitmusVerdict {
    let mut verdict = LitmusVerdict {
        test: key.iter().filter(|part| **part != "-").copied().collect::<Vec<_>>().join(", "),
        seen: seen.len(),
        seen_forbidden: Vec::new(),
        not_reached: None,
        reached_forbidden: Vec::new(),
        left_out: None,
    };
    let test = match text_of(key).map(|text| parse(&text)) {
        Ok(Ok(Parsed::Test(test))) => test,
        Ok(Ok(Parsed::Unsupported { reason, .. })) | Err(reason) => {
            verdict.left_out = Some(reason);
            return verdict;
        }
        Ok(Err(error)) => {
            verdict.left_out = Some(error.to_string());
            return verdict;
        }
    };
    let model = match allowed(&test.program, Model::Ptx) {
        Ok(allowed) => values_of(&test, &allowed.outcomes),
        Err(reason) => {
            verdict.left_out = Some(reason.to_string());
            return verdict;
        }
    };
    let is_among = |outcome: &&&str, values: &BTreeSet<Vec<u32>>| values.contains(&values_in(outcome));
    let named = |outcome: &&str| (*outcome).to_owned();
    verdict.seen_forbidden = seen.iter().filter(|it| !is_among(it, &model)).map(named).collect();
    if !explores {
        return verdict;
    }
    if let Some(Explored { outcomes, is_whole }) = explore(protocol, &test, key[3] == SAME_SM) {
        let reached = values_of(&test, &outcomes);
        let text = |values: &Vec<u32>| values.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        verdict.reached_forbidden = reached.difference(&model).map(text).collect();
        let missing: Vec<String> = seen.iter().filter(|it| !is_among(it, &reached)).map(named).collect();
        // What is missing from a part of the states may be in the rest.
        verdict.not_reached = (is_whole || missing.is_empty()).then_some(missing);
    }
    verdict
}

/// The outcomes that explorations reached, and whether these came to their end.
struct Explored {
    outcomes: BTreeSet<Outcome>,
    is_whole: bool,
}

/// Explores a test in every placement of its threads, beside cores that have several loads in flight, as a GPU's do.
/// There is nothing for a test that the protocol cannot run, or that breaks a rule.
fn explore(protocol: &'static dyn Protocol, test: &LitmusTest, on_one_sm: bool) -> Option<Explored> {
    let mut explored = Explored { outcomes: BTreeSet::new(), is_whole: true };
    let mut placements = BTreeSet::from([Placement::OneModule]);
    if !on_one_sm {
        placements.extend(Placement::all(protocol, &test.program));
    }
    for placement in placements {
        let mut config = MachineConfig::for_placed(&test.program, placement).ok()?;
        config.loads = Loads::NonBlocking;
        if on_one_sm {
            share_a_cache(&mut config);
        }
        let mut exploration = Exploration::new(protocol, None, &config, OnForbidden::Stop);
        match exploration.run(&Settings::with_states(STATES_MAX)) {
            End::Violated(_) => return None,
            end => explored.is_whole &= matches!(end, End::Exhausted),
        }
        explored.outcomes.extend(exploration.judge().reached().into_keys());
    }
    Some(explored)
}

/// Puts the threads of a machine into different blocks that share a private cache.
fn share_a_cache(config: &mut MachineConfig) {
    for (wave, thread) in (0..).zip(&mut config.threads) {
        (thread.cache, thread.wave) = (0, wave);
    }
    config.topology.l1s = 1;
}

/// The values that an outcome of the file names, in its order.
fn values_in(outcome: &str) -> Vec<u32> {
    outcome.split(';').filter_map(|part| part.split_once('=')?.1.parse().ok()).collect()
}

/// Outcomes as lists of values: those of registers by thread and name, or the final ones of locations if there are no
/// registers.
fn values_of(test: &LitmusTest, outcomes: &BTreeSet<Outcome>) -> BTreeSet<Vec<u32>> {
    let threads = test.program.threads.iter().enumerate();
    let names = threads.flat_map(|(index, thread)| thread.registers.iter().map(move |it| (index, &it.name)));
    let mut order: Vec<_> = names.enumerate().map(|(place, name)| (name, place)).collect();
    order.sort();
    let values = |outcome: &Outcome| match order.is_empty() {
        true => outcome.finals.to_vec(),
        false => order.iter().map(|&(_, place)| outcome.registers[place]).collect(),
    };
    outcomes.iter().map(values).collect()
}

/// The operations of a variant: a store of data, a store of a flag, a load of a flag, a load of data, and a fence.
struct Operations {
    store: String,
    store_flag: String,
    load_flag: String,
    load: String,
    fence: Option<String>,
}

impl Operations {
    fn of(variant: &str, scope: &str) -> Result<Operations, String> {
        let plain = |kind: &str| [format!("st.{kind}"), format!("ld.{kind}")];
        let scoped = |kind: &str| format!("{kind}.{scope}");
        let [weak_store, weak_load] = plain("weak");
        let [relaxed_store, relaxed_load] = plain(&scoped("relaxed"));
        let make = |data: [&str; 2], flag: [&str; 2], fence: Option<&str>| Operations {
            store: data[0].to_owned(),
            load: data[1].to_owned(),
            store_flag: flag[0].to_owned(),
            load_flag: flag[1].to_owned(),
            fence: fence.map(&scoped),
        };
        let weak = [&*weak_store, &*weak_load];
        let relaxed = [&*relaxed_store, &*relaxed_load];
        let (release, acquire) = (scoped("st.release"), scoped("ld.acquire"));
        let acq_rel = [&*release, &*acquire];
        Ok(match variant {
            "weak" => make(weak, weak, None),
            "relaxed" => make(relaxed, relaxed, None),
            "acq-rel" => make(relaxed, acq_rel, None),
            "relaxed+fence.acq_rel" => make(relaxed, relaxed, Some("fence.acq_rel")),
            "relaxed+fence.sc" => make(relaxed, relaxed, Some("fence.sc")),
            "weak+fence.acq_rel" => make(weak, weak, Some("fence.acq_rel")),
            "weak+fence.sc" => make(weak, weak, Some("fence.sc")),
            "acq-rel, weak data" => make(weak, acq_rel, None),
            "relaxed flag, weak data" => make(weak, relaxed, None),
            "acq-rel, ld.nc data" => return Err("the model says nothing about ld.nc".to_owned()),
            other => return Err(format!("the variant `{other}` is not known")),
        })
    }
}

/// The threads of a test, each as its operations on locations.
fn threads(test: &str, is_weak: bool, operations: &Operations) -> Result<Vec<Vec<String>>, String> {
    let store = |location: &str, value: u32| format!("{} {location}, {value}", operations.store);
    let set = |location: &str, value: u32| format!("{} {location}, {value}", operations.store_flag);
    let see = |register: &str, location: &str| format!("{} {register}, {location}", operations.load_flag);
    let load = |register: &str, location: &str| format!("{} {register}, {location}", operations.load);
    let fence = operations.fence.iter().cloned();
    let pair = |first: String, second: String| std::iter::once(first).chain(fence.clone()).chain([second]).collect();
    Ok(match test {
        "MP" => vec![pair(store("x", 1), set("y", 1)), pair(see("r0", "y"), load("r1", "x"))],
        "SB" => vec![pair(set("x", 1), see("r0", "y")), pair(set("y", 1), see("r0", "x"))],
        "LB" => vec![pair(see("r0", "x"), set("y", 1)), pair(see("r0", "y"), set("x", 1))],
        // The assembler gives both readers of weak loads the same order of them. The registers keep their names.
        "IRIW" if is_weak => vec![
            vec![set("x", 1)],
            vec![set("y", 1)],
            pair(see("r0", "x"), see("r1", "y")),
            pair(see("r1", "x"), see("r0", "y")),
        ],
        "IRIW" => vec![
            vec![set("x", 1)],
            vec![set("y", 1)],
            pair(see("r0", "x"), see("r1", "y")),
            pair(see("r0", "y"), see("r1", "x")),
        ],
        "WRC" => vec![vec![set("x", 1)], pair(see("r0", "x"), set("y", 1)), pair(see("r0", "y"), load("r1", "x"))],
        "CoRR" => vec![vec![set("x", 1)], pair(see("r0", "x"), load("r1", "x"))],
        "2+2W" => vec![pair(set("x", 1), set("y", 2)), pair(set("y", 1), set("x", 2))],
        other => return Err(format!("the test `{other}` is not known")),
    })
}

/// A test of the file in the syntax of litmus files.
fn text_of([test, scope, variant, placement]: [&str; 4]) -> Result<String, String> {
    let threads = threads(test, variant == "weak", &Operations::of(variant, scope)?)?;
    let block = |thread: usize| if placement == "same CTA" { 0 } else { thread };
    let heads: Vec<String> =
        (0..threads.len()).map(|thread| format!("P{thread}@cta {},gpu 0", block(thread))).collect();
    let mut text = format!("PTX {test}\n{{ x=0; y=0; }}\n{} ;\n", heads.join(" | "));
    for row in 0..threads.iter().map(Vec::len).max().unwrap_or(0) {
        let cells: Vec<&str> = threads.iter().map(|thread| thread.get(row).map_or("", String::as_str)).collect();
        text += &format!("{} ;\n", cells.join(" | "));
    }
    Ok(text + "exists (x == 1)\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(test: &str, scope: &str, variant: &str, outcome: &str, count: u64) -> OutcomeRow {
        let [test, scope, variant, outcome] = [test, scope, variant, outcome].map(str::to_owned);
        OutcomeRow { test, scope, variant, placement: "different SMs".to_owned(), outcome, count }
    }

    #[test]
    fn an_outcome_that_the_model_forbids_is_found() {
        let protocols = chorus_protocol::registry::PROTOCOLS;
        let protocol = *protocols.iter().find(|protocol| protocol.name() == "no-l1").unwrap();
        let rows = [
            row("MP", "gpu", "acq-rel", "y=1;x=1", 5),
            row("MP", "gpu", "acq-rel", "y=1;x=0", 1),
            row("MP", "gpu", "relaxed", "y=1;x=0", 1),
            row("2+2W", "gpu", "relaxed+fence.sc", "[x]=1;[y]=1", 0),
            row("IRIW", "gpu", "relaxed", "x=1;y=0;y=1;x=0", 3),
            row("MP", "gpu", "acq-rel, ld.nc data", "y=1;x=0", 1),
        ];
        let verdicts = judge(protocol, &rows, false);
        let of = |start: &str| verdicts.iter().find(|verdict| verdict.test.starts_with(start)).unwrap();
        assert_eq!(of("MP, gpu, acq-rel, different").seen_forbidden, ["y=1;x=0"]);
        assert!(of("MP, gpu, relaxed").passes() && of("IRIW").passes() && of("2+2W").passes());
        assert!(of("MP, gpu, acq-rel, ld.nc").left_out.is_some());
        assert!(verdicts.iter().filter(|verdict| verdict.left_out.is_some()).count() == 1, "{verdicts:?}");
    }
}
