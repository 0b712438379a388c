//! Forging pools: any block of a pool replaced by another, with every checksum up to the uberblock
//! made right again.
//!
//! Damage that a checksum finds says little about the decoders above it. So this walks a pool's
//! images by itself (with `ondisk` and `codec` alone: stripes and mirrors, no gangs) and notes of
//! each block where the pointer to it lies. A block is put back compressed into its old place where
//! it fits, otherwise uncompressed into space at the vdev's end.

use std::collections::BTreeSet;

use codec::{checksum, compress};
use ondisk::blkptr::CompressKind;
use ondisk::dnode::{DnodePhys, SLOT_SIZE};
use ondisk::eck::{Eck, label_verifier};
use ondisk::label;
use ondisk::nvlist::NvList;
use ondisk::object_type::ObjectType;
use ondisk::uberblock::Uberblock;
use ondisk::{BlkPtr, ChecksumKind, Dva, Endian, gpt};

use crate::image::Image;

/// Where a dataset's bonus has the pointer to its object set (`ds_bp`).
const DATASET_BP: usize = 128;
/// Space that is never compressed into lies this far from the vdev's end.
const SCRATCH: u64 = 6 << 20;

/// A block of the pool.
#[derive(Clone, Debug)]
pub struct Node {
    /// The block its pointer lies in, and where; `None`: the uberblock.
    pub parent: Option<usize>,
    pub at: usize,
    pub bp: BlkPtr,
    /// 0 is the meta object set.
    pub dataset: u64,
    /// 0 is the meta dnode (or the object set's block).
    pub object: u64,
}

impl Node {
    /// Bytes of a file, which mean nothing to the file system.
    pub fn is_data(&self) -> bool {
        let kind = self.bp.object_type();
        self.bp.level() == 0 && (kind == ObjectType::PLAIN_FILE_CONTENTS || kind == ObjectType::ZVOL)
    }
}

#[derive(Clone)]
struct Leaf {
    image: Image,
    start: usize,
    /// Bytes of the partition that the pool uses.
    size: u64,
    top: u64,
}

/// A pool's images, opened up.
#[derive(Clone)]
pub struct Forge {
    leaves: Vec<Leaf>,
    ashift: u32,
    scratch: u64,
    pub nodes: Vec<Node>,
    seen: BTreeSet<(u32, u64)>,
}

impl Forge {
    /// Finds every block. `None`: not a pool that this can read.
    pub fn open(images: &[Image]) -> Option<Forge> {
        let mut ashift = 9;
        let mut leaves = Vec::new();
        for image in images {
            let head = image.bytes(0, gpt::HEAD_SIZE.min(image.len()));
            let partition = gpt::find_zfs(&head, image.len() as u64).ok().flatten();
            let (start, len) = partition.map_or((0, image.len() as u64), |part| (part.start, part.len));
            let area = image.bytes(start as usize + label::NVLIST_OFFSET as usize, label::NVLIST_SIZE);
            let config = label::decode_config(&area).ok()?;
            let tree = config.nvlist("vdev_tree")?;
            ashift = tree.u64("ashift")? as u32;
            let (size, top) = (label::usable_size(len), tree.u64("id")?);
            leaves.push(Leaf { image: image.clone(), start: start as usize, size, top });
        }
        let scratch = leaves.iter().filter(|leaf| leaf.top == 0).map(|leaf| leaf.size).min()?;
        let scratch = label::allocatable_size(scratch) - SCRATCH;
        let mut forge = Forge { leaves, ashift, scratch, nodes: Vec::new(), seen: BTreeSet::new() };
        let root = forge.newest()?.root_bp;
        forge.objset(0, None, 0, root);
        Some(forge)
    }

    /// The images as they are now.
    pub fn images(&self) -> Vec<Image> {
        self.leaves.iter().map(|leaf| leaf.image.clone()).collect()
    }

    /// Every ring slot's place on each disk, and what is there.
    fn uberblocks(&self) -> Vec<(usize, u64, Uberblock)> {
        let slot = label::slot_size(self.ashift);
        let mut found = Vec::new();
        for (index, leaf) in self.leaves.iter().enumerate() {
            for label_at in label::offsets(leaf.size).into_iter().flatten() {
                for number in 0..label::slot_count(self.ashift) {
                    let at = label_at + label::RING_OFFSET + number * slot as u64;
                    if let Ok(uberblock) =
                        Uberblock::decode(&leaf.image.bytes(leaf.start + at as usize, slot))
                    {
                        found.push((index, at, uberblock));
                    }
                }
            }
        }
        found
    }

