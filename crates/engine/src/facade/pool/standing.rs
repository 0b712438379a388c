//! What the datasets of a pool say of themselves: which are replicas, and which keep the identity
//! of another.
//!
//! Both are properties that were set on the dataset itself ([`REPLICA`], [`IDENTITY`]): what came
//! in a stream, or is handed down, counts for nothing. The pool is read once for each generation of
//! the engine, and while it is suspended not at all.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use engine_api::{
    Adopted, DatasetFilter, DatasetInfo, Error, HandleKey, IDENTITY, Identity, REPLICA, Result,
};
use env::lock;

use super::super::convert::api_error;
use super::LocalPool;

/// See the module.
#[derive(Debug, Default)]
pub(in crate::facade) struct Standing {
    generation: Option<u64>,
    /// Datasets that are no replicas.
    pub heads: HashSet<u64>,
    /// What those of them keep that clients are to know by the identity of another.
    pub claims: BTreeMap<u64, Identity>,
    /// What seals handles of this pool.
    pub key: Option<HandleKey>,
}

impl Standing {
    /// `pool`: its guid.
    pub fn of(pool: u64, key: Option<HandleKey>, listed: &[DatasetInfo]) -> Standing {
        let heads = listed.iter().filter(|info| info.own(REPLICA).is_none());
        let claim = |info: &DatasetInfo| {
            let Adopted { identity, is_live } = Adopted::parse(info.own(IDENTITY)?)?;
            (is_live && identity.guids() != (pool, info.guid)).then_some((info.guid, identity))
        };
        Standing {
            generation: None,
            key,
            claims: heads.clone().filter_map(claim).collect(),
            heads: heads.map(|info| info.guid).collect(),
        }
    }
}

impl LocalPool {
    /// What its datasets say of themselves; where that cannot be read, what they said before.
    pub(in crate::facade) fn standing(&self) -> Arc<Standing> {
        let generation = self.generation.load(SeqCst);
        let known = lock(&self.standing).clone();
        if known.generation == Some(generation) || self.pool.core().storage.suspension().is_waiting() {
            return known;
        }
        let filter = DatasetFilter {
            props: [REPLICA, IDENTITY].map(str::to_owned).to_vec(),
            ..DatasetFilter::default()
        };
        let listed = match self.pool.dsl.list(&filter) {
            Ok(listed) => listed,
            Err(error) => {
                tracing::warn!(%error, "datasets cannot be listed: what they are known by stays as it was");
                return known;
            }
        };
        let of = Standing::of(self.pool.guid(), self.handle_key(), &listed);
        let fresh = Arc::new(Standing { generation: Some(generation), ..of });
        *lock(&self.standing) = fresh.clone();
        fresh
    }

    /// What seals its handles.
    pub(in crate::facade) fn handle_key(&self) -> Option<HandleKey> {
        self.pool.core().storage.salt().map(|salt| HandleKey::of(&salt.0))
    }

    /// The identity that a dataset keeps; where it keeps none, its own.
    pub(in crate::facade) fn identity_of(&self, dataset: &str) -> Result<Identity> {
        let filter = DatasetFilter {
            roots: vec![dataset.to_owned()],
            depth: Some(0),
            props: vec![IDENTITY.to_owned()],
            ..DatasetFilter::default()
        };
        let listed = self.pool.dsl.list(&filter).map_err(api_error)?;
        let info = listed.first().ok_or(Error::NotFound)?;
        let own =
            || Identity { pool_guid: self.pool.guid(), dataset_guid: info.guid, key: self.handle_key() };
        let adopted = info.own(IDENTITY).and_then(Adopted::parse);
        Ok(adopted.map_or_else(own, |adopted| adopted.identity))
    }
}
