//! Modules of a crate import in one direction: there are no import cycles among siblings.
//!
//! The rule applies to every level of a crate, except tests. A parent and its children may
//! import each other, because a child is a part of its parent.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::code_paths::NamedPath;
use crate::code_paths::named_paths;
use crate::lexer::lex;
use crate::lexer::without_tests;
use crate::source_tree::RuleViolation;
use crate::source_tree::SourceFile;
use crate::source_tree::SourceTree;

type Module = Vec<String>;

/// One module that refers to another, and where.
struct ImportEdge {
    from: Module,
    to: Module,
    location: String,
}

/// The children of one parent: which refers to which, and where it does first.
type Siblings<'arrow> = BTreeMap<&'arrow str, BTreeMap<&'arrow str, &'arrow str>>;

pub fn check(tree: &SourceTree) -> Vec<RuleViolation> {
    let mut findings = Vec::new();
    for source in source_folders(tree) {
        let arrows = import_edges(tree, &source);
        for (parent, siblings) in group_by_parent(&arrows) {
            if let Some(ring) = find_cycle(&siblings) {
                let place = if parent.is_empty() {
                    "the crate".to_owned()
                } else {
                    parent.join("::")
                };
                findings.push(RuleViolation {
                    path: source.clone(),
                    line: 0,
                    message: format!("modules of {place} import each other: {ring}"),
                });
            }
        }
    }
    findings
}

/// All source folders, such as `crates/api/src/`.
fn source_folders(tree: &SourceTree) -> BTreeSet<String> {
    tree.rust_files()
        .filter_map(|file| {
            let folder = file
                .path
                .strip_suffix("lib.rs")
                .or_else(|| file.path.strip_suffix("main.rs"));
            folder.filter(|it| it.ends_with("/src/")).map(str::to_owned)
        })
        .collect()
}

fn import_edges(tree: &SourceTree, source: &str) -> Vec<ImportEdge> {
    let files: Vec<(Module, &SourceFile)> = tree
        .rust_files()
        .filter_map(|file| Some((module_of(file.path.strip_prefix(source)?), file)))
        .collect();
    let lexed: Vec<_> = files
        .iter()
        .map(|(module, file)| (module, file, lex(&file.text)))
        .collect();

    let mut test_modules = BTreeSet::new();
    let mut read = Vec::new();
    for (module, file, tokens) in &lexed {
        let (kept, tests) = without_tests(tokens);
        test_modules.extend(tests.iter().map(|name| child(module, name)));
        read.push((*module, *file, kept));
    }
    read.retain(|(module, ..)| !test_modules.iter().any(|test| module.starts_with(test)));

    let known = read
        .iter()
        .flat_map(|(module, ..)| ancestors(module))
        .collect();
    let named: Vec<_> = read
        .iter()
        .map(|(module, file, tokens)| (*module, *file, named_paths(tokens)))
        .collect();
    let mut scope = NameScope {
        known_modules: known,
        imported_names: BTreeMap::new(),
    };
    for (module, _, paths) in &named {
        scope.add_imports(module, paths);
    }

    let mut arrows = Vec::new();
    for (module, file, paths) in &named {
        for path in paths {
            let mut from = (*module).clone();
            from.extend(path.inline_modules.iter().map(|name| (*name).to_owned()));
            if let Some(to) = scope.resolve(&from, &path.words) {
                let place = format!("{}:{}", file.path, path.line);
                arrows.push(ImportEdge {
                    from,
                    to,
                    location: place,
                });
            }
        }
    }
    arrows
}

/// Resolves names in a crate.
struct NameScope {
    known_modules: BTreeSet<Module>,
    /// From (module, name) to the module that defines the name.
    imported_names: BTreeMap<(Module, String), Module>,
}

