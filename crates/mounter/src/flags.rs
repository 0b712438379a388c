//! Options of a mount, each of which restricts something: a closed list, a bit each.

use nix::mount::MsFlags;

/// A set of options; none is what mount(8) calls `defaults`, with exact access times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    pub const READ_ONLY: Flags = Flags(1);
    pub const NO_SETUID: Flags = Flags(1 << 1);
    pub const NO_DEVICES: Flags = Flags(1 << 2);
    pub const NO_EXEC: Flags = Flags(1 << 3);
    pub const NO_ATIME: Flags = Flags(1 << 4);
    /// Shown by the kernel, not obeyed.
    pub const RELATIME: Flags = Flags(1 << 5);
    const ALL: u8 = (1 << 6) - 1;

    /// These and those.
    pub fn and(self, more: Flags) -> Flags {
        Flags(self.0 | more.0)
    }

    /// These, and those where `wanted`.
    pub fn and_when(self, wanted: bool, more: Flags) -> Flags {
        if wanted { self.and(more) } else { self }
    }

    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// A bit each, as a message has them.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// `None`: there is a bit that means nothing.
    pub fn of_bits(bits: u8) -> Option<Flags> {
        (bits & !Flags::ALL == 0).then_some(Flags(bits))
    }

    /// As mount(2) has them.
    pub fn for_kernel(self) -> MsFlags {
        let table = [
            (Flags::READ_ONLY, MsFlags::MS_RDONLY),
            (Flags::NO_SETUID, MsFlags::MS_NOSUID),
            (Flags::NO_DEVICES, MsFlags::MS_NODEV),
            (Flags::NO_EXEC, MsFlags::MS_NOEXEC),
        ];
        let times = match self {
            flags if flags.has(Flags::NO_ATIME) => MsFlags::MS_NOATIME,
            flags if flags.has(Flags::RELATIME) => MsFlags::MS_RELATIME,
            _ => MsFlags::MS_STRICTATIME,
        };
        let set = table.into_iter().filter(|(flag, _)| self.has(*flag));
        set.fold(times, |all, (_, flag)| all | flag)
    }
}
