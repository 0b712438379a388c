use super::*;

#[test]
fn times_and_sizes_as_people_write_them() {
    for (text, value) in
        [("20us", 20_000), ("1.5ms", 1_500_000), ("7ns", 7), ("2s", 2_000_000_000), ("3µs", 3000)]
    {
        assert_eq!(nanos(text).ok(), Some(value), "{text}");
    }
    for (text, value) in
        [("512", 512), ("1K", 1024), ("1.5MiB", 3 << 19), ("64g", 64 << 30), ("2TB", 2 << 40)]
    {
        assert_eq!(bytes(text).ok(), Some(value), "{text}");
    }
    for wrong in ["", "fast", "-1ms", "1e400s", "12"] {
        assert!(nanos(wrong).is_err(), "{wrong}");
    }
    assert!(bytes("much").is_err());
}

#[test]
fn options_make_a_query() {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let wish = wish(&words("tank --log-latency=20us --cache-size 64G --json")).expect("it makes sense");
    assert!(wish.json);
    assert_eq!(wish.pools, ["tank"]);
    assert_eq!(query_string(&wish.query), "?log_latency=20000&cache_size=68719476736");
    assert_eq!(query_string(&AdviceQuestion::default()), "");
    assert!(super::wish(&words("tank --often")).is_err());
    assert!(super::wish(&words("--memory")).is_err());
}

#[test]
fn text_is_broken_between_words() {
    assert_eq!(wrapped("one two  three", 7), ["one two", "three"]);
    assert_eq!(wrapped("it is 80 % now", 8), ["it is 80 %", "now"]);
    assert_eq!(wrapped("", 7), [""; 0]);
}
