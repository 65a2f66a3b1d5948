//! Times on the simulated machine over times on the GPU, both in log scale.

use super::suite::CaseResult;
use crate::svg::{Anchor, Svg};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 520.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 50.0;
/// Half of the width of a mark.
const MARK: f64 = 4.0;

/// A square plot whose axes have the same decades.
struct Frame {
    /// The first and the last decade.
    decades: [i32; 2],
}

impl Frame {
    fn share(&self, value: f64) -> f64 {
        let [first, last] = self.decades.map(f64::from);
        (value.log10() - first) / (last - first)
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + self.share(value) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - self.share(value) * (HEIGHT - TOP - BOTTOM)
    }

    fn draw(&self, svg: &mut Svg) {
        let [first, last] = self.decades.map(|decade| 10f64.powi(decade));
        for decade in self.decades[0]..=self.decades[1] {
            let value = 10f64.powi(decade);
            let (x, y) = (self.x(value), self.y(value));
            svg.line("grid", (x, self.y(first)), (x, self.y(last)));
            svg.line("grid", (self.x(first), y), (self.x(last), y));
            svg.text("small", (x, HEIGHT - BOTTOM + 16.0), Anchor::MIDDLE, &value.to_string());
            svg.text("small", (LEFT - 6.0, y + 4.0), Anchor::END, &value.to_string());
        }
        svg.line("unity", (self.x(first), self.y(first)), (self.x(last), self.y(last)));
        svg.text("", ((LEFT + WIDTH) / 2.0, HEIGHT - 12.0), Anchor::MIDDLE, "measured, microseconds");
        let turned = Anchor { side: "middle", turn_degrees: -90 };
        svg.text("", (14.0, (TOP + HEIGHT - BOTTOM) / 2.0), turned, "simulated, microseconds");
    }
}

/// Draws a point for each case with a time on both sides. On the diagonal both are equal.
pub(super) fn draw(cases: &[CaseResult]) -> String {
    let points: Vec<(f64, f64, &CaseResult)> = cases
        .iter()
        .filter_map(|case| Some((case.microseconds.measured?, case.microseconds.simulated?, case)))
        .filter(|(measured, simulated, _)| *measured > 0.0 && *simulated > 0.0)
        .collect();
    if points.is_empty() {
        return String::new();
    }
    let values = || points.iter().flat_map(|&(measured, simulated, _)| [measured.log10(), simulated.log10()]);
    let first = values().fold(f64::INFINITY, f64::min).floor() as i32;
    let last = values().fold(f64::NEG_INFINITY, f64::max).ceil() as i32;
    let frame = Frame { decades: [first, last.max(first + 1)] };
    let mut svg = Svg::default();
    frame.draw(&mut svg);
    for (measured, simulated, case) in points {
        let (x, y) = (frame.x(measured), frame.y(simulated));
        let is_warm = case.caches == "warm";
        svg.open_titled(&format!(
            "{} {}, {}: measured {measured:.1}, simulated {simulated:.1}",
            case.kernel, case.size, case.caches
        ));
        let style = if is_warm { " fill=\"#c55a00\"" } else { " fill=\"none\" stroke=\"#0068be\" stroke-width=\"2\"" };
        svg.rect("", (x - MARK, y - MARK), (2.0 * MARK, 2.0 * MARK), style);
        svg.close();
    }
    svg.finish("Times of kernels, simulated over measured", WIDTH, HEIGHT)
}

#[cfg(test)]
mod tests {
    use super::super::suite::Pair;
    use super::*;

    #[test]
    fn a_time_that_is_right_lies_on_the_diagonal() {
        let microseconds = Pair { measured: Some(20.0), simulated: Some(20.0), noise: 0.0 };
        let case = CaseResult {
            kernel: "saxpy".to_owned(),
            size: 0,
            caches: "warm",
            microseconds,
            counters: Vec::new(),
            trouble: None,
        };
        let frame = Frame { decades: [1, 2] };
        assert!((frame.share(20.0) - 0.301).abs() < 0.001);
        let svg = draw(&[case]);
        assert!(svg.contains("saxpy 0, warm: measured 20.0, simulated 20.0"), "{svg}");
        assert_eq!(draw(&[]), "");
    }
}
