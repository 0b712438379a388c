/** A dataset: its properties with where each comes from, its space, and what can be done with it. */
import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { Link, useLocation } from "wouter";
import { finished, post, type Schemas } from "../api/client";
import { renew, useRead } from "../api/queries";
import { useSession } from "../api/session";
import { useTagged } from "../api/tagged";
import { Button, Check, Deeds, Failure, Field, Form, Head, Loaded, Meter, Name, NameTyped, Search, Sheet } from "../parts/ui";
import { Grid, type Column } from "../parts/grid";
import { exactTime, number, plainly, size, t, tn } from "../words";
import { nameInAddress, placeOf, valueOf, type Dataset } from "./datasets";

type Prop = Schemas["PropValue"];
type Info = Schemas["PropertyInfo"];

export function sourceOf(source: Schemas["Source"]): string {
  switch (source.kind) {
    case "none": return "–";
    case "default": return t("default");
    case "local": return t("set here");
    case "inherited": return t("inherited from {name}", { name: plainly(source.from) });
    case "received": return t("received");
    default: return t("temporary");
  }
}

/** A value as people read it. */
export function shown({ value, kind }: Pick<Prop, "value" | "kind">): string {
  if (value === "" || value === "-") return "–";
  const figure = Number(value);
  if (Number.isNaN(figure)) return plainly(value);
  switch (kind) {
    case "size": return figure === 0 ? "0" : size(figure);
    case "time": return exactTime(figure);
    case "ratio": return `${value}×`;
    case "percent": return t("{share} %", { share: value });
    case "count": return number(figure);
    default: return plainly(value);
  }
}

export default function DatasetPage() {
  useLocation();
  const name = nameInAddress();
  const read = useRead("/v1/datasets", { query: { roots: name, depth: 0, kinds: "filesystem,volume,snapshot" } as never });
  return (
    <div className="page">
      <nav aria-label={t("Above")} className="small"><Link href="/datasets">{t("Datasets")}</Link></nav>
      <Loaded of={read}>
        {({ value }) => {
          const info = value.find((one) => one.name === name);
          return info ? <Body info={info} /> : <p className="note bad">{t("There is no dataset of this name any more.")}</p>;
        }}
      </Loaded>
    </div>
  );
}

