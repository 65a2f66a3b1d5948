//! The gallery: headline figures, drawings of the documentation, and the state diagrams of every protocol.

use chorus_lab::html::escape;

use super::papers::Results;
use super::protocols::Explored;
use super::{heading, paragraph, title};
use crate::article::Article;

/// Drawings of the documentation, with what they show and the page that tells more.
const DRAWINGS: [(&str, &str, &str); 2] = [
    ("images/report.png", "A report of a reproduced paper", "how-to/read-reports.html"),
    ("images/broken-transition.svg", "The shortest way to a broken rule", "tutorials/break-a-transition.html"),
];

/// The page of the gallery.
pub(crate) fn page(results: &[Results], explored: &[Explored]) -> Article {
    let mut body = title("gallery", "Gallery");
    body.push_str(&heading(2, "figures", "Headline figures"));
    body.push_str(&paragraph("Each at the largest scale that was recorded."));
    body.extend(results.iter().filter_map(Results::for_gallery));
    body.push_str(&heading(2, "drawings", "Drawings"));
    body.push_str("<div class=\"gallery\">\n");
    for (image, words, page) in DRAWINGS {
        let words = escape(words);
        body.push_str(&format!(
            "<figure><a href=\"{page}\"><img src=\"{image}\" alt=\"{words}\"/></a><figcaption>{words}</figcaption></figure>\n"
        ));
    }
    body.push_str("</div>\n");
    if explored.is_empty() {
        return Article::new("gallery.html", "Gallery", body);
    }
    body.push_str(&heading(2, "diagrams", "State diagrams"));
    body.push_str(&paragraph(
        "Drawn from what the controllers did when they were explored. Dashed states are transient.",
    ));
    for explored in explored {
        let (name, words) = (explored.protocol.name(), escape(explored.protocol.title()));
        body.push_str(&format!(
            "<details id=\"diagrams-{name}\"><summary>{words}</summary>\n<p><a href=\"machines/{name}.html\">Play with it</a></p>\n\
             <div class=\"diagrams\">{}</div></details>\n",
            explored.diagrams
        ));
    }
    // Diagrams need the styles of machines.
    Article { is_machine: true, ..Article::new("gallery.html", "Gallery", body) }
}
