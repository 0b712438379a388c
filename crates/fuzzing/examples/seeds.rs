//! Writes the corpus of the fuzzers anew from a pool's images: `seeds OUT IMAGE…`.
//!
//! Of each kind of block a few small ones; what was found by fuzzing and is kept beside them stays.

use std::collections::BTreeMap;
use std::path::Path;

use fuzzing::forge::Forge;
use fuzzing::image::Image;
use ondisk::{Endian, label};
use stdx::prng::Prng;

/// Seeds of a kind of block, and bytes of each, at the most.
const EACH: usize = 2;
const LONGEST: usize = 2560;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (out, paths) = args.split_first().expect("usage: seeds OUT IMAGE…");
    let images: Vec<Image> =
        paths.iter().map(|path| Image::new(std::fs::read(path).expect("an image can be read"))).collect();
    let mut seeds = Seeds { out: out.clone(), count: BTreeMap::new() };
    let forge = Forge::open(&images).expect("a pool that can be walked");
    blocks(&forge, &mut seeds);
    labels(&images[0], &mut seeds);
    packed(&mut seeds);
    for (target, name, bytes) in fuzzing::wire_seeds() {
        seeds.add(target, &name, &[], &bytes, LONGEST);
    }
    text(&mut seeds);
}

fn text(seeds: &mut Seeds) {
    for (name, text) in [
        ("on", "on"),
        (
            "hosts",
            "rw=@10.0.0.0/8:host.example.com:[fe80::1]:*.lan,ro,no_root_squash,anonuid=1000,anongid=7,insecure",
        ),
        ("squash", "sec=sys,all_squash,crossmnt,rw=192.168.1.1"),
    ] {
        seeds.add("sharenfs", name, &[], text.as_bytes(), 4096);
    }
    for (name, text) in [
        (
            "create",
            r#"{"name":"tank","vdevs":[{"mirror":[{"leaf":"/a"},{"leaf":"/b"}]}],"props":[["ashift","12"]]}"#,
        ),
        ("import", r#"{"pool":"tank","search":["/dev"],"readonly":true,"props":[{"name":"x","value":"y"}]}"#),
        ("dataset", r#"{"name":"tank/a","parents":true,"props":[{"name":"recordsize","value":"1M"}]}"#),
        ("rename", r#"{"to":"tank/\u00e9","force":false,"parents":[[[[[[[[]]]]]]]]}"#),
    ] {
        seeds.add("api", name, &[], text.as_bytes(), 4096);
    }
}

struct Seeds {
    out: String,
    count: BTreeMap<String, usize>,
}

impl Seeds {
    /// Of a longer block the beginning.
    fn add(&mut self, target: &str, kind: &str, prefix: &[u8], bytes: &[u8], longest: usize) {
        let count = self.count.entry(format!("{target}/{kind}")).or_default();
        if *count == EACH {
            return;
        }
        *count += 1;
        let dir = Path::new(&self.out).join(target);
        std::fs::create_dir_all(&dir).expect("the corpus folder");
        let input = [prefix, &bytes[..bytes.len().min(longest)]].concat();
        std::fs::write(dir.join(format!("{kind}-{count}")), input).expect("a seed");
    }
}

fn blocks(forge: &Forge, seeds: &mut Seeds) {
    for node in &forge.nodes {
        let Some(block) = forge.read(&node.bp).filter(|block| !block.is_empty()) else { continue };
        let (kind, level) = (node.bp.object_type(), node.bp.level());
        let name = format!("{kind:?}").chars().filter(char::is_ascii_alphanumeric).collect::<String>();
        if level > 0 {
            seeds.add("blkptr", "indirect", &[0], &block, 1024);
        } else if kind == ondisk::object_type::ObjectType::OBJSET {
            seeds.add("objset", "objset", &[0], &block, LONGEST);
            seeds.add("intent_log", "header", &[0], &block[512..], 192);
        } else if kind == ondisk::object_type::ObjectType::DNODE {
            seeds.add("dnode", "dnodes", &[0], &block, LONGEST);
            bonuses(&block, seeds);
        } else if kind.is_zap() {
            let first = Endian::Little.u64(*block.first_chunk().unwrap_or(&[0; 8]));
            let form = format!("{:x}", first & 0xff);
            let whole = if block.len() <= 4096 { block.len() } else { 2048 };
            seeds.add("zap", &format!("form{form}"), &[0], &block, whole);
            if first == ondisk::zap::BLOCK_TYPE_LEAF {
                seeds.add("zap_leaf_edit", "leaf", &[0, 2], &block, whole);
            }
        } else if kind == ondisk::object_type::ObjectType::SPACE_MAP {
            seeds.add("spacemap", "map", &[0], &block, 1024);
        } else if kind == ondisk::object_type::ObjectType::PACKED_NVLIST {
            seeds.add("nvlist", "config", &[], &block, LONGEST);
        } else if name.contains("SA") {
            seeds.add("attributes", "sa", &[8], &block, 1024);
        }
    }
}

/// What dnodes carry in their bonus.
fn bonuses(block: &[u8], seeds: &mut Seeds) {
    for dnode in ondisk::dnode::DnodeBlock::new(block).filter_map(|(_, dnode)| dnode.ok()) {
        let number = dnode.bonus_type.0.to_string();
        if number == "44" {
            seeds.add("attributes", "bonus", &[8], &dnode.bonus, 512);
        } else if !dnode.bonus.is_empty() {
            seeds.add("lists", &format!("bonus{number}"), &[0], &dnode.bonus, 512);
        }
    }
}

fn labels(image: &Image, seeds: &mut Seeds) {
    let head = image.bytes(0, ondisk::gpt::HEAD_SIZE);
    let start = ondisk::gpt::find_zfs(&head, image.len() as u64).ok().flatten().map_or(0, |part| part.start);
    seeds.add("gpt", "disk", &[26], &head, 3 << 10);
    let config = image.bytes((start + label::NVLIST_OFFSET) as usize, LONGEST);
    seeds.add("nvlist", "label", &[], &config, 2048);
    seeds.add("label", "config", &[], &config, 2048);
    let ring = image.bytes((start + label::RING_OFFSET) as usize, label::RING_SIZE as usize);
    for slot in ring.chunks(4096).filter(|slot| slot[0] != 0) {
        seeds.add("uberblock", "slot", &[], slot, 1024);
    }
}

/// One stored block of each compression.
fn packed(seeds: &mut Seeds) {
    let mut block = b"a block that repeats itself, ".repeat(300);
    block.truncate(8192);
    block[4000..6000].fill(0);
    Prng::new(1).fill(&mut block[7000..7200]);
    for kind in 2..=16 {
        let mut memory = Vec::new();
        if let Ok(Some(out)) = codec::compress::compress(kind, 0, &block, &mut memory, 8192) {
            seeds.add("decompress", &format!("kind{kind}"), &[kind, 4], out, 8192);
            seeds.add("compress", &format!("kind{kind}"), &[kind], &block, 2000);
        }
    }
}