    fn newest(&self) -> Option<Uberblock> {
        self.uberblocks().into_iter().map(|(_, _, uberblock)| uberblock).max_by(Uberblock::cmp_age)
    }

    /// The stored bytes at an address, from the first disk that has them.
    fn stored(&self, dva: &Dva, len: u64) -> Option<Vec<u8>> {
        let leaf = self.leaves.iter().find(|leaf| leaf.top == u64::from(dva.vdev))?;
        let at = dva.offset.checked_add(label::START)?;
        (at.checked_add(len)? <= leaf.size).then(|| leaf.image.bytes(leaf.start + at as usize, len as usize))
    }

    /// The logical bytes of a block.
    pub fn read(&self, bp: &BlkPtr) -> Option<Vec<u8>> {
        let mut block = vec![0; bp.lsize() as usize];
        if bp.is_hole() || bp.is_gang() || bp.uses_crypt() || bp.byteorder() == Endian::Big {
            return None;
        }
        if let Some(embedded) = bp.embedded().ok()? {
            compress::decompress(bp.compression_raw(), embedded.payload(), &mut block).ok()?;
            return Some(block);
        }
        let stored = self.stored(&bp.first_dva(), bp.psize())?;
        compress::decompress(bp.compression_raw(), &stored, &mut block).ok()?;
        Some(block)
    }

    fn push(&mut self, node: Node) -> Option<(usize, Vec<u8>)> {
        let dva = node.bp.first_dva();
        if node.bp.is_hole() || (!node.bp.is_embedded() && !self.seen.insert((dva.vdev, dva.offset))) {
            return None;
        }
        let block = self.read(&node.bp)?;
        self.nodes.push(node);
        Some((self.nodes.len() - 1, block))
    }

    fn objset(&mut self, dataset: u64, parent: Option<usize>, at: usize, bp: BlkPtr) {
        let Some((index, block)) = self.push(Node { parent, at, bp, dataset, object: 0 }) else { return };
        for at in [0, 1024, 1536, 2048] {
            self.dnode(dataset, index, at, 0, &block);
        }
    }

    /// The blocks of the dnode that lies in block `holder` at `at`.
    fn dnode(&mut self, dataset: u64, holder: usize, at: usize, object: u64, block: &[u8]) {
        let bytes = block.get(at..).unwrap_or(&[]);
        let Ok(Some(dnode)) = DnodePhys::decode(bytes) else { return };
        for (i, bp) in dnode.blkptrs.iter().enumerate() {
            let at = at + ondisk::dnode::CORE_SIZE + i * BlkPtr::SIZE;
            self.tree(Node { parent: Some(holder), at, bp: *bp, dataset, object });
        }
        if let Some(bp) = dnode.spill {
            let at = at + dnode.size() - BlkPtr::SIZE;
            self.tree(Node { parent: Some(holder), at, bp, dataset, object });
        }
        if dataset == 0 && dnode.bonus_type == ObjectType::DSL_DATASET {
            let bonus = ondisk::dnode::CORE_SIZE + dnode.blkptrs.len() * BlkPtr::SIZE;
            let bp =
                dnode.bonus.get(DATASET_BP..).and_then(|bytes| BlkPtr::decode(bytes, Endian::Little).ok());
            if let Some(bp) = bp {
                self.objset(object, Some(holder), at + bonus + DATASET_BP, bp);
            }
        }
    }

    fn tree(&mut self, node: Node) {
        let (dataset, object, level, kind) =
            (node.dataset, node.object, node.bp.level(), node.bp.object_type());
        let Some((index, block)) = self.push(node) else { return };
        if level > 0 {
            for i in 0..block.len() / BlkPtr::SIZE {
                if let Ok(bp) = BlkPtr::decode_at(&block, i, Endian::Little) {
                    self.tree(Node { parent: Some(index), at: i * BlkPtr::SIZE, bp, dataset, object });
                }
            }
        } else if kind == ObjectType::DNODE {
            // Numbers of objects matter for datasets only, and the meta object set's fit one block
            // mostly.
            for slot in 0..block.len() / SLOT_SIZE {
                self.dnode(dataset, index, slot * SLOT_SIZE, slot as u64, &block);
            }
        }
    }

