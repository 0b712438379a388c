/** One drill-down: over time, its latencies, and the heaviest, each of which leads further down. */
import { useRef, useState } from "react";
import { post } from "../api/client";
import { useChange, useRead } from "../api/queries";
import { Button, Failure, Name, State } from "../parts/ui";
import { Grid, byNumber, type Column } from "../parts/grid";
import { number, plainly, size, span, t } from "../words";
import { Heat } from "./heat";
import { Lines, type Statistic } from "./lines";
import { csv, nameOf, said, save, short, type Dimension, type Filter, type Found } from "./request";

type Key = Found["keys"][number];

interface PaneProps {
  id: number;
  statistic: Statistic;
  from: number;
  to: number;
  /** Somebody wants to know more of what a filter takes, which was told apart by these. */
  onDrill: (filter: Filter, by: Dimension[]) => void;
}

export function Pane({ id, statistic, from, to, onDrill }: PaneProps) {
  const [isHeat, setHeat] = useState(false);
  const canvas = useRef<HTMLCanvasElement>(null);
  const read = useRead("/v1/analytics/{id}", { path: { id: String(id) } as never }, { refetchInterval: 2000 });
  const path = { id: String(id) } as never;
  const end = useChange(() => post("/v1/analytics/{id}/end", { path }), ["/v1/analytics"]);
  const remove = useChange(() => post("/v1/analytics/{id}/remove", { path }), ["/v1/analytics"]);
  const found = read.data?.value as Found | undefined;
  if (!found) return <section className="card stack" aria-label={t("Drill-down {id}", { id })}>{read.error ? <Failure error={read.error} /> : <p className="muted" role="status">{t("Loading…")}</p>}</section>;
  const { by, filter, owner, running, left, cost } = found.drill_down;
  const title = t("Requests by {dimensions}", { dimensions: by.map((one) => nameOf(one).toLowerCase()).join(", ") });
  const columns: Column<Key>[] = [
    { id: "what", name: by.map(nameOf).join(" · "), width: "minmax(220px, 3fr)", show: ({ values }) => <span title={plainly(values.join("  "))}><Name>{values.join("  ")}</Name></span> },
    { id: "operations", name: t("Operations"), width: "110px", isNumber: true, show: ({ sum }) => number(sum.operations), order: byNumber(({ sum }) => sum.operations) },
    { id: "bytes", name: t("Bytes"), width: "100px", isNumber: true, show: ({ sum }) => size(sum.bytes), order: byNumber(({ sum }) => sum.bytes) },
    { id: "mean", name: t("Mean time"), width: "100px", isNumber: true, show: ({ sum }) => short(sum.operations ? Math.round(sum.time / sum.operations) : 0), order: byNumber(({ sum }) => sum.time / Math.max(1, sum.operations)) },
    { id: "missing", name: t("Missing"), width: "90px", isNumber: true, show: ({ missing }) => (missing ? `≤ ${number(missing)}` : "–") },
  ];
  const file = `cistern-analytics-${id}`;
  const pick = (least: number, most: number | undefined) => onDrill({ ...filter, slower_us: Math.floor(least / 1000), ...(most ? { faster_us: Math.ceil(most / 1000) - 1 } : {}) }, by);
  return (
    <section className="card stack" aria-label={title}>
      <div className="row">
        <h2>{title}</h2>
        <State tone={running ? "busy" : "idle"}>{running ? t("ends in {time}", { time: span(left) }) : t("ended, kept")}</State>
      </div>
      <p className="small muted">
        {said(filter) || t("All requests")} · {t("begun by {owner}", { owner: plainly(owner) })} · {t("{count} requests looked at, {time} of processor, {size} of memory", { count: number(cost.requests), time: short(cost.time), size: size(cost.bytes) })}
      </p>
      {isHeat
        ? <Heat found={found} from={from} to={to} canvas={canvas} onPick={pick} />
        : <Lines found={found} statistic={statistic} from={from} to={to} />}
      <Grid label={t("The heaviest of {title}", { title })} rows={found.keys} columns={columns} keyOf={(key) => String(key.number)} least={640}
        onOpen={(key) => { if (key.filter) onDrill(key.filter, by); }} empty={<p>{t("No request came yet.")}</p>} />
      <p className="small muted">{t("All others: {count} operations. All together: {all}.", { count: number(found.others.operations), all: number(found.total.operations) })}</p>
      <Failure error={end.error ?? remove.error} />
      <div className="row end">
        <Button onPress={() => setHeat(!isHeat)}>{isHeat ? t("Show lines") : t("Show latencies")}</Button>
        <Button onPress={() => save(`${file}.csv`, new Blob([csv(found)], { type: "text/csv" }))}>{t("Save CSV")}</Button>
        {isHeat && <Button onPress={() => canvas.current?.toBlob((image) => { if (image) save(`${file}.png`, image); })}>{t("Save picture")}</Button>}
        {running && <Button onPress={() => end.mutate(undefined)}>{t("End")}</Button>}
        <Button onPress={() => remove.mutate(undefined)}>{t("Remove")}</Button>
      </div>
    </section>
  );
}
