//! Notes on a paper's page, whose numbers are references to what was measured.
//!
//! A reference stands in braces. It is checked when the notes are read and filled in when the page is made, so that the
//! number in a note is always the one in the figure.
//!
//! | reference | number |
//! |---|---|
//! | `{figure:ID:SERIES:WORKLOAD}` | the bar of a series for a workload |
//! | `{figure:ID:SERIES:mean}` | the figure's mean, the first one where it has several |
//! | `{figure:ID:SERIES:mean LABEL}` | the mean that `mean_over` gives this label |
//! | `{figure:ID:SERIES:smallest}`, `…:largest}` | the smallest or the largest bar of the series |
//! | `{figure:ID:SERIES:correlation}` | the coefficient of correlation of a scatter chart |
//! | `{figure:ID:ONE/OTHER:…}` | the quotient of two series |
//! | `{figure:ID:marker:WORKLOAD}` | the place of a workload's marker |
//! | `{figure:ID:SERIES:…:PART}` | one part of a stacked bar |
//! | `{claim:ID}`, `{prediction:ID}` | what was measured for a claim or a prediction |
//! | `{paper:ID}` | the paper's own number in a claim, with its own digits |
//!
//! The series of a line of means is called `LINE, LABEL`. A [`Format`] may follow: `{claim:ID|percent}`.

use std::ops::Range;

use crate::claim::{Evaluation, Predicted, Statements};
use crate::document::{Document, DocumentError, Name, nearest, suggest_known};
use crate::experiment::{Chart, Experiment, Figure, Show};
use crate::figure::{Bar, FigureData, Group};

/// Stands for a number that could not be measured.
const MISSING: &str = "n/a";

/// A remark on a paper's page: a title and paragraphs.
#[derive(Clone, Debug)]
pub struct Note {
    title: Option<String>,
    paragraphs: Vec<Paragraph>,
}

/// A text with references between its words.
type Paragraph = Vec<Piece>;

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Reference(Source, Format),
}

/// Where the number of a reference comes from.
#[derive(Clone, Debug)]
enum Source {
    Figure { id: String, shown: Shown, place: Place, part: Option<usize> },
    Claim(String),
    Prediction(String),
}

/// Series and parts of a figure are meant by their positions.
#[derive(Clone, Copy, Debug)]
enum Shown {
    Series(usize),
    Quotient(usize, usize),
    Marker,
}

/// Workloads and means of a figure are meant by their positions.
#[derive(Clone, Copy, Debug)]
enum Place {
    Workload(usize),
    Mean(usize),
    Smallest,
    Largest,
    Correlation,
}

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// About three digits: `1.38`, `13.5`, `195`.
    Number,
    /// With so many digits behind the point: `.3` for `0.999`.
    Digits(usize),
    /// `percent`: 0.82 is `82 %`.
    Percent,
    /// `gain`: 1.18 is `18 %`.
    Gain,
    /// `loss`: 0.93 is `7.0 %`.
    Loss,
}

/// The content of a paper's page, to which the references of its notes refer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shows<'a> {
    pub(crate) figures: &'a [FigureData],
    pub(crate) claims: &'a [Evaluation],
    pub(crate) predictions: &'a [Predicted],
}

/// A note whose numbers are filled in.
pub(crate) struct FilledNote<'n> {
    pub(crate) title: Option<&'n str>,
    pub(crate) paragraphs: Vec<String>,
    /// Whether one of these paragraphs has a number of the page.
    pub(crate) is_about_page: bool,
    /// How many paragraphs are left out, since they refer to what the page does not show.
    pub(crate) left_out: usize,
}

/// Reads the notes of a paper from Markdown; `file` is its name in messages. A heading `## TITLE` begins a note.
pub fn read(
    file: &str,
    text: &str,
    experiment: &Experiment,
    statements: &Statements,
) -> Result<Vec<Note>, DocumentError> {
    let reader = Reader { document: &Document { name: file, text }, key: "", experiment, statements };
    let mut notes: Vec<Note> = Vec::new();
    for (start, block) in blocks(text) {
        match (block.strip_prefix("## "), notes.last_mut()) {
            (Some(title), _) => {
                notes.push(Note { title: Some(title.trim().to_owned()), paragraphs: Vec::new() });
            }
            (None, Some(note)) => note.paragraphs.push(reader.paragraph(block, |at| start + at.start..start + at.end)?),
            // The title of the file, and what it says about itself.
            (None, None) => {}
        }
    }
    Ok(notes)
}

