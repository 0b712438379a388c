/** Snapshots of a dataset or of all, read in pages as they come into sight: a hundred thousand are no more work than fifty. */
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { follow, get, post, type Answered } from "../api/client";
import { renew, useRead } from "../api/queries";
import { useLocation } from "wouter";
import { Button, Check, Empty, Failure, Field, Form, Head, Name, NameTyped, Search, Sheet } from "../parts/ui";
import { Grid, type Column } from "../parts/grid";
import { Timeline } from "../parts/timeline";
import { ago, exactTime, plainly, size, t, tn } from "../words";
import { Compare } from "../snapshots/compare";
import { DestroyMany } from "../snapshots/destroy";
import { Destroy, TakeSnapshot } from "./dataset";
import { nameInAddress, valueOf, type Dataset } from "./datasets";

const PAGE = 1000;
const ANY = "";

export default function SnapshotsPage() {
  useLocation();
  const name = nameInAddress();
  return <Snapshots key={name} begin={name} />;
}

/** Of one dataset or of all: the name in the address, or what is chosen then. */
function Snapshots({ begin }: { begin: string }) {
  const [typed, setTyped] = useState(begin);
  const [of, setOf] = useState(begin);
  const [search, setSearch] = useState("");
  const [selected, select] = useState<ReadonlySet<string>>(new Set());
  const [deed, setDeed] = useState<"take" | "destroy" | "roll" | "clone" | "compare">();
  const [, go] = useLocation();
  const client = useQueryClient();
  const parents = useRead("/v1/datasets", { query: { kinds: "filesystem,volume", props: "used" } as never });
  const query = { kinds: "snapshot", props: "used,referenced,creation,userrefs", limit: PAGE, ...(of ? { roots: of, depth: 1 } : {}) };
  const pages = useInfiniteQuery<Answered<Dataset[]>, Error, { pages: Answered<Dataset[]>[] }, unknown[], string>({
    queryKey: ["snapshots", of],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) => (pageParam ? follow<Dataset[]>(pageParam, signal) : get("/v1/datasets", { query: query as never, signal })),
    getNextPageParam: (last) => last.next,
  });
  const all = useMemo(() => pages.data?.pages.flatMap(({ value }) => value) ?? [], [pages.data]);
  const wanted = search.trim().toLowerCase();
  const rows = useMemo(() => {
    const own = of ? all.filter(({ name }) => name.startsWith(`${of}@`)) : all;
    return wanted ? own.filter(({ name }) => name.toLowerCase().includes(wanted)) : own;
  }, [all, of, wanted]);
  const columns: Column<Dataset>[] = [
    ...(of ? [] : [{ id: "of", name: t("Dataset"), width: "minmax(150px, 2fr)", show: ({ name }: Dataset) => <Name>{name.split("@")[0]!}</Name> }]),
    { id: "name", name: t("Snapshot"), width: "minmax(220px, 3fr)", show: ({ name }) => <span title={plainly(name)}><Name>{name.split("@")[1] ?? name}</Name></span> },
    { id: "creation", name: t("Taken"), width: "190px", show: (one) => exactTime(Number(valueOf(one, "creation"))), order: (a, b) => Number(valueOf(a, "creation")) - Number(valueOf(b, "creation")) },
    { id: "age", name: t("Age"), width: "135px", show: (one) => <span className="muted">{ago(Number(valueOf(one, "creation")))}</span> },
    { id: "used", name: t("Frees"), width: "95px", isNumber: true, show: (one) => size(Number(valueOf(one, "used")) || 0), order: (a, b) => Number(valueOf(a, "used")) - Number(valueOf(b, "used")) },
    { id: "referenced", name: t("Referenced"), width: "105px", isNumber: true, show: (one) => size(Number(valueOf(one, "referenced")) || 0) },
    { id: "holds", name: t("Holds"), width: "70px", isNumber: true, show: (one) => valueOf(one, "userrefs") || "0" },
  ];
  const names = [...selected];
  const only = names.length === 1 ? names[0]! : undefined;
  // The older of two of one dataset and the younger, or one and what is there now.
  const [first, second] = (names.length > 2 ? [] : all).filter(({ name }) => selected.has(name)).toSorted((a, b) => a.createtxg - b.createtxg).map(({ name }) => name);
  const compared = first && (names.length === 1 ? first.split("@")[0]! : names.length === 2 && second?.split("@")[0] === first.split("@")[0] ? second : undefined);
  const browse = (name: string) => go(`/snapshots/${encodeURIComponent(name)}/files`);
  const close = () => setDeed(undefined);
  const done = () => {
    close();
    select(new Set());
    void renew(client, ["snapshots", "/v1/datasets"]);
  };
  const datasets = parents.data?.value.map(({ name }) => name) ?? [];
  const choose = (text: string) => {
    setTyped(text);
    // What is typed counts as soon as it is a dataset's name; nothing stands for all.
    const next = text === "" ? ANY : datasets.includes(text) ? text : of;
    if (next === of) return;
    setOf(next);
    select(new Set());
  };
  // It may have been typed before it was known which there are.
  useEffect(() => choose(typed), [parents.data]);
  return (
    <div className="page">
      <Head title={t("Snapshots")} about={t("Select with the space bar or the boxes; Enter opens the files of one. “Frees” is what comes back if that snapshot alone goes.")}>
        <Button manner="first" onPress={() => setDeed("take")} isDisabled={!of}>{t("Take snapshot…")}</Button>
      </Head>
      <div className="row base">
        <Field label={t("Of")} value={typed} onChange={choose} names={datasets} spellCheck="false" placeholder={t("All datasets")} fault={typed !== of && typed !== "" && parents.data ? t("No dataset is called that.") : undefined} />
        <div className="field"><span className="label">{t("Search")}</span><Search label={t("Search snapshots")} value={search} onChange={setSearch} /></div>
        <span className="row" role="group" aria-label={t("With the selected ones")}>
          <Button isDisabled={!only} onPress={() => only && browse(only)}>{t("Files…")}</Button>
          <Button isDisabled={!compared} onPress={() => setDeed("compare")}>{t("Compare…")}</Button>
          <Button isDisabled={!only} onPress={() => setDeed("roll")}>{t("Roll back…")}</Button>
          <Button isDisabled={!only} onPress={() => setDeed("clone")}>{t("Clone…")}</Button>
          <Button manner="danger" isDisabled={names.length === 0} onPress={() => setDeed("destroy")}>{t("Destroy…")}</Button>
        </span>
      </div>
      {pages.error && <Failure error={pages.error} />}
      {of !== ANY && <Timeline times={all.map((one) => Number(valueOf(one, "creation")))} isPart={!!pages.hasNextPage} />}
      {pages.isPending ? <p className="muted" role="status">{t("Loading…")}</p> : (
        <Grid label={t("Snapshots")} rows={rows} columns={columns} keyOf={({ name }) => name} onOpen={({ name }) => browse(name)} selected={selected} onSelect={select} least={880}
          hasMore={pages.hasNextPage} onEnd={() => { if (!pages.isFetching) void pages.fetchNextPage(); }}
          empty={<p>{wanted ? t("No snapshot has this in its name.") : t("There is no snapshot yet. A service takes them by itself.")}</p>} />
      )}
      <Sheet title={t("Take a snapshot of {name}", { name: plainly(of) })} isOpen={deed === "take"} onClose={close}><TakeSnapshot dataset={of} close={close} /></Sheet>
      <Sheet title={t("Destroy {name}?", { name: plainly(only ?? "") })} isOpen={deed === "destroy" && !!only} onClose={close} isAlert>{only && <Destroy name={only} close={close} onDone={done} />}</Sheet>
      <Sheet title={tn(names.length, "Destroy {count} snapshot?", "Destroy {count} snapshots?")} isOpen={deed === "destroy" && !only} onClose={close} isAlert><DestroyMany names={names} close={close} onDone={done} /></Sheet>
      <Sheet title={t("What has changed")} isOpen={deed === "compare" && !!compared} onClose={close} isWide>{first && compared && <Compare from={first} to={compared} close={close} />}</Sheet>
      <Sheet title={t("Roll back to {name}?", { name: plainly(only ?? "") })} isOpen={deed === "roll"} onClose={close} isAlert>{only && <RollBack name={only} close={close} onDone={done} />}</Sheet>
      <Sheet title={t("Clone {name}", { name: plainly(only ?? "") })} isOpen={deed === "clone"} onClose={close}>{only && <Clone name={only} close={close} onDone={done} />}</Sheet>
    </div>
  );
}

