//! All paths in code, with grouped imports expanded.

use crate::lexer::RustToken;
use crate::lexer::TokenKind;

#[derive(Debug, PartialEq, Eq)]
pub struct NamedPath<'text> {
    pub line: usize,
    /// `use a::{b, c::D};` names `[a, b]` and `[a, c, D]`.
    pub words: Vec<&'text str>,
    /// The inline modules around it, outermost first.
    pub inline_modules: Vec<&'text str>,
    /// The name that an import defines: its last word, or the one after `as`.
    pub imported_name: Option<&'text str>,
}

impl NamedPath<'_> {
    /// Whether the path contains these words in sequence.
    pub fn contains(&self, words: &[&str]) -> bool {
        self.words.windows(words.len()).any(|some| some == words)
    }
}

pub fn named_paths<'text>(tokens: &[RustToken<'text>]) -> Vec<NamedPath<'text>> {
    let mut found = Vec::new();
    let mut inside: Vec<(&'text str, usize)> = Vec::new();
    let mut depth = 0_usize;
    let mut is_import = false;
    let mut rest = tokens;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first.kind {
            TokenKind::Punctuation('{') => depth += 1,
            TokenKind::Punctuation('}') => {
                depth = depth.saturating_sub(1);
                inside.retain(|(_, outer)| *outer < depth);
            }
            TokenKind::Word("use") => is_import = true,
            TokenKind::Word("mod") => {
                if let [name, open, ..] = after
                    && let TokenKind::Word(name) = name.kind
                    && open.is_punctuation('{')
                {
                    inside.push((name, depth));
                }
            }
            TokenKind::Word(word) => {
                let mut tree = PathReader {
                    inline_modules: inside.iter().map(|(name, _)| *name).collect(),
                    is_import,
                    found: &mut found,
                };
                rest = tree.read_path(first.line, vec![word], after);
                is_import = false;
            }
            TokenKind::Punctuation(_) | TokenKind::PathSeparator | TokenKind::StringLiteral(_) => {}
        }
    }
    found
}

struct PathReader<'out, 'text> {
    inline_modules: Vec<&'text str>,
    is_import: bool,
    found: &'out mut Vec<NamedPath<'text>>,
}

impl<'text> PathReader<'_, 'text> {
    /// Reads the rest of a path after `words`. Returns the tokens that follow it.
    fn read_path<'a>(
        &mut self,
        line: usize,
        mut words: Vec<&'text str>,
        rest: &'a [RustToken<'text>],
    ) -> &'a [RustToken<'text>] {
        match rest {
            [mark, name, after @ ..]
                if mark.kind == TokenKind::PathSeparator
                    && let TokenKind::Word(word) = name.kind =>
            {
                words.push(word);
                self.read_path(line, words, after)
            }
            [mark, open, after @ ..]
                if mark.kind == TokenKind::PathSeparator && open.is_punctuation('{') =>
            {
                self.read_group(&words, after)
            }
            [by, name, after @ ..]
                if self.is_import
                    && by.kind == TokenKind::Word("as")
                    && let TokenKind::Word(alias) = name.kind =>
            {
                self.add_path(line, words, alias);
                after
            }
            after => {
                let last = words.last().copied().unwrap_or_default();
                self.add_path(line, words, last);
                after
            }
        }
    }

    fn read_group<'a>(
        &mut self,
        stem: &[&'text str],
        mut rest: &'a [RustToken<'text>],
    ) -> &'a [RustToken<'text>] {
        while let Some((first, after)) = rest.split_first() {
            rest = match first.kind {
                TokenKind::Punctuation('}') => return after,
                // `{self}` imports the stem.
                TokenKind::Word("self") => self.read_path(first.line, stem.to_vec(), after),
                TokenKind::Word(word) => {
                    let mut words = stem.to_vec();
                    words.push(word);
                    self.read_path(first.line, words, after)
                }
                TokenKind::Punctuation(_)
                | TokenKind::PathSeparator
                | TokenKind::StringLiteral(_) => after,
            };
        }
        rest
    }

    fn add_path(&mut self, line: usize, words: Vec<&'text str>, name: &'text str) {
        self.found.push(NamedPath {
            line,
            words,
            inline_modules: self.inline_modules.clone(),
            imported_name: self.is_import.then_some(name),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::named_paths;
    use crate::lexer::lex;

    fn spelled(text: &str) -> Vec<String> {
        let tokens = lex(text);
        named_paths(&tokens)
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
    fn a_path_has_the_inline_modules_around_it() {
        let tokens = lex("mod outer { fn f() { a } mod inner { b } } c");
        let places: Vec<String> = named_paths(&tokens)
            .iter()
            .filter(|path| matches!(path.words.as_slice(), ["a" | "b" | "c"]))
            .map(|path| {
                format!(
                    "{}/{}",
                    path.inline_modules.join("/"),
                    path.words.join("::")
                )
            })
            .collect();
        assert_eq!(places, ["outer/a", "outer/inner/b", "/c"]);
    }

    #[test]
    fn an_import_has_the_name_that_it_defines() {
        let tokens = lex("use a::b as c; a::d");
        let brought: Vec<Option<&str>> = named_paths(&tokens)
            .iter()
            .map(|path| path.imported_name)
            .collect();
        assert_eq!(brought, [Some("c"), None]);
    }
}
