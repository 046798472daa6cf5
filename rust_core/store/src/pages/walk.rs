//! Walk over every page of a tree, in key order.

use std::{io, ops::ControlFlow, path::Path};

use heed::{Env, RoTxn, WithoutTls};

use super::{
    PageFault,
    layout::{Bad, Meta, NO_PAGE, Page, PageFile, PageValue},
};
use crate::{
    error::{FREE, ROOTS, StoreError},
    open::DATA_FILE,
    table::Tables,
};

/// Depth limit: more than any tree of 2^64 pages has.
const DEEPEST: u32 = 64;
/// Attempts to open a read transaction whose meta page is not overwritten meanwhile.
const ATTEMPTS: u32 = 100;

/// A tree of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tree {
    pub table: &'static str,
    pub root: u64,
}

/// Item that a walk visits.
pub(crate) enum PageItem<'p> {
    /// An entry of a leaf.
    Entry {
        key: &'p [u8],
        value: &'p [u8],
    },
    /// A page is complete. `last` is the last key of a leaf: a walk may end there, and another one begin.
    Page {
        last: Option<&'p [u8]>,
        bytes: u64,
        has_checksum: bool,
    },
    Fault(PageFault),
}

/// Visitor of the items of a walk; it may end the walk.
type Visit<'v> = dyn FnMut(PageItem<'_>) -> ControlFlow<()> + 'v;

/// The pages that one read transaction sees. They are not overwritten while it exists.
pub(crate) struct PageWalker<'e> {
    pages: PageFile,
    meta: Meta,
    _txn: RoTxn<'e, WithoutTls>,
}

impl<'e> PageWalker<'e> {
    /// Begins a walk of the newest commit.
    pub fn begin(env: &'e Env<WithoutTls>) -> Result<Self, StoreError> {
        let file = env.try_clone_inner_file()?;
        let page_size = env.unnamed_database_stat().page_size as usize;
        let mut pages = PageFile { file, page_size, pages: 0 };
        for _ in 0..ATTEMPTS {
            let read_txn = env.read_txn()?;
            let id = read_txn.id() as u64;
            match pages.meta(id & 1).map_err(StoreError::io("read", Path::new(DATA_FILE)))? {
                Ok(meta) if meta.transaction == id => {
                    pages.pages = meta.pages;
                    return Ok(Self { pages, meta, _txn: read_txn });
                }
                _ => {}
            }
        }
        Err(StoreError::DamagedPage { table: ROOTS, key: Vec::new(), page: 0 })
    }

    /// Returns `true` if a page, or a run of overflow pages, has the content that was written.
    pub fn is_sound(&self, page: u64) -> Result<bool, StoreError> {
        let read = if page < 2 {
            self.pages.meta(page).map(|meta| meta.is_ok())
        } else {
            self.pages.page(page).map(|page| page.is_ok())
        };
        read.map_err(StoreError::io("read", Path::new(DATA_FILE)))
    }

    /// Returns LMDB's own trees, then those of the tables in order. A table whose root cannot be read is
    /// omitted: its fault is found in the tree of roots.
    pub fn trees(&self) -> Result<Vec<Tree>, StoreError> {
        let roots = Tree { table: ROOTS, root: self.meta.main_root };
        let mut trees = vec![Tree { table: FREE, root: self.meta.free_root }, roots];
        let mut tables = vec![None; Tables::NAMES.len()];
        self.leaves(roots, &[], &mut |key, value, _| {
            let place = Tables::NAMES.iter().position(|name| name.as_bytes() == key);
            if let (Some(place), PageValue::Table { root }) = (place, value) {
                tables[place] = Some(Tree { table: Tables::NAMES[place], root: *root });
            }
            Ok(ControlFlow::Continue(()))
        })?;
        trees.extend(tables.into_iter().flatten());
        Ok(trees)
    }

    fn leaves(&self, tree: Tree, from: &[u8], each: &mut LeafVisitor<'_>) -> Result<(), StoreError> {
        let mut step = PageVisit { walk: self, tree, from, each, visit: &mut |_| ControlFlow::Continue(()) };
        step.run().map(|_| ()).map_err(StoreError::io("read", Path::new(DATA_FILE)))
    }

