/** From disks to data in one page: disks, layout, pool, first share or volume, first schedule. */
import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "wouter";
import { finished, post } from "../api/client";
import { renew, useRead } from "../api/queries";
import { useSession } from "../api/session";
import { Check, Choices, Empty, Field, Form, Head, Loaded, Select, State } from "../parts/ui";
import { diskColumns, LayoutCard } from "../parts/disks";
import { Grid } from "../parts/grid";
import { layouts, type Disk } from "../parts/layouts";
import { policies, scrubService, snapService, type Policy } from "../parts/schedules";
import { bytesOf, plainly, t } from "../words";
import { optionsOf } from "./shares";

export default function Setup() {
  const { may } = useSession();
  const disks = useRead("/v1/disks", {}, { staleTime: 0 });
  if (!may("administrator")) return <p className="note">{t("It takes an administrator to make a pool.")}</p>;
  return (
    <div className="page">
      <Head title={t("Set up storage")} about={t("Choose disks, look at what each layout gives, and say what is served first. Nothing is written before you press the button below.")} />
      <Loaded of={disks}>{({ value }) => <Wizard disks={value} />}</Loaded>
    </div>
  );
}

type First = "share" | "volume" | "nothing";

/** Free disks, if all of them are alike: then they are the ones that are meant. */
function suggested(disks: Disk[]): Set<string> {
  const free = disks.filter(({ used }) => !used);
  const isAlike = free.every((one) => one.kind === free[0]!.kind && Math.abs(one.size - free[0]!.size) < free[0]!.size / 10);
  return new Set(isAlike ? free.map(({ path }) => path) : []);
}

