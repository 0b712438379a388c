//! Names of users and groups: those of this machine, from its own two files, and accounts for
//! HTTPS, which the daemon knows. Elsewhere it knows numbers only.

use api_types::{PropertyChange, User, kind, routes};

use crate::client::{CallError, Client};

/// What `/etc/passwd` and `/etc/group` say.
#[derive(Clone, Debug, Default)]
pub struct Accounts {
    users: Vec<(String, u32)>,
    groups: Vec<(String, u32)>,
}

impl Accounts {
    /// Of the machine that the daemon is on. What another one calls its users is not known here,
    /// nor where there are no files: it names nobody, and nor does a file that cannot be read.
    pub fn around(client: &Client) -> Accounts {
        if client.socket().is_none() {
            return Accounts::default();
        }
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        Accounts::parse(&read("/etc/passwd"), &read("/etc/group"))
    }

    /// And of accounts for HTTPS, after the machine's own. Who may not see those has the others.
    pub fn with_logins(mut self, client: &Client) -> Result<Accounts, CallError> {
        match client.get::<Vec<User>>(routes::USERS) {
            Ok(logins) => self.users.extend(logins.into_iter().map(|user| (user.name, user.uid))),
            Err(CallError::Refused(why)) if why.kind == kind::DENIED => {}
            Err(error) => return Err(error),
        }
        Ok(self)
    }

    /// From the files' texts: `name:password:number:…`.
    pub fn parse(passwd: &str, group: &str) -> Accounts {
        let entry = |line: &str| {
            let mut fields = line.split(':');
            let name = fields.next().filter(|name| !name.is_empty() && !name.starts_with(['#', '+', '-']))?;
            Some((name.to_owned(), fields.nth(1)?.parse().ok()?))
        };
        let table = |text: &str| text.lines().filter_map(entry).collect();
        Accounts { users: table(passwd), groups: table(group) }
    }

    /// Of `user`, else of a group.
    pub fn name(&self, user: bool, id: u64) -> Option<&str> {
        let table = if user { &self.users } else { &self.groups };
        table.iter().find(|(_, number)| u64::from(*number) == id).map(|(name, _)| name.as_str())
    }

    /// The number of this user, else of this group.
    pub fn id(&self, user: bool, name: &str) -> Option<u32> {
        let table = if user { &self.users } else { &self.groups };
        table.iter().find(|(known, _)| known == name).map(|(_, id)| *id)
    }

    /// `userquota@joe` with the number in the name's place; `None` where nobody has that name.
    /// Anything else as it is.
    pub fn numbered(&self, property: &str) -> Option<String> {
        let Some((stem, who)) = property.split_once('@') else { return Some(property.to_owned()) };
        let table = match stem {
            _ if stem.starts_with("user") => &self.users,
            _ if stem.starts_with("group") => &self.groups,
            _ => return Some(property.to_owned()),
        };
        match table.iter().find(|(name, _)| name == who) {
            Some((_, id)) => Some(format!("{stem}@{id}")),
            // Nobody's name is the number 0 (strtoul(3), as in `userquota_propname_decode`).
            None if who.is_empty() => Some(format!("{stem}@0")),
            None => who.parse::<u32>().ok().map(|id| format!("{stem}@{id}")),
        }
    }
}

/// Properties of users and groups by their numbers, as the daemon knows them.
pub fn numbered(client: &Client, props: &[PropertyChange]) -> Result<Vec<PropertyChange>, String> {
    let accounts = Accounts::around(client);
    let one = |prop: &PropertyChange| match accounts.numbered(&prop.name) {
        Some(name) => Ok(PropertyChange { name, value: prop.value.clone() }),
        None => Err(format!("'{}' has an invalid user/group name", prop.name)),
    };
    props.iter().map(one).collect()
}

#[cfg(test)]
mod tests;
