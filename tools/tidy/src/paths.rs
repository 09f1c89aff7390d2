//! Every path that code names, with grouped imports spelled out.

use crate::lexer::Kind;
use crate::lexer::Token;

#[derive(Debug, PartialEq, Eq)]
pub struct NamedPath<'text> {
    pub line: usize,
    /// `use a::{b, c::D};` names `[a, b]` and `[a, c, D]`.
    pub words: Vec<&'text str>,
    /// The modules written out in this file that it stands in, outermost first.
    pub inside: Vec<&'text str>,
    /// The name an import brings in: its last word, or the one after `as`.
    pub brings: Option<&'text str>,
}

impl NamedPath<'_> {
    /// Whether these words stand in the path, one after the other.
    pub fn names(&self, words: &[&str]) -> bool {
        self.words.windows(words.len()).any(|some| some == words)
    }
}

pub fn paths<'text>(tokens: &[Token<'text>]) -> Vec<NamedPath<'text>> {
    let mut found = Vec::new();
    let mut inside: Vec<(&'text str, usize)> = Vec::new();
    let mut depth = 0_usize;
    let mut is_import = false;
    let mut rest = tokens;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first.kind {
            Kind::Mark('{') => depth += 1,
            Kind::Mark('}') => {
                depth = depth.saturating_sub(1);
                inside.retain(|(_, outer)| *outer < depth);
            }
            Kind::Word("use") => is_import = true,
            Kind::Word("mod") => {
                if let [name, open, ..] = after
                    && let Kind::Word(name) = name.kind
                    && open.is('{')
                {
                    inside.push((name, depth));
                }
            }
            Kind::Word(word) => {
                let mut tree = Tree {
                    inside: inside.iter().map(|(name, _)| *name).collect(),
                    is_import,
                    found: &mut found,
                };
                rest = tree.branch(first.line, vec![word], after);
                is_import = false;
            }
            Kind::Mark(_) | Kind::PathMark | Kind::Text(_) => {}
        }
    }
    found
}

struct Tree<'out, 'text> {
    inside: Vec<&'text str>,
    is_import: bool,
    found: &'out mut Vec<NamedPath<'text>>,
}

impl<'text> Tree<'_, 'text> {
    /// Reads on after `words`, and gives back what follows the path.
    fn branch<'a>(
        &mut self,
        line: usize,
        mut words: Vec<&'text str>,
        rest: &'a [Token<'text>],
    ) -> &'a [Token<'text>] {
        match rest {
            [mark, name, after @ ..]
                if mark.kind == Kind::PathMark
                    && let Kind::Word(word) = name.kind =>
            {
                words.push(word);
                self.branch(line, words, after)
            }
            [mark, open, after @ ..] if mark.kind == Kind::PathMark && open.is('{') => {
                self.group(&words, after)
            }
            [by, name, after @ ..]
                if self.is_import
                    && by.kind == Kind::Word("as")
                    && let Kind::Word(alias) = name.kind =>
            {
                self.end(line, words, alias);
                after
            }
            after => {
                let last = words.last().copied().unwrap_or_default();
                self.end(line, words, last);
                after
            }
        }
    }

    fn group<'a>(
        &mut self,
        stem: &[&'text str],
        mut rest: &'a [Token<'text>],
    ) -> &'a [Token<'text>] {
        while let Some((first, after)) = rest.split_first() {
            rest = match first.kind {
                Kind::Mark('}') => return after,
                // `{self}` brings in the stem itself.
                Kind::Word("self") => self.branch(first.line, stem.to_vec(), after),
                Kind::Word(word) => {
                    let mut words = stem.to_vec();
                    words.push(word);
                    self.branch(first.line, words, after)
                }
                Kind::Mark(_) | Kind::PathMark | Kind::Text(_) => after,
            };
        }
        rest
    }

    fn end(&mut self, line: usize, words: Vec<&'text str>, name: &'text str) {
        self.found.push(NamedPath {
            line,
            words,
            inside: self.inside.clone(),
            brings: self.is_import.then_some(name),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::paths;
    use crate::lexer::lex;

    fn spelled(text: &str) -> Vec<String> {
        let tokens = lex(text);
        paths(&tokens)
            .iter()
            .map(|path| path.words.join("::"))
            .collect()
    }

    #[test]
    fn groups_are_spelled_out() {
        assert_eq!(
            spelled("use a::{self, b::{C, D as E}, f};"),
            ["a", "a::b::C", "a::b::D", "a::f"]
        );
    }

    #[test]
    fn expressions_are_read_too() {
        assert_eq!(spelled("::x::y(z::<T>::new)"), ["x::y", "z", "T", "new"]);
    }

    #[test]
    fn a_path_knows_the_module_that_is_written_out_around_it() {
        let tokens = lex("mod outer { fn f() { a } mod inner { b } } c");
        let places: Vec<String> = paths(&tokens)
            .iter()
            .filter(|path| matches!(path.words.as_slice(), ["a" | "b" | "c"]))
            .map(|path| format!("{}/{}", path.inside.join("/"), path.words.join("::")))
            .collect();
        assert_eq!(places, ["outer/a", "outer/inner/b", "/c"]);
    }

    #[test]
    fn an_import_says_what_it_brings_in() {
        let tokens = lex("use a::b as c; a::d");
        let brought: Vec<Option<&str>> = paths(&tokens).iter().map(|path| path.brings).collect();
        assert_eq!(brought, [Some("c"), None]);
    }
}
