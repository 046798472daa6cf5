//! Damaged copies of a journal that is not in use.
//!
//! A change to synced data is rejected with its position. Only a damaged last append may be treated as a torn
//! one, and everything before it stays unchanged. Damage never produces another chain or a panic.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use foreseal_journal::JournalError;
use foreseal_node::{NodeError, Settings, StartError};
use foreseal_simulated_disk::SimulatedDisk;
use rand::{Rng, SeedableRng, rngs::StdRng};
use tempfile::TempDir;

use crate::{
    ledger::{Check, Ledger, Rules},
    node_setup,
    run::Run,
    world::{Clocks, FaultPlan, NodeProbe},
};

const SECTOR: usize = 512;
/// First bytes of every append.
const MAGIC: &[u8; 8] = b"FSEALAPP";

/// Damage to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// One bit of a byte is inverted.
    Flip { at: usize, bit: u8 },
    /// A sector reads as zeros.
    Zero { at: usize },
    /// The file ends here.
    Cut { at: usize },
}

impl Damage {
    fn at(self) -> usize {
        match self {
            Self::Flip { at, .. } | Self::Zero { at } | Self::Cut { at } => at,
        }
    }

    fn apply(self, content: &mut Vec<u8>) {
        match self {
            Self::Flip { at, bit } => content[at] ^= 1 << bit,
            Self::Zero { at } => {
                let start = at / SECTOR * SECTOR;
                let end = content.len().min(start + SECTOR);
                content[start..end].fill(0);
            }
            Self::Cut { at } => content.truncate(at),
        }
    }
}

/// Copy of a data directory that is not in use: the real files, and the journal on a simulated disk.
pub struct Copy {
    /// Directory of the real files, removed with the copy.
    _folder: TempDir,
    settings: Settings,
    disk: SimulatedDisk,
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

impl Copy {
    /// Copies the data directory of a run whose process has ended.
    pub fn new(run: &Run) -> Result<Self, String> {
        let folder = node_setup::temp_folder()?;
        copy_folder(&run.settings.datadir, &folder.path().join("data")).map_err(|error| error.to_string())?;
        // The simulated disk identifies files by their full paths.
        let disk = SimulatedDisk::default();
        let datadir = folder.path().join("data");
        for path in run.disk.files() {
            let name = path.strip_prefix(&run.settings.datadir).map_err(|error| error.to_string())?;
            let content = run.disk.content(&path).ok_or("a file without content")?;
            disk.set_content(&datadir.join(name), &content);
        }
        let settings = Settings { datadir, ..run.settings.clone() };
        Ok(Self { _folder: folder, settings, disk })
    }

    /// Returns the segments, oldest first, each with its number, path and content.
    pub fn segments(&self) -> Vec<(u64, PathBuf, Vec<u8>)> {
        let segment = |path: PathBuf| {
            let number = path.file_stem()?.to_str()?.parse().ok()?;
            let content = self.disk.content(&path)?;
            Some((number, path, content))
        };
        self.disk.files().into_iter().filter_map(segment).collect()
    }

    /// Checks one damage that is drawn from `chance`. The ledger of `run` is the content of the undamaged
    /// journal.
    pub fn check(&self, run: &mut Run, chance: u64) -> Check {
        if run.ledger.size().0 < 2 {
            return Ok(());
        }
        let mut random = StdRng::seed_from_u64(chance);
        let segments = self.segments();
        if segments.is_empty() {
            return Ok(());
        }
        let (_, _, content) = &segments[random.random_range(0..segments.len())];
        let used = content.iter().rposition(|&byte| byte != 0).map_or(1, |last| last + 1);
        let at = random.random_range(0..used);
        let damage = match random.random_range(0..4) {
            0 | 1 => Damage::Flip { at, bit: random.random_range(0..8) },
            2 => Damage::Zero { at },
            _ => Damage::Cut { at },
        };
        let number = segments.iter().find(|(_, _, other)| other == content).map_or(0, |segment| segment.0);
        run.trace(&format!("  damage to segment {number}: {damage:?}"));
        run.fault_plan().counts.fault("damaged copy of the journal");
        let rejected = self.try_with(number, damage, &run.ledger, Run::rules())?;
        if rejected {
            run.fault_plan().counts.fault("damage refused by name");
        }
        Ok(())
    }

    /// Starts a node on a copy with this damage in segment `number`. Returns `true` if the node refuses to
    /// start. A node that starts must have the chain `truth`, or `truth` without the last append if that one
    /// is damaged.
    pub fn try_with(
        &self,
        number: u64,
        damage: Damage,
        truth: &Ledger,
        rules: Rules,
    ) -> Result<bool, String> {
        let segments = self.segments();
        let last = segments.last().map_or(0, |segment| segment.0);
        let Some((_, path, content)) = segments.into_iter().find(|segment| segment.0 == number) else {
            return Err(format!("there is no segment {number}"));
        };
        let tail = content.chunks(SECTOR).rposition(|sector| sector.starts_with(MAGIC)).unwrap_or(0) * SECTOR;
        let mut damaged = content;
        damage.apply(&mut damaged);
        let disk = self.disk.fork();
        disk.set_content(&path, &damaged);
        let context = |what: String| format!("{damage:?} in segment {number}: {what}");
        let clocks = Arc::new(Clocks::default());
        let node = node_setup::open(&self.settings, clocks.clone(), disk.clone(), Arc::default())
            .map_err(|error| context(error.to_string()))?;
        let watch = NodeProbe::new(disk, Arc::new(std::sync::Mutex::new(FaultPlan::new(clocks))));
        let started = crate::quietly(|| node.start_watched(Arc::new(watch)));
        let started = started.ok_or_else(|| context("the node panics".to_owned()))?;
        // The padding in the last sector of an append carries no data. If a cut removes only padding, the
        // error names the place after it.
        let at = match damage {
            Damage::Cut { at } => at.next_multiple_of(SECTOR),
            Damage::Flip { at, .. } | Damage::Zero { at } => at,
        } as u64;
        let torn = number == last && damage.at() >= tail;
        match started {
            Ok(_) => {
                let view = node.view().ok_or_else(|| context("there is no view".to_owned()))?;
                let mut restored = Ledger::default();
                restored.survive(&view, rules).map_err(&context)?;
                // An empty newest segment cannot be distinguished from one whose creation was interrupted.
                let empty = number == last && damage == Damage::Cut { at: 0 } && truth.began_as(&restored);
                if restored == *truth || empty || (torn && truth.is_or_was(&restored)) {
                    Ok(false)
                } else {
                    let end = restored.pending().map(super::ledger::Block::name).unwrap_or_default();
                    Err(context(format!("it is passed over, and the chain ends with {end}")))
                }
            }
            Err(
                NodeError::Journal(
                    JournalError::Corrupt { position, .. } | JournalError::Missing { position, .. },
                )
                | NodeError::Start(StartError::Lost { position, .. }),
            ) => {
                // If nothing of the segment is left, the error may name the end of the previous segment.
                let before = damage == Damage::Cut { at: 0 } && position.segment + 1 == number;
                if (position.segment == number && position.offset <= at) || before {
                    Ok(true)
                } else {
                    Err(context(format!("{position} is named")))
                }
            }
            // The damaged append was the only one in the journal.
            Err(NodeError::Start(StartError::JournalGone { .. }))
                if torn || damage == (Damage::Cut { at: 0 }) =>
            {
                Ok(true)
            }
            Err(error) => Err(context(format!("refused without a place: {error}"))),
        }
    }
}
