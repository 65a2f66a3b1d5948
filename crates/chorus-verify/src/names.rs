//! Names that are made while the program runs and live as long as it does, as the names of all configurations do.

use std::collections::BTreeSet;
use std::sync::Mutex;

static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// A name that lives as long as the program. Each text is kept once.
pub(crate) fn interned(text: String) -> &'static str {
    let mut names = NAMES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(known) = names.get(text.as_str()) {
        return known;
    }
    let name: &'static str = Box::leak(text.into_boxed_str());
    names.insert(name);
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_kept_once() {
        let [first, second] = [(); 2].map(|()| interned("caches=4".to_owned()));
        assert!(std::ptr::eq(first, second));
    }
}