function Wizard({ disks }: { disks: Disk[] }) {
  const client = useQueryClient();
  const [selected, select] = useState<ReadonlySet<string>>(() => suggested(disks));
  const [chosen, choose] = useState<string>();
  const [name, setName] = useState("tank");
  const [first, setFirst] = useState<First>("share");
  const [called, setCalled] = useState("data");
  const [from, setFrom] = useState("");
  const [mayRoot, setRoot] = useState(true);
  const [volsize, setVolsize] = useState("100G");
  const [policy, setPolicy] = useState<Policy>("standard");
  const [doesScrub, setScrub] = useState(true);
  const [isForced, setForced] = useState(false);
  const [steps, setSteps] = useState<string[]>([]);
  const [isDone, setDone] = useState(false);
  const taken = disks.filter(({ path, used }) => selected.has(path) && !used);
  const all = layouts(taken);
  const layout = all.find(({ id }) => id === chosen) ?? all[0];
  const asked = bytesOf(volsize);
  const dataset = `${name}/${called}`;
  const did = (text: string) => setSteps((before) => [...before, text]);

  const run = async () => {
    if (!layout) return;
    setSteps([]);
    const fs_props = [{ name: "compression", value: "lz4" }, { name: "xattr", value: "sa" }];
    const job = await post("/v1/pools", { body: { name, vdevs: layout.vdevs, spares: layout.spares, fs_props, force: isForced, history: `zpool create ${name}` } as never });
    await finished(job);
    did(t("Pool {name} is made", { name: plainly(name) }));
    if (first !== "nothing") {
      const share = optionsOf(from, true, mayRoot);
      const props = first === "share" ? [{ name: "sharenfs", value: share }] : [{ name: "volsize", value: String(asked) }];
      await post("/v1/datasets", { body: { name: dataset, volume: first === "volume", sparse: first === "volume", props, parents: false, no_mount: false, history: `zfs create ${dataset}` } });
      did(first === "share" ? t("{name} is shared by NFS", { name: plainly(dataset) }) : t("Volume {name} is made", { name: plainly(dataset) }));
    }
    if (policy !== "none") {
      await post("/v1/services", { body: { id: `${name.toLowerCase().replace(/[^a-z0-9-]/g, "-")}-snapshots`, enabled: true, spec: snapService(name, policy) } });
      did(t("Snapshots are taken by schedule"));
    }
    const services = client.getQueryData<{ value: { spec: { kind: string } }[] }>(["/v1/services", {}, {}])?.value ?? [];
    if (doesScrub && !services.some(({ spec }) => spec.kind === "auto-scrub")) {
      await post("/v1/services", { body: { id: "monthly-scrub", enabled: true, spec: scrubService() } });
      did(t("All pools are scrubbed every month"));
    }
    await renew(client, ["/v1/"]);
  };

  if (isDone) return <Done name={name} dataset={dataset} first={first} steps={steps} />;
  const free = new Set(disks.filter(({ used }) => !used).map(({ path }) => path));
  return (
    <div className="stack">
      <section className="stack tight" aria-labelledby="disks">
        <h2 id="disks">{t("1. Disks")}</h2>
        <Grid label={t("Disks")} rows={disks} columns={diskColumns()} keyOf={({ path }) => path} selected={selected} onSelect={(next) => select(new Set([...next].filter((path) => free.has(path))))} least={720}
          empty={<p>{t("No disk was found. Put disks in, or files of 64 MiB or more into the folder disks of the state folder.")}</p>} />
      </section>
      <section className="stack tight" aria-labelledby="layout">
        <h2 id="layout">{t("2. Layout")}</h2>
        {all.length === 0 ? (free.size === 0 ? <Empty action={<Link href="/" className="button">{t("To the dashboard")}</Link>}>{t("No disk is free: all that were found are in use.")}</Empty> : <Empty>{t("Select one disk or more.")}</Empty>) : (
          <>
            <Choices label={t("Layout")} value={layout?.id ?? null} onChange={choose} options={all.map((one, at) => ({ id: one.id, content: <LayoutCard layout={one} isBest={at === 0} /> }))} />
            <p className="small muted">{t("Capacity is before compression. Speeds are multiples of one disk, and the time to rebuild is of a full disk at the pace of its kind: estimates, not measured here.")}</p>
          </>
        )}
      </section>
      <section className="card" aria-labelledby="rest">
        <h2 id="rest" className="hidden">{t("Pool, first share or volume, schedule")}</h2>
        <Form action={t("Make the pool")} isDisabled={!layout || !name || (first !== "nothing" && !called) || (first === "volume" && !asked)} run={run} onDone={() => setDone(true)}>
          <h3>{t("3. Pool")}</h3>
          <Field label={t("Name of the pool")} value={name} onChange={setName} spellCheck="false" />
          <Check isSelected={isForced} onChange={setForced}>{t("Even if something old is on the disks: it is lost")}</Check>
          <h3>{t("4. What is served first")}</h3>
          <Select label={t("First")} value={first} onChange={setFirst} options={[{ id: "share", name: t("A share by NFS") }, { id: "volume", name: t("A volume") }, { id: "nothing", name: t("Nothing yet") }]} />
          {first !== "nothing" && <Field label={first === "share" ? t("Name of the share") : t("Name of the volume")} value={called} onChange={setCalled} spellCheck="false" description={plainly(dataset)} />}
          {first === "share" && (
            <>
              <Field label={t("Clients")} value={from} onChange={setFrom} spellCheck="false" description={t("Hosts and networks, as 10.0.0.0/24; empty: all that reach this machine.")} />
              <Check isSelected={mayRoot} onChange={setRoot}>{t("Their root is root here (no_root_squash): needed to give the first files an owner")}</Check>
            </>
          )}
          {first === "volume" && <Field label={t("Size")} value={volsize} onChange={setVolsize} description={t("As in 100G or 1.5T")} fault={asked ? undefined : t("This is no size.")} />}
          <h3>{t("5. Schedule")}</h3>
          <Select label={t("Snapshots")} value={policy} onChange={setPolicy} options={policies()} />
          <Check isSelected={doesScrub} onChange={setScrub}>{t("Scrub all pools every month")}</Check>
          {steps.length > 0 && <ul className="steps" role="status">{steps.map((one) => <li key={one}><State tone="good">{one}</State></li>)}</ul>}
        </Form>
      </section>
    </div>
  );
}

function Done({ name, dataset, first, steps }: { name: string; dataset: string; first: First; steps: string[] }) {
  const shares = useRead("/v1/shares", {}, { staleTime: 0 });
  const share = shares.data?.value.find((one) => one.dataset === dataset);
  return (
    <section className="card stack" aria-labelledby="done">
      <h2 id="done">{t("Pool {name} is ready", { name: plainly(name) })}</h2>
      <ul className="steps">{steps.map((one) => <li key={one}><State tone="good">{one}</State></li>)}</ul>
      {first === "share" && share && <><p>{t("Clients mount it by:")}</p><p className="secret">{t("mount -t nfs -o vers=3 {host}:{path} /mnt", { host: location.hostname, path: plainly(share.path) })}</p></>}
      <div className="row"><Link href="/" className="button first">{t("To the dashboard")}</Link><Link href="/replication" className="button">{t("Pair with another appliance")}</Link></div>
    </section>
  );
}
