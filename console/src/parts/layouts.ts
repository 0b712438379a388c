/**
 * Layouts that a pool of some disks may have, with what each gives. They are estimates, and the page says so:
 * - Capacity is of data blocks, before metadata and compression, and without the padding of small blocks on RAID-Z.
 * - A vdev of RAID-Z reads one block at a time from all its disks; a mirror reads as many as it has disks.
 * - A resilver of a full disk runs at what such a disk writes in a row, and on RAID-Z at half of that.
 */
import type { Schemas } from "../api/client";
import { t, tn } from "../words";

export type Disk = Schemas["Disk"];
type Vdev = Schemas["VdevSpec"];

export interface Layout {
  id: string;
  name: string;
  about: string;
  vdevs: Vdev[];
  spares: string[];
  capacity: number;
  survives: string;
  /** Reads at random, and writes in a row, as multiples of one disk. */
  reads: number;
  writes: number;
  /** Seconds. */
  rebuild: number;
}

/** Bytes a second that a disk of a kind writes in a row. */
export const PACE: Record<Disk["kind"], number> = { rotating: 150e6, "solid-state": 450e6, file: 300e6 };
/** Disks of a vdev of RAID-Z: more make resilvers long. */
const WIDEST = 10;

const leaf = (disk: Disk): Vdev => ({ leaf: disk.path });

function raidz(disks: Disk[], parity: number, disk: { size: number; pace: number }): Layout | undefined {
  const groups = Math.ceil(disks.length / WIDEST);
  const width = Math.floor(disks.length / groups);
  if (width < parity + 2) return undefined;
  const spare = disks.length - width * groups;
  const vdevs = Array.from({ length: groups }, (_, at) => ({ raidz: { parity, children: disks.slice(at * width, (at + 1) * width).map(leaf) } }));
  return {
    id: `raidz${parity}`,
    name: `RAID-Z${parity}`,
    about: groups === 1 ? tn(width, "One vdev of {count} disk", "One vdev of {count} disks") : t("{groups} vdevs of {width} disks", { groups, width }),
    vdevs: vdevs as Vdev[], spares: disks.slice(width * groups).map(({ path }) => path),
    capacity: groups * (width - parity) * disk.size,
    survives: groups === 1 ? tn(parity, "any {count} disk lost", "any {count} disks lost") : tn(parity, "{count} disk lost of each vdev", "{count} disks lost of each vdev"),
    reads: groups, writes: groups * (width - parity), rebuild: (disk.size / disk.pace) * 2,
    ...(spare > 0 ? { about: t("{groups} vdevs of {width} disks, {spare} spare", { groups, width, spare }) } : {}),
  };
}

function mirrors(disks: Disk[], ways: number, disk: { size: number; pace: number }): Layout | undefined {
  const groups = Math.floor(disks.length / ways);
  if (groups === 0) return undefined;
  const spares = disks.slice(groups * ways);
  const vdevs = Array.from({ length: groups }, (_, at) => ({ mirror: disks.slice(at * ways, (at + 1) * ways).map(leaf) }));
  const about = t("{groups} × {ways} disks", { groups, ways });
  return {
    id: `mirror${ways}`,
    name: ways === 2 ? t("Mirrors") : t("Mirrors of three"),
    about: spares.length > 0 ? tn(spares.length, "{about}, {count} spare", "{about}, {count} spares", { about }) : about,
    vdevs: vdevs as Vdev[], spares: spares.map(({ path }) => path),
    capacity: groups * disk.size,
    survives: groups === 1 ? tn(ways - 1, "any {count} disk lost", "any {count} disks lost") : tn(ways - 1, "{count} disk lost of each mirror", "{count} disks lost of each mirror"),
    reads: groups * ways, writes: groups, rebuild: disk.size / disk.pace,
  };
}

/** The best first: mirrors for few disks, RAID-Z2 for many. */
export function layouts(disks: Disk[]): Layout[] {
  if (disks.length === 0) return [];
  const disk = { size: Math.min(...disks.map(({ size }) => size)), pace: Math.min(...disks.map(({ kind }) => PACE[kind])) };
  const alone: Layout = {
    id: "stripe", name: disks.length === 1 ? t("One disk") : t("Striped"), about: t("No redundancy"), vdevs: disks.map(leaf), spares: [],
    capacity: disks.length * disk.size, survives: t("no disk lost"), reads: disks.length, writes: disks.length, rebuild: 0,
  };
  const found = [mirrors(disks, 2, disk), disks.length >= 3 ? mirrors(disks, 3, disk) : undefined, raidz(disks, 1, disk), raidz(disks, 2, disk), raidz(disks, 3, disk)]
    .filter((one) => one !== undefined && (disks.length >= 2));
  const all = [...(found as Layout[]), alone];
  const first = disks.length >= 6 ? "raidz2" : "mirror2";
  return all.sort((a, b) => Number(b.id === first) - Number(a.id === first));
}
