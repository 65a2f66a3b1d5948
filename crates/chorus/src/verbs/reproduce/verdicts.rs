//! The verdicts on a paper's claims, as `chorus reproduce` prints them: what agrees in a line each, what does not with
//! its reason.

use chorus_lab::claim::Evaluation;
use chorus_lab::reproduce::ReproducedPaper;
use chorus_lab::verdict::{ClaimGroup, Verdict};

use super::or_dash;
use crate::failure::Failure;
use crate::output::{align_right, ratio, table};
use crate::session::Session;

/// Prints the verdict on each headline in words, and all verdicts counted by groups.
pub fn print_headlines(paper: &ReproducedPaper, session: &mut Session) -> Result<(), Failure> {
    for claim in paper.claims.iter().filter(|claim| claim.group == ClaimGroup::Headlines) {
        session.output.paragraph(&format!("{}: {} {}.", claim.verdict, claim.text, claim.reason))?;
    }
    for tally in paper.tallies().into_iter().filter(|tally| tally.total() > 0) {
        let others = Some(tally.others()).filter(|others| !others.is_empty());
        session.output.line(&format!("{tally}{}", others.map_or_else(String::new, |others| format!("; {others}"))))?;
    }
    session.output.line("")
}

/// Prints the claims that were measured. Facts that agree are left to the page: their count has been told, and there
/// are many.
pub fn print_claims(paper: &ReproducedPaper, session: &mut Session) -> Result<(), Failure> {
    let (unmeasured, measured): (Vec<_>, Vec<_>) =
        paper.claims.iter().partition(|claim| claim.verdict == Verdict::NotMeasured);
    let told: Vec<_> = measured.into_iter().filter(|claim| !is_agreeing_fact(claim)).collect();
    if !told.is_empty() {
        print_table(&told, session)?;
        session.output.line("")?;
    }
    let explained: Vec<_> = told.into_iter().filter(|claim| needs_reason(claim)).collect();
    for claim in &explained {
        session.output.paragraph(&format!("{} {}: {}.", claim.id, claim.verdict, claim.reason))?;
    }
    if !explained.is_empty() {
        session.output.line("")?;
    }
    if !unmeasured.is_empty() {
        let names: Vec<&str> = unmeasured.iter().map(|claim| claim.id.as_str()).collect();
        session.output.paragraph(&format!("Not measured: {}. The page says why.", names.join(", ")))?;
        session.output.line("")?;
    }
    Ok(())
}

fn is_agreeing_fact(claim: &Evaluation) -> bool {
    claim.group == ClaimGroup::Facts && claim.verdict == Verdict::Agrees
}

/// Headlines have theirs above the figures.
fn needs_reason(claim: &Evaluation) -> bool {
    claim.group != ClaimGroup::Headlines && claim.verdict != Verdict::Agrees
}

fn print_table(claims: &[&Evaluation], session: &mut Session) -> Result<(), Failure> {
    let mut rows = table(["claim", "paper", "measured", "effect", "verdict"]);
    for claim in claims {
        let stated = format!("{}{}", claim.bound.sign(), ratio(claim.paper));
        let effect = claim.effect_recovered.map_or_else(|| "–".to_owned(), |share| format!("{:.0} %", share * 100.0));
        rows.add_row([&claim.id, &stated, &or_dash(claim.measured), &effect, &claim.verdict.to_string()]);
    }
    align_right(&mut rows, 1..4);
    session.output.table(&rows)
}

/// Prints a table with a row per comparison. The verdict on an ordering stands in its first row.
pub fn print_trends(paper: &ReproducedPaper, session: &mut Session) -> Result<(), Failure> {
    if paper.trends.is_empty() {
        return Ok(());
    }
    let mut trends = table(["ordering", "verdict", "quotient of bars", "expected", "measured", "holds"]);
    for trend in &paper.trends {
        for (index, compared) in trend.comparisons.iter().enumerate() {
            let (id, verdict) =
                if index == 0 { (trend.id.clone(), trend.verdict.to_string()) } else { Default::default() };
            let measured = match compared.measured {
                Some((least, most)) if least == most => ratio(least),
                Some((least, most)) => format!("{} to {}", ratio(least), ratio(most)),
                None => "–".to_owned(),
            };
            let holds = compared.holds.map_or("–", |holds| if holds { "yes" } else { "no" });
            trends.add_row([&id, &verdict, &compared.what, &compared.expected, &measured, holds]);
        }
    }
    session.output.table(&trends)?;
    session.output.line("")
}

/// Prints what Chorus predicts of the numbers that a paper's text leaves out.
pub fn print_predictions(paper: &ReproducedPaper, session: &mut Session) -> Result<(), Failure> {
    if paper.predictions.is_empty() {
        return Ok(());
    }
    let mut predictions = table(["prediction", "measured", "what is compared"]);
    for prediction in &paper.predictions {
        let compared = format!("{}: {}", prediction.reason, prediction.compared);
        predictions.add_row([&prediction.id, &or_dash(prediction.measured), &compared]);
    }
    align_right(&mut predictions, [1]);
    session.output.table(&predictions)?;
    session.output.line("")
}