function RollBack({ name, close, onDone }: { name: string; close: () => void; onDone: () => void }) {
  const [typed, setTyped] = useState("");
  const [isRecursive, setRecursive] = useState(false);
  const [dataset = ""] = name.split("@");
  const body = { recursive: isRecursive, clones: false, history: `zfs rollback ${isRecursive ? "-r " : ""}${name}` };
  return (
    <Form action={t("Roll back")} isDangerous isDisabled={typed !== dataset} onCancel={close} onDone={onDone}
      run={() => post("/v1/datasets/{name}/rollback", { path: { name }, body })}>
      <p className="note bad">{t("Everything that was written to {name} since then is lost. This cannot be undone.", { name: plainly(dataset) })}</p>
      <Check isSelected={isRecursive} onChange={setRecursive}>{t("Destroy the snapshots that are younger, too: without that, they keep it from being rolled back")}</Check>
      <NameTyped name={dataset} value={typed} onChange={setTyped} />
    </Form>
  );
}

function Clone({ name, close, onDone }: { name: string; close: () => void; onDone: () => void }) {
  const [to, setTo] = useState(`${name.split("@")[0]}-clone`);
  if (!name.includes("@")) return <Empty>{t("Only a snapshot can be cloned.")}</Empty>;
  return (
    <Form action={t("Clone")} isDisabled={!to} onCancel={close} onDone={onDone}
      run={() => post("/v1/clones", { body: { snapshot: name, name: to, props: [], parents: false, no_mount: false, history: `zfs clone ${name} ${to}` } })}>
      <p>{t("A clone is a dataset of its own that begins with what is in the snapshot. It takes space for what differs alone. The snapshot stays as long as the clone does.")}</p>
      <Field label={t("Name of the clone, with the pool")} value={to} onChange={setTo} spellCheck="false" autoFocus />
    </Form>
  );
}
