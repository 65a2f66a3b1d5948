//! The vertical axis: round ticks, and values in few digits.

use crate::html::count;
use crate::svg::{Anchor, Svg};

/// The spacing of ticks that is aimed at.
const TICKS: f64 = 5.0;

/// The part of the axis that a chart shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) bottom: f64,
    step: f64,
    pub(super) top: f64,
}

impl Scale {
    /// An axis from zero with round ticks up to a height or little more.
    pub(super) fn up_to(highest: f64) -> Scale {
        Scale::between(0.0, if highest > 0.0 { highest } else { 1.0 })
    }

    /// An axis with round ticks around a range: for lines, which unlike bars need no zero.
    pub(super) fn between(lowest: f64, highest: f64) -> Scale {
        let rough = (highest - lowest) / TICKS;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].iter().map(|factor| factor * power).find(|&step| step >= rough);
        let step = step.unwrap_or(rough);
        Scale { bottom: (lowest / step).floor() * step, step, top: (highest / step).ceil() * step }
    }

    /// An axis from zero to a height, with round ticks up to there.
    pub(super) fn exactly_to(highest: f64) -> Scale {
        Scale { top: highest.max(1.0), ..Scale::up_to(highest) }
    }

    fn ticks(self) -> impl Iterator<Item = f64> {
        let count = ((self.top - self.bottom) / self.step + 1e-9).floor() as u32;
        (0..=count).map(move |tick| self.bottom + f64::from(tick) * self.step)
    }
}

/// Where a chart's plot lies, and its scale.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) scale: Scale,
    /// Whether a line stands at 1, the height of the baseline.
    pub(super) has_unity: bool,
}

impl Frame {
    /// The height of a value on the page.
    pub(super) fn y(&self, value: f64) -> f64 {
        let share = (value - self.scale.bottom) / (self.scale.top - self.scale.bottom);
        self.bottom - share * (self.bottom - self.top)
    }

    /// Opens the group of everything in the frame, with what scripts need to move it: the sides of the plot, and the
    /// values at its bottom and its top.
    pub(super) fn open(&self, svg: &mut Svg) {
        let Frame { left, right, top, bottom, scale, .. } = self;
        svg.open("frame", &format!(r#" data-frame="{left} {right} {top} {bottom} {} {}""#, scale.bottom, scale.top));
    }

    /// Ticks with their grid, the axis' title, and the line of the baseline.
    pub(super) fn draw(&self, svg: &mut Svg, title: &str) {
        svg.open("ticks", "");
        for tick in self.scale.ticks() {
            let y = self.y(tick);
            svg.line("grid", (self.left, y), (self.right, y));
            svg.text("small", (self.left - 6.0, y + 4.0), Anchor::END, &tick_label(tick, self.scale.step));
        }
        svg.close();
        let turned = Anchor { side: "middle", turn_degrees: -90 };
        svg.text("", (13.0, (self.top + self.bottom) / 2.0), turned, title);
        if self.has_unity {
            svg.open("values", "");
            svg.line("unity", (self.left, self.y(1.0)), (self.right, self.y(1.0)));
            svg.close();
        }
    }

    /// Ticks of a horizontal axis, and its title.
    pub(super) fn draw_across(&self, svg: &mut Svg, across: Scale, title: &str) {
        for tick in across.ticks() {
            let x = self.x(across, tick);
            svg.line("grid", (x, self.top), (x, self.bottom));
            svg.text("small", (x, self.bottom + 16.0), Anchor::MIDDLE, &tick_label(tick, across.step));
        }
        svg.text("", ((self.left + self.right) / 2.0, self.bottom + 36.0), Anchor::MIDDLE, title);
    }

    /// Ticks of a horizontal axis of core cycles, with the value at its right end, which scripts need.
    pub(super) fn draw_times(&self, svg: &mut Svg, across: Scale) {
        svg.open("", &format!(r#" data-axis-end="{}""#, across.top));
        for tick in across.ticks() {
            let x = self.x(across, tick);
            svg.line("grid", (x, self.top), (x, self.bottom));
            svg.text("small", (x, self.bottom + 14.0), Anchor::MIDDLE, &count(tick as u64));
        }
        svg.close();
    }

    /// The place of a value on a horizontal axis.
    pub(super) fn x(&self, across: Scale, value: f64) -> f64 {
        self.left + (value - across.bottom) / (across.top - across.bottom) * (self.right - self.left)
    }

    /// The line below the plot.
    pub(super) fn draw_base(&self, svg: &mut Svg) {
        svg.line("axis", (self.left, self.bottom), (self.right, self.bottom));
    }
}

/// A value above a bar.
pub(super) fn short(value: f64) -> String {
    match value {
        ..10.0 => format!("{value:.2}"),
        10.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A tick with as many decimals as the step needs.
fn tick_label(tick: f64, step: f64) -> String {
    let decimals = (0..4).find(|&decimals| {
        let scaled = step * 10f64.powi(decimals);
        (scaled - scaled.round()).abs() < 1e-9
    });
    format!("{tick:.*}", decimals.unwrap_or(4) as usize)
}

#[cfg(test)]
mod tests {
    use super::{Scale, tick_label};

    #[test]
    fn an_axis_has_a_few_round_ticks_and_reaches_the_highest_bar() {
        for highest in [0.3, 1.0, 1.88, 4.0, 9.99, 37.0, 1234.0] {
            let scale = Scale::up_to(highest);
            assert!(scale.top >= highest && scale.bottom == 0.0, "{highest}: {scale:?}");
            assert!((3..=7).contains(&scale.ticks().count()), "{highest}: {scale:?}");
        }
    }

    #[test]
    fn an_axis_of_lines_begins_near_the_lowest_point() {
        for (lowest, highest) in [(0.93, 1.07), (0.4, 2.6), (1.0, 3.0)] {
            let scale = Scale::between(lowest, highest);
            assert!(scale.bottom <= lowest && scale.top >= highest, "{lowest} to {highest}: {scale:?}");
            assert!((4..=8).contains(&scale.ticks().count()), "{lowest} to {highest}: {scale:?}");
        }
    }

    #[test]
    fn ticks_have_the_decimals_of_their_step() {
        assert_eq!(tick_label(0.5, 0.25), "0.50");
        assert_eq!(tick_label(2.0, 0.5), "2.0");
        assert_eq!(tick_label(10.0, 5.0), "10");
    }
}
