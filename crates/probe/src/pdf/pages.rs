//! The page tree, walked from its root.

use std::collections::HashSet;

use domain::file::MAX_PDF_PAGES;
use lopdf::{Dictionary, Document, Object, ObjectId};

use crate::bounded_reader::{Malformed, ReadResult};

/// No real tree is deeper.
const MAX_TREE_DEPTH: usize = 64;
/// Nodes above the pages. A tree has fewer of them than pages, unless it is an attack.
const MAX_TREE_NODES: usize = 4096;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum PageCountError {
    TooMany,
    Malformed(Malformed),
}

impl From<Malformed> for PageCountError {
    fn from(broken: Malformed) -> Self {
        Self::Malformed(broken)
    }
}

/// Ignores `/Count`, which may be wrong.
pub(super) fn count_pages(document: &Document) -> std::result::Result<u32, PageCountError> {
    let mut walk = PageTreeWalk {
        document,
        seen: HashSet::new(),
        pages: 0,
        nodes: 0,
    };
    let catalog = walk.follow(document.trailer.get(b"Root"))?;
    let catalog = catalog.as_dict().map_err(|_| Malformed)?;
    let root = catalog.get(b"Pages").map_err(|_| Malformed)?;
    walk.visit(root, 0)?;
    if walk.pages == 0 {
        return Err(Malformed.into());
    }
    Ok(walk.pages)
}

struct PageTreeWalk<'a> {
    document: &'a Document,
    /// Every node is visited once: a second time is a cycle, or a page that is counted twice.
    seen: HashSet<ObjectId>,
    pages: u32,
    nodes: usize,
}

impl<'a> PageTreeWalk<'a> {
    fn visit(&mut self, node: &'a Object, depth: usize) -> std::result::Result<(), PageCountError> {
        if let Ok(id) = node.as_reference()
            && !self.seen.insert(id)
        {
            return Err(Malformed.into());
        }
        let dictionary = self.follow(Ok(node))?.as_dict().map_err(|_| Malformed)?;
        let Some(kids) = self.kids(dictionary)? else {
            self.pages += 1;
            return if self.pages > MAX_PDF_PAGES {
                Err(PageCountError::TooMany)
            } else {
                Ok(())
            };
        };
        self.nodes += 1;
        if depth >= MAX_TREE_DEPTH || self.nodes > MAX_TREE_NODES {
            return Err(Malformed.into());
        }
        kids.iter().try_for_each(|kid| self.visit(kid, depth + 1))
    }

    /// The children of a node; None for a page.
    fn kids(&self, node: &'a Dictionary) -> ReadResult<Option<&'a [Object]>> {
        let kind = node.get(b"Type").and_then(Object::as_name).ok();
        match (kind, node.get(b"Kids")) {
            (Some(b"Pages") | None, Ok(kids)) => {
                let kids = self.follow(Ok(kids))?.as_array().map_err(|_| Malformed)?;
                Ok(Some(kids))
            }
            (Some(b"Page"), Err(_)) => Ok(None),
            // Careless writers omit the type. Then only a page has no kids.
            (None, Err(_)) if node.has(b"Parent") => Ok(None),
            _ => Err(Malformed),
        }
    }

    /// The object that references lead to.
    fn follow(&self, object: lopdf::Result<&'a Object>) -> ReadResult<&'a Object> {
        let object = object.map_err(|_| Malformed)?;
        match self.document.dereference(object) {
            Ok((_, found)) => Ok(found),
            Err(_) => Err(Malformed),
        }
    }
}
