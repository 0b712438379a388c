//! What becomes of disks while the power is off: gone, wiped, damaged, old, failing, or in another
//! place.

use std::collections::BTreeMap;

use ondisk::label;
use stdx::prng::Prng;

use crate::disk::Faults;
use crate::disk::image::Image;

/// Most stretches of a disk that are damaged here and there.
const SPOTS: u64 = 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// Not there.
    Away,
    /// All zeros.
    Zero,
    /// One half, with the labels there, is zero.
    Half { front: bool },
    /// Sectors here and there are something else; not in the labels.
    Spots,
    /// All between the labels is something else.
    Garbage,
    /// As it was some time ago.
    Stale,
    /// Its medium fails: every read between the labels, every write, every flush, or some.
    Failing(Faults),
}

impl Harm {
    pub fn draw(prng: &mut Prng) -> Harm {
        let rate = *prng.pick(&[20_000, 300_000, 1_000_000]).expect("some");
        let none = Faults::default();
        let failing = [
            Faults { read: rate, ..none },
            Faults { corrupt: rate, ..none },
            Faults { write: rate, ..none },
            Faults { flush: rate, ..none },
            Faults { lost: rate, ..none },
            Faults { misdirected: rate, ..none },
        ];
        match prng.weighted(&[3, 3, 2, 3, 2, 3, 4]) {
            0 => Harm::Away,
            1 => Harm::Zero,
            2 => Harm::Half { front: prng.chance(1, 2) },
            3 => Harm::Spots,
            4 => Harm::Garbage,
            5 => Harm::Stale,
            _ => Harm::Failing(*prng.pick(&failing).expect("some")),
        }
    }

    /// Of the disk, once it is in use again.
    pub fn faults(self) -> Faults {
        if let Harm::Failing(faults) = self { faults } else { Faults::default() }
    }

    /// `earlier` is the disk as it was once.
    pub fn apply(self, image: &mut Image, earlier: &Image, size: u64, sector: u32, prng: &mut Prng) {
        let is_data = |at: &u64| *at >= label::START && at + Image::STRETCH <= size - label::END;
        match self {
            Harm::Away | Harm::Failing(_) => {}
            Harm::Zero => *image = Image::default(),
            Harm::Stale => *image = earlier.durable(),
            Harm::Half { front } => {
                let stretches = image.stretches();
                let middle = stretches.get(stretches.len() / 2).copied().unwrap_or(0);
                let gone = stretches.into_iter().filter(|at| (*at < middle) == front);
                gone.for_each(|at| image.damage(at, &[0; Image::STRETCH as usize]));
            }
            Harm::Garbage => {
                let mut junk = vec![0; Image::STRETCH as usize];
                prng.fill(&mut junk);
                image.stretches().into_iter().filter(is_data).for_each(|at| image.damage(at, &junk));
            }
            Harm::Spots => {
                let stretches: Vec<u64> = image.stretches().into_iter().filter(is_data).collect();
                for _ in 0..prng.below(SPOTS) + 1 {
                    let Some(&at) = prng.pick(&stretches) else { return };
                    let mut junk = vec![0; sector as usize];
                    prng.fill(&mut junk);
                    let sectors = Image::STRETCH / u64::from(sector);
                    image.damage(at + prng.below(sectors) * u64::from(sector), &junk);
                }
            }
        }
    }
}

/// Which disks come to which harm, and where they are afterwards.
#[derive(Debug, Default)]
pub struct Harms {
    harms: BTreeMap<String, Harm>,
    /// Two disks that change places.
    swapped: Option<(String, String)>,
}

impl Harms {
    pub fn add(&mut self, path: &str, harm: Harm) {
        self.harms.insert(path.to_owned(), harm);
    }

    pub fn swap(&mut self, a: &str, b: &str) {
        self.swapped = Some((a.to_owned(), b.to_owned()));
    }

    pub fn is_empty(&self) -> bool {
        self.harms.is_empty()
    }

    pub fn len(&self) -> usize {
        self.harms.len()
    }

    /// Whether what can be read of any hangs on chance.
    pub fn is_any_failing(&self) -> bool {
        self.harms.values().any(|harm| matches!(harm, Harm::Failing(_)))
    }

    pub fn of(&self, path: &str) -> Option<Harm> {
        self.harms.get(path).copied()
    }

    /// Where the disk is that was here.
    pub fn place<'a>(&'a self, path: &'a str) -> &'a str {
        match &self.swapped {
            Some((a, b)) if a == path => b,
            Some((a, b)) if b == path => a,
            _ => path,
        }
    }
}
