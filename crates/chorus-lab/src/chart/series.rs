//! A counter over time: how much it grew in each interval of a run, as steps.

use super::axis::{Frame, Scale};
use super::{LEFT, RIGHT};
use crate::svg::{Anchor, Svg};

const WIDTH: f64 = 760.0;
const TOP: f64 = 8.0;
const PLOT_HEIGHT: f64 = 90.0;
const AXIS_HEIGHT: f64 = 20.0;

/// Draws the growth of a counter in intervals that end at `ends`. It is shown per core cycle, since the last interval
/// may be shorter.
pub(crate) fn draw(key: &str, ends: &[u64], growth: &[f64]) -> String {
    let begins = std::iter::once(0).chain(ends.iter().copied());
    let rates: Vec<(u64, u64, f64)> = begins
        .zip(ends)
        .zip(growth)
        .map(|((begin, &end), growth)| (begin, end, growth / end.saturating_sub(begin).max(1) as f64))
        .collect();
    let highest = rates.iter().map(|(.., rate)| *rate).fold(0.0, f64::max);
    let frame = Frame {
        left: LEFT,
        right: WIDTH - RIGHT,
        top: TOP,
        bottom: TOP + PLOT_HEIGHT,
        scale: Scale::up_to(highest),
        has_unity: false,
    };
    let across = Scale::exactly_to(ends.last().copied().unwrap_or(0) as f64);
    let mut svg = Svg::default();
    frame.open(&mut svg);
    for value in [0.0, frame.scale.top] {
        svg.line("grid", (frame.left, frame.y(value)), (frame.right, frame.y(value)));
    }
    svg.text("small", (frame.left - 6.0, frame.y(frame.scale.top) + 8.0), Anchor::END, &rate_text(frame.scale.top));
    svg.text("small", (frame.left - 6.0, frame.y(0.0)), Anchor::END, "0");
    frame.draw_times(&mut svg, across);
    let mut points = vec![(frame.left, frame.bottom)];
    for (begin, end, rate) in rates {
        let y = frame.y(rate);
        points.extend([(frame.x(across, begin as f64), y), (frame.x(across, end as f64), y)]);
    }
    points.push((points.last().map_or(frame.left, |point| point.0), frame.bottom));
    svg.polyline("steps", &points, "");
    svg.line("cursor", (frame.left, frame.top), (frame.left, frame.bottom));
    svg.close();
    svg.finish(&format!("{key} per core cycle over time"), WIDTH, TOP + PLOT_HEIGHT + AXIS_HEIGHT)
}

/// A rate in few digits.
fn rate_text(rate: f64) -> String {
    match rate {
        0.01.. => format!("{rate:.2}"),
        _ => format!("{rate:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::draw;

    #[test]
    fn a_shorter_last_interval_is_as_high_as_its_rate() {
        let svg = draw("dram.reads", &[100, 150], &[10.0, 5.0]);
        let steps = svg.split("class=\"steps\" points=\"").nth(1).and_then(|rest| rest.split('"').next());
        let heights: Vec<&str> =
            steps.unwrap_or_default().split(' ').filter_map(|point| Some(point.split_once(',')?.1)).collect();
        assert_eq!((heights.len(), heights[1]), (6, heights[4]), "{svg}");
        assert!(!draw("nothing", &[], &[]).contains("NaN"));
    }
}
