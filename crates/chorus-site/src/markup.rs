//! HTML that this crate or `chorus_lab::html` wrote, taken apart: its tags, and the text between them.

/// A piece of markup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Text with entities, as it was written.
    Text(&'a str),
    /// A tag that opens an element, or one that is whole.
    Open(Tag<'a>),
    /// The name of an element that ends.
    Close(&'a str),
}

/// A tag with its attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag<'a> {
    pub(crate) name: &'a str,
    attributes: &'a str,
    /// Whether the element has no contents, as the slash at the end of its tag says.
    pub(crate) is_whole: bool,
}

impl<'a> Tag<'a> {
    /// The value of an attribute, with entities as they were written.
    pub(crate) fn attribute(&self, name: &str) -> Option<&'a str> {
        let mut rest = self.attributes;
        while let Some((before, after)) = rest.split_once("=\"") {
            let (value, next) = after.split_once('"')?;
            if before.trim() == name {
                return Some(value);
            }
            rest = next;
        }
        None
    }
}

/// The pieces of a markup in their order. Quoted attributes may hold `>`; scripts may not be part of it.
pub(crate) fn pieces(markup: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = markup;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Some(tag) = rest.strip_prefix('<') else {
            let (text, next) = rest.split_at(rest.find('<').unwrap_or(rest.len()));
            rest = next;
            return Some(Piece::Text(text));
        };
        let mut quoted = false;
        let is_end = |character: char| {
            quoted ^= character == '"';
            character == '>' && !quoted
        };
        let (inside, next) = tag.split_at(tag.find(is_end).unwrap_or(tag.len()));
        rest = next.strip_prefix('>').unwrap_or(next);
        if let Some(name) = inside.strip_prefix('/') {
            return Some(Piece::Close(name.trim()));
        }
        let is_whole = inside.ends_with('/');
        let inside = inside.trim_end_matches('/');
        let (name, attributes) = inside.split_once(char::is_whitespace).unwrap_or((inside, ""));
        Some(Piece::Open(Tag { name, attributes, is_whole }))
    })
}

/// Text without its entities.
pub(crate) fn plain(text: &str) -> String {
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    entities.iter().fold(text.to_owned(), |text, (entity, meaning)| text.replace(entity, meaning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_falls_into_text_and_tags() {
        let found: Vec<Piece<'_>> = pieces("a<b class=\"x>y\" id=\"z\">c &lt; d</b><br/>").collect();
        let Piece::Open(tag) = found[1] else { panic!("{found:?}") };
        assert_eq!((tag.name, tag.attribute("class"), tag.attribute("id")), ("b", Some("x>y"), Some("z")));
        assert_eq!((found[0], found[2], found[3]), (Piece::Text("a"), Piece::Text("c &lt; d"), Piece::Close("b")));
        assert!(matches!(found[4], Piece::Open(Tag { name: "br", .. })), "{found:?}");
        assert_eq!(plain("c &lt; d &amp;amp;"), "c < d &amp;");
    }
}
