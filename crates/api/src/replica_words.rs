//! Why a replica did not take the place of its original, or the other way round, in words.

use api_types::ReplicaLoss;
use appliance::NotReplicated;

/// Losses that a refusal names.
const LOSSES: usize = 8;

/// Why a replica did not take the place of its original, or the other way round.
pub fn not_replicated(why: &NotReplicated) -> String {
    match why {
        NotReplicated::NoReplica { dataset } => {
            format!("neither {dataset} nor anything below it is a replica")
        }
        NotReplicated::NothingThere { dataset } => {
            format!("nothing of its source has arrived at {dataset}")
        }
        NotReplicated::OriginalLive { dataset, original } => format!(
            "{original} is here and in use: what it has, and {dataset} has not, 'cistern replica lost' says; \
             --force takes it out first"
        ),
        NotReplicated::OriginalElsewhere { dataset, peer } => format!(
            "the original of {dataset} is in use on {peer}: 'zfs set readonly=on' there, and have its service run once \
             more; or promote with --force, and both may be written to until one of them is taken out"
        ),
        NotReplicated::NotPromoted { dataset } => {
            format!("{dataset} is a replica: 'cistern replica promote' makes it live first")
        }
        NotReplicated::NoCommonSnapshot { dataset } => format!(
            "{dataset} has no snapshot that its original has as well: destroy the original, and all is sent \
             anew"
        ),
        NotReplicated::WouldLose { losses } => {
            let told: Vec<String> = losses.iter().take(LOSSES).map(lost).collect();
            let more = losses.len().saturating_sub(LOSSES);
            let more = if more == 0 { String::new() } else { format!("; and of {more} more") };
            format!("it would be lost: {}{more}; --discard gives that up", told.join("; "))
        }
        NotReplicated::UnderWay => "another fail-over is under way on this machine".to_owned(),
        NotReplicated::NotOfPools { service } => {
            format!("'{service}' does not replicate to a pool of this machine or of a peer")
        }
        NotReplicated::Pulls { service, source } => format!(
            "'{service}' pulls, and a source that is elsewhere is not turned round from here: once the replica is \
             promoted, destroy or rename {source} there, and make a service that sends it back"
        ),
    }
}

/// What of a dataset would be given up.
fn lost(loss: &ReplicaLoss) -> String {
    let ReplicaLoss { dataset, source, written, newer, .. } = loss;
    let name = source.as_ref().unwrap_or(dataset);
    let bytes = written.filter(|bytes| *bytes > 0).map(|bytes| format!("{bytes} bytes of {name}"));
    let snapshots: Vec<String> = newer.iter().rev().take(LOSSES).map(|it| format!("{name}@{it}")).collect();
    let more = newer.len().saturating_sub(LOSSES);
    let more = (more > 0).then(|| format!("{more} more snapshots of {name}"));
    bytes.into_iter().chain(snapshots).chain(more).collect::<Vec<_>>().join(", ")
}
