//! What an encrypted dataset says of its encryption: cipher, key and where that comes from. Its key
//! is not to be had here, so nothing that was encrypted is read; the properties are plain.
//!
//! The directory's ZAP names the object of its key. All below one encryption root have such an
//! object, which says whose key wraps theirs.
//!
//! Source: include/sys/dsl_crypt.h, module/zfs/dsl_crypt.c (`dsl_dataset_crypt_stats`).

use api_types::DatasetProperty;
use ondisk::dsl_dir::FIELD_CRYPTO_KEY_OBJ;

use super::Dsl;
use crate::Result;
use crate::prop::RawValue;

/// In the ZAP of a key, beside properties under their own names: the cipher, the key's guid, the
/// directory of the root.
const SUITE: &str = "DSL_CRYPTO_SUITE";
const KEY_GUID: &str = "DSL_CRYPTO_GUID";
const ROOT: &str = "DSL_CRYPTO_ROOT_DDOBJ";
const VERSION: &str = "DSL_CRYPTO_VERSION";
/// `keystatus`: no key is ever loaded.
const UNAVAILABLE: u64 = 1;

impl Dsl {
    /// Whether a dataset has a key of version 0, which says nothing of its version.
    pub(crate) fn has_old_keys(&self) -> Result<bool> {
        let _config = self.reading();
        for dir in self.dirs_below(&self.root()?)? {
            if let Some(key) = self.mos.field(dir.object, FIELD_CRYPTO_KEY_OBJ)?
                && self.mos.find(key, VERSION)?.unwrap_or(0) == 0
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A property of what lies in this directory that its key tells. `None`: it is not encrypted,
    /// or the property is another.
    pub(super) fn of_key(&self, dir: u64, prop: DatasetProperty) -> Result<Option<RawValue>> {
        let field = match prop {
            DatasetProperty::Encryption => SUITE,
            DatasetProperty::Keyguid => KEY_GUID,
            DatasetProperty::Encryptionroot => ROOT,
            DatasetProperty::Keystatus
            | DatasetProperty::Keyformat
            | DatasetProperty::Pbkdf2iters
            | DatasetProperty::Pbkdf2salt => prop.row().name,
            _ => return Ok(None),
        };
        let Some(key) = self.mos.field(dir, FIELD_CRYPTO_KEY_OBJ)? else { return Ok(None) };
        if prop == DatasetProperty::Keystatus {
            return Ok(Some(RawValue::Number(UNAVAILABLE)));
        }
        let Some(number) = self.mos.find(key, field)? else { return Ok(None) };
        Ok(Some(match prop {
            DatasetProperty::Encryptionroot => RawValue::Text(self.dir(number)?.name()),
            _ => RawValue::Number(number),
        }))
    }
}
