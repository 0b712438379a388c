/** The tree of file systems and volumes. */
import { useMemo, useState } from "react";
import { Link, useLocation } from "wouter";
import { post, type Schemas } from "../api/client";
import { useDatasets } from "../api/datasets";
import { Button, Check, Empty, Field, Form, Head, Loaded, Name, Search, Select, Sheet } from "../parts/ui";
import { Grid, type Column } from "../parts/grid";
import { bytesOf, plainly, size, t } from "../words";

export type Dataset = Schemas["DatasetInfo"];

export const valueOf = (info: Dataset, name: string) => info.props.find((one) => one.name === name)?.value ?? "";
const bytes = (info: Dataset, name: string) => Number(valueOf(info, name)) || 0;
export const placeOf = (name: string) => `/datasets/${encodeURIComponent(name)}`;

/** The name that `placeOf` has put into the address: read from there, for the router reads it in part. */
export function nameInAddress(): string {
  const [, , segment = ""] = location.hash.split("?")[0]!.split("/");
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

const PROPS = "used,available,referenced,compressratio,mountpoint,volsize";

interface Row {
  info: Dataset;
  level: number;
  hasChildren: boolean;
}

/** Rows in order, each with how deep it is. Parents stand before children. */
function rowsOf(all: Dataset[], closed: ReadonlySet<string>, search: string): Row[] {
  const wanted = search.trim().toLowerCase();
  if (wanted) return all.filter(({ name }) => name.toLowerCase().includes(wanted)).map((info) => ({ info, level: 0, hasChildren: false }));
  const rows: Row[] = [];
  let hidden = "";
  all.forEach((info, at) => {
    if (hidden && info.name.startsWith(hidden)) return;
    hidden = "";
    const hasChildren = all[at + 1]?.name.startsWith(`${info.name}/`) ?? false;
    rows.push({ info, level: info.name.split("/").length - 1, hasChildren });
    if (hasChildren && closed.has(info.name)) hidden = `${info.name}/`;
  });
  return rows;
}

/** In the order of a tree: `a/b` before `a-b`. */
const treeOrder = (a: Dataset, b: Dataset) => {
  const [left, right] = [a.name.split("/"), b.name.split("/")];
  for (let at = 0; at < Math.min(left.length, right.length); at += 1) {
    if (left[at] !== right[at]) return left[at]! < right[at]! ? -1 : 1;
  }
  return left.length - right.length;
};

export default function Datasets() {
  const { datasets, isWhole } = useDatasets("filesystem,volume", PROPS);
  const [search, setSearch] = useState("");
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [isNew, setNew] = useState(false);
  const [, go] = useLocation();
  const all = useMemo(() => (datasets.data?.value ?? []).toSorted(treeOrder), [datasets.data]);
  const rows = useMemo(() => rowsOf(all, closed, search), [all, closed, search]);
  const isSearch = search.trim() !== "";
  const columns: Column<Row>[] = [
    { id: "name", name: t("Name"), width: "minmax(220px, 3fr)", show: ({ info }) => <Link href={placeOf(info.name)} tabIndex={-1} title={plainly(info.name)}><Name>{isSearch || !info.name.includes("/") ? info.name : info.name.slice(info.name.lastIndexOf("/") + 1)}</Name></Link> },
    { id: "kind", name: t("Kind"), width: "110px", show: ({ info }) => (info.kind === "volume" ? t("Volume") : t("File system")) },
    { id: "used", name: t("Used"), width: "100px", isNumber: true, show: ({ info }) => size(bytes(info, "used")) },
    { id: "available", name: t("Available"), width: "100px", isNumber: true, show: ({ info }) => size(bytes(info, "available")) },
    { id: "referenced", name: t("Referenced"), width: "105px", isNumber: true, show: ({ info }) => size(bytes(info, "referenced")) },
    { id: "ratio", name: t("Compression"), width: "122px", isNumber: true, show: ({ info }) => `${valueOf(info, "compressratio")}×` },
    { id: "at", name: t("Mount point or size"), width: "minmax(140px, 2fr)", show: ({ info }) => (info.kind === "volume" ? size(bytes(info, "volsize")) : <Name>{valueOf(info, "mountpoint")}</Name>) },
  ];
  const toggle = ({ info }: Row) => {
    const next = new Set(closed);
    if (!next.delete(info.name)) next.add(info.name);
    setClosed(next);
  };
  return (
    <div className="page">
      <Head title={t("Datasets")} about={t("File systems and volumes of all pools.")}>
        <Search label={t("Search datasets")} value={search} onChange={setSearch} />
        <Button manner="first" onPress={() => setNew(true)}>{t("New dataset")}</Button>
      </Head>
      <Loaded of={datasets}>
        {() => (
          <Grid label={t("Datasets")} rows={rows} columns={columns} keyOf={({ info }) => info.name} onOpen={({ info }) => go(placeOf(info.name))} least={860}
            hasMore={!isWhole} tree={isSearch ? undefined : { level: ({ level }) => level, isOpen: (row) => (row.hasChildren ? !closed.has(row.info.name) : undefined), toggle }}
            empty={<p>{isSearch ? t("No dataset has this in its name.") : t("There is no pool yet.")}</p>} />
        )}
      </Loaded>
      <Create isOpen={isNew} onClose={() => setNew(false)} parents={all.filter(({ kind }) => kind === "filesystem").map(({ name }) => name)} isWhole={isWhole} />
    </div>
  );
}

type Kind = "filesystem" | "volume";

function Create({ isOpen, onClose, parents, isWhole }: { isOpen: boolean; onClose: () => void; parents: string[]; isWhole: boolean }) {
  return (
    <Sheet title={t("New dataset")} isOpen={isOpen} onClose={onClose}>
      {parents.length === 0 ? <Empty>{t("A dataset needs a pool, and there is none yet.")}</Empty> : <CreateForm parents={parents} isWhole={isWhole} onClose={onClose} />}
    </Sheet>
  );
}

/** `isWhole`: all file systems are among the parents, so that another name is none. */
export function CreateForm({ parents, isWhole = true, onClose, only }: { parents: string[]; isWhole?: boolean; onClose: () => void; only?: Kind }) {
  const [kind, setKind] = useState<Kind>(only ?? "filesystem");
  const [parent, setParent] = useState(parents[0] ?? "");
  const [name, setName] = useState("");
  const [volsize, setVolsize] = useState("10G");
  const [isSparse, setSparse] = useState(true);
  const [compression, setCompression] = useState("inherit");
  const [isOpened, open] = useState(false);
  const [, go] = useLocation();
  const asked = bytesOf(volsize);
  const isThere = !isWhole || parents.includes(parent);
  const full = `${parent}/${name}`;
  const create = async () => {
    const props = [
      ...(kind === "volume" ? [{ name: "volsize", value: String(asked) }] : []),
      ...(compression === "inherit" ? [] : [{ name: "compression", value: compression }]),
    ];
    await post("/v1/datasets", { body: { name: full, volume: kind === "volume", sparse: kind === "volume" && isSparse, props, parents: false, no_mount: false, history: `zfs create ${full}` } });
  };
  return (
    <Form action={t("Create")} isDisabled={!name || !isThere || (kind === "volume" && !asked)} onCancel={onClose} run={create} onDone={() => { onClose(); if (isOpened) go(placeOf(full)); }}>
      {!only && <Select label={t("Kind")} value={kind} onChange={setKind} options={[{ id: "filesystem", name: t("File system"), about: t("For files, by NFS and local mounts") }, { id: "volume", name: t("Volume"), about: t("A block device, by iSCSI and NBD") }]} />}
      <Field label={t("In")} value={parent} onChange={setParent} names={parents} spellCheck="false" fault={isThere ? undefined : t("No file system is called that.")} />
      <Field label={t("Name")} value={name} onChange={setName} spellCheck="false" autoFocus />
      {kind === "volume" && (
        <>
          <Field label={t("Size")} value={volsize} onChange={setVolsize} description={t("As in 100G or 1.5T")} fault={asked ? undefined : t("This is no size.")} />
          <Check isSelected={isSparse} onChange={setSparse}>{t("Sparse: no space is kept for what is not written yet")}</Check>
        </>
      )}
      <Select label={t("Compression")} value={compression} onChange={setCompression} options={["inherit", "lz4", "zstd", "off"].map((id) => ({ id, name: id === "inherit" ? t("Inherited") : id }))} />
      {!only && <Check isSelected={isOpened} onChange={open}>{t("Open it afterwards")}</Check>}
    </Form>
  );
}
