//! Names of types and constants: each is clear without its module.

use std::collections::BTreeMap;

use crate::lexer::RustToken;
use crate::lexer::TokenKind;
use crate::lexer::lex;
use crate::source_tree::RuleViolation;
use crate::source_tree::SourceTree;

/// Type names that several modules may have, because code always writes their module before them.
const CONVENTIONAL_TYPES: &[&str] = &["Error", "Options", "Result", "Row"];

/// Participles and question words that say nothing about a type.
const VAGUE_TYPES: &[&str] = &[
    "Asked", "Found", "Given", "Known", "Said", "Seen", "Sought", "Told", "Used", "Wanted", "What",
    "Which", "Whole",
];

/// Constants that do not say what they bound.
const VAGUE_CONSTANTS: &[&str] = &[
    "AT_ONCE",
    "ENOUGH",
    "EVERY",
    "LARGEST",
    "LATER",
    "LEAST",
    "LONGEST",
    "LONG",
    "MOST",
    "NOW_AND_THEN",
    "OFTEN",
    "PATIENCE",
    "SHORT",
    "SMALLEST",
    "SOON",
];

const TYPE_KEYWORDS: &[&str] = &["struct", "enum", "trait", "type", "union"];
/// Words between `pub` and the name of an item, at most: `pub const unsafe fn name`.
const MAX_MODIFIERS: usize = 3;

/// A public type has a unique name in the whole workspace.
pub fn repeated_types(tree: &SourceTree) -> Vec<RuleViolation> {
    let mut places: BTreeMap<&str, Vec<RuleViolation>> = BTreeMap::new();
    for file in tree.rust_files().filter(|file| !file.is_test()) {
        for PublicItem { name, line, .. } in list_public_items(&lex(&file.text))
            .into_iter()
            .filter(|item| TYPE_KEYWORDS.contains(&item.keyword))
        {
            let finding = file.violation(line, format!("another public type is called {name}"));
            places.entry(name).or_default().push(finding);
        }
    }
    let repeated = places
        .into_iter()
        .filter(|(name, places)| places.len() > 1 && !CONVENTIONAL_TYPES.contains(name));
    repeated.flat_map(|(_, places)| places).collect()
}

/// A type is a noun, and a constant says what it bounds.
pub fn vague_names(tree: &SourceTree) -> Vec<RuleViolation> {
    let mut findings = Vec::new();
    for file in tree.rust_files() {
        for pair in lex(&file.text).windows(2) {
            let [keyword, name] = pair else { continue };
            let (TokenKind::Word(keyword), TokenKind::Word(name)) = (keyword.kind, name.kind)
            else {
                continue;
            };
            let is_vague = match keyword {
                "const" | "static" => VAGUE_CONSTANTS.contains(&name),
                keyword => TYPE_KEYWORDS.contains(&keyword) && VAGUE_TYPES.contains(&name),
            };
            if is_vague {
                let line = pair.first().map_or(1, |token| token.line);
                findings.push(file.violation(line, format!("{name} does not say what it is")));
            }
        }
    }
    findings
}

/// An item after a `pub`, of any visibility.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PublicItem<'text> {
    /// `struct`, `fn`, `mod` …
    pub(crate) keyword: &'text str,
    pub(crate) name: &'text str,
    pub(crate) line: usize,
}

pub(crate) fn list_public_items<'text>(tokens: &[RustToken<'text>]) -> Vec<PublicItem<'text>> {
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        if token.kind != TokenKind::Word("pub") {
            continue;
        }
        let after = skip_visibility_scope(tokens.get(index + 1..).unwrap_or_default());
        let is_item = |pair: &&[RustToken<'text>]| match *pair {
            [keyword, name] => is_item_keyword(keyword) && !is_item_keyword(name),
            _ => false,
        };
        // `pub const fn`, `pub async fn` and `pub unsafe fn` have a word before the keyword.
        if let Some([keyword, name]) = after.windows(2).take(MAX_MODIFIERS).find(is_item)
            && let (TokenKind::Word(word), TokenKind::Word(name)) = (keyword.kind, name.kind)
        {
            found.push(PublicItem {
                keyword: word,
                name,
                line: keyword.line,
            });
        }
    }
    found
}

fn is_item_keyword(token: &RustToken<'_>) -> bool {
    matches!(
        token.kind,
        TokenKind::Word(
            "struct" | "enum" | "trait" | "type" | "union" | "fn" | "const" | "static" | "mod"
        )
    )
}

/// What follows the `(crate)` of `pub(crate)`.
fn skip_visibility_scope<'a, 'text>(tokens: &'a [RustToken<'text>]) -> &'a [RustToken<'text>] {
    match tokens.split_first() {
        Some((first, rest)) if first.is_punctuation('(') => {
            let end = rest.iter().position(|token| token.is_punctuation(')'));
            end.and_then(|end| rest.get(end + 1..)).unwrap_or_default()
        }
        _ => tokens,
    }
}

#[cfg(test)]
mod tests {
    use super::{repeated_types, vague_names};
    use crate::source_tree::SourceTree;

    #[test]
    fn a_repeated_public_type_of_any_visibility_is_found() {
        let tree = SourceTree::from_files(&[
            ("a.rs", "pub struct Batch;\nstruct Row;\npub enum Error {}"),
            (
                "b.rs",
                "pub(crate) enum Batch {}\nstruct Private;\npub enum Error {}",
            ),
            ("c.rs", "struct Private;\nimpl X { type Batch = (); }"),
            ("crates/a/tests/d.rs", "pub struct Batch;"),
        ]);
        let found: Vec<String> = repeated_types(&tree)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            found,
            [
                "a.rs:1: another public type is called Batch",
                "b.rs:1: another public type is called Batch",
            ]
        );
    }

    #[test]
    fn a_participle_and_a_bare_bound_are_found() {
        let tree = SourceTree::from_files(&[(
            "a.rs",
            "struct Asked;\nconst MOST: u8 = 1;\nconst MAX_LANES: u8 = 1;\nfn asked(said: Said) {}",
        )]);
        let lines: Vec<usize> = vague_names(&tree).iter().map(|it| it.line).collect();
        assert_eq!(lines, [1, 2]);
    }
}
