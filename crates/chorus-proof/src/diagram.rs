//! State diagrams: the states of a controller on a circle, with an arrow for each change that a table shows.

use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::fmt::Write as _;

use chorus_lab::html::escape;
use chorus_protocol::controller::StateClass;
use chorus_verify::table::{Reaction, RoleTable};

/// The distance of states from each other on the circle.
const STEP: f64 = 88.0;
const RADIUS_MIN: f64 = 110.0;
/// The radius of a state.
const STATE: f64 = 25.0;
const MARGIN: f64 = 60.0;

/// The change from one state to another.
type Change = (u8, u8);

/// The diagram of one table. Pointing at a state or an arrow names its events.
pub fn of(role: &RoleTable) -> String {
    let states: Vec<u8> = role.states().collect();
    let radius = (STEP * states.len() as f64 / TAU).max(RADIUS_MIN);
    let size = 2.0 * (radius + MARGIN);
    let place = |state: u8| {
        let index = states.iter().position(|&other| other == state).unwrap_or(0);
        // The first state stands at the top.
        let angle = TAU * index as f64 / states.len() as f64 - TAU / 4.0;
        (size / 2.0 + radius * angle.cos(), size / 2.0 + radius * angle.sin())
    };
    let mut svg = String::new();
    for ((from, to), events) in changes(role) {
        let title = format!("{} → {}: {}", name(role, from), name(role, to), events.join(", "));
        svg.push_str(&arrow(place(from), place(to), size / 2.0, &title, from));
    }
    for &state in &states {
        let (x, y) = place(state);
        let spec = &role.vocabulary.states[usize::from(state)];
        let class = match spec.class {
            StateClass::Stable => "stable",
            StateClass::TransientCache | StateClass::TransientCoherent => "transient",
        };
        let _ = write!(
            svg,
            "<g class=\"state {class}\" data-state=\"{state}\"><title>{}</title><circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{STATE}\"/>\
             <text class=\"halo\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text></g>",
            escape(&format!("{}: {}", spec.name, spec.meaning)),
            y + 4.0,
            escape(spec.name)
        );
    }
    let title = escape(&role.title);
    format!(
        "<div class=\"diagram-of\"><h3>{title}</h3>\n<div class=\"scroll\"><svg class=\"chart diagram\" role=\"img\" aria-label=\"State diagram of {title}\" \
         viewBox=\"0 0 {size:.0} {size:.0}\" style=\"max-width:{size:.0}px\">{svg}</svg></div></div>\n"
    )
}

fn name(role: &RoleTable, state: u8) -> &'static str {
    role.vocabulary.states[usize::from(state)].name
}

/// The events that lead from each state to each other one.
fn changes(role: &RoleTable) -> BTreeMap<Change, Vec<&'static str>> {
    let mut changes: BTreeMap<Change, Vec<&'static str>> = BTreeMap::new();
    let states: Vec<u8> = role.states().collect();
    for (&from, event) in states.iter().flat_map(|from| role.events().map(move |event| (from, event))) {
        for reaction in role.cell(from, event).into_iter().flatten() {
            let Reaction::Done { next, .. } = reaction else { continue };
            let Some(&to) = states.iter().find(|&&state| name(role, state) == *next) else { continue };
            let events = changes.entry((from, to)).or_default();
            let event = role.vocabulary.events[usize::from(event)];
            if from != to && !events.contains(&event) {
                events.push(event);
            }
        }
    }
    changes.retain(|_, events| !events.is_empty());
    changes
}

/// An arrow between two states, bent towards the centre so that there and back stay apart.
fn arrow((x1, y1): (f64, f64), (x2, y2): (f64, f64), centre: f64, title: &str, from: u8) -> String {
    let (dx, dy) = (x2 - x1, y2 - y1);
    let length = dx.hypot(dy).max(1.0);
    let (mx, my) = ((x1 + x2) / 2.0, (y1 + y2) / 2.0);
    // To the left of the way, and a little inwards.
    let (bx, by) = (mx - dy / length * 16.0 + (centre - mx) * 0.12, my + dx / length * 16.0 + (centre - my) * 0.12);
    let (sx, sy) = towards((x1, y1), (bx, by), STATE);
    let (ex, ey) = towards((x2, y2), (bx, by), STATE + 1.0);
    let (ux, uy) = ((ex - bx) / (ex - bx).hypot(ey - by), (ey - by) / (ex - bx).hypot(ey - by));
    let side = |turn: f64| (ex - ux * 8.0 - uy * 4.0 * turn, ey - uy * 8.0 + ux * 4.0 * turn);
    let ((ax, ay), (cx, cy)) = (side(1.0), side(-1.0));
    format!(
        "<g class=\"change\" data-from=\"{from}\"><title>{}</title><path class=\"wide\" d=\"M{sx:.1} {sy:.1}Q{bx:.1} {by:.1} {ex:.1} {ey:.1}\"/>\
         <path class=\"shaft\" d=\"M{sx:.1} {sy:.1}Q{bx:.1} {by:.1} {ex:.1} {ey:.1}\"/>\
         <path class=\"head\" d=\"M{ex:.1} {ey:.1}L{ax:.1} {ay:.1}L{cx:.1} {cy:.1}Z\"/></g>",
        escape(title)
    )
}

/// A point at a distance from another one, in the direction of a third.
fn towards((x, y): (f64, f64), (tx, ty): (f64, f64), distance: f64) -> (f64, f64) {
    let length = (tx - x).hypot(ty - y).max(1.0);
    (x + (tx - x) / length * distance, y + (ty - y) / length * distance)
}
