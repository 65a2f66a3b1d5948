//! Mutants on the page: the scores of all protocols, the survivors of each, and the words that are used.

use chorus_lab::html::{Cell, Narrow, details, escape, table};
use chorus_protocol::registry::Protocol;
use chorus_verify::mutate::hunt::Means;
use chorus_verify::mutate::score::{Score, Tried};

use crate::Proofs;
use crate::words::{mutant_words, share_words};

/// The protocols whose mutants were tried, with the fates of the mutants.
fn scores(all: &Proofs) -> impl Iterator<Item = (&'static dyn Protocol, &Score)> {
    all.proofs.iter().filter_map(|proof| Some((proof.protocol, proof.mutants.as_ref()?)))
}

/// The table of all protocols' scores as HTML; empty if no mutants were tried.
pub fn summary(all: &Proofs) -> String {
    let rows: Vec<Vec<Cell>> = scores(all).map(|(protocol, score)| row(protocol, score)).collect();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<h2 id=\"mutants\">Mistakes by machine</h2>\n{}<p class=\"soft\">Mutants of each protocol, made by machine. Each \
         is looked for with the smallest configurations (smoke), random steps (torture), larger configurations (check) \
         and litmus tests, and the first that fails ends the search. A survivor is a question and not a failure.</p>\n",
        table(Narrow::Scroll, &headers(), &rows)
    )
}

fn headers() -> Vec<Cell> {
    let mut headers = vec![Cell::text("Protocol"), Cell::number("Tried")];
    headers.extend(Means::ALL.map(|means| Cell::number(format!("Found by {}", means.name()))));
    headers.extend(["Survivors", "Equivalent", "Not reached", "Score"].map(Cell::number));
    headers
}

fn row(protocol: &dyn Protocol, score: &Score) -> Vec<Cell> {
    let number = |number: usize| Cell::number(number.to_string());
    let mut row = vec![Cell::link(&format!("#{}", protocol.name()), protocol.title()), number(score.tried.len())];
    row.extend(Means::ALL.map(|means| number(score.found_by(means))));
    row.extend([score.survivors().count(), score.equivalent(), score.not_reached()].map(number));
    row.push(Cell::number(share_words(score.share())));
    row
}

/// The part of one protocol's section as HTML.
pub fn section(protocol: &dyn Protocol, score: &Score) -> String {
    let words = mutant_words(score);
    let rows: Vec<Vec<Cell>> = score.survivors().map(|tried| survivor(protocol, tried)).collect();
    let body = if rows.is_empty() {
        format!("<p>{}</p>\n", escape(&words))
    } else {
        let headers = [Cell::text("Survivor"), Cell::classed("claim", "Mistake")];
        let hint = format!(
            "<p class=\"soft\">One of them in every configuration: <code>chorus check {} --mutant ID</code></p>\n",
            escape(protocol.name())
        );
        details(&words, &(table(Narrow::Cards, &headers, &rows) + &hint))
    };
    format!("<h3>Mistakes by machine</h3>\n{body}")
}

fn survivor(protocol: &dyn Protocol, tried: &Tried) -> Vec<Cell> {
    vec![Cell::name(&tried.mutant.id), Cell::classed("claim", tried.mutant.sentence(protocol))]
}

/// The words of these tables as entries of a list of definitions; empty if no mutants were tried.
pub fn definitions(all: &Proofs) -> &'static str {
    if scores(all).next().is_none() {
        return "";
    }
    "<dt>mutant</dt><dd>the protocol with one mistake, made by machine, in one state on one event</dd>\n\
     <dt>equivalent</dt><dd>of mutants: explorations with the mistake are as large as without it, or no receiver reads \
     what is wrong</dd>\n\
     <dt>not reached</dt><dd>of mutants: the mistake changed no step of any run</dd>\n\
     <dt>score</dt><dd>the share of mutants that some check found, without those that are equivalent or not \
     reached</dd>\n"
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chorus_protocol::registry::find;
    use chorus_verify::mutate::catalogue::Mutant;
    use chorus_verify::mutate::hunt::Fate;

    use super::*;

    #[test]
    fn survivors_are_named_and_lower_the_score() {
        let protocol = find("gpu-vi").expect("a protocol of this name");
        let tried = |id, fate| Tried { mutant: Mutant::parse(protocol, id).unwrap(), fate, time: Duration::ZERO };
        let found = Fate::Found { by: Means::Smoke, rule: String::new() };
        let survived = Fate::Survived { explorations: 1, bounded: 0, in_torture: false };
        let tried = vec![
            tried("L1:V:Load:old-value", found),
            tried("L1:V:Load:stall", survived),
            tried("L1:V:Load:keep-state", Fate::Equivalent),
        ];
        let score = Score { tried, left_out: 0 };
        let section = section(protocol, &score);
        assert!(section.contains("1 of 2 mutants found (50.0 %): 1 by smoke"), "{section}");
        assert!(section.contains("L1:V:Load:stall") && !section.contains("old-value"), "{section}");
        assert_eq!(row(protocol, &score).len(), headers().len());
    }
}
