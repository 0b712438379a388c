use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

/// A state folder of its own for each test, gone after it.
struct State(PathBuf);

impl State {
    fn new() -> State {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("cistern-stage-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        State(path)
    }

    /// With a certificate and a choice to restore, and no database.
    fn with_staged() -> State {
        let state = State::new();
        let new = begin(&state.0).expect("begun");
        fs::create_dir(new.join(CERTIFICATE)).expect("made");
        fs::write(new.join("tls/cert.pem"), "then").expect("written");
        fs::write(choice::file(&new), "7\ttank\n").expect("written");
        commit(&state.0, &version()).expect("staged");
        state
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_default()
    }
}

impl Drop for State {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("it is there");
    }
}

fn version() -> StagedVersion {
    StagedVersion { pool: "a b\t".into(), number: 12, time: 1_800_000_000 }
}

#[test]
fn what_was_begun_is_not_staged_and_what_was_staged_is_replaced_or_cancelled() {
    let state = State::with_staged();
    let new = begin(&state.0).expect("begun");
    assert_eq!(staged(&state.0).expect("read"), Some(version()));
    let other = StagedVersion { number: 13, ..version() };
    commit(&state.0, &other).expect("staged");
    assert!(!new.exists());
    assert_eq!(staged(&state.0).expect("read"), Some(other));
    assert!(!state.0.join("restore/tls").exists(), "nothing of the other one is left");
    begin(&state.0).expect("begun");
    drop_new(&state.0).expect("gone");
    cancel(&state.0).expect("cancelled");
    assert_eq!(staged(&state.0).expect("read"), None);
    assert_eq!(take(&state.0), Ok(None));
}

#[test]
fn what_was_there_is_kept_and_a_start_that_was_killed_goes_on() {
    let state = State::with_staged();
    fs::create_dir(state.0.join(CERTIFICATE)).expect("made");
    fs::write(state.0.join("tls/cert.pem"), "now").expect("written");
    // As after a kill between two renames.
    fs::rename(state.0.join("tls"), state.0.join("tls.replaced-1")).expect("renamed");
    let taken = take(&state.0).expect("taken").expect("it was staged");
    assert!(taken.starts_with("version 12 of pool a b\t was restored"), "{taken}");
    assert_eq!(
        (state.read("tls/cert.pem"), state.read("tls.replaced-1/cert.pem")),
        ("then".into(), "now".into())
    );
    assert_eq!(state.read("keeping"), "7\ttank\n");
    assert!(!state.0.join(STAGED).exists());
    assert_eq!(take(&state.0), Ok(None));
}

#[test]
fn no_more_certificates_are_kept_than_may_be() {
    let state = State::new();
    for round in 0..KEPT + 4 {
        let staged = state.0.join("staged");
        fs::create_dir_all(staged.join(CERTIFICATE)).expect("made");
        fs::write(staged.join("tls/cert.pem"), round.to_string()).expect("written");
        take_certificate(&state.0, &staged).expect("taken");
    }
    assert_eq!(state.read("tls/cert.pem"), (KEPT + 3).to_string());
    assert_eq!(state.read("tls.replaced-1/cert.pem"), "0");
    assert_eq!(state.read(&format!("tls.replaced-{KEPT}/cert.pem")), (KEPT + 2).to_string());
    assert!(!state.0.join(format!("tls.replaced-{}", KEPT + 1)).exists());
}

#[test]
fn a_folder_that_says_nothing_is_told_and_stays() {
    let state = State::new();
    fs::create_dir(state.0.join(STAGED)).expect("made");
    for text in ["", "tank\n", "tank\tx\t1\n", "tank\t1\t\n"] {
        fs::write(state.0.join("restore/version"), text).expect("written");
        assert!(take(&state.0).is_err(), "{text:?}");
        assert!(state.0.join(STAGED).exists());
    }
}
