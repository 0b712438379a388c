//! What a failure asks for.

use api_types::FailureClass;
use engine_api::Error;
use engine_api::refusal::{Reason, ReceiveFault, Refused};

use FailureClass::{NeedsPerson, Retriable};

/// Whether the same may succeed later, or somebody has to change something first.
pub fn of(error: &Error) -> FailureClass {
    match error {
        // It is gone or another by now, and the next look sees that; or it is waited for.
        Error::NotFound
        | Error::Exists
        | Error::Stale
        | Error::Busy
        | Error::Suspended
        | Error::NoSpace
        | Error::Quota => Retriable,
        Error::Refused(refused) => of_refusal(refused),
        Error::NotEmpty
        | Error::NotDir
        | Error::IsDir
        | Error::Denied
        | Error::NotPermitted
        | Error::ReadOnly
        | Error::NameTooLong
        | Error::FileTooLarge
        | Error::TooManyLinks
        | Error::CrossDevice
        | Error::TooSmall
        | Error::Invalid(_)
        | Error::Unsupported(_)
        | Error::KeyNotLoaded
        | Error::Corrupt { .. } => NeedsPerson,
        // What the engine comes to say one day.
        _ => Retriable,
    }
}

fn of_refusal(refused: &Refused) -> FailureClass {
    match &refused.reason {
        Reason::Because(inner) => of_refusal(inner),
        Reason::Several(all) => match all.iter().any(|one| of_refusal(one) == NeedsPerson) {
            true => NeedsPerson,
            false => Retriable,
        },
        Reason::Receive(fault) => of_receive(fault),
        Reason::NameTooLong
        | Reason::TooLarge
        | Reason::KeyNotLoaded
        | Reason::PoolTooOld(_)
        | Reason::FileSystemTooNew { .. }
        | Reason::Damaged { .. }
        | Reason::Name(_)
        | Reason::File(_)
        | Reason::Property(_)
        | Reason::Vdev(_)
        | Reason::NotOfThisType
        | Reason::NotApplicable => NeedsPerson,
        // Holds, clones, what is under way and what is full go away without anybody's being told.
        _ => Retriable,
    }
}

/// What the target is, or what its pool is not, stays so; what broke off, or is full, does not.
fn of_receive(fault: &ReceiveFault) -> FailureClass {
    match fault {
        ReceiveFault::Modified { .. }
        | ReceiveFault::DatasetExists { .. }
        | ReceiveFault::HasSnapshots { .. }
        | ReceiveFault::IsClone { .. }
        | ReceiveFault::ParentNotFilesystem { .. }
        | ReceiveFault::TargetNotFilesystem
        | ReceiveFault::VolumeOverRoot { .. }
        | ReceiveFault::VolumeOverChildren { .. }
        | ReceiveFault::Property { .. }
        | ReceiveFault::NotOfThisType { .. }
        | ReceiveFault::InvalidName
        | ReceiveFault::Features { .. }
        | ReceiveFault::NewerProgram
        | ReceiveFault::PoolTooOld
        | ReceiveFault::LargeBlocks
        | ReceiveFault::Unlike => NeedsPerson,
        _ => Retriable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine_api::refusal::Action;

    #[test]
    fn what_goes_away_is_tried_again_and_what_has_to_be_changed_is_not() {
        let refused =
            |reason: Reason| Error::from(Refused::new(Action::Open { name: "tank".into() }, reason));
        for error in [
            Error::NoSpace,
            Error::Suspended,
            Error::NotFound,
            refused(Reason::Held { name: "tank@a".into() }),
            refused(Reason::Cloned),
            refused(Reason::Outdated),
            refused(Reason::DatasetBusy),
            refused(ReceiveFault::Interrupted { token: "1-x".into() }.into()),
        ] {
            assert_eq!(of(&error), Retriable, "{error:?}");
        }
        let inner = Refused::because(Reason::NameTooLong);
        for error in [
            Error::ReadOnly,
            Error::KeyNotLoaded,
            Error::Invalid("x".into()),
            refused(Reason::NameTooLong),
            refused(ReceiveFault::Modified { dataset: "tank".into() }.into()),
            refused(Reason::Because(Box::new(inner.clone()))),
            refused(Reason::Several(vec![Refused::because(Reason::Cloned), inner])),
        ] {
            assert_eq!(of(&error), NeedsPerson, "{error:?}");
        }
    }
}