function Body({ info }: { info: Dataset }) {
  const [search, setSearch] = useState("");
  const [edited, edit] = useState<Prop>();
  const [asked, ask] = useState<"destroy" | "rename" | "snapshot">();
  const [, go] = useLocation();
  const tables = useRead("/v1/properties", {}, { staleTime: Infinity });
  const known = new Map<string, Info>((tables.data?.value.datasets ?? []).map((one) => [one.name, one]));
  const wanted = search.trim().toLowerCase();
  const props = info.props.filter(({ name, value }) => !wanted || name.includes(wanted) || value.toLowerCase().includes(wanted));
  const canSet = (prop: Prop) => known.get(prop.name)?.edit === "always" || prop.name.includes(":");
  const columns: Column<Prop>[] = [
    { id: "name", name: t("Property"), width: "minmax(160px, 1fr)", show: (prop) => <span className="mono">{plainly(prop.name)}</span>, order: (a, b) => (a.name < b.name ? -1 : 1) },
    { id: "value", name: t("Value"), width: "minmax(170px, 1.3fr)", show: (prop) => <bdi title={plainly(prop.value)}>{shown(prop)}</bdi> },
    { id: "source", name: t("Source"), width: "minmax(150px, 1.2fr)", show: (prop) => <span className="muted">{sourceOf(prop.source)}</span> },
    { id: "set", name: t("Set"), width: "80px", show: (prop) => (canSet(prop) ? <Button manner="quiet" excludeFromTabOrder onPress={() => edit(prop)}>{t("Edit")}</Button> : null) },
  ];
  const used = Number(valueOf(info, "used")) || 0;
  const available = Number(valueOf(info, "available")) || 0;
  const parts: [string, string][] = [["usedbydataset", t("itself")], ["usedbysnapshots", t("snapshots")], ["usedbychildren", t("datasets below")], ["usedbyrefreservation", t("reservation")]];
  return (
    <>
      <Head title={<Name>{info.name}</Name>} about={info.kind === "volume" ? t("Volume") : t("File system")}>
        <Button onPress={() => ask("snapshot")}>{t("Take snapshot…")}</Button>
        <Link href={`/snapshots/${encodeURIComponent(info.name)}`} className="button">{t("Snapshots")}</Link>
        <Deeds label={t("Actions of {name}", { name: plainly(info.name) })} deeds={[
          { id: "rename", name: t("Rename…"), run: () => ask("rename") },
          { id: "destroy", name: t("Destroy…"), isDangerous: true, run: () => ask("destroy") },
        ]} />
      </Head>
      <section className="card stack" aria-label={t("Space")}>
        <Meter label={t("Used")} part={used} whole={used + available} text={t("{used} used, {free} available", { used: size(used), free: size(available) })} />
        <p className="small muted">{parts.map(([name, words]) => t("{what}: {size}", { what: words, size: size(Number(valueOf(info, name)) || 0) })).join(" · ")}</p>
      </section>
      <div className="row"><h2>{t("Properties")}</h2><Search label={t("Search properties")} value={search} onChange={setSearch} /></div>
      <Grid label={t("Properties")} rows={props} columns={columns} keyOf={({ name }) => name} onOpen={(prop) => canSet(prop) && edit(prop)} least={600} empty={<p>{t("No property has this in it.")}</p>} />
      <Sheet title={t("Set {property}", { property: edited?.name ?? "" })} isOpen={!!edited} onClose={() => edit(undefined)}>
        {edited && <EditForm dataset={info.name} prop={edited} about={known.get(edited.name)} close={() => edit(undefined)} />}
      </Sheet>
      <Sheet title={t("Take a snapshot of {name}", { name: plainly(info.name) })} isOpen={asked === "snapshot"} onClose={() => ask(undefined)}>
        <TakeSnapshot dataset={info.name} close={() => ask(undefined)} />
      </Sheet>
      <Sheet title={t("Rename {name}", { name: plainly(info.name) })} isOpen={asked === "rename"} onClose={() => ask(undefined)}>
        <Rename name={info.name} close={() => ask(undefined)} />
      </Sheet>
      <Sheet title={t("Destroy {name}?", { name: plainly(info.name) })} isOpen={asked === "destroy"} onClose={() => ask(undefined)} isAlert>
        <Destroy name={info.name} close={() => ask(undefined)} onDone={() => go("/datasets")} />
      </Sheet>
    </>
  );
}

/** Sets one property, or has it inherited. If somebody has changed the dataset meanwhile, that is shown first. */
function EditForm({ dataset, prop, about, close }: { dataset: string; prop: Prop; about: Info | undefined; close: () => void }) {
  const [value, setValue] = useState(prop.value === "-" ? "" : prop.value);
  const [failure, setFailure] = useState<unknown>();
  const tagged = useTagged(dataset, prop.name, prop.value);
  const inherit = () => {
    setFailure(undefined);
    tagged.inherit().then(close, setFailure);
  };
  return (
    <Form action={t("Save")} isDisabled={!tagged.isReady || value === ""} onCancel={close} onDone={close} run={() => tagged.set({ [prop.name]: value })}>
      <Field label={t("Value of {property}", { property: prop.name })} value={value} onChange={setValue} spellCheck="false" autoFocus description={about?.values ? t("May be: {values}", { values: about.values }) : undefined} />
      <p className="small muted">{t("Now: {value}, {source}", { value: shown(prop), source: sourceOf(prop.source) })}</p>
      {tagged.theirs && <p className="note warn">{t("Meanwhile it was set to {value}.", { value: plainly(tagged.theirs.value) })}</p>}
      <Failure error={failure ?? tagged.failure} />
      {about?.inherit !== false && prop.source.kind === "local" && <div className="row"><Button onPress={inherit}>{t("Inherit instead")}</Button></div>}
    </Form>
  );
}

