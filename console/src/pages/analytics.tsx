/** What requests of clients come to, by who or what they are of: drill-downs as panes on one time axis. */
import { useEffect, useState } from "react";
import { post } from "../api/client";
import { useRead, useChange } from "../api/queries";
import { useSession } from "../api/session";
import { useFilter } from "../analytics/filter";
import type { Statistic } from "../analytics/lines";
import { Pane } from "../analytics/pane";
import { Worksheets, statistics, type Opened, type PaneStatistic } from "../analytics/worksheets";
import { DIMENSIONS, nameOf, nextOf, said, type Dimension, type Filter } from "../analytics/request";
import { Button, Check, Empty, Failure, Form, Head, Select, Sheet, type Option } from "../parts/ui";
import { t } from "../words";

interface Wanted {
  filter: Filter;
  by: Dimension;
  and: Dimension | "";
}

export default function Analytics() {
  const { may } = useSession();
  const isAllowed = may("operator");
  const list = useRead("/v1/analytics", {}, { refetchInterval: 2000, enabled: isAllowed });
  const [statistic, setStatistic] = useState<Statistic>("operations");
  // What panes show that show something else.
  const [others, setOthers] = useState<Record<number, PaneStatistic>>({});
  const [opened, setOpened] = useState<Opened>();
  const [window, setWindow] = useState("300");
  const [isStill, setStill] = useState(false);
  const [now, setNow] = useState(() => Math.floor(Date.now() / 1000));
  const [wanted, setWanted] = useState<Wanted>();
  useEffect(() => {
    if (isStill) return undefined;
    const timer = setInterval(() => setNow(Math.floor(Date.now() / 1000)), 2000);
    return () => clearInterval(timer);
  }, [isStill]);
  const all = (list.data?.value ?? []).toReversed();
  const shown = opened ? all.filter(({ id }) => opened.ids.includes(id)) : all;
  const lines = statistics().filter((one): one is Option<Statistic> => one.id !== "latencies" && one.id !== "classes");
  const chosen = (one: Statistic) => {
    setStatistic(one);
    setOthers({});
  };
  const open = (worksheet: Opened | undefined) => {
    setOpened(worksheet);
    const pairs = worksheet?.ids.map((id, at) => [id, worksheet.panes[at]?.statistic ?? "operations"] as const);
    setOthers({ ...others, ...Object.fromEntries(pairs ?? []) });
  };
  const show = (id: number, what: PaneStatistic | undefined) => setOthers((old) => {
    const { [id]: _, ...rest } = old;
    return what ? { ...rest, [id]: what } : rest;
  });
  const panes = shown.map(({ id, by, filter }) => ({ statistic: others[id] ?? statistic, by, filter }));
  const windows = [{ id: "60", name: t("1 minute") }, { id: "300", name: t("5 minutes") }, { id: "3600", name: t("1 hour") }, { id: "86400", name: t("1 day") }, { id: "2678400", name: t("31 days") }, { id: "31622400", name: t("1 year") }];
  const keptOf = (id: number) => {
    const at = opened?.ids.indexOf(id) ?? -1;
    return opened?.panes[at]?.kept ? { name: opened.name, pane: at + 1 } : undefined;
  };
  const next = (filter: Filter, by: Dimension[]) => {
    // What was told apart is known now: what comes next is another, and is to be seen.
    setOpened(undefined);
    setWanted({ filter, by: nextOf(filter, by), and: "" });
  };
  const begin = useChange((request: Wanted) => post("/v1/analytics", { body: { by: request.and ? [request.by, request.and] : [request.by], filter: request.filter } as never }), ["/v1/analytics"]);
  if (!isAllowed) return <div className="page"><Head title={t("Analytics")} /><p className="note">{t("What others ask for, and the names of their files, are for operators and administrators.")}</p></div>;
  return (
    <div className="page">
      <Head title={t("Analytics")} about={t("Who asks for what, and what served it. A drill-down costs a little while it runs, and ends by itself.")}>
        <Button manner="first" onPress={() => next({}, [])}>{t("New drill-down")}</Button>
      </Head>
      <div className="row base">
        <Select label={t("Statistic")} options={lines} value={statistic} onChange={chosen} />
        <Select label={t("Time shown")} options={windows} value={window} onChange={setWindow} />
        <Check isSelected={isStill} onChange={setStill}>{t("Hold the picture")}</Check>
      </div>
      <Worksheets shown={panes} opened={opened} onOpen={open} />
      {list.error && <Failure error={list.error} />}
      {list.isPending ? <p role="status" className="muted">{t("Loading…")}</p>
        : shown.length === 0 ? <Empty action={<Button onPress={() => next({}, [])}>{t("Begin one")}</Button>}>{t("No drill-down runs. What is always counted is on the dashboard.")}</Empty>
          : shown.map(({ id }) => <Pane key={id} id={id} statistic={others[id] ?? statistic} onShow={(what) => show(id, what)} from={now - Number(window)} to={now} kept={keptOf(id)} onDrill={next} />)}
      <Sheet title={t("Drill down")} isOpen={!!wanted} onClose={() => setWanted(undefined)} isWide>
        {wanted && <Begin wanted={wanted} close={() => setWanted(undefined)} run={(request) => begin.mutateAsync(request)} />}
      </Sheet>
    </div>
  );
}

function Begin({ wanted, close, run }: { wanted: Wanted; close: () => void; run: (wanted: Wanted) => Promise<unknown> }) {
  const [by, setBy] = useState<Dimension>(wanted.by);
  const [and, setAnd] = useState<Dimension | "">(wanted.and);
  const [fields, filter] = useFilter();
  const options: Option<Dimension>[] = DIMENSIONS.map((id) => ({ id, name: nameOf(id) }));
  const given = said(wanted.filter);
  return (
    <Form action={t("Begin")} onCancel={close} onDone={close} run={() => run({ filter: { ...wanted.filter, ...filter }, by, and: and === by ? "" : and })}>
      {given && <p className="note">{t("Only requests of: {filter}", { filter: given })}</p>}
      <div className="row base">
        <Select label={t("Tell apart by")} options={options} value={by} onChange={setBy} />
        <Select label={t("And by")} options={[{ id: "" as Dimension | "", name: t("nothing else") }, ...options]} value={and} onChange={setAnd} />
      </div>
      {fields}
    </Form>
  );
}
