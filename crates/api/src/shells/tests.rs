//! Who may have a shell, and of what size.

use super::*;
use api_types::Role;

fn came_by(by: Credential) -> Asker {
    let identity = Identity { user: "ada".into(), uid: 7, role: Role::Administrator, by, dataset: None };
    Asker::known(identity, IpAddr::from([192, 0, 2, 1]))
}

#[test]
fn a_shell_is_for_a_session_and_opens_none_itself() {
    let session = |asker: &Asker| own_session(asker).map(|(session, _)| session);
    assert_eq!(session(&came_by(Credential::Session { id: 3, csrf: "c".into() })), Some(3));
    assert_eq!(session(&came_by(Credential::Token { id: 3, name: "t".into() })), None);
    assert_eq!(session(&came_by(Credential::Shell { session: 3 })), None);
    assert_eq!(session(&Asker::stranger(IpAddr::from([192, 0, 2, 1]))), None);
    assert_eq!(session(&Asker::local(Arc::new(stdx::behalf::Actor::itself()))), None, "root has another one");
}

#[test]
fn a_terminal_has_a_size() {
    for (columns, rows, is_fine) in [(1, 1, true), (1000, 1000, true), (0, 24, false), (80, 1001, false)] {
        assert_eq!(check(ShellSize { columns, rows }).is_ok(), is_fine, "{columns}x{rows}");
    }
}
