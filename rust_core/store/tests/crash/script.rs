//! The sequence of writes: a chain that grows, is unwound, and continues on
//! another branch. Equal seeds yield equal chains.

use std::{path::Path, sync::OnceLock};

use foreseal_store::{SealedBlock, Store, StoreOptions};
use tempfile::tempdir;

use crate::support::{
    Made, Maker, Size,
    dump::{Dump, dump},
    sealed, sealed_with_newest_nodes,
};

enum Write {
    Blocks(Vec<SealedBlock>),
    /// Blocks with the nodes of the newest one alone.
    NewestNodes(Vec<SealedBlock>),
    Unwind(u64),
}

pub struct Script {
    pub options: StoreOptions,
    writes: Vec<Write>,
    /// Content of a store after each number of undisturbed writes.
    after: OnceLock<Vec<Dump>>,
}

/// Returns the number of writes that a store holds: each one stores its number as the note.
pub fn done(store: &Store) -> usize {
    if store.head().unwrap().is_none() {
        return 0;
    }
    usize::from_be_bytes(store.writer_metadata().unwrap().as_ref().try_into().unwrap())
}

impl Script {
    pub fn new(seed: u64, length: usize) -> Self {
        use rand::Rng;
        let mut maker = Maker::new(seed, Size::SMALL);
        let genesis = maker.genesis();
        let options = StoreOptions { step_window: 7, proof_window: 4, ..Maker::options(&genesis) };
        let mut writes = vec![Write::Blocks(vec![genesis.sealed.clone()])];
        let mut chain = vec![genesis];
        while writes.len() < length.max(1) {
            let back = maker.random.random_range(0..9);
            if chain.len() > 2 && back < 3 {
                // Sometimes far enough that nodes must be recomputed.
                let to = (chain.len() - 1).saturating_sub(1 + back * 3);
                chain.truncate(to + 1);
                writes.push(Write::Unwind(to as u64));
            } else {
                let count = maker.random.random_range(1..4);
                let head = chain.last().unwrap();
                let made: Vec<Made> = maker.chain(head, count);
                writes.push(if maker.random.random_ratio(1, 4) {
                    Write::NewestNodes(sealed_with_newest_nodes(head, &made))
                } else {
                    Write::Blocks(sealed(&made))
                });
                chain.extend(made);
            }
        }
        Self { options, writes, after: OnceLock::new() }
    }

    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// Runs one of the writes, in a store that holds those before it.
    pub fn run(&self, store: &Store, at: usize) {
        let metadata = (at + 1).to_be_bytes();
        let marked = |blocks: &[SealedBlock]| {
            let mut blocks = blocks.to_vec();
            blocks.last_mut().unwrap().writer_metadata = metadata.to_vec().into();
            blocks
        };
        match &self.writes[at] {
            Write::Blocks(blocks) => store.write(&marked(blocks)).unwrap(),
            Write::NewestNodes(blocks) => store.write_newest_nodes(&marked(blocks)).unwrap(),
            Write::Unwind(to) => store.unwind(*to, at as u64, &metadata).unwrap(),
        }
    }

    /// Asserts that the store in a folder holds the first `writes` writes and nothing else.
    pub fn assert_holds(&self, folder: &Path, writes: usize) {
        let (tables, expected) = (dump(folder), &self.after()[writes]);
        assert!(tables.keys().eq(expected.keys()));
        for (name, table) in &tables {
            assert!(*table == expected[name], "table {name} after {writes} writes");
        }
    }

    fn after(&self) -> &[Dump] {
        self.after.get_or_init(|| {
            let folder = tempdir().unwrap();
            drop(Store::open(folder.path(), self.options).unwrap());
            let mut dumps = vec![dump(folder.path())];
            for at in 0..self.writes.len() {
                self.run(&Store::open(folder.path(), self.options).unwrap(), at);
                dumps.push(dump(folder.path()));
            }
            dumps
        })
    }
}
