//! Accounts: who may come in by HTTPS, what they may do there, and what was done.
//!
//! Times are in seconds since 1970.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Assertion, Attestation, SecurityKey};

// `{:?}` does not show it, so no log has it.
/// A password, a code or a token.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("format" = "password"))]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// What an account or a token may do. Whatever it is, what is delegated to the account's number
/// (`zfs allow`) may be done as well. A greater one may all that a lesser one may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Reads all but secrets. A token of this role sends no other request than GET, but to end
    /// itself.
    #[default]
    ReadOnly,
    /// And does the daily work: snapshots, holds, scrubs, devices on and off, mounts, shares.
    Operator,
    /// Does everything.
    Administrator,
}

impl Role {
    pub const ALL: [Role; 3] = [Role::ReadOnly, Role::Operator, Role::Administrator];

    /// As it is written, typed and kept.
    pub fn word(self) -> &'static str {
        match self {
            Role::ReadOnly => "read-only",
            Role::Operator => "operator",
            Role::Administrator => "administrator",
        }
    }

    /// `None`: there is none of that name.
    pub fn of_word(word: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.word() == word)
    }
}

/// By what a request was let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// It was not, or did not have to be.
    Nobody,
    /// The Unix socket, with the number of the user at its other end.
    Socket {
        uid: u32,
    },
    Session {
        id: u64,
    },
    Token {
        id: u64,
    },
    /// The certificate of another appliance, which is called so here.
    Peer,
}

/// `POST /v1/login`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LogIn {
    pub name: String,
    pub password: Secret,
    /// A code of TOTP, or a recovery code; where the account wants a second factor and it is left
    /// out, the answer is `/problems/second-factor-needed`.
    pub second: Option<Secret>,
    /// Of a security key, as that answer asks for it; either this or `second`.
    pub assertion: Option<Assertion>,
}

/// The session is in the cookie that comes with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoggedIn {
    /// For header `X-CSRF-Token` of every request that is no GET.
    pub csrf: Secret,
    pub me: Me,
}

/// `GET /v1/me`: who asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Me {
    /// Of the account; a user of the machine who asks by the socket has none here.
    pub name: Option<String>,
    pub uid: u32,
    /// `None`: only what everybody may, and what is delegated.
    pub role: Option<Role>,
    pub by: By,
    /// Nothing but this dataset and what is below it may be changed.
    pub dataset: Option<String>,
    /// Of a session: for header `X-CSRF-Token`.
    pub csrf: Option<Secret>,
}

/// `POST /v1/first-administrator`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FirstAdministrator {
    /// As the console of the machine shows it.
    pub code: Secret,
    pub name: String,
    pub password: Secret,
}

/// `GET /v1/users`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct User {
    pub name: String,
    pub role: Role,
    /// As delegations and histories name it.
    pub uid: u32,
    pub disabled: bool,
    pub has_totp: bool,
    /// Passkeys or security keys.
    #[serde(default)]
    pub has_keys: bool,
    pub created: i64,
    pub last_login: Option<i64>,
}

/// `POST /v1/users`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UserAdd {
    pub name: String,
    pub password: Secret,
    pub role: Role,
    /// Else the next free one from 2,000,000,000 on.
    pub uid: Option<u32>,
}

/// `POST /v1/users/{name}/change`; what is left out stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UserChange {
    pub role: Option<Role>,
    pub password: Option<Secret>,
    /// Who changes the own account over HTTPS has to give it.
    pub old_password: Option<Secret>,
    pub disabled: Option<bool>,
    pub uid: Option<u32>,
    /// Remove the authenticator for codes; without keys, the recovery codes as well.
    pub drop_totp: bool,
    /// Remove all security keys; without an authenticator, the recovery codes as well.
    pub drop_keys: bool,
    /// With another password for the own account: its tokens stay. Otherwise they end.
    pub keep_tokens: bool,
}

/// `POST /v1/users/{name}/totp`. Who asks for the own account gives its password, and a code of the
/// second factor that it has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TotpBegin {
    pub password: Secret,
    pub second: Option<Secret>,
    /// Of a security key; either this or `second`.
    pub assertion: Option<Assertion>,
}

