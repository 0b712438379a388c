/** What needs somebody: alerts that are open, and those that are over. */
import { useState } from "react";
import { useInfiniteQuery } from "@tanstack/react-query";
import { follow, get, post, type Answered, type Schemas } from "../api/client";
import { useChange } from "../api/queries";
import { useSession } from "../api/session";
import { Button, Check, Failure, Head, Name, Sheet, State } from "../parts/ui";
import { Grid, type Column } from "../parts/grid";
import { Routes } from "../settings/routes";
import { ago, exactTime, number, plainly, t } from "../words";

type Alert = Schemas["Alert"];

const toneOf = ({ severity, cleared }: Alert) => (cleared ? "idle" : severity === "warning" ? "warn" : "bad");

export default function Faults() {
  const [isAll, setAll] = useState(false);
  const [opened, open] = useState<number>();
  const pages = useInfiniteQuery<Answered<Alert[]>, Error, { pages: Answered<Alert[]>[] }, unknown[], string>({
    queryKey: ["/v1/alerts", "pages", isAll],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) => (pageParam ? follow<Alert[]>(pageParam, signal) : get("/v1/alerts", { query: { all: isAll, limit: 200 } as never, signal })),
    getNextPageParam: (last) => last.next,
  });
  const rows = pages.data?.pages.flatMap(({ value }) => value) ?? [];
  const columns: Column<Alert>[] = [
    { id: "severity", name: t("Severity"), width: "110px", show: (one) => <State tone={toneOf(one)}>{one.cleared ? t("over") : one.severity}</State> },
    { id: "title", name: t("Fault"), width: "minmax(240px, 3fr)", show: ({ title }) => <span title={plainly(title)}><Name>{title}</Name></span> },
    { id: "subject", name: t("Of"), width: "minmax(140px, 1.3fr)", show: ({ subject }) => <Name>{subject}</Name> },
    { id: "since", name: t("Since"), width: "130px", show: ({ since }) => <span title={exactTime(since)}>{ago(since)}</span>, order: (a, b) => a.since - b.since },
    { id: "by", name: t("Looked after by"), width: "140px", show: ({ acknowledged }) => (acknowledged ? <Name>{acknowledged.by}</Name> : "–") },
  ];
  const one = rows.find(({ id }) => id === opened);
  return (
    <div className="page">
      <Head title={t("Faults")} about={t("What checks have found, the newest first. A fault that is over goes by itself.")}>
        <Check isSelected={isAll} onChange={setAll}>{t("Also those that are over")}</Check>
      </Head>
      {pages.error && <Failure error={pages.error} />}
      {pages.isPending ? <p role="status" className="muted">{t("Loading…")}</p> : (
        <Grid label={t("Faults")} rows={rows} columns={columns} keyOf={({ id }) => String(id)} onOpen={({ id }) => open(id)} least={800}
          hasMore={pages.hasNextPage} onEnd={() => { if (!pages.isFetching) void pages.fetchNextPage(); }} empty={<p>{isAll ? t("No fault was found yet.") : t("No fault is open.")}</p>} />
      )}
      <Routes />
      <Sheet title={plainly(one?.title ?? "")} isOpen={!!one} onClose={() => open(undefined)} isWide>{one && <Detail alert={one} close={() => open(undefined)} />}</Sheet>
    </div>
  );
}

function Detail({ alert, close }: { alert: Alert; close: () => void }) {
  const { may } = useSession();
  const path = { id: alert.id };
  const look = useChange((undo: boolean) => post("/v1/alerts/{id}/acknowledge", { path, body: { undo } }), ["/v1/alerts"]);
  const clear = useChange(() => post("/v1/alerts/{id}/clear", { path }), ["/v1/alerts"]);
  return (
    <>
      <p>{plainly(alert.text)}</p>
      <div className="note"><strong>{t("What to do")}</strong><p>{plainly(alert.advice)}</p></div>
      <dl className="facts">
        <dt>{t("Severity")}</dt><dd><State tone={toneOf(alert)}>{alert.severity}</State></dd>
        <dt>{t("Of")}</dt><dd><Name>{alert.subject}</Name></dd>
        <dt>{t("First found")}</dt><dd>{exactTime(alert.since)}</dd>
        <dt>{t("Last found")}</dt><dd>{exactTime(alert.last_seen)}</dd>
        <dt>{t("Found")}</dt><dd>{t("{count} times", { count: number(alert.count) })}{alert.flapping ? ` · ${t("it comes and goes")}` : ""}</dd>
        {alert.acknowledged && <><dt>{t("Looked after by")}</dt><dd>{t("{name}, since {time}", { name: plainly(alert.acknowledged.by), time: exactTime(alert.acknowledged.at) })}</dd></>}
      </dl>
      <Failure error={look.error ?? clear.error} />
      <div className="row end">
        {may("operator") && !alert.cleared && (
          <>
            <Button onPress={() => look.mutate(!!alert.acknowledged)}>{alert.acknowledged ? t("Nobody looks after it") : t("I look after it")}</Button>
            <Button onPress={() => clear.mutate(undefined, { onSuccess: close })}>{t("It is over")}</Button>
          </>
        )}
        <Button onPress={close}>{t("Close")}</Button>
      </div>
    </>
  );
}
