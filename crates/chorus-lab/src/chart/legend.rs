//! Names with their samples, in rows above a plot.

use crate::svg::{Anchor, Svg};

const ROW_HEIGHT: f64 = 20.0;

/// The mean width of a character.
const CHAR_WIDTH: f64 = 7.2;

/// The places of the names of a legend.
pub(super) struct Legend<'a> {
    names: Vec<&'a str>,
    /// The horizontal offset and the row of each.
    places: Vec<(f64, f64)>,
    sample_width: f64,
}

impl<'a> Legend<'a> {
    /// Lays names out in rows of a width, each behind a sample.
    pub(super) fn new(names: Vec<&'a str>, sample_width: f64, width: f64) -> Legend<'a> {
        let (mut x, mut row) = (0.0, 0.0);
        let place = |name: &&str| {
            let entry = sample_width + 8.0 + name.chars().count() as f64 * CHAR_WIDTH + 14.0;
            if x > 0.0 && x + entry > width {
                x = 0.0;
                row += 1.0;
            }
            let at = (x, row);
            x += entry;
            at
        };
        let places = names.iter().map(place).collect();
        Legend { names, places, sample_width }
    }

    /// The height that it takes.
    pub(super) fn height(&self) -> f64 {
        self.places.last().map_or(0.0, |last| last.1 + 1.0) * ROW_HEIGHT
    }

    /// Draws the names; `sample` draws what stands before each, given its index and its top left corner.
    pub(super) fn draw(&self, svg: &mut Svg, left: f64, mut sample: impl FnMut(&mut Svg, usize, (f64, f64))) {
        for (index, (name, (x, row))) in self.names.iter().zip(&self.places).enumerate() {
            let corner = (left + x, 8.0 + row * ROW_HEIGHT);
            sample(svg, index, corner);
            svg.text("", (corner.0 + self.sample_width + 6.0, corner.1 + 10.5), Anchor::START, name);
        }
    }
}

/// The width of a text at the size of the legend, about.
pub(super) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * CHAR_WIDTH
}