/// `POST /v1/users/{name}/totp`: counts once it is confirmed. Shown once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TotpOffer {
    /// In base32.
    pub secret: Secret,
    /// The same as an `otpauth://` URL, for a QR code.
    pub url: Secret,
}

/// `POST /v1/users/{name}/totp/confirm`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TotpConfirm {
    /// As the authenticator shows it now.
    pub code: Secret,
}

/// For who has lost the authenticator; each counts once. Shown once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecoveryCodes {
    pub codes: Vec<Secret>,
}

/// `POST /v1/users/{name}/keys`. The own account's password, and a second factor that it has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KeyBegin {
    pub password: Secret,
    /// A code of TOTP, or a recovery code.
    pub second: Option<Secret>,
    /// Of a key that the account has; either this or `second`.
    pub assertion: Option<Assertion>,
}

/// `POST /v1/users/{name}/keys/confirm`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KeyConfirm {
    /// As people call it. Of the account's keys no other has it.
    pub name: String,
    pub credential: Attestation,
}

/// A key that counts from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyMade {
    pub key: SecurityKey,
    /// Recovery codes, where the account had none. Each counts once. Shown once.
    pub codes: Vec<Secret>,
}

/// `POST /v1/users/{name}/keys/remove`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KeyRemove {
    pub id: u64,
    /// Who removes a key of the own account over HTTPS has to give its password.
    pub password: Secret,
}

/// `GET /v1/sessions`: one's own, of all users to an administrator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserSession {
    pub id: u64,
    pub user: String,
    /// Where the login came from.
    pub address: String,
    pub created: i64,
    /// The last use, to the minute.
    pub seen: i64,
}

/// `GET /v1/tokens`: one's own, of all users to an administrator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Token {
    pub id: u64,
    pub user: String,
    pub name: String,
    pub role: Role,
    pub dataset: Option<String>,
    pub created: i64,
    pub expires: Option<i64>,
    /// The last use, to ten minutes.
    pub last_used: Option<i64>,
}

/// `POST /v1/tokens`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TokenAdd {
    /// Whose; else one's own.
    pub user: Option<String>,
    /// Of the user's tokens no other has it.
    pub name: String,
    /// Not above that of the user.
    pub role: Role,
    /// Else never.
    pub expires: Option<i64>,
    /// It may change nothing but this dataset and what is below it.
    pub dataset: Option<String>,
}

/// A new token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenMade {
    pub token: Token,
    /// For `Authorization: Bearer …`. Shown once.
    pub secret: Secret,
}

/// Query of `GET /v1/audit`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AuditQuery {
    /// Only records below this number: that of the last one of the page before.
    pub before: Option<u64>,
    /// At most 1,000; else 100.
    pub limit: Option<usize>,
    /// Who it was: an account, or the number of a user of the machine.
    pub user: Option<String>,
    pub verb: Option<String>,
}

/// A request that was not a GET, with its answer; the newest is first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditRecord {
    pub id: u64,
    pub time: i64,
    /// The account, or the name that was tried; by the socket, the number of the user.
    pub who: String,
    pub by: By,
    /// `None`: by the socket.
    pub address: Option<String>,
    pub verb: String,
    /// As it was sent.
    pub path: String,
    /// What it was done to, where the path does not say it.
    pub target: Option<String>,
    /// Of the answer.
    pub status: u16,
}

/// `GET /v1/certificate`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CertificateInfo {
    /// SHA-256 of the certificate: pairs of capital hexadecimal digits with colons between them.
    pub fingerprint: String,
    /// Names and addresses that it is for.
    pub names: Vec<String>,
    pub not_before: i64,
    pub not_after: i64,
    /// Who signed it, as the certificate names him.
    #[serde(default)]
    pub issuer: String,
    pub self_signed: bool,
}

/// `POST /v1/certificate`: new connections get it at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CertificateSet {
    /// PEM: the certificate, then those that lead to a root.
    pub certificate: String,
    /// PEM: its private key.
    pub key: Secret,
}

