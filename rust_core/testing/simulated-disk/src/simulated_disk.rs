//! The disk and its open files.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use foreseal_journal::{Disk, DiskFile};

use crate::{
    content::{Content, SECTOR, SplitMix64},
    disk_fault::{DiskFault, FaultPolicy, Operation},
};

/// A simulated disk. Clones refer to the same disk.
#[derive(Clone, Default)]
pub struct SimulatedDisk(Arc<Mutex<State>>);

#[derive(Clone, Default)]
struct State {
    files: Vec<SimulatedInode>,
    /// File names as the process sees them. `synced_names` holds the names on the disk.
    names: BTreeMap<PathBuf, usize>,
    synced_names: BTreeMap<PathBuf, usize>,
    operations: u64,
    fault: Option<(u64, DiskFault)>,
    judge: Option<Arc<Mutex<dyn FaultPolicy>>>,
    down: bool,
    /// Number of the current process; handles of earlier processes are invalid.
    process: u64,
}

#[derive(Clone, Default)]
struct SimulatedInode {
    seen: Content,
    synced: Content,
    /// Sectors that a sync would write.
    dirty: BTreeSet<u64>,
}

impl SimulatedDisk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of operations so far that change or sync data.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Makes the operation with this number, counted from 0, fail. Replaces an earlier request.
    pub fn fail_at(&self, operation: u64, fault: DiskFault) {
        self.state().fault = Some((operation, fault));
    }

    /// Consults `judge` for every operation from now on, also those of later processes.
    pub fn set_fault_policy(&self, judge: Arc<Mutex<dyn FaultPolicy>>) {
        self.state().judge = Some(judge);
    }

    /// Stops the machine: every operation fails, until [`Self::lose_power`] or [`Self::kill`].
    pub fn stop(&self) {
        self.state().down = true;
    }

    /// Returns `true` if the machine has stopped.
    pub fn is_down(&self) -> bool {
        self.state().down
    }

    /// Ends the process while the machine continues: all written data can be read, but handles are invalid.
    pub fn kill(&self) {
        self.state().restart();
    }

    /// Stops and restarts the machine. `seed` decides which unsynced data survives.
    pub fn lose_power(&self, seed: u64) {
        let mut state = self.state();
        let mut chance = SplitMix64::new(seed);
        for file in &mut state.files {
            file.lose_power(&mut chance);
        }
        let (names, synced) = (state.names.clone(), state.synced_names.clone());
        for path in names.keys().chain(synced.keys()).collect::<BTreeSet<_>>() {
            if names.get(path) != synced.get(path) && chance.coin() {
                match names.get(path) {
                    Some(&inode) => state.synced_names.insert(path.clone(), inode),
                    None => state.synced_names.remove(path),
                };
            }
        }
        state.names = state.synced_names.clone();
        state.restart();
    }

    /// Returns an independent disk with the same content and without a judge.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self(Arc::new(Mutex::new(State { judge: None, ..self.state().clone() })))
    }

    /// Returns the names of the files in ascending order.
    pub fn files(&self) -> Vec<PathBuf> {
        self.state().names.keys().cloned().collect()
    }

    /// Returns the content of a file.
    pub fn content(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state();
        let content = &state.files[*state.names.get(path)?].seen;
        let mut bytes = vec![0; usize::try_from(content.size).ok()?];
        content.read(&mut bytes, 0);
        Some(bytes)
    }

    /// Replaces or creates a file, synced.
    pub fn set_content(&self, path: &Path, bytes: &[u8]) {
        let mut content = Content { size: bytes.len() as u64, ..Content::default() };
        content.write(bytes, 0);
        let inode = SimulatedInode { seen: content.clone(), synced: content, dirty: BTreeSet::new() };
        let mut state = self.state();
        state.files.push(inode);
        let number = state.files.len() - 1;
        state.names.insert(path.to_owned(), number);
        state.synced_names.insert(path.to_owned(), number);
    }

    /// Flips one bit of a file, both as read and as stored on the disk.
    pub fn flip(&self, path: &Path, offset: u64, bit: u8) {
        let mut state = self.state();
        let Some(&inode) = state.names.get(path) else { return };
        let file = &mut state.files[inode];
        for content in [&mut file.seen, &mut file.synced] {
            let mut byte = [0];
            if content.read(&mut byte, offset) == 1 {
                content.write(&[byte[0] ^ (1 << (bit % 8))], offset);
            }
        }
    }

    /// Removes a file, synced.
    pub fn remove_file(&self, path: &Path) {
        let mut state = self.state();
        state.names.remove(path);
        state.synced_names.remove(path);
    }
}

impl State {
    fn restart(&mut self) {
        self.process += 1;
        self.down = false;
        self.fault = None;
    }

    fn check_up(&self) -> io::Result<()> {
        if self.down { Err(io::Error::other("the machine is down")) } else { Ok(()) }
    }

    /// Counts an operation and returns its fault, if any.
    fn begin(&mut self, operation: Operation) -> io::Result<Option<DiskFault>> {
        self.check_up()?;
        let number = self.operations;
        self.operations += 1;
        let judged = self.judge.as_ref().and_then(|judge| {
            let mut judge = judge.lock().unwrap_or_else(PoisonError::into_inner);
            judge.judge(operation)
        });
        let fault = self.fault.filter(|&(at, _)| at == number).map(|(_, fault)| fault).or(judged);
        let lies = matches!(operation, Operation::Sync | Operation::SyncDir);
        let fault = fault.filter(|fault| *fault != DiskFault::Lost || lies);
        self.down = fault == Some(DiskFault::Crash);
        Ok(fault)
    }

