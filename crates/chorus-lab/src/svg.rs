//! A little SVG: the few shapes that charts need, escaped and rounded.

use std::fmt::Write as _;

use crate::html::escape;

/// An SVG drawing under construction.
#[derive(Debug, Default)]
pub(crate) struct Svg {
    body: String,
}

/// A coordinate with one decimal, which is finer than any screen shows.
fn rounded(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Where a text stands relative to its point, and how it is turned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Anchor {
    pub(crate) side: &'static str,
    pub(crate) turn_degrees: i32,
}

impl Anchor {
    pub(crate) const START: Anchor = Anchor { side: "start", turn_degrees: 0 };
    pub(crate) const MIDDLE: Anchor = Anchor { side: "middle", turn_degrees: 0 };
    pub(crate) const END: Anchor = Anchor { side: "end", turn_degrees: 0 };
}

impl Svg {
    /// Markup that is known to be well formed.
    pub(crate) fn raw(&mut self, markup: &str) {
        self.body.push_str(markup);
    }

    /// Draws a straight line between two points.
    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let (x1, y1, x2, y2) = (rounded(from.0), rounded(from.1), rounded(to.0), rounded(to.1));
        let _ = write!(self.body, r#"<line class="{class}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>"#);
    }

    /// A line through some points, with an extra attribute such as `stroke`.
    pub(crate) fn polyline(&mut self, class: &str, points: &[(f64, f64)], extra: &str) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{},{}", rounded(*x), rounded(*y))).collect();
        let _ = write!(self.body, r#"<polyline class="{class}" points="{}"{extra}/>"#, points.join(" "));
    }

    /// A rectangle by its top left corner, with an extra attribute such as `fill`.
    pub(crate) fn rect(&mut self, class: &str, corner: (f64, f64), size: (f64, f64), extra: &str) {
        let (x, y, width, height) = (rounded(corner.0), rounded(corner.1), rounded(size.0), rounded(size.1));
        let _ =
            write!(self.body, r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}"{extra}/>"#);
    }

    /// Writes a text at a point.
    pub(crate) fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let (x, y) = (rounded(at.0), rounded(at.1));
        let turn = match anchor.turn_degrees {
            0 => String::new(),
            degrees => format!(r#" transform="rotate({degrees} {x} {y})""#),
        };
        let _ = write!(
            self.body,
            r#"<text class="{class}" x="{x}" y="{y}" text-anchor="{}"{turn}>{}</text>"#,
            anchor.side,
            escape(text)
        );
    }

    /// Opens a group with a class, and with attributes that are known to be well formed, such as ` data-row="1"`.
    pub(crate) fn open(&mut self, class: &str, attributes: &str) {
        let _ = write!(self.body, r#"<g class="{class}"{attributes}>"#);
    }

    /// Opens a group that shows a text when pointed at.
    pub(crate) fn open_titled(&mut self, title: &str) {
        let _ = write!(self.body, "<g><title>{}</title>", escape(title));
    }

    /// Closes the innermost group.
    pub(crate) fn close(&mut self) {
        self.body.push_str("</g>");
    }

    /// A small drawing inside of a line of text, at its own size.
    pub(crate) fn finish_sample(self, width: f64, height: f64) -> String {
        let (w, h) = (rounded(width), rounded(height));
        format!(
            r#"<svg class="chart sample" aria-hidden="true" width="{w}" height="{h}" viewBox="0 0 {w} {h}">{}</svg>"#,
            self.body
        )
    }

    /// The whole drawing, which takes the width that it is given but no less than is legible.
    pub(crate) fn finish(self, label: &str, width: f64, height: f64) -> String {
        let (w, h) = (rounded(width), rounded(height));
        let (least, most) = (rounded(width * 0.8), rounded(width * 1.25));
        format!(
            r#"<svg class="chart" role="img" aria-label="{}" viewBox="0 0 {w} {h}" style="min-width:{least}px;max-width:{most}px">{}</svg>"#,
            escape(label),
            self.body
        )
    }
}
