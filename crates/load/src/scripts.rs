//! Each [`Work`] as calls of NFSv3.

use sunrpc::xdr::Decoder;

use crate::drive::{self, Part, Script};
use crate::nfs3::{self, Mounted, Share, Stable};
use crate::{Crowd, FILE, Fail, Outcome, Payload, Places, Work, name};

impl Share {
    /// Does this work; what it needs is made before the time begins.
    pub fn run(&self, work: Work, crowd: &Crowd) -> Result<Outcome, Fail> {
        match work {
            Work::Write { blocks, is_sync } => drive::run(self, crowd, |client, part| {
                let file = client.create(FILE)?;
                let how = if is_sync { Stable::FileSync } else { Stable::Unstable };
                let payload = Payload::new(blocks.block, part.connection);
                let mut places = blocks.places(false, part.seed);
                let unstable = (!is_sync).then(|| file.clone());
                let write = move |client: &mut Mounted, _writer: usize| {
                    let Some(place) = places.next() else { return Ok(None) };
                    let data = payload.block(place, blocks.block);
                    client.send_write(&file, blocks.offset(place), data, how).map(Some)
                };
                Ok(Calls { send: write, moved: nfs3::bytes_written, unstable })
            }),
            Work::Read { blocks } => drive::run(self, crowd, |client, part| {
                let file = client.lookup(FILE)?.ok_or("there is no file to read")?;
                let mut places = blocks.places(true, part.seed);
                let read = move |client: &mut Mounted, _writer: usize| {
                    let Some(place) = places.next() else { return Ok(None) };
                    client.send_read(&file, blocks.offset(place), blocks.block).map(Some)
                };
                Ok(Calls { send: read, moved: some_read, unstable: None })
            }),
            Work::Append { block } => self.appends(crowd, block),
            Work::SmallFile { bytes } => {
                drive::run(self, crowd, |client, part| SmallFiles::new(client, part, bytes))
            }
            Work::Create { files } => self.names(crowd, files, false, Mounted::send_create),
            Work::Stat { files } => self.names(crowd, files, true, Mounted::send_lookup),
            Work::Unlink { files } => self.names(crowd, files, false, Mounted::send_remove),
        }
    }

    /// Removes the file that `Write` makes: the next one makes it anew.
    pub fn forget_file(&self) -> Result<(), Fail> {
        self.connect()?.remove(FILE)
    }

    /// Each writer has a file of its own.
    fn appends(&self, crowd: &Crowd, block: u32) -> Result<Outcome, Fail> {
        drive::run(self, crowd, |client, part| {
            let file = |writer| {
                let name = name(&format!("append.{}", part.connection), writer as u64);
                client.remove(&name)?;
                Ok((client.create(&name)?, 0_u64))
            };
            // Each file, and how many blocks it has.
            let mut files = (0..part.writers).map(file).collect::<Result<Vec<_>, Fail>>()?;
            let payload = Payload::new(block, part.connection);
            let append = move |client: &mut Mounted, writer: usize| {
                let (file, blocks) = &mut files[writer];
                let (offset, data) = (*blocks * u64::from(block), payload.block(*blocks, block));
                *blocks += 1;
                client.send_write(file, offset, data, Stable::FileSync).map(Some)
            };
            Ok(Calls { send: append, moved: nfs3::bytes_written, unstable: None })
        })
    }

    /// One call for each of many names; in a folder of the connection's own.
    fn names(
        &self,
        crowd: &Crowd,
        files: u64,
        is_endless: bool,
        call: fn(&mut Mounted, &[u8], &str) -> Result<u32, Fail>,
    ) -> Result<Outcome, Fail> {
        drive::run(self, crowd, |client, part| {
            let dir = client.folder(&format!("names.{}", part.connection))?;
            let mut places = Places { blocks: files, next: 0, is_endless, random: None };
            let send = move |client: &mut Mounted, _writer: usize| {
                let Some(place) = places.next() else { return Ok(None) };
                call(client, &dir, &name("file", place)).map(Some)
            };
            Ok(Calls { send, moved: |_| Ok(0), unstable: None })
        })
    }
}

/// Operations of one call each.
struct Calls<S> {
    send: S,
    /// The bytes that a call moved, by its results.
    moved: fn(&mut Decoder<'_>) -> Result<u32, Fail>,
    /// What has to be made durable at the end.
    unstable: Option<Vec<u8>>,
}

impl<S: FnMut(&mut Mounted, usize) -> Result<Option<u32>, Fail>> Script for Calls<S> {
    fn send(&mut self, client: &mut Mounted, writer: usize) -> Result<Option<u32>, Fail> {
        (self.send)(client, writer)
    }

    fn answered(&mut self, _writer: usize, results: &mut Decoder<'_>) -> Result<Option<u64>, Fail> {
        Ok(Some((self.moved)(results)?.into()))
    }

    fn end(&mut self, client: &mut Mounted) -> Result<(), Fail> {
        self.unstable.as_ref().map_or(Ok(()), |file| client.commit(file))
    }
}

fn some_read(results: &mut Decoder<'_>) -> Result<u32, Fail> {
    match nfs3::bytes_read(results)? {
        0 => Err("the file is shorter than what is to be read".into()),
        bytes => Ok(bytes),
    }
}

/// A CREATE, then one stable WRITE; in a new folder of the connection's own.
struct SmallFiles {
    dir: Vec<u8>,
    /// Names used so far.
    files: u64,
    /// The file that each writer has made and not written yet.
    made: Vec<Option<Vec<u8>>>,
    payload: Payload,
    bytes: u32,
}

impl SmallFiles {
    fn new(client: &mut Mounted, part: Part, bytes: u32) -> Result<SmallFiles, Fail> {
        let mut run = 0;
        let folder = |run: u32| format!("small.{run}.{}", part.connection);
        while client.lookup(&folder(run))?.is_some() {
            run += 1;
        }
        Ok(SmallFiles {
            dir: client.folder(&folder(run))?,
            files: 0,
            made: vec![None; part.writers],
            payload: Payload::new(bytes, part.connection),
            bytes,
        })
    }
}

impl Script for SmallFiles {
    fn send(&mut self, client: &mut Mounted, writer: usize) -> Result<Option<u32>, Fail> {
        if let Some(file) = &self.made[writer] {
            let data = self.payload.block(self.files, self.bytes);
            return client.send_write(file, 0, data, Stable::FileSync).map(Some);
        }
        self.files += 1;
        client.send_create(&self.dir, &name("file", self.files)).map(Some)
    }

    fn answered(&mut self, writer: usize, results: &mut Decoder<'_>) -> Result<Option<u64>, Fail> {
        if self.made[writer].take().is_some() {
            return Ok(Some(nfs3::bytes_written(results)?.into()));
        }
        self.made[writer] = Some(nfs3::made(results)?);
        Ok(None)
    }
}
