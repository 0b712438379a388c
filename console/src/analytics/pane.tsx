/** One drill-down: over time, its latencies, and the heaviest, each of which leads further down. */
import { useRef, useState } from "react";
import { post } from "../api/client";
import { useChange, useRead } from "../api/queries";
import { Button, Check, Failure, Name, State } from "../parts/ui";
import { Grid, byNumber, type Column } from "../parts/grid";
import { number, plainly, size, span, t } from "../words";
import { Heat, pictured } from "./heat";
import { Lines } from "./lines";
import type { PaneStatistic } from "./worksheets";
import { rowsOf, type Row } from "./hierarchy";
import { csv, nameOf, said, save, short, type Dimension, type Filter, type Found } from "./request";

interface PaneProps {
  id: number;
  statistic: PaneStatistic;
  /** What is to be shown of it from now on: its latencies, or lines. */
  onShow: (statistic: PaneStatistic | undefined) => void;
  from: number;
  to: number;
  /** Where what it found before is kept: a worksheet, and which of its panes. */
  kept?: { name: string; pane: number } | undefined;
  /** Somebody wants to know more of what a filter takes, which was told apart by these. */
  onDrill: (filter: Filter, by: Dimension[]) => void;
}

/** From this many seconds on what is kept is shown, and not what the drill-down has. */
const PAST = 86_400;

/** What a pane that is kept found in a time, read anew each minute; nothing where that is not asked for. */
function usePast(kept: PaneProps["kept"], from: number, to: number) {
  const last = useRef<Found | undefined>(undefined);
  const isWanted = kept !== undefined && to - from >= PAST;
  const minute = Math.ceil(to / 60) * 60;
  const params = { path: { name: kept?.name ?? "" }, query: { pane: kept?.pane ?? 1, from: minute - (to - from), to: minute } };
  const read = useRead("/v1/analytics/worksheets/{name}/history", params as never, { enabled: isWanted });
  if (read.data) last.current = read.data.value as Found;
  // What was shown stays until the next minute has come.
  return isWanted ? { found: last.current, error: read.error } : undefined;
}

export function Pane({ id, statistic, onShow, from, to, kept, onDrill }: PaneProps) {
  const area = useRef<HTMLDivElement>(null);
  const [isTree, setTree] = useState(false);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const read = useRead("/v1/analytics/{id}", { path: { id: String(id) } as never }, { refetchInterval: 2000 });
  const path = { id: String(id) } as never;
  const end = useChange(() => post("/v1/analytics/{id}/end", { path }), ["/v1/analytics"]);
  const remove = useChange(() => post("/v1/analytics/{id}/remove", { path }), ["/v1/analytics"]);
  const past = usePast(kept, from, to);
  const found = past ? past.found : read.data?.value as Found | undefined;
  if (!found) return <section className="card stack" aria-label={t("Drill-down {id}", { id })}>{read.error ?? past?.error ? <Failure error={read.error ?? past?.error} /> : <p className="muted" role="status">{t("Loading…")}</p>}</section>;
  const { by, filter, owner, running, left, watched, cost } = found.drill_down;
  const title = t("Requests by {dimensions}", { dimensions: by.map((one) => nameOf(one).toLowerCase()).join(", ") });
  const hasFiles = !!found.datasets?.length;
  // A tree is in its own order.
  const byPart = (part: (row: Row) => number) => (hasFiles && isTree ? {} : { order: byNumber(part) });
  const rows = rowsOf(found, hasFiles && isTree, closed);
  const columns: Column<Row>[] = [
    { id: "what", name: by.map(nameOf).join(" · "), width: "minmax(220px, 3fr)", show: ({ name }) => <span title={plainly(name)}><Name>{name}</Name></span> },
    { id: "operations", name: t("Operations"), width: "110px", isNumber: true, show: ({ sum }) => number(sum.operations), ...byPart(({ sum }) => sum.operations) },
    { id: "bytes", name: t("Bytes"), width: "100px", isNumber: true, show: ({ sum }) => size(sum.bytes), ...byPart(({ sum }) => sum.bytes) },
    { id: "mean", name: t("Mean time"), width: "100px", isNumber: true, show: ({ sum }) => short(sum.operations ? Math.round(sum.time / sum.operations) : 0), ...byPart(({ sum }) => sum.time / Math.max(1, sum.operations)) },
    { id: "missing", name: t("Missing"), width: "90px", isNumber: true, show: ({ missing }) => (missing ? `≤ ${number(missing)}` : "–") },
  ];
  const toggle = ({ id: key }: Row) => setClosed(closed.has(key) ? new Set([...closed].filter((one) => one !== key)) : new Set([...closed, key]));
  const file = `cistern-analytics-${id}`;
  const classes = pictured(by);
  const isHeat = statistic === "latencies" || statistic === "classes";
  const pick = (narrow: (all: Filter) => Filter) => onDrill(narrow(filter), by);
  return (
    <section className="card stack" aria-label={title}>
      <div className="row">
        <h2>{title}</h2>
        <State tone={running ? "busy" : "idle"}>{watched ? t("on for a worksheet") : running ? t("ends in {time}", { time: span(left) }) : t("ended, kept")}</State>
      </div>
      <p className="small muted">
        {said(filter) || t("All requests")} · {t("begun by {owner}", { owner: plainly(owner) })} · {t("{count} requests looked at, {time} of processor, {size} of memory", { count: number(cost.requests), time: short(cost.time), size: size(cost.bytes) })}
      </p>
      <div ref={area}>
        {isHeat
          ? <Heat found={found} of={statistic === "classes" ? classes : "latency"} from={from} to={to} onPick={pick} />
          : <Lines found={found} statistic={statistic} from={from} to={to} />}
      </div>
      {hasFiles && <Check isSelected={isTree} onChange={setTree}>{t("Files below their datasets")}</Check>}
      <Grid label={t("The heaviest of {title}", { title })} rows={rows} columns={columns} keyOf={({ id: key }) => key} least={640}
        {...(hasFiles && isTree ? { tree: { level: ({ level }: Row) => level, isOpen: ({ id: key, level }: Row) => (level === 0 ? !closed.has(key) : undefined), toggle } } : {})}
        onOpen={(row) => { if (row.filter) onDrill(row.filter, row.by); }} empty={<p>{t("No request came yet.")}</p>} />
      <p className="small muted">{t("All others: {count} operations. All together: {all}.", { count: number(found.others.operations), all: number(found.total.operations) })}</p>
      <Failure error={end.error ?? remove.error} />
      <div className="row end">
        {isHeat && <Button onPress={() => onShow(undefined)}>{t("Show lines")}</Button>}
        {statistic !== "latencies" && <Button onPress={() => onShow("latencies")}>{t("Show latencies")}</Button>}
        {classes !== "latency" && statistic !== "classes" && <Button onPress={() => onShow("classes")}>{classes === "size" ? t("Show sizes") : t("Show offsets")}</Button>}
        <Button onPress={() => save(`${file}.csv`, new Blob([csv(found)], { type: "text/csv" }))}>{t("Save CSV")}</Button>
        <Button onPress={() => area.current?.querySelector("canvas")?.toBlob((image) => { if (image) save(`${file}.png`, image); })}>{t("Save picture")}</Button>
        {running && !watched && <Button onPress={() => end.mutate(undefined)}>{t("End")}</Button>}
        {!watched && <Button onPress={() => remove.mutate(undefined)}>{t("Remove")}</Button>}
      </div>
    </section>
  );
}
