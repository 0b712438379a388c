//! Looking at every copy of a block, for verification: an ordinary read is content with the first
//! good one.
//!
//! Nothing is repaired and nothing is cached. A disk that gives bad bytes has them counted, as by
//! any read.

use std::sync::Arc;

use env::{AlignedBuf, IoClass};
use ondisk::object_type::ObjectType;
use ondisk::{BlkPtr, Dva};

use super::moved::Place;
use super::read::{decode, is_good, refuse};
use super::sides::sides;
use crate::flight::Flight;
use crate::vdev::open::Tree;
use crate::vdev::{Io, Op};
use crate::{Block, ReadError, Storage};

/// How the copies of one block are. A mirror's sides are copies, and so are a pointer's DVAs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Survey {
    pub good: u32,
    /// Wrong bytes, or none. Copies on disks that are missing altogether are not counted.
    pub bad: u32,
    /// Why the block cannot be had; `None` if it can.
    pub error: Option<ReadError>,
}

impl Survey {
    const fn failed(error: ReadError) -> Survey {
        Survey { good: 0, bad: 0, error: Some(error) }
    }
}

/// Header pieces looked at below one gang block; more are nonsense.
const PIECES_MAX: usize = 1 << 16;

impl Storage {
    /// Reads all copies of all blocks, issued together, and decodes one good copy of each. Holes
    /// and embedded blocks have no copies: they are good if they can be decoded.
    pub fn survey(&self, bps: &[BlkPtr], class: IoClass) -> Vec<Survey> {
        let tree = self.tree();
        let salt = self.salt();
        let mut answers: Vec<Option<Survey>> = bps.iter().map(|bp| self.without_copies(bp)).collect();
        for (bp, answer) in bps.iter().zip(&mut answers) {
            if answer.is_none()
                && let Some(error) = refuse(bp, salt.as_ref())
            {
                *answer = Some(Survey::failed(error));
            } else if answer.is_none() && bp.is_gang() {
                *answer = Some(self.survey_gang(&tree, bp, class));
            }
        }
        let (mut owners, mut ios, mut split) = (Vec::new(), Vec::new(), Vec::new());
        for (n, bp) in bps.iter().enumerate() {
            if answers[n].is_some() {
                continue;
            }
            let mut survey = Survey { good: 0, bad: 0, error: Some(ReadError::Corrupt) };
            for dva in bp.dvas().into_iter().filter(Dva::is_valid) {
                let (dva, ashift) = match self.copy(&tree, &dva, bp.psize()) {
                    Ok(Place::Whole(dva, ashift)) => (dva, ashift),
                    Ok(Place::Split(_, pieces)) => {
                        let verify = |bytes: &[u8]| is_good(bp, bytes, salt.as_ref());
                        match self.fetch_split(&tree, &pieces, (class, None), &verify) {
                            Ok(bytes) => split.push((n, bytes)),
                            Err(error) => {
                                survey.bad += 1;
                                survey.error = Some(error);
                            }
                        }
                        continue;
                    }
                    Err(_) => {
                        survey.bad += 1;
                        continue;
                    }
                };
                survey.error = Some(ReadError::Io);
                let len = bp.psize().next_multiple_of(1 << ashift) as usize;
                for leaf in sides(&tree, dva.vdev) {
                    owners.push(n);
                    ios.push((leaf, Io { op: Op::Read(len), offset: dva.offset, class, repair: false }));
                }
            }
            answers[n] = Some(survey);
        }
        let verify = |n: usize, bytes: &[u8]| is_good(&bps[owners[n]], bytes, salt.as_ref());
        let done = Flight::take_off_at(self.env(), &tree, class, ios).land(&verify);
        let mut found: Vec<Survey> = answers.into_iter().flatten().collect();
        let mut good: Vec<Option<AlignedBuf>> = bps.iter().map(|_| None).collect();
        for (&n, done) in owners.iter().zip(done) {
            match done {
                Ok(bytes) => {
                    found[n].good += 1;
                    good[n] = bytes;
                }
                Err(error) => {
                    found[n].bad += 1;
                    found[n].error = Some(error.into());
                }
            }
        }
        for (n, bytes) in split {
            found[n].good += 1;
            good[n] = Some(bytes);
        }
        let decoded: Vec<_> = good.into_iter().map(std::sync::Mutex::new).collect();
        let errors: Vec<_> = bps.iter().map(|_| std::sync::Mutex::new(None)).collect();
        self.env().driver.par_map(bps.len(), &|n| {
            if let Some(bytes) = env::lock(&decoded[n]).take()
                && !bps[n].is_encrypted()
            {
                *env::lock(&errors[n]) = decode(&bps[n], bytes).err();
            }
        });
        for (survey, error) in found.iter_mut().zip(errors) {
            if survey.good > 0 {
                survey.error = error.into_inner().expect("a panic has been passed on");
            }
        }
        found
    }

    /// What needs no disk to be judged.
    fn without_copies(&self, bp: &BlkPtr) -> Option<Survey> {
        if bp.validate().is_err() || bp.is_redacted() {
            return Some(Survey::failed(ReadError::Corrupt));
        }
        (bp.is_hole() || bp.is_embedded()).then(|| {
            let error = self.read(bp, IoClass::Scrub).err();
            Survey { good: 0, bad: 0, error }
        })
    }

    /// All copies of all pieces, then the whole.
    fn survey_gang(&self, tree: &Arc<Tree>, bp: &BlkPtr, class: IoClass) -> Survey {
        let mut pieces = Vec::new();
        let mut headers = vec![(*bp, 0)];
        while let Some((header, depth)) = headers.pop() {
            match self.read_header(tree, &header, class, depth) {
                Err(error) => return Survey::failed(error),
                Ok(below) if pieces.len() + below.len() <= PIECES_MAX => {
                    let (gangs, plain): (Vec<_>, Vec<_>) = below.into_iter().partition(BlkPtr::is_gang);
                    headers.extend(gangs.into_iter().map(|gang| (gang, depth + 1)));
                    pieces.extend(plain);
                }
                Ok(_) => return Survey::failed(ReadError::Corrupt),
            }
        }
        let surveys = self.survey(&pieces, class);
        let bad = surveys.iter().map(|survey| survey.bad).sum();
        let good = surveys.iter().map(|survey| survey.good).min().unwrap_or(0);
        let whole = self.fetch(tree, &[bp], class).remove(0);
        Survey { good, bad, error: whole.and_then(|bytes| decode(bp, bytes)).err() }
    }
}

impl Storage {
    /// As [`Storage::read`], but an encrypted block comes as it is, decompressed only if that can
    /// be done without the key: of dnodes nothing but their bonuses is encrypted.
    pub fn read_undeciphered(&self, bp: &BlkPtr, class: IoClass) -> Result<Arc<Block>, ReadError> {
        if !bp.is_encrypted() || bp.validate().is_err() {
            return self.read(bp, class);
        }
        let bytes = self.fetch(&self.tree(), &[bp], class).remove(0)?;
        if bp.object_type() == ObjectType::DNODE {
            return decode(bp, bytes).map(Arc::new);
        }
        let stored = bytes.get(..bp.psize() as usize).ok_or(ReadError::Corrupt)?;
        Ok(Arc::new(Block::from_slice(stored)))
    }
}