/// `POST /v1/certificate/acme`: from now on certificates come by ACME (RFC 8555) from an authority,
/// which is asked at once, and again when two thirds of a certificate's time are over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AcmeSet {
    /// Names for the certificate. The authority connects to port 443 of each, which has to lead to
    /// the HTTPS of this daemon.
    pub domains: Vec<String>,
    /// Where the authority writes to about certificates.
    pub email: Option<String>,
    /// URL of its directory; `None`: that of Let's Encrypt.
    pub directory: Option<String>,
    /// PEM: whose certificates the directory may show; `None`: those that this machine trusts.
    pub roots: Option<String>,
    /// That its terms of service are agreed to. It takes that.
    pub agree_terms: bool,
}

/// `GET /v1/certificate/acme`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AcmeStatus {
    /// `None`: certificates do not come by ACME.
    pub acme: Option<Acme>,
}

/// How certificates come by ACME.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Acme {
    pub domains: Vec<String>,
    pub email: Option<String>,
    /// URL of the authority's directory.
    pub directory: String,
    /// It is being asked now.
    pub is_asking: bool,
    /// When it is asked next.
    pub next: i64,
    /// Times that it was asked since the last certificate came.
    pub tries: u32,
    /// Why the last one did not come.
    pub failure: Option<AcmeFailure>,
}

/// Why no certificate came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AcmeFailure {
    pub at: i64,
    pub fault: AcmeFault,
    /// In words, of which some may be the authority's.
    pub why: String,
}

/// What kept a certificate away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AcmeFault {
    /// The authority cannot be reached, does not answer in time, or shows a certificate that is not
    /// trusted.
    Unreachable,
    /// What it answers is of no use.
    BadAnswer,
    /// It refuses.
    Refused,
    /// It could not see that the names lead here.
    NotProven,
    /// What it gave is no certificate that can be shown.
    Unfit,
    /// This machine could not do its part.
    Here,
}

impl AcmeFault {
    pub const ALL: [AcmeFault; 6] = [
        AcmeFault::Unreachable,
        AcmeFault::BadAnswer,
        AcmeFault::Refused,
        AcmeFault::NotProven,
        AcmeFault::Unfit,
        AcmeFault::Here,
    ];

    /// As it is written and kept.
    pub fn word(self) -> &'static str {
        match self {
            AcmeFault::Unreachable => "unreachable",
            AcmeFault::BadAnswer => "bad-answer",
            AcmeFault::Refused => "refused",
            AcmeFault::NotProven => "not-proven",
            AcmeFault::Unfit => "unfit",
            AcmeFault::Here => "here",
        }
    }

    /// `None`: there is none of that name.
    pub fn of_word(word: &str) -> Option<AcmeFault> {
        AcmeFault::ALL.into_iter().find(|fault| fault.word() == word)
    }
}

/// `POST /v1/machine/backup`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineBackup {
    /// Of the copy, on the machine.
    pub path: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown_and_travels_as_a_text() {
        let asked: LogIn =
            serde_json::from_str(r#"{"name":"ada","password":"correct horse"}"#).expect("it is JSON");
        assert_eq!(asked.password.0, "correct horse");
        assert!(!format!("{asked:?}").contains("horse"));
        assert!(serde_json::to_string(&asked).expect("it is data").contains("\"correct horse\""));
    }

    #[test]
    fn a_role_and_a_way_in_have_their_words() {
        let word = |role| serde_json::to_string(&role).expect("it is data");
        assert_eq!(word(Role::ReadOnly), "\"read-only\"");
        for role in Role::ALL {
            assert_eq!(
                (word(role), Role::of_word(role.word())),
                (format!("\"{}\"", role.word()), Some(role))
            );
        }
        assert_eq!(Role::of_word("root"), None);
        assert_eq!(serde_json::to_string(&By::Token { id: 7 }).expect("it is data"), r#"{"token":{"id":7}}"#);
        assert_eq!(serde_json::to_string(&By::Nobody).expect("it is data"), "\"nobody\"");
        assert_eq!(UserAdd::default().role, Role::ReadOnly, "nobody gets more by leaving it out");
    }
}
