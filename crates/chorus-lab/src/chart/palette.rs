//! Colours, hatchings and marks that stay apart for colour-blind readers and in greyscale.

use std::collections::BTreeSet;

use crate::svg::Svg;

/// Fills of bars, in order of use: those of Okabe and Ito.
pub(super) const COLOURS: [&str; 8] =
    ["#56b4e9", "#e69f00", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#bbbbbb"];

/// The hatching on top of each colour, as the content of an 8 by 8 pattern; the first has none.
const HATCHINGS: [&str; 8] = [
    "",
    r#"<path class="hatch" d="M-2 2L2-2M0 8L8 0M6 10L10 6"/>"#,
    r#"<circle class="dot" cx="2" cy="2" r="1.2"/><circle class="dot" cx="6" cy="6" r="1.2"/>"#,
    r#"<path class="hatch" d="M0 4H8"/>"#,
    r#"<path class="hatch" d="M-2 6L2 10M0 0L8 8M6-2L10 2"/>"#,
    r#"<path class="hatch" d="M4 0V8"/>"#,
    r#"<path class="hatch" d="M0 4H8M4 0V8"/>"#,
    r#"<path class="hatch" d="M0 0L8 8M8 0L0 8"/>"#,
];

/// Colours of lines: those of the bars without the yellow and the grey, which are too pale for a stroke.
const LINE_COLOURS: [&str; 6] = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9"];

/// The mark on the points of each line, as a path around its centre.
const MARKS: [&str; 6] = [
    "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "m-3.5-3.5h7v7h-7z",
    "m0-5l5 5l-5 5l-5-5z",
    "m0-4.6l4.6 8.2h-9.2z",
    "m0 4.6l4.6-8.2h-9.2z",
    "m-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z",
];

/// The colour of a line.
pub(super) fn line_colour(index: usize) -> &'static str {
    LINE_COLOURS[index % LINE_COLOURS.len()]
}

/// Puts the mark of a line at a point.
pub(super) fn draw_mark(svg: &mut Svg, index: usize, (x, y): (f64, f64)) {
    let (colour, path) = (line_colour(index), MARKS[index % MARKS.len()]);
    svg.raw(&format!(r#"<path class="mark" fill="{colour}" d="M{x:.1} {y:.1}{path}"/>"#));
}

/// A rectangle in a colour with its hatching and an edge.
pub(super) fn fill_rect(svg: &mut Svg, prefix: &str, fill: usize, corner: (f64, f64), size: (f64, f64)) {
    let fill = fill % COLOURS.len();
    svg.rect("", corner, size, &format!(r#" fill="{}""#, COLOURS[fill]));
    if !HATCHINGS[fill].is_empty() {
        svg.rect("", corner, size, &format!(r#" fill="url(#{prefix}-{fill})""#));
    }
    svg.rect("edge", corner, size, "");
}

/// Defines the hatchings that a drawing uses.
pub(super) fn define_hatchings(svg: &mut Svg, prefix: &str, fills: impl Iterator<Item = usize>) {
    let used: BTreeSet<usize> = fills.map(|fill| fill % HATCHINGS.len()).collect();
    svg.raw("<defs>");
    for index in used.into_iter().filter(|&index| !HATCHINGS[index].is_empty()) {
        let hatching = HATCHINGS[index];
        svg.raw(&format!(
            r#"<pattern id="{prefix}-{index}" width="8" height="8" patternUnits="userSpaceOnUse">{hatching}</pattern>"#
        ));
    }
    svg.raw("</defs>");
}
