//! Does every run come to rest, and is one that goes round in a circle found, drawn and walked again?

use chorus_protocol::registry::find;
use chorus_verify::check::{CheckReport, check, configurations, smoke_configurations};
use chorus_verify::faults::find_fault;
use chorus_verify::replay::Replay;
use chorus_verify::violation::Violation;

fn livelock(name: &str, fault: &str) -> CheckReport {
    let protocol = find(name).unwrap();
    let fault = find_fault(protocol, fault).unwrap();
    let reports = smoke_configurations().into_iter().map(|config| check(protocol, Some(fault), &config));
    reports.into_iter().find(|report| !report.passed()).expect("the smallest configurations show it")
}

#[test]
fn a_load_that_is_asked_for_again_and_again_is_a_livelock() {
    for name in ["tc-strong", "tc-weak"] {
        let report = livelock(name, "ever-asked");
        let chart = report.chart().unwrap();
        assert!(matches!(chart.violation, Violation::Livelock(_)), "{}", report.to_text());
        let circle = chart.sequence.circle.expect("the chart shows the circle");
        assert!(circle.action < chart.sequence.moves.len());
        assert!(report.to_text().contains("(from here on, again and again)"), "{}", report.to_text());
        assert!(chart.to_svg().contains("again and again"));
    }
}

#[test]
fn a_circle_is_walked_again_and_leads_back() {
    let report = livelock("tc-strong", "ever-asked");
    let replay = report.replay().unwrap();
    let again: Replay = replay.to_string().parse().unwrap();
    assert_eq!(again, replay);
    let protocol = find("tc-strong").unwrap();
    let fault = find_fault(protocol, "ever-asked");
    let machine = Replay::machine_of(protocol, &again.test, &[]).unwrap();
    let replayed = again.run(protocol, fault, &machine).unwrap();
    assert_eq!(replayed.violation.as_ref(), Some(&report.chart().unwrap().violation));
    assert_eq!(replayed.sequence, report.chart().unwrap().sequence);
    // Without its last move the circle is not closed.
    let open = Replay { moves: again.moves[..again.moves.len() - 1].to_vec(), ..again };
    assert_eq!(open.run(protocol, fault, &machine).unwrap().violation, None);
}

#[test]
fn the_way_into_a_circle_is_the_same_with_and_without_mirror_images() {
    use chorus_verify::check::check_with;
    use chorus_verify::settings::{Reduction, Settings};
    let protocol = find("tc-strong").unwrap();
    let fault = find_fault(protocol, "ever-asked");
    let config = configurations(protocol).into_iter().find(|config| config.name == "smoke-shared").unwrap();
    let lengths = [Reduction::Full, Reduction::None].map(|reduction| {
        let report = check_with(protocol, fault, &config, &Settings { reduction, ..Settings::default() });
        let chart = report.chart().expect("it is found").clone();
        (chart.sequence.circle.expect("a circle").action, chart.sequence.moves.len())
    });
    assert_eq!(lengths[0], lengths[1]);
}