    /// Visits the items of a tree from a key on.
    pub fn tree(
        &self,
        tree: Tree,
        from: &[u8],
        visit: &mut Visit<'_>,
    ) -> Result<ControlFlow<()>, StoreError> {
        let mut each =
            |key: &[u8], value: &PageValue<'_>, visit: &mut Visit<'_>| self.entry(tree, key, value, visit);
        let mut step = PageVisit { walk: self, tree, from, each: &mut each, visit };
        step.run().map_err(StoreError::io("read", Path::new(DATA_FILE)))
    }

    fn entry(
        &self,
        tree: Tree,
        key: &[u8],
        value: &PageValue<'_>,
        visit: &mut Visit<'_>,
    ) -> io::Result<ControlFlow<()>> {
        match value {
            PageValue::Inline(value) => Ok(visit(PageItem::Entry { key, value })),
            PageValue::Table { .. } => Ok(ControlFlow::Continue(())),
            PageValue::Run { page, length } => {
                let run = self.pages.page(*page)?;
                let Some(value) = run.as_ref().ok().and_then(|run| run.run(*length)) else {
                    return Ok(visit(PageItem::Fault(self.fault(tree, key, *page))));
                };
                if visit(PageItem::Entry { key, value }).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                let (bytes, has_checksum) = run.map_or((0, false), |run| (run.len(), run.has_checksum()));
                Ok(visit(PageItem::Page { last: None, bytes, has_checksum }))
            }
        }
    }

    fn fault(&self, tree: Tree, key: &[u8], page: u64) -> PageFault {
        let offset = page.saturating_mul(self.pages.page_size as u64);
        PageFault { table: tree.table, key: key.to_vec(), page, offset }
    }
}

/// Action for each entry of a leaf.
type LeafVisitor<'e> = dyn FnMut(&[u8], &PageValue<'_>, &mut Visit<'_>) -> io::Result<ControlFlow<()>> + 'e;

struct PageVisit<'a, 'e> {
    walk: &'a PageWalker<'e>,
    tree: Tree,
    from: &'a [u8],
    each: &'a mut LeafVisitor<'a>,
    visit: &'a mut Visit<'a>,
}

impl PageVisit<'_, '_> {
    fn run(&mut self) -> io::Result<ControlFlow<()>> {
        if self.tree.root == NO_PAGE {
            return Ok(ControlFlow::Continue(()));
        }
        self.page(self.tree.root, &[], DEEPEST)
    }

    /// Visits a page and its subtree. `key` is its first key according to its parent page.
    fn page(&mut self, number: u64, key: &[u8], deepest: u32) -> io::Result<ControlFlow<()>> {
        let page = match self.walk.pages.page(number)? {
            Ok(page) if deepest > 0 && (page.is_leaf() || page.is_branch()) => page,
            Ok(_) | Err(Bad) => return Ok(self.bad(number, key)),
        };
        let (bytes, has_checksum) = (page.len(), page.has_checksum());
        if page.is_leaf() {
            return self.leaf(number, key, &page);
        }
        if (self.visit)(PageItem::Page { last: None, bytes, has_checksum }).is_break() {
            return Ok(ControlFlow::Break(()));
        }
        for index in 0..page.nodes() {
            let Some((begin, child)) = page.child(index) else { return Ok(self.bad(number, key)) };
            if page.child(index + 1).is_some_and(|(next, _)| index + 1 < page.nodes() && next <= self.from) {
                continue;
            }
            let begin = if index == 0 { key } else { begin };
            if self.page(child, begin, deepest - 1)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    fn leaf(&mut self, number: u64, begin: &[u8], page: &Page) -> io::Result<ControlFlow<()>> {
        let mut last = None;
        for index in 0..page.nodes() {
            let Some((key, value)) = page.entry(index) else { return Ok(self.bad(number, begin)) };
            if key < self.from {
                continue;
            }
            if (self.each)(key, &value, self.visit)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
            last = Some(key);
        }
        let (bytes, has_checksum) = (page.len(), page.has_checksum());
        // The previous walk counted a leaf that ends before this walk begins.
        match last {
            Some(_) => Ok((self.visit)(PageItem::Page { last, bytes, has_checksum })),
            None => Ok(ControlFlow::Continue(())),
        }
    }

    fn bad(&mut self, number: u64, key: &[u8]) -> ControlFlow<()> {
        (self.visit)(PageItem::Fault(self.walk.fault(self.tree, key, number)))
    }
}
