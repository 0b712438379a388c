//! Each [`Work`] as system calls in a folder of a mounted file system: a thread a writer, one call
//! after the other.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::drive::{Done, together};
use crate::{Blocks, Crowd, FILE, Fail, Outcome, Payload, Places, Work, name};

/// A folder to work in; it is there.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
}

/// One operation: the bytes it moved, or `None` when nothing is left to do.
type Operation<'a> = Box<dyn FnMut() -> io::Result<Option<u64>> + 'a>;

impl Folder {
    pub fn new(path: &Path) -> Folder {
        Folder { path: path.to_owned() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Does this work; what it needs is made before the time begins.
    pub fn run(&self, work: Work, crowd: &Crowd) -> Result<Outcome, Fail> {
        let next = &AtomicU64::new(0);
        match work {
            Work::Write { blocks, is_sync } => {
                let file = &self.data_file(is_sync)?;
                let mut outcome =
                    self.threads(crowd, |writer| Ok(writes(blocks, file, crowd.seed(writer))))?;
                if !is_sync {
                    let start = Instant::now();
                    file.sync_all()?;
                    outcome.took += start.elapsed();
                }
                Ok(outcome)
            }
            Work::Read { blocks } => {
                let file = &self.data_file(false)?;
                self.threads(crowd, |writer| Ok(reads(blocks, file, crowd.seed(writer))))
            }
            Work::Append { block } => self.threads(crowd, |writer| self.appends(block, writer)),
            Work::SmallFile { bytes } => {
                let dir = &self.new_folder()?;
                self.threads(crowd, |writer| Ok(small_files(dir, bytes, next, writer)))
            }
            Work::Create { files } => self.names(crowd, files, false, |path| File::create(path).map(drop)),
            Work::Stat { files } => self.names(crowd, files, true, |path| fs::metadata(path).map(drop)),
            Work::Unlink { files } => self.names(crowd, files, false, |path| fs::remove_file(path)),
        }
    }

    /// Removes the file that `Write` makes: the next one makes it anew.
    pub fn forget_file(&self) -> Result<(), Fail> {
        match fs::remove_file(self.path.join(FILE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn data_file(&self, is_sync: bool) -> io::Result<File> {
        let flags = if is_sync { libc::O_DSYNC } else { 0 };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).custom_flags(flags);
        options.open(self.path.join(FILE))
    }

    fn new_folder(&self) -> io::Result<PathBuf> {
        let mut run = 0;
        while self.path.join(name("small", run)).exists() {
            run += 1;
        }
        let path = self.path.join(name("small", run));
        fs::create_dir(&path)?;
        Ok(path)
    }

    fn threads<'a>(
        &self,
        crowd: &Crowd,
        make: impl Fn(usize) -> io::Result<Operation<'a>> + Sync,
    ) -> Result<Outcome, Fail> {
        together(crowd.writers, |writer, start: &Barrier| {
            let ready = make(writer);
            start.wait();
            let (mut operation, start, mut done) = (ready?, Instant::now(), Done::default());
            let mut begun = start;
            while begun - start < crowd.span {
                let Some(bytes) = operation()? else { break };
                let now = Instant::now();
                done.latencies.push(now - begun);
                done.bytes += bytes;
                begun = now;
            }
            done.took = start.elapsed();
            Ok(done)
        })
    }

    fn appends<'a>(&self, block: u32, writer: usize) -> io::Result<Operation<'a>> {
        let path = self.path.join(name("append", writer as u64));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).custom_flags(libc::O_DSYNC);
        let file = options.open(path)?;
        let (payload, mut blocks) = (Payload::new(block, writer), 0);
        Ok(Box::new(move || {
            let data = payload.block(blocks, block);
            file.write_all_at(data, blocks * u64::from(block))?;
            blocks += 1;
            Ok(Some(block.into()))
        }))
    }

    /// One call for each of many names, which is work for one writer.
    fn names(
        &self,
        crowd: &Crowd,
        files: u64,
        is_endless: bool,
        call: impl Fn(&Path) -> io::Result<()> + Sync,
    ) -> Result<Outcome, Fail> {
        let (dir, call) = (&self.path.join("names"), &call);
        fs::create_dir_all(dir)?;
        self.threads(crowd, |_| {
            let mut places = Places { blocks: files, next: 0, is_endless, random: None };
            Ok(Box::new(move || {
                let Some(place) = places.next() else { return Ok(None) };
                call(&dir.join(name("file", place)))?;
                Ok(Some(0))
            }))
        })
    }
}

fn writes<'a>(blocks: Blocks, file: &'a File, seed: u64) -> Operation<'a> {
    let (payload, mut places) = (Payload::new(blocks.block, seed as usize), blocks.places(false, seed));
    Box::new(move || {
        let Some(place) = places.next() else { return Ok(None) };
        file.write_all_at(payload.block(place, blocks.block), blocks.offset(place))?;
        Ok(Some(blocks.block.into()))
    })
}

fn reads<'a>(blocks: Blocks, file: &'a File, seed: u64) -> Operation<'a> {
    let (mut buffer, mut places) = (vec![0; blocks.block as usize], blocks.places(true, seed));
    Box::new(move || {
        let Some(place) = places.next() else { return Ok(None) };
        file.read_exact_at(&mut buffer, blocks.offset(place))?;
        Ok(Some(blocks.block.into()))
    })
}

/// Made, written, and durable.
fn small_files<'a>(dir: &'a Path, bytes: u32, next: &'a AtomicU64, writer: usize) -> Operation<'a> {
    let payload = Payload::new(bytes, writer);
    Box::new(move || {
        let place = next.fetch_add(1, Ordering::Relaxed);
        let file = File::create(dir.join(name("file", place)))?;
        file.write_all_at(payload.block(place, bytes), 0)?;
        file.sync_all()?;
        Ok(Some(bytes.into()))
    })
}
