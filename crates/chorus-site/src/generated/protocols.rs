//! Protocols: the list of all, a page for those that no page describes, and a machine to play with for each.

use chorus_lab::html::{Cell, Narrow, escape, table};
use chorus_proof::{Steps, diagram, protocol_page};
use chorus_protocol::registry::Protocol;
use chorus_registry::Registry;
use chorus_verify::play::Play;
use chorus_verify::table::TransitionTable;

use super::{heading, paragraph, shell, title};
use crate::SiteError;
use crate::article::Article;

/// A protocol as its controllers behave.
pub(crate) struct Explored {
    pub(crate) protocol: &'static dyn Protocol,
    /// The page with its machine, diagrams and tables.
    pub(crate) machine: Article,
    /// The diagram of each of its controllers.
    pub(crate) diagrams: String,
    /// The tables of its controllers.
    tables: String,
}

/// Explores a protocol for its page.
pub(crate) fn explore(protocol: &'static dyn Protocol, steps: &dyn Steps) -> Result<Explored, SiteError> {
    steps.begin(protocol.title());
    let transitions = TransitionTable::extract(protocol);
    let broken = |violation: chorus_verify::violation::Violation| SiteError::BrokenProtocol {
        protocol: protocol.name(),
        violation: violation.to_string(),
    };
    let play = Play::of(protocol).map_err(broken)?;
    steps.finish(protocol.title());
    let (page, words) = (path(protocol), escape(protocol.title()));
    let back = format!("<p><a href=\"../{page}\">← How {words} works</a></p>\n");
    let body = [back, protocol_page::body(protocol, &transitions, play.as_ref())].concat();
    let machine = Article {
        path: format!("machines/{}.html", protocol.name()),
        title: protocol_page::title(protocol),
        body,
        data: protocol_page::data(play.as_ref()),
        is_machine: true,
    };
    let diagrams = transitions.roles().map(diagram::of).collect();
    Ok(Explored { protocol, machine, diagrams, tables: transitions.to_html_tables() })
}

impl Explored {
    /// Adds the way to the machine below the first heading of a page.
    pub(crate) fn show_the_way(&self, article: &mut Article) {
        let way = format!(
            "<p><a href=\"../{}\">Play with a tiny machine</a> of this protocol, and see its state diagrams.</p>\n",
            self.machine.path
        );
        if let Some(end) = article.body.find("</h1>\n") {
            article.body.insert_str(end + "</h1>\n".len(), &way);
        }
    }
}

/// The path of the page of a protocol.
pub(crate) fn path(protocol: &dyn Protocol) -> String {
    format!("protocols/{}.html", protocol.name())
}

/// The list of all protocols.
pub(crate) fn list(registry: &Registry, explored: &[Explored]) -> Article {
    let mut body = title("protocols", "All protocols");
    body.push_str(&paragraph("Every protocol with its memory model, and tiny machines to play with."));
    let row = |protocol: &&'static dyn Protocol| {
        let name = protocol.name();
        let machine = explored.iter().find(|explored| explored.protocol.name() == name);
        vec![
            Cell::link(&format!("{name}.html"), name),
            Cell::text(protocol.title()).with_remark(protocol.summary()),
            Cell::text(protocol.model().name()),
            Cell::number(protocol.virtual_networks().to_string()),
            machine.map_or_else(|| Cell::text("–"), |it| Cell::link(&format!("../{}", it.machine.path), "play")),
        ]
    };
    let headers = [
        Cell::text("Protocol"),
        Cell::text("Title"),
        Cell::text("Memory model"),
        Cell::number("Virtual networks"),
        Cell::text("Machine"),
    ];
    body.push_str(&table(Narrow::Cards, &headers, &registry.protocols().iter().map(row).collect::<Vec<_>>()));
    Article::new("protocols/index.html", "All protocols", body)
}

/// The page of a protocol that no written page describes.
pub(crate) fn page(protocol: &dyn Protocol, explored: Option<&Explored>) -> Article {
    let mut body = title("protocol", protocol.title());
    body.push_str(&paragraph(protocol.summary()));
    body.push_str(&paragraph(protocol.citation()));
    let (model, networks) = (protocol.model().name(), protocol.virtual_networks());
    body.push_str(&paragraph(&format!("Memory model: {model}. Virtual networks: {networks}.")));
    body.push_str(&shell(&format!("chorus check {}", protocol.name())));
    if !protocol.parameters().is_empty() {
        body.push_str(&heading(2, "parameters", "Parameters"));
        let rows: Vec<Vec<Cell>> = protocol
            .parameters()
            .iter()
            .map(|it| {
                let accepted = format!("{} to {}", it.min, it.max);
                let meaning = Cell::text(it.meaning).with_remark(it.source);
                vec![Cell::name(it.key), Cell::number(it.default.to_string()), Cell::name(accepted), meaning]
            })
            .collect();
        let headers =
            [Cell::text("Parameter"), Cell::number("Default"), Cell::text("Accepted"), Cell::text("Meaning, source")];
        body.push_str(&table(Narrow::Cards, &headers, &rows));
    }
    body.push_str(&heading(2, "faults", "Seeded faults"));
    let rows: Vec<Vec<Cell>> =
        protocol.faults().iter().map(|fault| vec![Cell::name(fault.name), Cell::text(fault.breaks)]).collect();
    body.push_str(&table(Narrow::Cards, &[Cell::text("Fault"), Cell::text("What the faulty controller does")], &rows));
    if let Some(explored) = explored {
        body.push_str(&heading(2, "table", "Transition table"));
        body.push_str(&format!("<div class=\"transitions\">{}</div>\n", explored.tables));
    }
    Article::new(path(protocol), protocol.title(), body)
}
