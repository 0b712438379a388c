/**
 * A device more, another one in its place, or one less. Each is said before it is done: what it costs, how long it takes
 * about, and whether it can be undone.
 */
import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { finished, post, type Schemas } from "../api/client";
import { renew, useRead } from "../api/queries";
import { Check, Form, Loaded, NameTyped, Select } from "../parts/ui";
import { PACE, type Disk } from "../parts/layouts";
import { plainly, size, span, t, tn } from "../words";

type Pool = Schemas["PoolStatus"];
type Vdev = Schemas["VdevStatus"];

export type DeviceDeed = "attach" | "replace" | "detach" | "remove";

/** Where a device is in its pool. */
export interface At {
  pool: Pool;
  vdev: Vdev;
  /** The top-level vdev that it belongs to, which may be itself. */
  top: Vdev;
}

export const deviceName = (vdev: Vdev) => (vdev.path ? vdev.path.slice(vdev.path.lastIndexOf("/") + 1) : vdev.name);

const TOUCHED = ["/v1/pools", "/v1/disks", "/v1/jobs", "/v1/datasets"];

/** Runs a job of a pool, and waits for it. */
function usePoolJob() {
  const client = useQueryClient();
  return async (job: Promise<Schemas["Job"]>) => {
    await finished(await job);
    await renew(client, TOUCHED);
  };
}

interface DeedProps {
  at: At;
  close: () => void;
}

export function DeviceForm({ deed, ...props }: DeedProps & { deed: DeviceDeed }) {
  switch (deed) {
    case "attach": case "replace": return <Resilvered isNew={deed === "attach"} {...props} />;
    case "detach": return <Detach {...props} />;
    case "remove": return <Remove {...props} />;
  }
}

function Resilvered({ at: { pool, vdev, top }, isNew, close }: DeedProps & { isNew: boolean }) {
  const disks = useRead("/v1/disks", {}, { staleTime: 0 });
  const run = usePoolJob();
  const [path, setPath] = useState("");
  const [isForced, setForced] = useState(false);
  const name = plainly(deviceName(vdev));
  const least = vdev.physical || top.size;
  const fits = (disk: Disk) => !disk.used && disk.size >= least * 0.97;
  return (
    <Loaded of={disks}>
      {({ value }) => {
        const free = value.filter(fits);
        const chosen = free.find((one) => one.path === path) ?? free[0];
        if (!chosen) return <p className="note warn">{t("No disk is free that is as large as this device: {size}.", { size: size(least) })}</p>;
        const body = { path: chosen.path, guid: vdev.guid as never, force: isForced, sequential: false, ashift: null, history: isNew ? `zpool attach ${pool.name} ${name} ${chosen.path}` : `zpool replace ${pool.name} ${name} ${chosen.path}` };
        const parts = { name, size: size(top.allocated), span: span(top.allocated / PACE[chosen.kind]) };
        const send = () => run(isNew ? post("/v1/pools/{name}/attach", { path: { name: pool.name }, body }) : post("/v1/pools/{name}/replace", { path: { name: pool.name }, body }));
        return (
          <Form action={isNew ? t("Attach") : t("Replace")} onCancel={close} onDone={close} run={send}>
            <Select label={isNew ? t("New device") : t("Device that takes its place")} value={chosen.path} onChange={setPath} options={free.map((one) => ({ id: one.path, name: plainly(one.name), about: size(one.size) }))} />
            <p>{isNew
              ? t("It becomes a mirror of {name}: the pool then survives the loss of one of them, and reads faster. Capacity stays.", parts)
              : t("It takes the place of {name}, which is in use until that has ended, and free then.", parts)}</p>
            <p className="note">{t("About {size} are copied, {span} at the pace of such a disk. Clients are served meanwhile, more slowly.", parts)}</p>
            <p className="small">{isNew ? t("It can be undone: detach it.") : t("It can be undone while it runs, by detaching the new one, and afterwards by replacing once more.")}</p>
            <Check isSelected={isForced} onChange={setForced}>{t("Even if something old is on it: it is lost")}</Check>
          </Form>
        );
      }}
    </Loaded>
  );
}

function Detach({ at: { pool, vdev, top }, close }: DeedProps) {
  const run = usePoolJob();
  const [typed, setTyped] = useState("");
  const name = plainly(deviceName(vdev));
  const left = top.children.length - 1;
  const body = { guid: vdev.guid as never, history: `zpool detach ${pool.name} ${name}` };
  return (
    <Form action={t("Detach")} isDangerous isDisabled={typed !== name} onCancel={close} onDone={close} run={() => run(post("/v1/pools/{name}/detach", { path: { name: pool.name }, body }))}>
      <div className="note bad stack tight">
        <p>{left <= 1 ? t("Nothing is redundant there any more: if the device that is left fails, the pool is lost.") : tn(left - 1, "{count} more device may fail then, and no other.", "{count} more devices may fail then, and no other.")}</p>
        <p>{t("{name} becomes free. It can be undone by attaching it again: all of {size} is copied then.", { name, size: size(top.allocated) })}</p>
      </div>
      <NameTyped name={name} value={typed} onChange={setTyped} />
    </Form>
  );
}

/** Of a log, a cache or a spare. */
function Remove({ at: { pool, vdev }, close }: DeedProps) {
  const run = usePoolJob();
  const [typed, setTyped] = useState("");
  const name = plainly(deviceName(vdev));
  const body = { guid: vdev.guid as never, history: `zpool remove ${pool.name} ${name}` };
  return (
    <Form action={t("Remove")} isDangerous isDisabled={typed !== name} onCancel={close} onDone={close} run={() => run(post("/v1/pools/{name}/remove", { path: { name: pool.name }, body }))}>
      <p className="note warn">{t("The pool goes on without it, and no data is lost. It can be undone: add it again.")}</p>
      <NameTyped name={name} value={typed} onChange={setTyped} />
    </Form>
  );
}

/** What can be done with a device. Vdevs of data stay: the engine does not remove them. */
export function deedsOf({ pool, vdev, top }: At): DeviceDeed[] {
  if (pool.cache.includes(vdev) || pool.spares.includes(vdev)) return vdev.used_by ? [] : ["remove"];
  const isWhole = vdev === top;
  const isRaidz = top.kind === "raidz" || top.kind === "draid";
  const deeds: DeviceDeed[] = [];
  if (vdev.children.length === 0 && vdev.path) {
    if (isWhole || top.kind === "mirror") deeds.push("attach");
    deeds.push("replace");
    if (!isWhole && !isRaidz) deeds.push("detach");
  }
  if (isWhole && vdev.is_log) deeds.push("remove");
  return deeds;
}
