//! Relations: two appliances, each with a pool on simulated disks, that keep each other's data. All
//! that is between the disks and the line is what runs in the daemon: engines, services, what they
//! plan, the sessions that carry it out, what a peer may do, and fail-over.
//!
//! ```text
//!   north  sim/home ──service──▶ line ──guest──▶ sim/away  south
//!              ▲                cut, changed,        │
//!              └──────────────  held up, lies ◀──────┘        once something was promoted
//! ```
//! In [`Story::Streams`] data goes one way: streams are cut at any byte, changed, held up; the
//! power goes at any write on either side, during imports too; what services remember is lost; the
//! replica is away, full, and lies. In [`Story::Failover`] operators at both promote, force,
//! reverse, and set things up, while the line comes and goes and the power goes at any write of
//! that. [`Story::Pulls`] is as `Streams`, with the service at the place of the replica.
//!
//! Asked for after each step:
//! - What is visible at either place is, to the byte, the snapshot of that guid. In the stories
//!   without fail-over, the head of a replica is its newest snapshot.
//! - What both have once had in common, they have in common from then on: the base is never lost.
//! - No more than one snapshot waits for a replica, and none once the budget of its absence is used
//!   up. Who is pulled from looks at that itself, whether or not anybody comes.
//! - Both are in use only where somebody promoted by force, or could not ask.
//! - What was not said to be given up is there. In the end what is in use at both is found by
//!   whoever replicates, an operator chooses, and all that the chosen one has gets to the other;
//!   both pools are whole.

mod contents;
mod line;
mod outside;
mod pull;
mod site;
mod story;

/// What an appliance is called by the other one, and what it has.
const NAMES: [&str; 2] = ["north", "south"];
const ROOTS: [&str; 2] = ["sim/home", "sim/away"];
/// What is there and below it, a file system and a volume.
const BELOW: [&str; 2] = ["", "/disk"];
/// What the services are called.
const SERVICE: &str = "away";

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Story {
    Streams,
    Pulls,
    Failover,
}

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    pub seed: u64,
    pub story: Story,
    /// Things that happen.
    pub steps: u64,
    pub verbose: bool,
}

impl Options {
    pub fn new(story: Story, seed: u64) -> Options {
        Options { seed, story, steps: 40, verbose: false }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Power failures, and programs that ended.
    pub cuts: u64,
    pub kills: u64,
    /// Streams that arrived as they were sent, that were cut, held up, and changed.
    pub streams: u64,
    pub cut: u64,
    pub hung: u64,
    pub flipped: u64,
    /// Answers that were lies.
    pub lies: u64,
    /// Budgets of absences that were used up.
    pub relieved: u64,
    /// Promotions, those by force, and those that were refused.
    pub promoted: u64,
    pub forced: u64,
    pub refused: u64,
    /// Originals that gave way, and those that did not as something would have been lost.
    pub reversed: u64,
    pub kept: u64,
    /// Datasets that were in use at both in the end, and found to be.
    pub conflicts: u64,
}

impl Tally {
    /// The sum of both.
    pub fn add(&mut self, other: &Tally) {
        let Tally { cuts, kills, streams, cut, hung, flipped, lies, relieved, .. } = other;
        let Tally { promoted, forced, refused, reversed, kept, conflicts, .. } = other;
        for (sum, more) in [
            (&mut self.cuts, cuts),
            (&mut self.kills, kills),
            (&mut self.streams, streams),
            (&mut self.cut, cut),
            (&mut self.hung, hung),
            (&mut self.flipped, flipped),
            (&mut self.lies, lies),
            (&mut self.relieved, relieved),
            (&mut self.promoted, promoted),
            (&mut self.forced, forced),
            (&mut self.refused, refused),
            (&mut self.reversed, reversed),
            (&mut self.kept, kept),
            (&mut self.conflicts, conflicts),
        ] {
            *sum += more;
        }
    }
}

pub use story::run;