/// Reads the notes that stand in an experiment file.
pub(crate) fn read_strings(
    document: &Document<'_>,
    notes: &[Name],
    experiment: &Experiment,
) -> Result<Vec<Note>, DocumentError> {
    let statements = Statements::default();
    let reader = Reader { document, key: "key `notes`: ", experiment, statements: &statements };
    let note = |note: &Name| {
        let paragraph = reader.paragraph(note, |_| note.span())?;
        Ok(Note { title: None, paragraphs: vec![paragraph] })
    };
    notes.iter().map(note).collect()
}

/// The pieces of a text between empty lines, each with its first byte. A heading is a piece of its own.
fn blocks(text: &str) -> Vec<(usize, &str)> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let (mut start, mut is_open) = (0, false);
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        let is_heading = line.starts_with('#');
        match blocks.last_mut().filter(|_| is_open && !is_heading) {
            Some(block) if !line.trim().is_empty() => block.end = end,
            None if !line.trim().is_empty() => blocks.push(start..end),
            Some(_) | None => {}
        }
        is_open = !line.trim().is_empty() && !is_heading;
        start = end;
    }
    blocks.into_iter().map(|block| (block.start, &text[block])).collect()
}

impl Note {
    /// Fills in the numbers. A paragraph that refers to what the page does not show is left out.
    pub(crate) fn fill(&self, shows: &Shows<'_>) -> FilledNote<'_> {
        let paragraphs: Vec<String> = self.paragraphs.iter().filter_map(|paragraph| fill(paragraph, shows)).collect();
        let left_out = self.paragraphs.len() - paragraphs.len();
        let has_number = |paragraph: &&Paragraph| paragraph.iter().any(|piece| matches!(piece, Piece::Reference(..)));
        let is_about_page = self.paragraphs.iter().filter(has_number).any(|paragraph| fill(paragraph, shows).is_some());
        FilledNote { title: self.title.as_deref(), paragraphs, is_about_page, left_out }
    }
}

/// The text of a paragraph; none where it refers to what the page does not show.
fn fill(paragraph: &Paragraph, shows: &Shows<'_>) -> Option<String> {
    let mut text = String::new();
    for piece in paragraph {
        match piece {
            Piece::Text(words) => text.push_str(words),
            Piece::Reference(source, format) => {
                let value = source.value(shows)?;
                text.push_str(&value.map_or_else(|| MISSING.to_owned(), |value| format.write(value)));
            }
        }
    }
    Some(text)
}

impl Source {
    /// The measured number. It is `None` where the page does not show its source at all, and `Some(None)` where the
    /// source has no value there.
    fn value(&self, shows: &Shows<'_>) -> Option<Option<f64>> {
        match self {
            Source::Claim(id) => shows.claims.iter().find(|claim| claim.id == *id).map(|claim| claim.measured),
            Source::Prediction(id) => {
                shows.predictions.iter().find(|prediction| prediction.id == *id).map(|prediction| prediction.measured)
            }
            Source::Figure { id, shown, place, part } => {
                let figure = shows.figures.iter().find(|figure| figure.id == *id)?;
                Some(value_in(figure, *shown, *place, *part).filter(|value| value.is_finite()))
            }
        }
    }
}

fn value_in(figure: &FigureData, shown: Shown, place: Place, part: Option<usize>) -> Option<f64> {
    let height = |group: &Group, series: usize| match (group.bars.get(series)?, part) {
        (Bar::Parts(parts), Some(part)) => parts.get(part).copied(),
        (bar, _) => bar.value(),
    };
    let value = |group: &Group| match shown {
        Shown::Series(series) => height(group, series),
        Shown::Quotient(series, other) => Some(height(group, series)? / height(group, other)?),
        Shown::Marker => None,
    };
    match (place, shown) {
        (Place::Workload(index), Shown::Marker) => figure.markers.as_ref()?.at.get(index).copied().flatten(),
        (Place::Workload(index), _) => value(figure.workloads.get(index)?),
        (Place::Mean(index), _) => value(figure.means.get(index)?),
        (Place::Smallest, _) => figure.workloads.iter().filter_map(value).reduce(f64::min),
        (Place::Largest, _) => figure.workloads.iter().filter_map(value).reduce(f64::max),
        (Place::Correlation, Shown::Series(series)) => figure.correlations.get(series).copied().flatten(),
        (Place::Correlation, _) => None,
    }
}

impl Format {
    const NAMES: [&str; 5] = ["percent", "gain", "loss", ".1", ".3"];