impl NameScope {
    fn add_imports(&mut self, module: &Module, paths: &[NamedPath<'_>]) {
        for path in paths.iter().filter(|path| path.inline_modules.is_empty()) {
            let Some(name) = path.imported_name else {
                continue;
            };
            // In a module's own imports, `lane::X` may be its child.
            let relative: Vec<&str> = std::iter::once("self")
                .chain(path.words.iter().copied())
                .collect();
            let target = self
                .resolve(module, &path.words)
                .or_else(|| self.resolve(module, &relative));
            if let Some(target) = target.filter(|target| target != module) {
                self.imported_names
                    .insert((module.clone(), name.to_owned()), target);
            }
        }
    }

    /// The module that a path from `crate`, `super` or `self` ends in.
    fn resolve(&self, from: &Module, words: &[&str]) -> Option<Module> {
        let (first, mut rest) = words.split_first()?;
        let mut here = match *first {
            "crate" => Module::new(),
            "self" => from.clone(),
            "super" => parent(from)?,
            _ => return None,
        };
        while let Some((word, after)) = rest.split_first() {
            if *word == "super" {
                here = parent(&here)?;
            } else if self.known_modules.contains(&child(&here, word)) {
                here = child(&here, word);
            } else {
                let brought = self.imported_names.get(&(here.clone(), (*word).to_owned()));
                return Some(brought.cloned().unwrap_or(here));
            }
            rest = after;
        }
        Some(here)
    }
}

fn group_by_parent(arrows: &[ImportEdge]) -> BTreeMap<&[String], Siblings<'_>> {
    let mut parents: BTreeMap<&[String], Siblings<'_>> = BTreeMap::new();
    for arrow in arrows {
        let shared = arrow
            .from
            .iter()
            .zip(&arrow.to)
            .take_while(|(a, b)| a == b)
            .count();
        if let (Some(parent), Some(from), Some(to)) = (
            arrow.from.get(..shared),
            arrow.from.get(shared),
            arrow.to.get(shared),
        ) {
            let targets = parents
                .entry(parent)
                .or_default()
                .entry(from.as_str())
                .or_default();
            targets
                .entry(to.as_str())
                .or_insert(arrow.location.as_str());
        }
    }
    parents
}

/// Describes a cycle, if there is one.
fn find_cycle(siblings: &Siblings<'_>) -> Option<String> {
    fn walk<'a>(
        siblings: &Siblings<'a>,
        path: &mut Vec<&'a str>,
        done: &mut BTreeSet<&'a str>,
    ) -> bool {
        let Some(here) = path.last().copied() else {
            return false;
        };
        for next in siblings
            .get(here)
            .into_iter()
            .flat_map(BTreeMap::keys)
            .copied()
        {
            if done.contains(next) {
                continue;
            }
            let closes = path.contains(&next);
            path.push(next);
            if closes || walk(siblings, path, done) {
                return true;
            }
            path.pop();
        }
        done.insert(here);
        false
    }

    let mut done = BTreeSet::new();
    for start in siblings.keys().copied() {
        let mut path = vec![start];
        if walk(siblings, &mut path, &mut done) {
            let closing = path.last().copied().unwrap_or_default();
            let around = path
                .iter()
                .copied()
                .skip_while(|name| *name != closing)
                .collect::<Vec<_>>();
            return Some(describe_cycle(siblings, &around));
        }
    }
    None
}

fn describe_cycle(siblings: &Siblings<'_>, around: &[&str]) -> String {
    let mut steps = Vec::new();
    for step in around.windows(2) {
        if let [from, to] = step {
            let place = siblings
                .get(from)
                .and_then(|it| it.get(to))
                .copied()
                .unwrap_or_default();
            steps.push(format!("{from} -> {to} ({place})"));
        }
    }
    steps.join(", ")
}

fn module_of(path: &str) -> Module {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    match path {
        "lib" | "main" => Module::new(),
        inner => inner.split('/').map(str::to_owned).collect(),
    }
}

/// The module and all modules that contain it.
fn ancestors(module: &Module) -> Vec<Module> {
    (0..=module.len())
        .filter_map(|length| module.get(..length).map(<[String]>::to_vec))
        .collect()
}

fn child(module: &Module, name: &str) -> Module {
    let mut child = module.clone();
    child.push(name.to_owned());
    child
}

fn parent(module: &Module) -> Option<Module> {
    module.split_last().map(|(_, parent)| parent.to_vec())
}

#[cfg(test)]
mod tests;
