//! Does the page of results at the papers' size say what was recorded?

use std::path::Path;

use chorus_lab::paper;
use chorus_registry::PAPERS;
use chorus_system::Scale;

use crate::fake::registry;

/// The columns of `papers/NAME/results.csv` that are added up.
const COSTS: [usize; 3] = [7, 8, 9];

#[test]
fn the_page_has_the_number_and_the_cost_of_the_recorded_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/results/paper-scale.md")).unwrap();
    for shipped in PAPERS {
        let name = shipped.name;
        let experiment = paper::load(registry(), name).unwrap().experiment;
        let all = experiment.runs_of(experiment.headline().unwrap(), Scale::Paper).len();
        let text = std::fs::read_to_string(root.join("papers").join(name).join("results.csv")).unwrap();
        let rows: Vec<Vec<&str>> =
            text.lines().filter(|line| line.starts_with("paper,")).map(|line| line.split(',').collect()).collect();
        if rows.is_empty() {
            assert!(page.contains(&format!("| {name} | 0 | {all} | – | – | – | – |")), "{name}");
            continue;
        }
        let column = |index: usize| rows.iter().map(move |row| row[index].parse::<f64>().unwrap());
        let [accesses, seconds, mebibytes] = COSTS;
        let (accesses, minutes) = (column(accesses).sum::<f64>() / 1e9, column(seconds).sum::<f64>() / 60.0);
        let most = column(mebibytes).fold(0.0, f64::max) / 1024.0;
        let mut revisions: Vec<&str> = rows.iter().map(|row| row[12]).collect();
        revisions.sort_unstable();
        revisions.dedup();
        let (count, revisions) = (rows.len(), revisions.join(", "));
        let line = format!("| {name} | {count} | {all} | {minutes:.1} | {accesses:.2} | {most:.1} | {revisions} |");
        assert!(page.contains(&line), "{line}");
    }
}
