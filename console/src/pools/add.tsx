/** More devices for a pool: more room, or logs, caches, spares and places for metadata. */
import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { finished, post, type Schemas } from "../api/client";
import { renew, useRead } from "../api/queries";
import { diskColumns, LayoutCard } from "../parts/disks";
import { Grid } from "../parts/grid";
import { layouts, type Disk, type Layout } from "../parts/layouts";
import { Check, Choices, Form, Loaded, NameTyped, Select } from "../parts/ui";
import { size, t } from "../words";

type Role = "vdevs" | "logs" | "special" | "dedup" | "cache" | "spares";
type Body = Schemas["PoolAdd"];

const roles = (): { id: Role; name: string; about: string }[] => [
  { id: "vdevs", name: t("Data"), about: t("More room") },
  { id: "logs", name: t("Log"), about: t("Synchronous writes are answered sooner") },
  { id: "cache", name: t("Cache"), about: t("Blocks that memory has no room for are read sooner") },
  { id: "spares", name: t("Spares"), about: t("They take the place of a device that fails") },
  { id: "special", name: t("Special"), about: t("Metadata and small blocks") },
  { id: "dedup", name: t("Dedup"), about: t("Tables of deduplication") },
];

/** Their loss is not the pool's: they are taken one by one, without a layout. */
const isAlone = (role: Role) => role === "cache" || role === "spares";

export function AddDevices({ pool, close }: { pool: Schemas["PoolStatus"]; close: () => void }) {
  const disks = useRead("/v1/disks", {}, { staleTime: 0 });
  return <Loaded of={disks}>{({ value }) => <AddForm pool={pool} disks={value} close={close} />}</Loaded>;
}

function bodyOf(role: Role, paths: string[], layout: Layout | undefined, force: boolean, pool: string): Body {
  const body: Body = { vdevs: [], logs: [], special: [], dedup: [], cache: [], spares: [], ashift: null, force, history: `zpool add ${pool} ${role === "vdevs" ? "" : `${role} `}${paths.join(" ")}` };
  if (role === "cache" || role === "spares") return { ...body, [role]: paths };
  return { ...body, [role]: layout?.vdevs ?? [], spares: layout?.spares ?? [] };
}

function AddForm({ pool, disks, close }: { pool: Schemas["PoolStatus"]; disks: Disk[]; close: () => void }) {
  const client = useQueryClient();
  const [role, setRole] = useState<Role>("vdevs");
  const [selected, select] = useState<ReadonlySet<string>>(new Set());
  const [chosen, choose] = useState<string>();
  const [isForced, setForced] = useState(false);
  const [typed, setTyped] = useState("");
  const free = disks.filter(({ used }) => !used);
  const paths = [...selected];
  // Logs are written and seldom read: RAID-Z is nothing for them, and is refused.
  const all = isAlone(role) ? [] : layouts(free.filter(({ path }) => selected.has(path))).filter(({ id }) => role !== "logs" || !id.startsWith("raidz"));
  const layout = all.find(({ id }) => id === chosen) ?? all[0];
  const isReady = paths.length > 0 && (isAlone(role) || layout !== undefined);
  const stays = role === "vdevs" || role === "special" || role === "dedup";
  const run = async () => {
    await finished(await post("/v1/pools/{name}/vdevs", { path: { name: pool.name }, body: bodyOf(role, paths, layout, isForced, pool.name) }));
    await renew(client, ["/v1/pools", "/v1/disks", "/v1/datasets"]);
  };
  return (
    <Form action={t("Add")} isDangerous={stays} isDisabled={!isReady || typed !== pool.name} onCancel={close} onDone={close} run={run}>
      <Select label={t("For")} value={role} onChange={setRole} options={roles()} />
      <Grid label={t("Free disks")} rows={free} columns={diskColumns()} keyOf={({ path }) => path} selected={selected} onSelect={select} least={640} empty={<p>{t("No disk is free: all that were found are in use.")}</p>} />
      {all.length > 0 && <Choices label={t("Layout")} value={layout?.id ?? null} onChange={choose} options={all.map((one, at) => ({ id: one.id, content: <LayoutCard layout={one} isBest={at === 0} /> }))} />}
      {isReady && <p className={stays ? "note bad" : "note"}>{said(role, layout)}</p>}
      <Check isSelected={isForced} onChange={setForced}>{t("Even if something old is on the disks, or the layout is weaker than the pool's")}</Check>
      <NameTyped name={pool.name} value={typed} onChange={setTyped} />
    </Form>
  );
}

/** What it gives, and whether it can be undone. */
function said(role: Role, layout: Layout | undefined): string {
  switch (role) {
    case "cache": case "spares": case "logs": return t("Nothing is moved. It can be undone: they can be removed again.");
    case "special": case "dedup": case "vdevs": {
      const gives = t("{size} more from now on. What is there already is not moved.", { size: size(layout?.capacity ?? 0) });
      const loss = layout?.id === "stripe" ? ` ${t("If one of these disks fails, the whole pool is lost.")}` : "";
      return `${gives} ${t("This cannot be undone: vdevs of data cannot be removed again.")}${loss}`;
    }
  }
}
