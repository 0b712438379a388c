//! What may be kept of a block, and where: properties primarycache and secondarycache, as values on
//! the way.

use ondisk::BlkPtr;

/// Which blocks a cache takes (`zfs_cache_type_t`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scope {
    None,
    Metadata,
    #[default]
    All,
}

impl Scope {
    /// By the property's number; what nobody knows is the default.
    pub fn from_raw(raw: u64) -> Scope {
        match raw {
            0 => Scope::None,
            1 => Scope::Metadata,
            _ => Scope::All,
        }
    }

    pub fn takes(self, is_metadata: bool) -> bool {
        match self {
            Scope::None => false,
            Scope::Metadata => is_metadata,
            Scope::All => true,
        }
    }
}

/// Of one dataset. The default keeps everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Keep {
    /// In memory.
    pub primary: Scope,
    /// On cache devices, to which only that goes which is in memory.
    pub secondary: Scope,
}

impl Keep {
    pub const ALL: Keep = Keep { primary: Scope::All, secondary: Scope::All };

    /// As one small number, for an atomic.
    pub const fn pack(self) -> u8 {
        (self.primary as u8) << 4 | self.secondary as u8
    }

    pub fn unpack(packed: u8) -> Keep {
        Keep {
            primary: Scope::from_raw(u64::from(packed >> 4)),
            secondary: Scope::from_raw(u64::from(packed & 15)),
        }
    }
}

/// Whether a block counts as metadata for caches.
pub fn is_metadata(bp: &BlkPtr) -> bool {
    bp.level() > 0 || bp.object_type().is_metadata()
}
