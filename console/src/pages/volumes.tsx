/** Volumes, and who uses them by iSCSI. */
import { useState, type ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { useDatasets } from "../api/datasets";
import { useRead } from "../api/queries";
import { useSession } from "../api/session";
import { Button, Empty, Head, Loaded, Meter, Name, Sheet } from "../parts/ui";
import { Grid, type Column } from "../parts/grid";
import { number, plainly, size, t, tn } from "../words";
import { ViewForm } from "../volumes/form";
import { PROPERTY, viewOf } from "../volumes/view";
import { CreateForm, placeOf, valueOf, type Dataset } from "./datasets";

const figure = (info: Dataset, name: string) => Number(valueOf(info, name)) || 0;

export default function Volumes() {
  const { may } = useSession();
  const [isNew, setNew] = useState(false);
  const [edited, edit] = useState<string>();
  const [, go] = useLocation();
  const { datasets: volumes, isWhole } = useDatasets("volume", `volsize,used,referenced,volblocksize,refreservation,compressratio,${PROPERTY}`, "used");
  // What a volume says of itself is read from each: until then its name is there.
  const once = (show: (one: Dataset) => ReactNode) => (one: Dataset) => (isWhole ? show(one) : "…");
  // What a pool has is said by its root alone.
  const roots = useRead("/v1/datasets", { query: { kinds: "filesystem", depth: 0, props: "used,available" } as never });
  const columns: Column<Dataset>[] = [
    { id: "name", name: t("Volume"), width: "minmax(200px, 2fr)", show: ({ name }) => <Link href={placeOf(name)} tabIndex={-1}><Name>{name}</Name></Link>, order: (a, b) => (a.name < b.name ? -1 : 1) },
    { id: "size", name: t("Size"), width: "110px", isNumber: true, show: once((one) => size(figure(one, "volsize"))), order: (a, b) => figure(a, "volsize") - figure(b, "volsize") },
    { id: "written", name: t("Written"), width: "110px", isNumber: true, show: once((one) => size(figure(one, "referenced"))) },
    { id: "kept", name: t("Kept for it"), width: "110px", isNumber: true, show: once((one) => (figure(one, "refreservation") > 0 ? size(figure(one, "refreservation")) : t("sparse"))) },
    { id: "block", name: t("Block"), width: "90px", isNumber: true, show: once((one) => size(figure(one, "volblocksize"))) },
    { id: "target", name: t("Served as"), width: "minmax(200px, 2fr)", show: once((one) => <Target value={valueOf(one, PROPERTY)} />) },
    { id: "who", name: t("Seen by"), width: "minmax(120px, 1fr)", show: once((one) => seenBy(valueOf(one, PROPERTY))) },
    { id: "ratio", name: t("Compression"), width: "110px", isNumber: true, show: once((one) => `${valueOf(one, "compressratio")}×`) },
  ];
  return (
    <div className="page">
      <Head title={t("Volumes and targets")} about={t("Block devices for other machines, who may see them, and the initiators that use them. Enter opens one.")}>
        {may("read-only") && <Button manner="first" onPress={() => setNew(true)}>{t("New volume")}</Button>}
      </Head>
      <Loaded of={volumes}>
        {({ value }) => (
          <>
            {isWhole && <Promised volumes={value} pools={roots.data?.value ?? []} />}
            <Grid label={t("Volumes")} rows={value} hasMore={!isWhole} columns={columns} keyOf={({ name }) => name} onOpen={({ name }) => { if (!may("administrator")) go(placeOf(name)); else if (isWhole) edit(name); }} least={1180} empty={<p>{t("There is no volume yet.")}</p>} />
            <Sheet title={t("Who may see {name}", { name: plainly(edited ?? "") })} isOpen={!!edited} onClose={() => edit(undefined)} isWide>
              <Edited volumes={value} name={edited} close={() => edit(undefined)} />
            </Sheet>
          </>
        )}
      </Loaded>
      <Sessions />
      <Sheet title={t("New volume")} isOpen={isNew} onClose={() => setNew(false)}><NewVolume close={() => setNew(false)} /></Sheet>
    </div>
  );
}

/** File systems are read when somebody wants a volume, not before. */
function NewVolume({ close }: { close: () => void }) {
  const { datasets: parents, isWhole } = useDatasets("filesystem", "used");
  return (
    <Loaded of={parents}>
      {({ value }) => value.length === 0 ? <Empty>{t("A dataset needs a pool, and there is none yet.")}</Empty> : <CreateForm parents={value.map(({ name }) => name)} isWhole={isWhole} onClose={close} only="volume" />}
    </Loaded>
  );
}

function Edited({ volumes, name, close }: { volumes: Dataset[]; name: string | undefined; close: () => void }) {
  const volume = volumes.find((one) => one.name === name);
  return volume ? <ViewForm volume={volume} volumes={volumes} close={close} /> : null;
}

function Target({ value }: { value: string }) {
  const view = viewOf(value);
  if (!view.isServed) return <span className="muted">{t("not by iSCSI")}</span>;
  return <span className="mono small" title={plainly(view.target)}>{view.target ? <>{t("LUN {lun} of", { lun: view.lun || "0" })} <Name>{view.target}</Name></> : t("a target of its own")}</span>;
}

function seenBy(value: string): string {
  const view = viewOf(value);
  if (!view.isServed) return "–";
  const initiators = view.initiators.split("\n").filter(Boolean);
  const who = initiators.length === 0 ? t("everybody") : tn(initiators.length, "{count} initiator", "{count} initiators");
  return view.user ? t("{who}, by CHAP", { who }) : who;
}

/** What all volumes of a pool may grow to, against what it has. */
function Promised({ volumes, pools }: { volumes: Dataset[]; pools: Dataset[] }) {
  const rows = pools.map((pool) => {
    const own = volumes.filter(({ name }) => name.startsWith(`${pool.name}/`));
    const promised = own.reduce((sum, one) => sum + figure(one, "volsize"), 0);
    return { name: pool.name, promised, room: figure(pool, "used") + figure(pool, "available") };
  }).filter(({ promised }) => promised > 0);
  if (rows.length === 0) return null;
  return (
    <section className="card stack" aria-label={t("Over-commitment")}>
      {rows.map(({ name, promised, room }) => (
        <Meter key={name} label={t("Promised by volumes of {name}", { name: plainly(name) })} part={Math.min(promised, room)} whole={room}
          text={t("{promised} of {room}", { promised: size(promised), room: size(room) })} />
      ))}
    </section>
  );
}

function Sessions() {
  const sessions = useRead("/v1/iscsi/sessions", {}, { refetchInterval: 5000 });
  return (
    <section className="card stack" aria-labelledby="initiators">
      <h2 id="initiators">{t("Initiators")}</h2>
      <Loaded of={sessions}>
        {({ value }) => value.length === 0 ? <p className="muted">{t("No initiator is logged in.")}</p> : (
          <div className="scroll-x">
            <table className="plain">
              <thead><tr><th scope="col">{t("Initiator")}</th><th scope="col">{t("Target")}</th><th scope="col">{t("Units")}</th><th scope="col" className="number">{t("Read")}</th><th scope="col" className="number">{t("Written")}</th><th scope="col" className="number">{t("Under way")}</th></tr></thead>
              <tbody>
                {value.map((one) => {
                  const sum = (of: (unit: (typeof one.units)[number]) => number) => one.units.reduce((all, unit) => all + of(unit), 0);
                  return (
                    <tr key={`${one.initiator} ${one.target}`}>
                      <td className="mono small"><Name>{one.initiator}</Name></td><td className="mono small"><Name>{one.target}</Name></td>
                      <td>{one.units.map(({ lun, volume }) => `${lun}: ${plainly(volume)}`).join(", ")}</td>
                      <td className="number">{size(sum(({ reads }) => reads.bytes))}</td><td className="number">{size(sum(({ writes }) => writes.bytes))}</td>
                      <td className="number">{number(sum(({ queue }) => queue))}</td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          </div>
        )}
      </Loaded>
    </section>
  );
}
