//! `chorus model`: shows which outcomes of litmus tests a memory model allows, without any protocol.

use chorus_litmus::judge::{Allowed, TooLarge, Verdict as Answer, allowed, decide};
use chorus_litmus::model::Model;
use chorus_litmus::test::{LitmusTest, Quantifier};
use chorus_proof::litmus_input::{BadFile, LitmusInput};
use chorus_registry::unknown;
use clap::Args;
use serde_json::{Value, json};

use super::arguments::{JSON_SCHEMA_VERSION, JsonArgument};
use crate::failure::{Failure, Verdict};
use crate::litmus_input::{self, are_in_detail};
use crate::output::table;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  chorus model                              the models
  chorus model ptx                          Chorus's own tests under a model
  chorus model sc-for-drf MP SB+ra          two of them, with every outcome that is allowed
  chorus model ptx my-test.litmus folder/   tests of files and folders
  chorus model tso --json";

/// Arguments of `chorus model`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Memory model to ask. Without one, all models are listed.
    model: Option<String>,
    /// Tests: names in any case, files or folders. By default all tests that Chorus ships.
    tests: Vec<String>,
    #[command(flatten)]
    form: JsonArgument,
}

/// A test with the outcomes that the model allows.
struct Judged<'a> {
    test: &'a LitmusTest,
    answer: Result<Answer, TooLarge>,
}

impl Judged<'_> {
    /// The answer to the question that the test asks.
    fn answer(&self) -> String {
        match (&self.answer, self.test.quantifier) {
            (Ok(Answer::Holds), Quantifier::Exists) => "allowed".to_owned(),
            (Ok(Answer::Fails), Quantifier::Exists) => "forbidden".to_owned(),
            (Ok(Answer::Holds), Quantifier::NotExists) => "forbidden, as the test says".to_owned(),
            (Ok(Answer::Fails), Quantifier::NotExists) => "allowed, against the test".to_owned(),
            (Ok(Answer::Holds), Quantifier::Forall) => "holds always".to_owned(),
            (Ok(Answer::Fails), Quantifier::Forall) => "does not hold always".to_owned(),
            (Ok(Answer::Racy(race)), _) => format!("race: {}", race.describe(&self.test.program)),
            (Err(reason), _) => format!("not judged: {reason}"),
        }
    }

    fn to_json(&self) -> Value {
        let holds = match self.answer {
            Ok(Answer::Holds) => Some(true),
            Ok(Answer::Fails) => Some(false),
            Ok(Answer::Racy(_)) | Err(_) => None,
        };
        json!({
            "name": self.test.name,
            "condition": self.test.condition_text(),
            "holds": holds,
            "answer": self.answer(),
        })
    }
}

pub fn run(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    let Some(name) = &arguments.model else { return list(arguments, session) };
    let known: Vec<&str> = session.registry.models().iter().map(|model| model.name()).collect();
    let model =
        session.registry.find_model(name).ok_or_else(|| Failure::bad_input(unknown("memory model", name, &known)))?;
    let input = litmus_input::read(session.registry, &arguments.tests, session.registry.litmus_tests())?;
    let activity = session.activity(Some(input.tests.len()));
    let mut judged = Vec::new();
    for test in &input.tests {
        activity.begin(test.name());
        judged.push(Judged { test: &test.test, answer: decide(&test.test, model) });
        activity.finish(test.name());
    }
    drop(activity);
    if arguments.form.json {
        session.output.json(&json!({
            "schema_version": JSON_SCHEMA_VERSION,
            "model": model.name(),
            "meaning": model.meaning(),
            "tests": judged.iter().map(Judged::to_json).collect::<Vec<_>>(),
            "unsupported": input.unsupported_json(),
            "bad_files": input.bad_files.iter().map(BadFile::to_json).collect::<Vec<_>>(),
        }))?;
    } else {
        print(model, &judged, &input, are_in_detail(&arguments.tests, judged.len()), session)?;
        litmus_input::print_bad_files(&input, session)?;
    }
    Ok(litmus_input::verdict(&input, true))
}

fn list(arguments: &Arguments, session: &mut Session) -> Result<Verdict, Failure> {
    if arguments.form.json {
        let model = |model: Model| json!({ "name": model.name(), "meaning": model.meaning() });
        let models: Vec<Value> = session.registry.models().iter().copied().map(model).collect();
        session.output.json(&json!({ "schema_version": JSON_SCHEMA_VERSION, "models": models }))?;
    } else {
        let mut table = table(["model", "what it promises"]);
        for model in session.registry.models() {
            table.add_row([model.name(), model.meaning()]);
        }
        session.output.table(&table)?;
    }
    Ok(Verdict::Good)
}

fn print(
    model: Model,
    judged: &[Judged<'_>],
    input: &LitmusInput,
    in_detail: bool,
    session: &mut Session,
) -> Result<(), Failure> {
    session.output.line(&format!("{}: {}\n", model.name(), model.meaning()))?;
    let mut table = table(["test", "outcome asked for", "answer"]);
    for judged in judged {
        table.add_row([judged.test.name.clone(), judged.test.condition_text(), judged.answer()]);
    }
    session.output.table(&table)?;
    for judged in judged.iter().filter(|_| in_detail) {
        session.output.line(&format!("\n{}", judged.test))?;
        let Ok(Allowed { outcomes, race: None, .. }) = allowed(&judged.test.program, model) else { continue };
        for outcome in &outcomes {
            session.output.line(&format!("  {}", judged.test.program.describe(outcome)))?;
        }
    }
    let tests = if judged.len() == 1 { "test" } else { "tests" };
    session.output.line(&format!("\n{} {tests}", judged.len()))?;
    litmus_input::print_unsupported(input, session)
}
