//! Features that pools can be given, and what an upgrade would bring.

/// `GET /v1/features`: one that pools can be given.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct FeatureInfo {
    pub name: String,
    pub description: String,
    /// Programs without it can still read the pool.
    pub readonly_compatible: bool,
}

/// `GET /v1/pools/{name}/upgrade`. The upgrade itself is setting the properties `version` and
/// `feature@…`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Upgradable {
    /// The pool's version; 5000 with feature flags.
    pub version: u64,
    /// Features that the pool could be given.
    pub disabled: Vec<String>,
    /// Of these, those that its property `compatibility` admits.
    pub requested: Vec<String>,
    /// That property says `legacy`: no upgrade is wanted.
    pub stays_legacy: bool,
}
