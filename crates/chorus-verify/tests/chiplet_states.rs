//! The states of a data structure in the Chiplet Coherence Table: the page of CPElide draws them, and they are compared
//! with Figure 6 of the paper as its text describes it.

use std::fs;
use std::path::Path;

use chorus_protocol::chiplet_table::state::{Event, Operation, State};

use crate::markdown::table;
use crate::pages::Page;

const EVENTS: [(Event, &str); 6] = [
    (Event::LocalRead, "local read"),
    (Event::LocalWrite, "local write"),
    (Event::RemoteRead, "remote read"),
    (Event::RemoteWrite, "remote write"),
    (Event::Flush, "flush"),
    (Event::Invalidate, "invalidate"),
];

/// The state's name in the paper.
fn name(state: State) -> &'static str {
    match state {
        State::NotPresent => "Not Present",
        State::Valid => "Valid",
        State::Dirty => "Dirty",
        State::Stale => "Stale",
    }
}

fn cell(state: State, event: Event) -> String {
    let (next, operation) = state.after(event);
    match operation {
        Some(Operation::Release) => format!("release, then {}", name(next)),
        Some(Operation::Acquire) => format!("acquire, then {}", name(next)),
        None => name(next).to_owned(),
    }
}

#[test]
fn the_page_of_cpelide_draws_the_states() {
    let row = |state: State| {
        let mut cells: [String; 7] = std::array::from_fn(|_| name(state).to_owned());
        for (place, (event, _)) in EVENTS.into_iter().enumerate() {
            cells[place + 1] = cell(state, event);
        }
        cells
    };
    let head: [&str; 7] = std::array::from_fn(|place| if place == 0 { "state" } else { EVENTS[place - 1].1 });
    Page::read("docs/protocols/cpelide.md").expect("states", |_| table(head, State::ALL.map(row)));
}

/// The value of a key of an inline table.
fn value<'a>(row: &'a str, key: &str) -> Option<&'a str> {
    let rest = row.split_once(&format!("{key} = \""))?.1;
    Some(rest.split_once('"')?.0)
}

/// The events that a row of the claims names. A row that joins two events at once, or that speaks of whole rows of the
/// table, has none.
fn events(named: &str) -> Vec<Event> {
    if named.contains(" and ") || named.contains("all chiplets") {
        return Vec::new();
    }
    let words = ["LocalRead", "LocalWrite", "RemoteRead", "RemoteWrite", "Flush", "Invalidate"];
    let found = EVENTS.into_iter().zip(words).filter(|(_, word)| named.contains(word));
    found.map(|((event, _), _)| event).collect()
}

#[test]
fn states_change_as_figure_6_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/claims/cpelide.toml");
    let Ok(text) = fs::read_to_string(&path) else {
        println!("{} is not there: nothing is compared", path.display());
        return;
    };
    let figure =
        text.split_once("id = \"cpe_fig6\"").and_then(|(_, rest)| rest.split_once("\n]\n")).map(|(rows, _)| rows);
    let rows = figure.into_iter().flat_map(str::lines).filter(|line| line.trim_start().starts_with("{ state ="));
    let mut compared = 0;
    for row in rows {
        let [state, event, actions, next] =
            ["state", "event", "actions", "next"].map(|key| value(row, key).unwrap_or_else(|| panic!("{row}")));
        let operation = match actions {
            _ if actions.starts_with("release") => Some(Operation::Release),
            _ if actions.starts_with("acquire") => Some(Operation::Acquire),
            _ => None,
        };
        let Some(state) = State::ALL.into_iter().find(|other| format!("{other:?}") == state) else { continue };
        for event in events(event) {
            let (after, asked) = state.after(event);
            assert_eq!((format!("{after:?}"), asked), (next.to_owned(), operation), "{row}");
            compared += 1;
        }
    }
    assert!(compared >= 20, "{compared} transitions of the figure are compared");
}
