use std::fs;

use super::*;

#[test]
fn a_pool_is_read_back_as_it_was_written() {
    let pool =
        Remembered { guid: u64::MAX, name: "tank".into(), devices: vec!["/a b".into(), "/c\td".into()] };
    assert_eq!(parse(format(&pool).trim_end()), Some(pool));
}

#[test]
fn lines_without_sense_name_no_pool() {
    assert_eq!(parse(""), None);
    assert_eq!(parse("x\ttank\t/a"), None);
    assert!(parse("7\ttank\t").expect("a pool").devices.is_empty());
}

/// A folder of its own, with this list of pools.
fn state(name: &str, list: Option<&str>) -> std::path::PathBuf {
    let state = std::env::temp_dir().join(format!("cistern-remember-{name}-{}", std::process::id()));
    drop(fs::remove_dir_all(&state));
    fs::create_dir_all(&state).expect("made");
    list.iter().for_each(|list| fs::write(state.join("pools"), list).expect("written"));
    state
}

#[test]
fn what_is_not_here_stays_written_down_until_it_is_forgotten() {
    let state = state("absent", Some("7\ttank\t/a\tb\nof a later version\n8\tother\t/c\n"));
    let memory = Memory::load(&state).expect("it can be read");
    memory.save(Vec::new);
    let list = || fs::read_to_string(state.join("pools")).expect("it is there");
    assert_eq!(list(), "of a later version\n7\ttank\t/a\tb\n8\tother\t/c\n");
    memory.forget("tank");
    memory.save(Vec::new);
    assert_eq!(list(), "of a later version\n8\tother\t/c\n");
    memory.came(8);
    memory.save(Vec::new);
    assert_eq!(list(), "of a later version\n", "it came, and is gone");
    fs::remove_dir_all(&state).expect("removed");
}

#[test]
fn names_are_unique_and_the_last_one_counts() {
    let state = state("names", Some("7\ttank\t/a\n8\tother\t/b\n9\ttank\t/c\n"));
    let memory = Memory::load(&state).expect("it can be read");
    let guids: Vec<u64> = memory.absent().iter().map(|pool| pool.guid).collect();
    assert_eq!(guids, [8, 9]);
    fs::remove_dir_all(&state).expect("removed");
}

#[test]
fn a_list_that_cannot_be_read_is_no_empty_list() {
    let state = state("folder", None);
    assert!(Memory::load(&state).expect("there is none yet").absent().is_empty());
    fs::create_dir(state.join("pools")).expect("made");
    assert!(Memory::load(&state).is_err());
    fs::remove_dir_all(&state).expect("removed");
}
