//! The paper's own numbers stand beside the bars that they are about.

use chorus_lab::chart::draw;
use chorus_lab::claim;
use chorus_lab::experiment::Experiment;
use chorus_lab::figure::{FigureData, Results};
use chorus_lab::run::Record;
use chorus_lab::stated::{Stated, stated};
use chorus_system::Scale;

use crate::fake::{EXPERIMENT, KNOWN, record};

/// A claim about the mean of IDEAL-COH in the figure `speed`.
const CLAIM: &str = r#"
[[claim]]
id = "gain"
source = "section 1"
kind = "result"
text = "It is 60 % faster."
value = 1.6
workloads = ["dlb", "stn"]
measured = { figure = "speed", protocol = "ideal-coh", versus = "no-l1", mean = "harmonic" }
"#;

/// The figure `speed`, and what a claim states in it.
fn place(claims: &str) -> (FigureData, Vec<Stated>) {
    let experiment = Experiment::read("fixture.toml", EXPERIMENT, &KNOWN).unwrap();
    let records: Vec<Record> = experiment.runs(Scale::Quick).iter().map(record).collect();
    let claims = claim::read("claims.toml", claims, &experiment).unwrap().claims;
    let figure = experiment.headline().unwrap();
    let data = FigureData::compute(&experiment, figure, Scale::Quick, &Results::new(&records));
    let stated = stated(&claims, &experiment, figure, &data);
    (data, stated)
}

fn check(claims: &str, expected: Option<(usize, usize)>) {
    let (_, stated) = place(claims);
    assert_eq!(stated.first().map(|stated| (stated.group, stated.series)), expected, "{claims}");
}

#[test]
fn a_number_stands_at_the_mean_or_the_workload_that_it_is_about() {
    check(CLAIM, Some((2, 0)));
    check(&CLAIM.replace("no-l1", "baseline"), Some((2, 0)));
    check(&CLAIM.replace("[\"dlb\", \"stn\"]", "[\"dlb\"]").replace("ideal-coh", "gpu-vi"), Some((1, 1)));
}

#[test]
fn a_number_that_is_no_height_of_a_bar_stands_nowhere() {
    check(&CLAIM.replace("harmonic", "geometric"), None);
    check(&CLAIM.replace("value = 1.6", "value = 1.6\nbound = \"at-least\""), None);
    check(&CLAIM.replace("\"stn\"]", "\"bh\"]"), None);
}

/// Beside another bar, the paper's quotient gives the height that the bar would have.
#[test]
fn a_quotient_of_two_bars_is_a_multiple_of_the_measured_one() {
    let (data, stated) = place(&CLAIM.replace("versus = \"no-l1\"", "versus = \"gpu-vi\""));
    let other = data.means[0].bars[1].value().unwrap();
    assert_eq!((stated[0].group, stated[0].series, stated[0].beside), (2, 0, Some(1)));
    assert_eq!(stated[0].value, 1.6 * other);
}

#[test]
fn a_chart_marks_the_number_and_names_the_mark() {
    let (mut data, found) = place(CLAIM);
    assert!(!draw(&data, "f0", &[0, 1]).markup.contains("the paper's number"));
    data.stated = found;
    let drawing = draw(&data, "f0", &[0, 1]).markup;
    assert!(drawing.contains("HM, IDEAL-COH: 1.6 in the paper (gain)"), "{drawing}");
    assert!(drawing.contains("the paper&#39;s number"), "{drawing}");
}
