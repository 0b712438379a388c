//! Passkeys and security keys (WebAuthn) as a second factor: what browsers take and give.
//!
//! Members have the names of Web Authentication Level 3: `PublicKeyCredential` reads the options by
//! `parseCreationOptionsFromJSON` and `parseRequestOptionsFromJSON`, and writes what is sent here
//! by `toJSON`. Bytes are in base64url without padding. What a browser says beyond it is ignored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// For `navigator.credentials.create({publicKey: …})`, which has five minutes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreationOptions {
    pub rp: KeySite,
    pub user: KeyOwner,
    pub challenge: String,
    pub pub_key_cred_params: Vec<KeyAlgorithm>,
    /// Milliseconds.
    pub timeout: u32,
    /// Keys that the account has already.
    pub exclude_credentials: Vec<KeyName>,
    pub authenticator_selection: KeyWanted,
    /// `none`: nothing is decided by who made a key.
    pub attestation: String,
}

/// Where a key counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeySite {
    /// The host name that the browser has used.
    pub id: String,
    pub name: String,
}

/// Whose a key is to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyOwner {
    /// Says nothing about the account but that it is the same one.
    pub id: String,
    pub name: String,
    pub display_name: String,
}

/// A way of signing: -7 is ES256, -8 is EdDSA.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyAlgorithm {
    pub alg: i32,
    #[serde(rename = "type")]
    pub kind: String,
}

/// What a key has to be able to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeyWanted {
    pub resident_key: String,
    pub require_resident_key: bool,
    pub user_verification: String,
}

/// A key by the name that its authenticator has given it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeyName {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
}

/// For `navigator.credentials.get({publicKey: …})`, which has five minutes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestOptions {
    pub challenge: String,
    /// Milliseconds.
    pub timeout: u32,
    pub rp_id: String,
    pub allow_credentials: Vec<KeyName>,
    pub user_verification: String,
}

/// What an account wants beside its password; a recovery code always does. In the problem
/// `/problems/second-factor-needed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecondFactors {
    /// It has an authenticator for codes.
    pub totp: bool,
    /// `None`: it has no key that counts for the host name of this request.
    pub key: Option<RequestOptions>,
}

/// A new key, as the browser gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = true))]
pub struct Attestation {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub response: AttestationResponse,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = true))]
pub struct AttestationResponse {
    #[serde(rename = "clientDataJSON")]
    pub client_data: String,
    pub attestation_object: String,
}

/// That a key was used, as the browser gives it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = true))]
pub struct Assertion {
    pub id: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub response: AssertionResponse,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = true))]
pub struct AssertionResponse {
    #[serde(rename = "clientDataJSON")]
    pub client_data: String,
    pub authenticator_data: String,
    pub signature: String,
    pub user_handle: Option<String>,
}

/// `GET /v1/users/{name}/keys`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecurityKey {
    pub id: u64,
    pub name: String,
    /// The host name that it counts for.
    pub host: String,
    pub created: i64,
    pub last_used: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_writes_is_read_and_what_else_it_says_is_ignored() {
        let said = r#"{"id":"a","rawId":"a","type":"public-key","authenticatorAttachment":"platform",
            "clientExtensionResults":{"credProps":{"rk":true}},"response":{"clientDataJSON":"b",
            "attestationObject":"c","transports":["usb"],"publicKeyAlgorithm":-7,"later":{}}}"#;
        let read: Attestation = serde_json::from_str(said).expect("it is JSON");
        assert_eq!((&*read.id, &*read.kind), ("a", "public-key"));
        assert_eq!((&*read.response.client_data, &*read.response.attestation_object), ("b", "c"));
        let said = r#"{"id":"a","type":"public-key","response":{"clientDataJSON":"b",
            "authenticatorData":"c","signature":"d","userHandle":null}}"#;
        let read: Assertion = serde_json::from_str(said).expect("it is JSON");
        assert_eq!((&*read.response.authenticator_data, read.response.user_handle), ("c", None));
    }

    #[test]
    fn options_have_the_names_that_browsers_know() {
        let options = RequestOptions {
            challenge: "c".into(),
            timeout: 300_000,
            rp_id: "shelf".into(),
            allow_credentials: vec![KeyName { id: "a".into(), kind: "public-key".into() }],
            user_verification: "preferred".into(),
        };
        let text = serde_json::to_string(&options).expect("it is data");
        for name in [r#""rpId":"#, r#""allowCredentials":[{"id":"a","type":"#, r#""userVerification":"#] {
            assert!(text.contains(name), "{text}");
        }
    }
}
