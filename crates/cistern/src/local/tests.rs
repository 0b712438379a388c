use super::*;
use engine_api::{PropKind, Source};

#[test]
fn every_property_that_has_words_for_mounts_has_an_effect_on_them() {
    let with = |name: &str, value: &str| {
        let (name, value, source) = (name.to_owned(), value.to_owned(), Source::Default);
        let prop = PropValue { name, value, kind: PropKind::Text, source, received: None };
        mount_options("tank", &[prop], &[])
    };
    for name in mount_props() {
        assert_ne!(with(name, "on"), with(name, "off"), "{name}");
    }
}