    fn parse(text: &str) -> Option<Format> {
        match (text, text.strip_prefix('.').and_then(|digits| digits.parse().ok())) {
            ("percent", _) => Some(Format::Percent),
            ("gain", _) => Some(Format::Gain),
            ("loss", _) => Some(Format::Loss),
            (_, Some(digits @ 0..=6)) => Some(Format::Digits(digits)),
            _ => None,
        }
    }

    fn write(self, value: f64) -> String {
        let percent = |share: f64| {
            let percent = share * 100.0;
            let digits = if percent.abs() < 9.95 { 1 } else { 0 };
            format!("{} %", with_digits(percent, digits))
        };
        match self {
            Format::Number if value.fract() == 0.0 && value.abs() >= 2.0 => format!("{value:.0}"),
            Format::Number if value.abs() >= 99.95 => format!("{value:.0}"),
            Format::Number if value.abs() >= 9.995 => format!("{value:.1}"),
            Format::Number => with_digits(value, 2),
            Format::Digits(digits) => with_digits(value, digits),
            Format::Percent => percent(value),
            Format::Gain => percent(value - 1.0),
            Format::Loss => percent(1.0 - value),
        }
    }
}

/// A number with so many digits behind the point, and no sign before zero.
fn with_digits(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    match text.strip_prefix('-') {
        Some(zero) if zero.chars().all(|c| matches!(c, '0' | '.')) => zero.to_owned(),
        _ => text,
    }
}

/// Everything that the references of a text may name.
struct Reader<'a> {
    document: &'a Document<'a>,
    /// How a message begins.
    key: &'static str,
    experiment: &'a Experiment,
    statements: &'a Statements,
}

impl Reader<'_> {
    /// Splits a text at its references; `place` says where in the document a part of the text lies.
    fn paragraph(&self, text: &str, place: impl Fn(Range<usize>) -> Range<usize>) -> Result<Paragraph, DocumentError> {
        let mut pieces = Vec::new();
        let mut at = 0;
        while let Some(open) = text[at..].find('{').map(|open| at + open) {
            let Some(close) = text[open..].find('}').map(|close| open + close) else {
                let message = format!("{}a reference begins with `{{` and does not end with `}}`", self.key);
                return Err(self.document.mistake(place(open..open + 1), message));
            };
            pieces.push(Piece::Text(one_line(&text[at..open])));
            let reference = one_line(&text[open + 1..close]);
            let piece = self.reference(&reference).map_err(|wrong| {
                let message = format!("{}reference `{{{reference}}}`: {wrong}", self.key);
                self.document.mistake(place(open..close + 1), message)
            })?;
            pieces.push(piece);
            at = close + 1;
        }
        pieces.push(Piece::Text(one_line(text[at..].trim_end())));
        Ok(pieces)
    }

    /// Reads one reference without its braces, or says what is wrong with it.
    fn reference(&self, text: &str) -> Result<Piece, String> {
        let (text, format) = match text.split_once('|') {
            Some((text, format)) => {
                let known = || unknown("format", format, &Format::NAMES);
                (text, Format::parse(format).ok_or_else(known)?)
            }
            None => (text, Format::Number),
        };
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let source = match kind {
            "figure" => self.figure(rest)?,
            "claim" => {
                self.claim(rest)?;
                Source::Claim(rest.to_owned())
            }
            "paper" => {
                let written =
                    |value: f64| if format == Format::Number { value.to_string() } else { format.write(value) };
                return self.claim(rest).map(|value| Piece::Text(written(value)));
            }
            "prediction" => {
                let ids = self.statements.predictions.iter().map(|prediction| &*prediction.id);
                position("prediction", rest, &ids.collect::<Vec<_>>())?;
                Source::Prediction(rest.to_owned())
            }
            _ => return Err(unknown("kind of reference", kind, &["figure", "claim", "prediction", "paper"])),
        };
        Ok(Piece::Reference(source, format))
    }

    /// The paper's number in a claim.
    fn claim(&self, id: &str) -> Result<f64, String> {
        let claims = &self.statements.claims;
        let ids: Vec<&str> = claims.iter().map(|claim| &*claim.id).collect();
        position("claim", id, &ids).map(|index| claims[index].value)
    }

    fn figure(&self, text: &str) -> Result<Source, String> {
        let figures = &self.experiment.figures;
        let ids: Vec<&str> = figures.iter().map(|figure| &*figure.id).collect();
        let names: Vec<&str> = text.split(':').collect();
        let (id, series, group, part) = match names.as_slice() {
            [id, series, group] => (*id, *series, *group, None),
            [id, series, group, part] => (*id, *series, *group, Some(*part)),
            _ => return Err("expected `{figure:ID:SERIES:WORKLOAD}`, or `mean` in place of the workload".to_owned()),
        };
        let figure = &figures[position("figure", id, &ids)?];
        let labels: Vec<&str> = figure.parts.iter().map(|part| part.label.as_str()).collect();
        let part = part.map(|part| position(&format!("part of figure {id}"), part, &labels)).transpose()?;
        let shown = shown(figure, series)?;
        Ok(Source::Figure { id: id.to_owned(), shown, place: self.place(figure, shown, group)?, part })
    }

    /// The workload or the mean that a reference to a figure names.
    fn place(&self, figure: &Figure, shown: Shown, name: &str) -> Result<Place, String> {
        let workloads = self.experiment.workloads_of(figure);
        if matches!(shown, Shown::Marker) {
            return position(&format!("workload of figure {}", figure.id), name, &workloads).map(Place::Workload);
        }
        let mut places: Vec<(String, Place)> =
            vec![("smallest".to_owned(), Place::Smallest), ("largest".to_owned(), Place::Largest)];
        if figure.show != Show::Workloads {
            places.push(("mean".to_owned(), Place::Mean(0)));
        }
        let means = figure.mean_over.iter().enumerate();
        places.extend(means.map(|(index, over)| (format!("mean {}", over.label), Place::Mean(index))));
        if figure.chart == Chart::Scatter && matches!(shown, Shown::Series(_)) {
            places.push(("correlation".to_owned(), Place::Correlation));
        }
        places.extend(workloads.into_iter().enumerate().map(|(index, name)| (name, Place::Workload(index))));
        let names: Vec<&str> = places.iter().map(|(name, _)| name.as_str()).collect();
        position(&format!("workload or mean of figure {}", figure.id), name, &names).map(|index| places[index].1)
    }
}

