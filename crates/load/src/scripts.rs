//! Each [`Work`] as calls of NFSv3.

use sunrpc::xdr::Decoder;

use crate::drive::{self, Part, Script};
use crate::nfs3::{self, Mounted, Share, Stable};
use crate::{Blocks, Crowd, FILE, Fail, Outcome, Payload, Places, Work, name};

impl Share {
    /// Does this work; what it needs is made before the time begins.
    pub fn run(&self, work: Work, crowd: &Crowd) -> Result<Outcome, Fail> {
        match work {
            Work::Write { blocks, is_sync } => drive::run(self, crowd, |client, part| {
                let file = client.create(FILE)?;
                let how = if is_sync { Stable::FileSync } else { Stable::Unstable };
                let payload = Payload::new(blocks.block, part.connection);
                Ok(Writes { file, blocks, places: blocks.places(false, part.seed), payload, how })
            }),
            Work::Read { blocks } => drive::run(self, crowd, |client, part| {
                let file = client.lookup(FILE)?.ok_or("there is no file to read")?;
                Ok(Reads { file, blocks, places: blocks.places(true, part.seed) })
            }),
            Work::Append { block } => {
                drive::run(self, crowd, |client, part| Appends::new(client, part, block))
            }
            Work::SmallFile { bytes } => {
                drive::run(self, crowd, |client, part| SmallFiles::new(client, part, bytes))
            }
            Work::Create { files } => drive::run(self, crowd, Names::make(Call::Create, files, false)),
            Work::Stat { files } => drive::run(self, crowd, Names::make(Call::Lookup, files, true)),
            Work::Unlink { files } => drive::run(self, crowd, Names::make(Call::Remove, files, false)),
        }
    }

    /// Removes the file that `Write` makes: the next one makes it anew.
    pub fn forget_file(&self) -> Result<(), Fail> {
        self.connect()?.remove(FILE)
    }
}

struct Writes {
    file: Vec<u8>,
    blocks: Blocks,
    places: Places,
    payload: Payload,
    how: Stable,
}

impl Script for Writes {
    fn send(&mut self, client: &mut Mounted, _writer: usize) -> Result<Option<u32>, Fail> {
        let Some(place) = self.places.next() else { return Ok(None) };
        let data = self.payload.block(place, self.blocks.block);
        client.send_write(&self.file, self.blocks.offset(place), data, self.how).map(Some)
    }

    fn answered(&mut self, _writer: usize, results: &mut Decoder<'_>) -> Result<Option<u64>, Fail> {
        Ok(Some(nfs3::bytes_written(results)?.into()))
    }

    fn end(&mut self, client: &mut Mounted) -> Result<(), Fail> {
        match self.how {
            Stable::Unstable => client.commit(&self.file),
            Stable::FileSync => Ok(()),
        }
    }
}

struct Reads {
    file: Vec<u8>,
    blocks: Blocks,
    places: Places,
}

impl Script for Reads {
    fn send(&mut self, client: &mut Mounted, _writer: usize) -> Result<Option<u32>, Fail> {
        let Some(place) = self.places.next() else { return Ok(None) };
        client.send_read(&self.file, self.blocks.offset(place), self.blocks.block).map(Some)
    }

    fn answered(&mut self, _writer: usize, results: &mut Decoder<'_>) -> Result<Option<u64>, Fail> {
        match nfs3::bytes_read(results)? {
            0 => Err("the file is shorter than what is to be read".into()),
            bytes => Ok(Some(bytes.into())),
        }
    }
}

/// Each writer's file, and how many blocks it has.
struct Appends {
    files: Vec<(Vec<u8>, u64)>,
    payload: Payload,
    block: u32,
}

impl Appends {
    fn new(client: &mut Mounted, part: Part, block: u32) -> Result<Appends, Fail> {
        let file = |writer| {
            let name = name(&format!("append.{}", part.connection), writer as u64);
            client.remove(&name)?;
            Ok((client.create(&name)?, 0))
        };
        let files = (0..part.writers).map(file).collect::<Result<_, Fail>>()?;
        Ok(Appends { files, payload: Payload::new(block, part.connection), block })
    }
}

impl Script for Appends {
    fn send(&mut self, client: &mut Mounted, writer: usize) -> Result<Option<u32>, Fail> {
        let (file, blocks) = &mut self.files[writer];
        let (offset, data) = (*blocks * u64::from(self.block), self.payload.block(*blocks, self.block));
        *blocks += 1;
        client.send_write(file, offset, data, Stable::FileSync).map(Some)
    }

    fn answered(&mut self, _writer: usize, results: &mut Decoder<'_>) -> Result<Option<u64>, Fail> {
        Ok(Some(nfs3::bytes_written(results)?.into()))
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

#[derive(Clone, Copy)]
enum Call {
    Create,
    Lookup,
    Remove,
}

/// One call for each of many names; in a folder of the connection's own.
struct Names {
    call: Call,
    dir: Vec<u8>,
    places: Places,
}

impl Names {
    fn make(
        call: Call,
        files: u64,
        is_endless: bool,
    ) -> impl Fn(&mut Mounted, Part) -> Result<Names, Fail> + Sync {
        move |client, part| {
            let dir = client.folder(&format!("names.{}", part.connection))?;
            Ok(Names { call, dir, places: Places { blocks: files, next: 0, is_endless, random: None } })
        }
    }
}

impl Script for Names {
    fn send(&mut self, client: &mut Mounted, _writer: usize) -> Result<Option<u32>, Fail> {
        let Some(place) = self.places.next() else { return Ok(None) };
        let (dir, name) = (&self.dir, name("file", place));
        match self.call {
            Call::Create => client.send_create(dir, &name),
            Call::Lookup => client.send_lookup(dir, &name),
            Call::Remove => client.send_remove(dir, &name),
        }
        .map(Some)
    }

    fn answered(&mut self, _writer: usize, _results: &mut Decoder<'_>) -> Result<Option<u64>, Fail> {
        Ok(Some(0))
    }
}
