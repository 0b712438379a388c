use super::*;

#[test]
fn keys_are_written_as_they_are_read() {
    let all =
        ["ul$0", "ud$1001", "Ul$4294967295", "gl$7", "Gd$7", "el$", "Ed$", "c-$", "C-$", "s-$@a", "S-$@b.c"];
    for text in all {
        assert_eq!(Key::parse(text).map(|key| key.to_string()).as_deref(), Some(text));
    }
    let key = Key::at(Who::User(1001), Reach::Descendent, true);
    assert_eq!(key.to_string(), "Ud$1001");
    assert_eq!(Key::everywhere(Who::Set("@x".into()), false).to_string(), "s-$@x");
}

#[test]
fn what_is_no_key_is_none() {
    let none = [
        "",
        "u",
        "ul",
        "ul$",
        "ul$+1",
        "ul$-1",
        "ul$1x",
        "u-$1",
        "ulx1",
        "el$1",
        "e-$",
        "c-$x",
        "cl$",
        "s-$",
        "s-$a",
        "sl$@a",
        "x-$",
        "ud$99999999999999999999",
        "é-$",
    ];
    for text in none {
        assert_eq!(Key::parse(text), None, "{text}");
    }
}
