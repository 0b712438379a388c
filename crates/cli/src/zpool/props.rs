//! `zpool get` and `zpool set`

use super::{JsonOptions, pool_info, pool_key, pools};
use crate::command::Cx;
use crate::fail::{Noun, Outcome, fail, sentence, usage};
use crate::getopt;
use crate::propget::{self, Format, Subject};
use crate::props::{self, Domain};
use api_types::{Changed, Edit, PropertiesSet, is_feature_property, is_user_property, routes};

pub fn get(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "jHpo:", &JsonOptions::LONG[..3])?;
    let json = JsonOptions::of(&options)?;
    let format = Format::of(Domain::Pool, &options)?;
    let Some((list, names)) = options.operands.split_first() else {
        return usage("missing property argument");
    };
    let wanted = propget::parse_list(Domain::Pool, list)?;
    let asked = routes::segment(&propget::query_names(wanted.as_deref()));
    let (found, status) = match pools(cx, names)? {
        (found, 1) if found.is_empty() => return Ok(1),
        found => found,
    };
    let mut subjects = Vec::new();
    for pool in found {
        let path = format!("{}?names={asked}", routes::at(routes::POOL_PROPERTIES, &pool.name));
        let props = cx.client.get(&path)?;
        let info = pool_info(&pool, true, json.as_int);
        let name = if json.json { pool_key(&pool, json.by_guid) } else { pool.name };
        subjects.push(Subject { name, info, props });
    }
    propget::print(cx, &format, "pools", &subjects, wanted.as_deref())?;
    Ok(status)
}

pub fn set(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "", &[])?;
    let (text, name) = match options.operands.as_slice() {
        [] => return usage("missing property=value argument"),
        [_] => return usage("missing pool name"),
        [text, name] => (text, name),
        [_, _, _] => return fail("properties of vdevs are not supported by this version of Cistern yet"),
        _ => return usage("too many pool names"),
    };
    let prop = props::assignment(text, "missing value in property=value argument")?;
    let what = format!("cannot set property for '{name}'");
    match Domain::Pool.definition(&prop.name) {
        Some(def) if def.edit() != Edit::Always => {
            return fail(format!("{what}: '{}' is readonly", prop.name));
        }
        None if !is_feature_property(&prop.name) && !is_user_property(&prop.name) => {
            return fail(format!("{what}: invalid property '{}'", prop.name));
        }
        _ => {}
    }
    let request = PropertiesSet { props: vec![prop], no_mount: false, history: cx.history.clone() };
    match cx.client.post::<Changed>(&routes::at(routes::POOL_PROPERTIES, name), &request) {
        Ok(changed) => cx.warn(&changed.warnings),
        Err(error) => {
            let problem = error.problem()?;
            if problem.kind == api_types::kind::NOT_FOUND {
                return fail(format!("cannot open '{name}': no such pool"));
            }
            fail(sentence(&what, &problem, Noun::Pool))
        }
    }
}
