//! The page of one protocol: a tiny machine to play with, state diagrams and transition tables.
//!
//! Nothing on it is written beside the protocol. Tables and diagrams show what the controllers did when they were
//! explored, and the machine is the graph of everything that the same controllers can do in it.

use std::fmt::Write as _;

use chorus_lab::html::{Extras, contents, escape, page_with_scripts};
use chorus_protocol::registry::Protocol;
use chorus_verify::chart::{Chart, Row, Sequence};
use chorus_verify::play::{Play, PlayState};
use chorus_verify::table::TransitionTable;
use serde_json::{Value, json};

use crate::diagram;

const STYLE: &str = include_str!("protocol_page/play.css");

/// The scripts that draw a sequence chart, which both pages use.
const SEQUENCE_SCRIPT: &str = include_str!("protocol_page/sequence.js");
const PLAY_SCRIPT: &str = include_str!("protocol_page/play.js");
const STEPS_SCRIPT: &str = include_str!("protocol_page/steps.js");

/// The styles and scripts of a machine to play with.
pub const EXTRAS: Extras<'static> = Extras { style: STYLE, scripts: &[SEQUENCE_SCRIPT, PLAY_SCRIPT] };

/// The page of a protocol with its table, and with a machine to play with where one is small enough.
pub fn of(protocol: &dyn Protocol, table: &TransitionTable, play: Option<&Play>) -> String {
    page_with_scripts(&title(protocol), &body(protocol, table, play), &data(play), EXTRAS)
}

/// The title of the page of a protocol.
pub fn title(protocol: &dyn Protocol) -> String {
    format!("{}: states and moves", protocol.title())
}

/// The markup of the page of a protocol, for its own page or for another around it.
pub fn body(protocol: &dyn Protocol, table: &TransitionTable, play: Option<&Play>) -> String {
    let mut sections = String::from("<h2 id=\"play\">Play</h2>\n");
    match play {
        Some(play) => {
            let states = play.states.len();
            let _ = writeln!(
                sections,
                "<p>A machine of {} caches and banks: {}. The page holds all {states} states that the running controllers reach in it; each \
                 button is a move that they can make there.</p>\n<div id=\"machine\"><p class=\"soft\">To play with it, allow this page \
                 to run its script.</p></div>",
                play.columns.len() - play.threads - 1,
                escape(play.description)
            );
        }
        None => sections.push_str("<p>No machine of this protocol is small enough for a page.</p>\n"),
    }
    sections.push_str(
        "<h2 id=\"diagrams\">State diagrams</h2>\n<p>Dashed states are transient. Point at a state for its meaning, and at an arrow for \
         the events that lead along it.</p>\n<div class=\"diagrams\">\n",
    );
    for role in table.roles() {
        sections.push_str(&diagram::of(role));
    }
    sections.push_str("</div>\n");
    sections.push_str("<h2 id=\"table\">Transition table</h2>\n");
    let _ = writeln!(sections, "<div class=\"transitions\">{}</div>", table.to_html_tables());
    let head = format!(
        "<h1>{}</h1>\n<p class=\"soft\">{}</p>\n{}",
        escape(protocol.title()),
        escape(protocol.citation()),
        contents(&sections)
    );
    [head, sections].concat()
}

/// The page of a violation, which steps through its sequence message by message.
pub fn of_violation(title: &str, chart: &Chart) -> String {
    of_sequence(title, &chart.sequence, &format!("violated: {}", chart.violation))
}

/// The page of a sequence that ends in a result.
pub fn of_sequence(title: &str, sequence: &Sequence, end: &str) -> String {
    let body = format!(
        "<h1>{}</h1>\n<p class=\"bad\">{}</p>\n<div id=\"steps\"></div>\n<h2 id=\"text\">The whole sequence</h2>\n<pre>{}</pre>\n",
        escape(title),
        escape(end),
        escape(&sequence.to_text())
    );
    let data = json!({
        "columns": sequence.columns,
        "rows": sequence.rows.iter().map(row).collect::<Vec<_>>(),
        "end": end,
    });
    let extras = Extras { style: STYLE, scripts: &[SEQUENCE_SCRIPT, STEPS_SCRIPT] };
    page_with_scripts(title, &body, &data, extras)
}

fn row(row: &Row) -> Value {
    json!({
        "from": row.from,
        "to": row.to,
        "instant": row.instant,
        "label": row.label,
        "states": row.states,
        "follows": row.follows,
    })
}

/// The data that the scripts of the page show.
pub fn data(play: Option<&Play>) -> Value {
    let Some(play) = play else { return Value::Null };
    let views = play.views.iter().map(|view| json!([view.state, view.values, view.sharers]));
    let messages = play.messages.iter().map(|it| json!({ "label": it.label, "from": it.from, "to": it.to }));
    // Thousands of states are short lists: views, memory, messages, and the moves as [delivered, rows, next state].
    let state = |state: &PlayState| {
        let moves = state.moves.iter().map(|it| json!([it.delivers, it.rows, it.to]));
        json!([state.views, state.memory, state.messages, moves.collect::<Vec<_>>()])
    };
    json!({
        "columns": play.columns,
        "threads": play.threads,
        "views": views.collect::<Vec<_>>(),
        "messages": messages.collect::<Vec<_>>(),
        "rows": play.rows.iter().map(row).collect::<Vec<_>>(),
        "states": play.states.iter().map(state).collect::<Vec<_>>(),
    })
}
