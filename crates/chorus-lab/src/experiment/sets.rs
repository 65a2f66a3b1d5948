//! Named sets of workloads: declared in `[sets]`, used as `"@NAME"` in every list of workloads.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::KnownNames;
use crate::document::{Document, DocumentError, Name};
use crate::jobs;

/// Stands before the name of a set in a list of workloads.
const MARK: char = '@';

/// The named sets of workloads of an experiment. Its claims use them as well.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Sets(BTreeMap<String, Vec<Name>>);

impl Sets {
    /// Checks the sets, and replaces sets inside of sets by their workloads.
    pub(super) fn settle(&mut self, document: &Document<'_>, known: &KnownNames<'_>) -> Result<(), DocumentError> {
        let mut settled = BTreeMap::new();
        for set in self.0.keys() {
            let members = self.members(document, set, &mut Vec::new())?;
            if members.is_empty() {
                return Err(
                    document.mistake(0..0, format!("key `sets.{set}` is empty; expected at least one workload"))
                );
            }
            document.check_unique("workload", &members)?;
            settled.insert(set.clone(), members);
        }
        self.0 = settled;
        self.0.values().try_for_each(|members| self.check_workloads(document, members, known))
    }

    /// Replaces every set in a list by its workloads. They take the place of the set's name in messages.
    pub(crate) fn expand(&self, document: &Document<'_>, names: &mut Vec<Name>) -> Result<(), DocumentError> {
        let mut workloads = Vec::new();
        for name in names.iter() {
            match self.find(document, name)? {
                Some((_, members)) => workloads.extend(members.iter().map(|member| member.at(name.span()))),
                None => workloads.push(located(document, name)),
            }
        }
        *names = workloads;
        Ok(())
    }

    /// Refuses workloads that do not exist. A set whose mark was forgotten is among the names that a message suggests.
    pub(super) fn check_workloads(
        &self,
        document: &Document<'_>,
        workloads: &[Name],
        known: &KnownNames<'_>,
    ) -> Result<(), DocumentError> {
        for workload in workloads {
            let programs = jobs::names(workload).filter(|name| chorus_program::is_path(name));
            for path in programs {
                let loaded = chorus_program::load(path);
                loaded.map_err(|error| document.mistake(workload.span(), error.to_string()))?;
            }
            let is_known = |name: &str| chorus_program::is_path(name) || known.workloads.contains(&name);
            if !jobs::names(workload).all(is_known) {
                let sets = self.marked_names();
                let names: Vec<&str> = sets.iter().map(String::as_str).chain(known.workloads.iter().copied()).collect();
                document.check_known("workload", workload, &names)?;
            }
        }
        Ok(())
    }

    /// The workloads of a set; `open` holds the sets around it, of which it may contain none.
    fn members<'s>(
        &'s self,
        document: &Document<'_>,
        set: &'s str,
        open: &mut Vec<&'s str>,
    ) -> Result<Vec<Name>, DocumentError> {
        open.push(set);
        let mut members = Vec::new();
        for name in self.0.get(set).into_iter().flatten() {
            match self.find(document, name)? {
                None => members.push(located(document, name)),
                Some((inner, _)) if open.contains(&inner) => {
                    let message = format!("key `{set}`: set `{MARK}{inner}` contains itself");
                    return Err(document.mistake(name.span(), message));
                }
                Some((inner, _)) => members.extend(self.members(document, inner, open)?),
            }
        }
        open.pop();
        Ok(members)
    }

    /// The set that a name of a list stands for; none where it is a workload.
    fn find(&self, document: &Document<'_>, name: &Name) -> Result<Option<(&str, &[Name])>, DocumentError> {
        let Some(set) = name.strip_prefix(MARK) else { return Ok(None) };
        match self.0.get_key_value(set) {
            Some((set, members)) => Ok(Some((set, members))),
            None => document.check_known("set of workloads", name, &self.marked_names()).map(|()| None),
        }
    }

    fn marked_names(&self) -> Vec<String> {
        self.0.keys().map(|set| format!("{MARK}{set}")).collect()
    }
}

/// A workload, whose programs may lie beside the document that names them.
fn located(document: &Document<'_>, name: &Name) -> Name {
    let folder = Path::new(document.name).parent().unwrap_or(Path::new(""));
    name.renamed(jobs::in_folder(name, folder))
}