/// The series, two series or the marker that a reference to a figure names.
fn shown(figure: &Figure, name: &str) -> Result<Shown, String> {
    let labels: Vec<String> = figure.series.iter().map(|series| series.full_label()).collect();
    let index = |label: &str| position(&format!("series of figure {}", figure.id), label, &labels);
    match name.split_once('/') {
        _ if name == "marker" && figure.marker.is_some() => Ok(Shown::Marker),
        Some((one, other)) => Ok(Shown::Quotient(index(one)?, index(other)?)),
        None => index(name).map(Shown::Series),
    }
}

/// Where a name stands among those known, or a message that it does not.
fn position<S: AsRef<str>>(what: &str, name: &str, known: &[S]) -> Result<usize, String> {
    known.iter().position(|known| known.as_ref() == name).ok_or_else(|| unknown(what, name, known))
}

fn unknown<S: AsRef<str>>(what: &str, name: &str, known: &[S]) -> String {
    format!("unknown {what} `{name}`{}", suggest_known(what, &nearest(name, known), known))
}

/// A text without line breaks.
fn one_line(text: &str) -> String {
    text.replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::{Format, blocks};

    #[test]
    fn numbers_have_about_three_digits_and_percentages_two() {
        let written = |value: f64| Format::Number.write(value);
        assert_eq!([0.0, 0.054, 1.384, 13.46, 194.7, 56.0].map(written), ["0.00", "0.05", "1.38", "13.5", "195", "56"]);
        assert_eq!(Format::Digits(3).write(0.9994), "0.999");
        assert_eq!(Format::Percent.write(0.824), "82 %");
        assert_eq!(Format::Gain.write(1.0132), "1.3 %");
        assert_eq!(Format::Loss.write(0.934), "6.6 %");
        assert_eq!(Format::Loss.write(1.00001), "0.0 %");
        assert_eq!(Format::Gain.write(0.5), "-50 %");
    }

    #[test]
    fn text_is_split_at_empty_lines_and_headings() {
        let text = "# Notes\n\n## One\nfirst\nline\n\nsecond\n## Two\n\nthird";
        let expected = [(0, "# Notes\n"), (9, "## One\n"), (16, "first\nline\n"), (28, "second\n")];
        assert_eq!(blocks(text)[..4], expected);
        assert_eq!(blocks(text)[4..], [(35, "## Two\n"), (43, "third")]);
    }
}
