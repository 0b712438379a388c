use super::*;
use crate::condition::UnknownFeature;

#[test]
fn it_is_told_whether_a_pool_can_be_imported_and_how() {
    let feature = |guid: &str, description: Option<&str>| UnknownFeature {
        guid: guid.to_owned(),
        description: description.map(str::to_owned),
    };
    let missing = "One or more devices are missing from the system.";
    let features = vec![feature("org.a:one", Some("The first.")), feature("org.b:two", None)];
    for (condition, status, action) in [
        (ImportCondition::Ready, None, "The pool can be imported using its name or numeric identifier."),
        (
            ImportCondition::Foreign,
            Some("The pool was last accessed by another system."),
            "The pool can be imported using its name or numeric identifier and\n\tthe '-f' flag.",
        ),
        (
            ImportCondition::Degraded,
            Some(missing),
            "The pool can be imported despite missing or damaged devices.  The\n\tfault tolerance of the pool may \
             be compromised if imported.",
        ),
        (
            ImportCondition::Damaged,
            Some("The pool metadata is incomplete or corrupted."),
            "The pool cannot be imported due to damaged devices or data.",
        ),
        (
            ImportCondition::Unavailable,
            Some(missing),
            "The pool cannot be imported. Attach the missing\n\tdevices and try again.",
        ),
        (
            ImportCondition::UnknownVersion,
            Some("The pool is formatted using an incompatible version."),
            "The pool cannot be imported.  Access the pool on a system running newer\n\tsoftware, or recreate the \
             pool from backup.",
        ),
        (
            ImportCondition::UnknownFeatures { features },
            Some(
                "The pool uses the following feature(s) not supported on this system:\n\torg.a:one (The \
                 first.)\n\torg.b:two\n",
            ),
            "The pool cannot be imported. Access the pool on a system that supports\n\tthe required feature(s), or \
             recreate the pool from backup.",
        ),
    ] {
        assert_eq!((condition.status().as_deref(), condition.action()), (status, action));
    }
}
