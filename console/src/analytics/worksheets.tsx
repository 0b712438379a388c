/**
 * Worksheets: panes that are kept at the appliance under a name, for all operators. Who changes one says what it was when he
 * began: where another has changed it meanwhile, nothing is sent, and what the other made of it is shown.
 */
import { useEffect, useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { get, post, Refusal, type Schemas } from "../api/client";
import { renew, useChange, useRead } from "../api/queries";
import { Button, Check, Deeds, Failure, Field, Form, Loaded, Name, NameTyped, Select, Sheet, type Option } from "../parts/ui";
import { ago, plainly, t, tn } from "../words";
import { csv, nameOf, said, save, type Found } from "./request";

export type WorksheetPane = Schemas["WorksheetPane"];
export type PaneStatistic = Schemas["PaneStatistic"];
type Worksheet = Schemas["Worksheet"];
type PaneAlert = Schemas["PaneAlert"];
type Measure = Schemas["PaneMeasure"] | "";

const PATHS = ["/v1/analytics"];

export const statistics = (): Option<PaneStatistic>[] => [
  { id: "operations", name: t("Operations a second") }, { id: "bytes", name: t("Bytes a second") },
  { id: "latency", name: t("Mean latency (ms)") }, { id: "latencies", name: t("Latencies") },
  { id: "classes", name: t("Sizes or offsets") },
];

const measures = (): Option<Measure>[] => [
  { id: "", name: t("no alert") }, { id: "operations", name: t("Operations a second") }, { id: "bytes", name: t("Bytes a second") },
  { id: "p99", name: t("99th percentile (µs)") },
];

/** A whole number that was typed, or what it was before. */
const wholeOr = (text: string, before: number) => (/^\d{1,15}$/.test(text.trim()) ? Number(text.trim()) : text.trim() === "" ? 0 : before);

/** The values that an alert is of, one of which was typed; none where nothing is left of them: then it is of all. */
export function withValue(pane: WorksheetPane, part: number, text: string): string[] | null {
  const values = (pane.by ?? []).map((_, at) => (at === part ? text : pane.alert?.values?.[at] ?? ""));
  return values.some((value) => value !== "") ? values : null;
}

/** A worksheet that is looked at: its drill-downs, in the order of its panes. */
export interface Opened {
  name: string;
  ids: number[];
  panes: WorksheetPane[];
}

interface WorksheetsProps {
  /** What is shown now, to be kept. */
  shown: WorksheetPane[];
  opened: Opened | undefined;
  onOpen: (opened: Opened | undefined) => void;
}

/** A pane in words. */
const about = ({ by, filter, alert, kept }: WorksheetPane): string => {
  const what = t("Requests by {dimensions}", { dimensions: (by ?? []).map((one) => nameOf(one).toLowerCase()).join(", ") });
  const only = said(filter ?? {});
  const limit = alert ? t("alert above {number} {measure} in {seconds} s", { number: alert.above, measure: measures().find(({ id }) => id === alert.measure)?.name ?? "", seconds: alert.seconds }) : "";
  return [only ? `${what} (${only})` : what, ...(limit ? [limit] : []), ...(kept ? [t("kept for a year")] : []), ...(alert?.values ? [plainly(alert.values.join("  "))] : [])].join("; ");
};

export function Worksheets({ shown, opened, onOpen }: WorksheetsProps) {
  const all = useRead("/v1/analytics/worksheets");
  const [isSaved, setSaved] = useState(false);
  const [changed, setChanged] = useState<string>();
  const [removed, setRemoved] = useState<string>();
  const open = useChange(({ name }: Worksheet) => post("/v1/analytics/worksheets/{name}/open", { path: { name }, body: {} }), PATHS);
  const show = async (worksheet: Worksheet) => {
    const begun = await open.mutateAsync(worksheet).catch(() => undefined);
    if (begun) onOpen({ name: worksheet.name, ids: begun.map(({ id }) => id), panes: worksheet.panes });
  };
  return (
    <section className="card stack" aria-labelledby="worksheets">
      <div className="head">
        <h2 id="worksheets" className="title">{opened ? t("Worksheet {name}", { name: plainly(opened.name) }) : t("Worksheets")}</h2>
        {opened && <Button onPress={() => void saveAll(opened)}>{t("Save all as CSV")}</Button>}
        {opened && <Button onPress={() => onOpen(undefined)}>{t("Show all drill-downs")}</Button>}
        {shown.length > 0 && <Button onPress={() => setSaved(true)}>{t("Keep what is shown")}</Button>}
      </div>
      <Failure error={open.error} />
      <Loaded of={all}>
        {({ value }) => value.length === 0
          ? <p className="muted">{t("None is kept yet. A worksheet keeps panes under a name, for all operators.")}</p>
          : (
            <ul className="steps">
              {value.map((one) => (
                <li key={one.name} className="row">
                  <strong><Name>{one.name}</Name></strong>
                  <span className="muted small">{tn(one.panes.length, "{count} pane", "{count} panes")} · {t("changed {when} by {who}", { when: ago(one.changed), who: plainly(one.by) })}</span>
                  <Button aria-label={t("Open worksheet {name}", { name: plainly(one.name) })} onPress={() => void show(one)}>{t("Open")}</Button>
                  <Deeds label={t("Actions of worksheet {name}", { name: plainly(one.name) })} deeds={[
                    { id: "change", name: t("Change…"), run: () => setChanged(one.name) },
                    { id: "remove", name: t("Remove…"), isDangerous: true, run: () => setRemoved(one.name) },
                  ]} />
                </li>
              ))}
            </ul>
          )}
      </Loaded>
      <Sheet title={t("Keep a worksheet")} isOpen={isSaved} onClose={() => setSaved(false)}>
        {isSaved && <Keep panes={shown} close={() => setSaved(false)} />}
      </Sheet>
      <Sheet title={t("Change worksheet {name}", { name: plainly(changed ?? "") })} isOpen={changed !== undefined} onClose={() => setChanged(undefined)} isWide>
        {changed !== undefined && <Change name={changed} shown={shown} close={() => setChanged(undefined)} />}
      </Sheet>
      <Sheet title={t("Remove worksheet {name}?", { name: plainly(removed ?? "") })} isOpen={removed !== undefined} onClose={() => setRemoved(undefined)} isAlert>
        {removed !== undefined && <Remove name={removed} close={() => setRemoved(undefined)} />}
      </Sheet>
    </section>
  );
}

/** What all of its panes have found, in one file. */
async function saveAll({ name, ids, panes }: Opened) {
  const parts: string[] = [];
  for (const [at, id] of ids.entries()) {
    const { value } = await get("/v1/analytics/{id}", { path: { id: String(id) } as never });
    const pane = panes[at];
    parts.push(`"${(pane ? about(pane) : String(id)).replace(/"/g, '""')}"\n${csv(value as Found)}`);
  }
  save(`cistern-worksheet-${name.replace(/[^\w-]+/g, "-")}.csv`, new Blob([parts.join("\n")], { type: "text/csv" }));
}

function Keep({ panes, close }: { panes: WorksheetPane[]; close: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const run = async () => {
    await post("/v1/analytics/worksheets", { body: { name, panes } });
    await renew(client, PATHS);
  };
  return (
    <Form action={t("Keep")} isDisabled={!name.trim()} onCancel={close} onDone={close} run={run}>
      <Field label={t("Name")} value={name} onChange={setName} spellCheck="false" autoFocus />
      <ul>{panes.map((pane, at) => <li key={at}>{about(pane)}</li>)}</ul>
    </Form>
  );
}

function Remove({ name, close }: { name: string; close: () => void }) {
  const [typed, setTyped] = useState("");
  const remove = useChange(() => post("/v1/analytics/worksheets/{name}/remove", { path: { name } }), PATHS);
  return (
    <Form action={t("Remove")} isDangerous isDisabled={typed !== name} onCancel={close} onDone={close} run={() => remove.mutateAsync(undefined)}>
      <p>{t("No operator has it any more. Drill-downs that run go on.")}</p>
      <NameTyped name={name} value={typed} onChange={setTyped} />
    </Form>
  );
}

function Change({ name, shown, close }: { name: string; shown: WorksheetPane[]; close: () => void }) {
  const client = useQueryClient();
  const [begun, setBegun] = useState<{ etag: string | undefined }>();
  const [panes, setPanes] = useState<WorksheetPane[]>([]);
  const [theirs, setTheirs] = useState<Worksheet>();
  const [failure, setFailure] = useState<unknown>();
  const path = { name };
  // The tag is of when the form was opened, and not of when the list was read before.
  useEffect(() => {
    get("/v1/analytics/worksheets/{name}", { path: { name } }).then((now) => {
      setPanes(now.value.panes);
      setBegun({ etag: now.etag });
    }, setFailure);
  }, [name]);
  const run = async () => {
    try {
      await post("/v1/analytics/worksheets/{name}/change", { path, ifMatch: begun?.etag, body: { panes } });
    } catch (error) {
      if (!(error instanceof Refusal) || error.kind !== "precondition-failed") throw error;
      const now = await get("/v1/analytics/worksheets/{name}", { path });
      setBegun({ etag: now.etag });
      setTheirs(now.value);
      throw new Error(t("Somebody changed this worksheet meanwhile. Look at what is there now, then save again, or cancel."));
    }
    await renew(client, PATHS);
  };
  const alertOf = (at: number, pane: WorksheetPane, patch: Partial<PaneAlert> | undefined) => {
    const { alert, ...rest } = pane;
    set(at, patch ? { ...rest, alert: { measure: "operations", above: 1000, seconds: 60, ...alert, ...patch } } : rest);
  };
  const set = (at: number, pane: WorksheetPane | undefined) => setPanes(panes.flatMap((one, other) => (other === at ? pane ?? [] : one)));
  return (
    <Form action={t("Save")} isDisabled={!begun || panes.length === 0} onCancel={close} onDone={close} run={run}>
      <Failure error={failure} />
      {theirs && (
        <div className="note warn stack tight">
          <p>{t("{who} has set this {when}:", { who: plainly(theirs.by), when: ago(theirs.changed) })}</p>
          <ul>{theirs.panes.map((pane, at) => <li key={at}>{about(pane)}</li>)}</ul>
          <Button onPress={() => setPanes(theirs.panes)}>{t("Take theirs")}</Button>
        </div>
      )}
      <ul className="steps">
        {panes.map((pane, at) => (
          <li key={at} className="row base">
            <span>{about(pane)}</span>
            <Select label={t("Shown of pane {number}", { number: at + 1 })} options={statistics()} value={pane.statistic ?? "operations"} onChange={(statistic) => set(at, { ...pane, statistic })} />
            <Select label={t("Alert of pane {number}", { number: at + 1 })} options={measures()} value={pane.alert?.measure ?? ""} onChange={(measure) => alertOf(at, pane, measure ? { measure, values: measure === "p99" ? null : pane.alert?.values ?? null } : undefined)} />
            {pane.alert && pane.alert.measure !== "p99" && (pane.by ?? []).map((one, part) => (
              <Field key={one} isNarrow label={t("Only {dimension}", { dimension: nameOf(one).toLowerCase() })} value={pane.alert?.values?.[part] ?? ""} onChange={(text) => alertOf(at, pane, { values: withValue(pane, part, text) })} spellCheck="false" />
            ))}
            {pane.alert && <Field isNarrow label={t("Above")} value={String(pane.alert.above)} onChange={(text) => alertOf(at, pane, { above: wholeOr(text, pane.alert!.above) })} inputMode="numeric" />}
            {pane.alert && <Field isNarrow label={t("For seconds")} value={String(pane.alert.seconds)} onChange={(text) => alertOf(at, pane, { seconds: wholeOr(text, pane.alert!.seconds) })} inputMode="numeric" />}
            <Check isSelected={pane.kept ?? false} onChange={(kept) => set(at, { ...pane, kept })}>{t("Keep what it finds for a year")}</Check>
            <Button aria-label={t("Take out pane {number}", { number: at + 1 })} onPress={() => set(at, undefined)}>{t("Take out")}</Button>
          </li>
        ))}
      </ul>
      {shown.length > 0 && <Button onPress={() => setPanes([...panes, ...shown])}>{t("Add what is shown")}</Button>}
    </Form>
  );
}
