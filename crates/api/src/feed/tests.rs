use super::*;

use serde_json::{Value, json};

fn feed() -> Arc<Feed> {
    Arc::new(Feed::new(Arc::new(|| 1_700_000_000)))
}

fn request(feed: &Feed, path: &str, whom: Whom) {
    feed.request("POST", path, 200, whom);
}

/// Ids and data of what a listener is sent at once.
fn events(piece: &Bytes) -> Vec<(String, Value)> {
    let text = std::str::from_utf8(piece).expect("text");
    let one = |event: &str| {
        let (id, data) = event.split_once('\n').expect("two lines");
        let data = data.strip_prefix("data: ").expect("data");
        let id = id.strip_prefix("id: ").expect("an id").to_owned();
        (id, serde_json::from_str(data).expect("JSON"))
    };
    text.split("\n\n").filter(|event| !event.is_empty()).map(one).collect()
}

fn paths(piece: &Bytes) -> Vec<String> {
    let path = |(_, data): &(String, Value)| data["request"]["path"].as_str().map(str::to_owned);
    events(piece).iter().filter_map(path).collect()
}

fn cause(piece: &Bytes) -> Value {
    let [(_, data)] = &events(piece)[..] else { panic!("one event: {piece:?}") };
    data["resync"]["cause"].clone()
}

#[test]
fn who_comes_back_goes_on_where_he_was() {
    let feed = feed();
    request(&feed, "/before", Whom::Readers);
    let mut first = feed.listener("", true);
    let begun = first.take();
    assert_eq!(cause(&begun), json!("start"));
    assert!(first.take().is_empty(), "what was before is not told");
    let id = events(&begun)[0].0.clone();
    request(&feed, "/a", Whom::Readers);
    request(&feed, "/b", Whom::Readers);
    assert_eq!(paths(&first.take()), ["/a", "/b"]);
    let mut again = feed.listener(&id, true);
    let told = again.take();
    assert_eq!(paths(&told), ["/a", "/b"]);
    let (id, data) = &events(&told)[0];
    let expected = json!({"time": 1_700_000_000, "verb": "POST", "path": "/a", "status": 200});
    assert_eq!(data["request"], expected);
    assert_eq!(paths(&feed.listener(id, true).take()), ["/b"]);
}

#[test]
fn who_has_missed_something_is_told_so() {
    let feed = feed();
    request(&feed, "/a", Whom::Readers);
    let known = format!("{}-1", feed.run);
    for wrong in ["1", "x", "0123456789abcdef-1", &format!("{}-2", feed.run), &format!("{}-x", feed.run)] {
        assert_eq!(cause(&feed.listener(wrong, true).take()), json!("restarted"), "{wrong}");
    }
    let mut slow = feed.listener(&known, true);
    for _ in 0..KEPT {
        request(&feed, "/more", Whom::Readers);
    }
    assert!(!paths(&feed.listener(&known, true).take()).is_empty(), "all that followed is kept");
    request(&feed, "/more", Whom::Readers);
    assert_eq!(cause(&slow.take()), json!("behind"));
    assert!(slow.take().is_empty());
    request(&feed, "/new", Whom::Readers);
    assert_eq!(paths(&slow.take()), ["/new"], "and goes on");
    feed.skip();
    assert_eq!(cause(&slow.take()), json!("behind"));
}

#[test]
fn the_row_has_a_bound_in_bytes_and_so_has_a_piece() {
    let feed = feed();
    let mut listener = feed.listener(&format!("{}-0", feed.run), true);
    let path = "p".repeat(LONGEST_PATH + 1);
    for _ in 0..KEPT {
        request(&feed, &path, Whom::Readers);
    }
    let row = lock(&feed.row);
    assert!(row.bytes <= KEPT_BYTES && row.kept.len() < KEPT && row.kept.len() > KEPT / 2);
    let bytes: usize = row.kept.iter().map(|kept| kept.text.len()).sum();
    assert_eq!(bytes, row.bytes);
    drop(row);
    listener.owed = None;
    listener.at = lock(&feed.row).first() - 1;
    let piece = listener.take();
    assert!(piece.len() <= PIECE && piece.len() > PIECE / 2);
    assert_eq!(paths(&piece)[0].len(), LONGEST_PATH);
}

#[test]
fn what_is_of_accounts_only_administrators_hear() {
    let feed = feed();
    let begin = format!("{}-0", feed.run);
    request(&feed, "/users", Whom::Administrators);
    let mut reader = feed.listener(&begin, false);
    assert!(reader.take().is_empty() && reader.at == 1, "it is passed over");
    request(&feed, "/pools", Whom::Readers);
    assert_eq!(paths(&reader.take()), ["/pools"]);
    assert_eq!(paths(&feed.listener(&begin, true).take()), ["/users", "/pools"]);
}

fn with_time(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime").block_on(work);
}

#[test]
fn a_listener_waits_for_news_and_ends_with_the_feed() {
    with_time(async {
        let feed = feed();
        let (to, mut pieces) = mpsc::channel(1);
        let listener = feed.listener("", true);
        let told = tokio::spawn(async move { listener.tell(&to, STUCK).await });
        assert_eq!(cause(&pieces.recv().await.expect("a piece")), json!("start"));
        tokio::task::yield_now().await;
        request(&feed, "/a", Whom::Readers);
        assert_eq!(paths(&pieces.recv().await.expect("a piece")), ["/a"]);
        request(&feed, "/last", Whom::Readers);
        feed.close();
        assert_eq!(paths(&pieces.recv().await.expect("a piece")), ["/last"]);
        assert!(pieces.recv().await.is_none());
        told.await.expect("no panic");
    });
}

#[test]
fn a_listener_that_takes_nothing_is_cut() {
    with_time(async {
        let feed = feed();
        let (to, pieces) = mpsc::channel(1);
        let listener = feed.listener("", true);
        let told = tokio::spawn(async move { listener.tell(&to, Duration::from_millis(20)).await });
        request(&feed, "/a", Whom::Readers);
        // The first piece has a place, the second has none.
        timeout(Duration::from_secs(30), told).await.expect("it is cut").expect("no panic");
        drop(pieces);
    });
}

#[test]
fn there_are_so_many_listeners_and_administrators_have_places_of_their_own() {
    let feed = feed();
    let reader = |user| Actor { rank: stdx::behalf::Rank::Reader, user, ..Actor::itself() };
    let mut held: Vec<Turn> = (0..OF_ONE).map(|_| feed.place(&reader(1)).expect("a place")).collect();
    assert!(feed.place(&reader(1)).is_none() && feed.place(&reader(2)).is_some());
    held.extend((0..LISTENERS).map(|_| feed.place(&Actor::itself()).expect("a place")));
    assert!(feed.place(&Actor::itself()).is_none());
    held.clear();
    assert!(feed.place(&Actor::itself()).is_some() && feed.place(&reader(1)).is_some());
}