    fn inode(&self, path: &Path) -> io::Result<usize> {
        self.names.get(path).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Returns the error that represents a fault.
fn error(fault: DiskFault) -> io::Error {
    match fault {
        DiskFault::Full => io::ErrorKind::StorageFull.into(),
        _ => io::Error::other("simulated failure of the device"),
    }
}

impl Disk for SimulatedDisk {
    fn create_dir(&self, _dir: &Path) -> io::Result<()> {
        self.state().begin(Operation::CreateDir)?.map_or(Ok(()), |fault| Err(error(fault)))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        let state = self.state();
        state.check_up()?;
        let inside = state.names.keys().filter(|path| path.parent() == Some(dir));
        Ok(inside.filter_map(|path| path.file_name().map(PathBuf::from)).collect())
    }

    fn open(&self, path: &Path, write: bool) -> io::Result<Box<dyn DiskFile>> {
        let state = self.state();
        state.check_up()?;
        let inode = state.inode(path)?;
        Ok(Box::new(SimulatedFile { disk: self.clone(), inode, process: state.process, write }))
    }

    fn create(&self, path: &Path, size: u64) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.state();
        let fault = state.begin(Operation::Create)?;
        if state.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let size = if fault.is_none() { size } else { 0 };
        let seen = Content { size, ..Content::default() };
        state.files.push(SimulatedInode { seen, ..SimulatedInode::default() });
        let inode = state.files.len() - 1;
        state.names.insert(path.to_owned(), inode);
        match fault {
            Some(fault) => Err(error(fault)),
            None => {
                Ok(Box::new(SimulatedFile { disk: self.clone(), inode, process: state.process, write: true }))
            }
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        let fault = state.begin(Operation::Remove)?;
        state.inode(path)?;
        if matches!(fault, None | Some(DiskFault::Crash)) {
            state.names.remove(path);
        }
        fault.map_or(Ok(()), |fault| Err(error(fault)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        let fault = state.begin(Operation::Rename)?;
        let inode = state.inode(from)?;
        if matches!(fault, None | Some(DiskFault::Crash)) {
            state.names.remove(from);
            state.names.insert(to.to_owned(), inode);
        }
        fault.map_or(Ok(()), |fault| Err(error(fault)))
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.state();
        match state.begin(Operation::SyncDir)? {
            None => {}
            Some(DiskFault::Lost) => return Ok(()),
            Some(fault) => return Err(error(fault)),
        }
        let State { names, synced_names, .. } = &mut *state;
        synced_names.retain(|path, _| path.parent() != Some(dir));
        let inside = names.iter().filter(|(path, _)| path.parent() == Some(dir));
        synced_names.extend(inside.map(|(path, &inode)| (path.clone(), inode)));
        Ok(())
    }
}

struct SimulatedFile {
    disk: SimulatedDisk,
    inode: usize,
    process: u64,
    write: bool,
}

impl SimulatedFile {
    fn state(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.disk.state();
        if state.process == self.process { Ok(state) } else { Err(io::Error::other("the process has ended")) }
    }
}

impl DiskFile for SimulatedFile {
    fn is_at(&self, path: &Path) -> io::Result<bool> {
        let state = self.state()?;
        state.check_up()?;
        Ok(state.inode(path)? == self.inode)
    }

    fn size(&self) -> io::Result<u64> {
        let state = self.state()?;
        state.check_up()?;
        Ok(state.files[self.inode].seen.size)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.state()?;
        state.check_up()?;
        Ok(state.files[self.inode].seen.read(buffer, offset))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut state = self.state()?;
        let fault = state.begin(Operation::Write { offset })?;
        if !self.write {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let length = match fault {
            None | Some(DiskFault::Crash | DiskFault::Lost) => bytes.len(),
            Some(DiskFault::Short | DiskFault::Broken) => bytes.len() / 2,
            Some(DiskFault::Full) => 0,
        };
        let inode = &mut state.files[self.inode];
        inode.seen.write(&bytes[..length], offset);
        if length > 0 {
            inode.dirty.extend(offset / SECTOR..=(offset + length as u64 - 1) / SECTOR);
        }
        match fault {
            None | Some(DiskFault::Short | DiskFault::Lost) => Ok(length),
            Some(fault) => Err(error(fault)),
        }
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.state()?;
        let fault = state.begin(Operation::Sync)?;
        let inode = &mut state.files[self.inode];
        match fault {
            None => {
                inode.synced.size = inode.seen.size;
                inode.flush(|_| true);
                Ok(())
            }
            Some(DiskFault::Lost) => {
                inode.dirty.clear();
                Ok(())
            }
            Some(DiskFault::Crash) => Err(error(DiskFault::Crash)),
            Some(fault) => {
                inode.dirty.clear();
                Err(error(fault))
            }
        }
    }
}

impl SimulatedInode {
    /// Writes the dirty sectors that `chosen` selects, and discards the others.
    fn flush(&mut self, mut chosen: impl FnMut(usize) -> bool) {
        for (position, sector) in std::mem::take(&mut self.dirty).into_iter().enumerate() {
            if sector * SECTOR >= self.synced.size || !chosen(position) {
                continue;
            }
            match self.seen.sectors.get(&sector) {
                Some(bytes) => self.synced.sectors.insert(sector, bytes.clone()),
                None => self.synced.sectors.remove(&sector),
            };
        }
    }

    fn lose_power(&mut self, chance: &mut SplitMix64) {
        if chance.coin() {
            self.synced.size = self.seen.size;
        }
        let count = self.dirty.len();
        let cut = chance.below(count + 1);
        match chance.below(5) {
            0 => self.dirty.clear(),
            1 => self.flush(|_| true),
            2 => self.flush(|position| position < cut),
            3 => self.flush(|position| position >= cut),
            _ => self.flush(|_| chance.coin()),
        }
        self.seen = self.synced.clone();
    }
}