/** A name that says when: for people, in UTC, as services name theirs. */
const timely = () => `manual-${new Date().toISOString().slice(0, 19)}Z`;

export function TakeSnapshot({ dataset, close }: { dataset: string; close: () => void }) {
  const [name, setName] = useState(timely);
  const [isRecursive, setRecursive] = useState(false);
  const client = useQueryClient();
  const take = async () => {
    const names = [`${dataset}@${name}`];
    await post("/v1/snapshots", { body: { names, recursive: isRecursive, props: [], history: `zfs snapshot ${isRecursive ? "-r " : ""}${names[0]}` } });
    void renew(client, ["snapshots", "/v1/datasets"]);
  };
  return (
    <Form action={t("Take snapshot")} isDisabled={!name} onCancel={close} onDone={close} run={take}>
      <Field label={t("Name of the snapshot")} value={name} onChange={setName} spellCheck="false" autoFocus />
      <Check isSelected={isRecursive} onChange={setRecursive}>{t("Of everything below it, too, at the same moment")}</Check>
    </Form>
  );
}

function Rename({ name, close }: { name: string; close: () => void }) {
  const [to, setTo] = useState(name);
  const [, go] = useLocation();
  return (
    <Form action={t("Rename")} isDisabled={!to || to === name} onCancel={close} onDone={() => { close(); go(placeOf(to)); }}
      run={() => post("/v1/datasets/{name}/rename", { path: { name }, body: { to, history: `zfs rename ${name} ${to}` } as never })}>
      <p>{t("Clients that have it mounted by its old path lose it. All datasets below it move along.")}</p>
      <Field label={t("New name, with the pool")} value={to} onChange={setTo} spellCheck="false" autoFocus />
    </Form>
  );
}

const SHOWN = 8;

/** Says what would go before anything does. */
export function Destroy({ name, close, onDone }: { name: string; close: () => void; onDone: () => void }) {
  const [typed, setTyped] = useState("");
  const [isRecursive, setRecursive] = useState(false);
  const query = { recursive: isRecursive, clones: false, defer: false };
  const plan = useRead("/v1/datasets/{name}/destroy", { path: { name }, query: query as never }, { staleTime: 0 });
  const { may } = useSession();
  const destroy = async () => {
    await finished(await post("/v1/datasets/{name}/destroy", { path: { name }, body: { ...query, history: `zfs destroy ${isRecursive ? "-r " : ""}${name}` } }));
  };
  const isBlocked = !!plan.error;
  return (
    <Form action={t("Destroy")} isDangerous isDisabled={typed !== name || isBlocked} onCancel={close} onDone={() => { close(); onDone(); }} run={destroy}>
      <Check isSelected={isRecursive} onChange={setRecursive}>{t("With its snapshots and everything below it")}</Check>
      <Loaded of={plan}>
        {({ value }) => (
          <div className="note bad stack tight">
            <p>{tn(value.names.length, "{count} dataset or snapshot is lost, and {size} become free:", "{count} datasets and snapshots are lost, and {size} become free:", { size: size(value.bytes) })}</p>
            <ul className="mono small">
              {value.names.slice(0, SHOWN).map((one) => <li key={one}><Name>{one}</Name></li>)}
              {value.names.length > SHOWN && <li>{t("and {count} more", { count: value.names.length - SHOWN })}</li>}
            </ul>
            <p>{t("This cannot be undone.")}</p>
          </div>
        )}
      </Loaded>
      {isBlocked && !isRecursive && <p className="small">{t("Tick the box above to destroy them, too.")}</p>}
      {!may("administrator") && <p className="small muted">{t("It takes the permission to destroy, which may be delegated to you.")}</p>}
      <NameTyped name={name} value={typed} onChange={setTyped} />
    </Form>
  );
}