    /// Replaces a block's content and puts the tree above it right. False: it cannot be done for
    /// this one.
    pub fn replace(&mut self, index: usize, block: &[u8]) -> bool {
        let mut bp = self.nodes[index].bp;
        if block.len() as u64 != bp.lsize() || bp.is_embedded() {
            return false;
        }
        let stored = self.pack(&mut bp, block);
        let Ok(sum) = checksum::checksum(bp.checksum_kind_raw(), &stored, None, false) else { return false };
        let Ok(kind) = ChecksumKind::from_raw(bp.checksum_kind_raw()).ok_or(()) else { return false };
        bp.set_checksum(kind, sum);
        for dva in bp.dvas().into_iter().filter(Dva::is_valid) {
            for leaf in self.leaves.iter_mut().filter(|leaf| leaf.top == u64::from(dva.vdev)) {
                leaf.image.write(leaf.start + (dva.offset + label::START) as usize, &stored);
            }
        }
        self.point(index, bp)
    }

    /// Changes the pointer to a block and puts the tree above right.
    pub fn point(&mut self, index: usize, bp: BlkPtr) -> bool {
        self.nodes[index].bp = bp;
        let (parent, at) = (self.nodes[index].parent, self.nodes[index].at);
        let Some(parent) = parent else {
            // Every copy of the newest uberblock leads to this root.
            return self.edit_uberblock(&|uberblock| uberblock.root_bp = bp);
        };
        let Some(mut above) = self.read(&self.nodes[parent].bp) else { return false };
        above[at..at + BlkPtr::SIZE].copy_from_slice(&bp.encode());
        self.replace(parent, &above)
    }

    /// The bytes to store; the pointer says how. Blocks that do not fit their place any more get
    /// another.
    fn pack(&mut self, bp: &mut BlkPtr, block: &[u8]) -> Vec<u8> {
        let room = bp.psize() as usize;
        let mut memory = Vec::new();
        if bp.compression_raw() == CompressKind::Off as u8 && room == block.len() {
            return block.to_vec();
        }
        if let Ok(Some(packed)) = compress::compress(bp.compression_raw(), 0, block, &mut memory, room) {
            let mut packed = packed.to_vec();
            packed.resize(room, 0);
            return packed;
        }
        let len = (block.len() as u64).next_multiple_of(1 << self.ashift);
        for i in 0..ondisk::blkptr::DVAS {
            bp.set_dva(i, Dva::EMPTY);
        }
        bp.set_dva(0, Dva::new(0, self.scratch, len));
        bp.set_psize(block.len() as u64).set_compression(CompressKind::Off);
        self.scratch += len;
        block.to_vec()
    }

    /// Changes every copy of the newest uberblock.
    pub fn edit_uberblock(&mut self, edit: &dyn Fn(&mut Uberblock)) -> bool {
        let Some(newest) = self.newest() else { return false };
        let size = label::slot_size(self.ashift);
        for (index, at, mut uberblock) in self.uberblocks() {
            if uberblock.txg != newest.txg {
                continue;
            }
            edit(&mut uberblock);
            let mut slot = uberblock.encode_slot(size, label_verifier(at));
            let Ok(sum) = checksum::embedded_checksum(3, &slot, label_verifier(at)) else { return false };
            Eck::put_tail(&mut slot, uberblock.endian, sum);
            let leaf = &mut self.leaves[index];
            leaf.image.write(leaf.start + at as usize, &slot);
        }
        true
    }

    /// Changes the configuration in every label of every disk.
    pub fn edit_labels(&mut self, edit: &dyn Fn(&mut NvList)) -> bool {
        for leaf in &mut self.leaves {
            for label_at in label::offsets(leaf.size).into_iter().flatten() {
                let at = label_at + label::NVLIST_OFFSET;
                let area = leaf.image.bytes(leaf.start + at as usize, label::NVLIST_SIZE);
                let Ok(mut config) = label::decode_config(&area) else { return false };
                edit(&mut config);
                let Some(mut area) = label::encode_config(&config, label_verifier(at)) else { return false };
                let Ok(sum) = checksum::embedded_checksum(3, &area, label_verifier(at)) else { return false };
                Eck::put_tail(&mut area, Endian::Little, sum);
                leaf.image.write(leaf.start + at as usize, &area);
            }
        }
        true
    }
}
