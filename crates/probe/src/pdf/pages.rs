//! The page tree, walked from its root.

use std::collections::HashSet;

use domain::file::MOST_PAGES;
use lopdf::{Dictionary, Document, Object, ObjectId};

use crate::source::{Broken, Result};

/// No real tree is deeper.
const DEEPEST: usize = 64;
/// Nodes above the pages. A tree has fewer of them than pages, unless it is made to tire us.
const MOST_NODES: usize = 4096;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    TooMany,
    Broken(Broken),
}

impl From<Broken> for Refusal {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

/// What `/Count` says is not asked.
pub(super) fn count(document: &Document) -> std::result::Result<u32, Refusal> {
    let mut walk = Walk {
        document,
        seen: HashSet::new(),
        pages: 0,
        nodes: 0,
    };
    let catalog = walk.follow(document.trailer.get(b"Root"))?;
    let catalog = catalog.as_dict().map_err(|_| Broken)?;
    let root = catalog.get(b"Pages").map_err(|_| Broken)?;
    walk.node(root, 0)?;
    if walk.pages == 0 {
        return Err(Broken.into());
    }
    Ok(walk.pages)
}

struct Walk<'a> {
    document: &'a Document,
    /// Every node is met once: a second time is a ring, or a page that is counted twice.
    seen: HashSet<ObjectId>,
    pages: u32,
    nodes: usize,
}

impl<'a> Walk<'a> {
    fn node(&mut self, node: &'a Object, depth: usize) -> std::result::Result<(), Refusal> {
        if let Ok(id) = node.as_reference()
            && !self.seen.insert(id)
        {
            return Err(Broken.into());
        }
        let dictionary = self.follow(Ok(node))?.as_dict().map_err(|_| Broken)?;
        let Some(kids) = self.kids(dictionary)? else {
            self.pages += 1;
            return if self.pages > MOST_PAGES {
                Err(Refusal::TooMany)
            } else {
                Ok(())
            };
        };
        self.nodes += 1;
        if depth >= DEEPEST || self.nodes > MOST_NODES {
            return Err(Broken.into());
        }
        kids.iter().try_for_each(|kid| self.node(kid, depth + 1))
    }

    /// What hangs under a node; None under a page.
    fn kids(&self, node: &'a Dictionary) -> Result<Option<&'a [Object]>> {
        let kind = node.get(b"Type").and_then(Object::as_name).ok();
        match (kind, node.get(b"Kids")) {
            (Some(b"Pages") | None, Ok(kids)) => {
                let kids = self.follow(Ok(kids))?.as_array().map_err(|_| Broken)?;
                Ok(Some(kids))
            }
            (Some(b"Page"), Err(_)) => Ok(None),
            // Careless writers leave the type out, and then only a page has no kids.
            (None, Err(_)) if node.has(b"Parent") => Ok(None),
            _ => Err(Broken),
        }
    }

    /// To where references lead, in the end.
    fn follow(&self, object: lopdf::Result<&'a Object>) -> Result<&'a Object> {
        let object = object.map_err(|_| Broken)?;
        match self.document.dereference(object) {
            Ok((_, found)) => Ok(found),
            Err(_) => Err(Broken),
        }
    }
}
